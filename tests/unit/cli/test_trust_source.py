"""`Source` is read only when asked for, since that runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tilespec.cli.app import app

SPEC = """\
Source: model.py:{name}
---
KERNEL SPEC: up
Description: A product and its activation.
Operations: [matmul, silu]
Inputs:
  - x: shape=(B, D), dtype=float32
  - weight: shape=(D, E), dtype=float32
Outputs:
  - h: shape=(B, E), dtype=float32
Dependencies: none
PyTorch Reference:
def reference_up(x, weight):
    return F.silu(x @ weight)
"""
MODEL = """\
from pathlib import Path
import torch
Path(__file__).with_name("ran").write_text("")
print("noise")

def silu(x, weight, flag=None):
    h = x @ weight
    return h * torch.sigmoid(h)

def more(x, weight):
    return silu(x, weight).tanh()

def other(x, missing):
    return x

class Up(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(4, 8))
    def forward(self, x):
        return silu(x, self.weight)

class Sized(torch.nn.Module):
    def __init__(self, size):
        super().__init__()

def raises(x, weight):
    raise RuntimeError("no luck")

value = 3
"""


def lint(folder: Path, name: str, *options: str, model: str = MODEL) -> tuple[int, dict[str, str]]:
    (folder / "model.py").write_text(model)
    path = folder / "up.tilespec"
    path.write_text(SPEC.format(name=name))
    arguments = ["lint", "--no-cache", "--format", "json", *options, str(path)]
    result = CliRunner().invoke(app, arguments)
    findings = json.loads(result.stdout)["findings"]
    return result.exit_code, {item["code"]: item["message"] for item in findings}


def test_nothing_is_imported_unless_asked_for(tmp_path: Path):
    status, found = lint(tmp_path, "silu")
    assert status == 0
    assert "importing it would run its code" in found["TS431"]
    assert not (tmp_path / "ran").exists()
    status, found = lint(tmp_path, "silu", "--trust-source")
    assert (status, found) == (0, {})
    assert (tmp_path / "ran").exists()


def test_a_module_is_compared_by_the_names_of_its_parameters(tmp_path: Path):
    assert lint(tmp_path, "Up", "--trust-source") == (0, {})


def test_an_operation_that_no_kernel_performs_is_a_gap(tmp_path: Path):
    status, found = lint(tmp_path, "more", "--trust-source")
    assert status == 1
    assert "`tanh`" in found["TS420"]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("other", "no kernel has an input for its parameter `missing`"),
        ("Sized", "can't be made without arguments"),
        ("raises", "no luck"),
        ("value", "is no function"),
        ("absent", "importing it fails: AttributeError"),
    ],
)
def test_what_can_not_be_traced_says_why(tmp_path: Path, name: str, part: str):
    status, found = lint(tmp_path, name, "--trust-source")
    assert status == 1
    assert part in found["TS733"]


@pytest.mark.parametrize("text", ["raise SystemExit(0)\n", "1/0\n", "def broken(:\n"])
def test_a_file_that_can_not_be_imported_says_why(tmp_path: Path, text: str):
    status, found = lint(tmp_path, "silu", "--trust-source", model=text)
    assert status == 1
    assert "importing it fails" in found["TS733"]


def test_trust_needs_tracing(tmp_path: Path):
    result = CliRunner().invoke(app, ["lint", "--trust-source", "--no-trace", str(tmp_path)])
    assert result.exit_code == 2
