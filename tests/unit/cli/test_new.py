"""A starter lints clean and builds."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tilespec.cli.app import app
from tilespec.diagnostics import SourceText
from tilespec.model.operations import OPERATIONS
from tilespec.pipeline import check_source
from tilespec.syntax import format_source

CHAINS = [
    "matmul+bias+gelu",
    "linear+silu",
    "residual+layernorm",
    "add+rms_norm",
    "matmul+scale+softmax",
    "attention",
    "embedding+scale",
    "matmul+bias+relu+matmul+bias",
    "swiglu",
    "square+mean",
    "cross_entropy",
    "mse_loss",
    "clamp",
    "log_softmax",
    "maximum+abs+sqrt",
]


def new(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["new", *map(str, arguments)])


@pytest.mark.parametrize("like", CHAINS)
def test_a_starter_is_clean_canonical_and_plans(like: str):
    result = new("start", "--like", like, "--out", "-")
    assert result.exit_code == 0, result.output
    source = SourceText("start.tilespec", result.stdout)
    checked = check_source(source)
    assert [item.message for item in checked.findings] == []
    assert set(checked.plans) == {"start"}
    assert format_source(source)[0] == source.text


def test_a_starter_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert new("fused").exit_code == 0
    assert "Operations: [matmul, bias_add, gelu]" in Path("fused.tilespec").read_text()
    result = CliRunner().invoke(app, ["build", "fused.tilespec"])
    assert result.exit_code == 0, result.output
    again = new("fused")
    assert again.exit_code == 2
    assert "exists" in again.output


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--like", "matmull"], "did you mean `matmul`?"),
        (["--like", "conv2d"], "needs more than operands"),
        (["--like", "mean+gelu"], "has to stand last"),
        (["--like", "gelu+attention"], "has to stand first"),
        (["--like", ""], "is no operation"),
        (["--like", "+".join(["matmul"] * 9)], "at most 8 products"),
        (["--dtype", "float61"], "is no dtype"),
    ],
)
def test_what_can_not_be_started_is_wrong_usage(arguments: list[str], part: str, tmp_path: Path):
    result = new("k", *arguments, "--out", tmp_path / "k.tilespec")
    assert result.exit_code == 2
    assert part in " ".join(result.output.split())
    assert not (tmp_path / "k.tilespec").exists()


@pytest.mark.parametrize("name", ["1k", "a b", "class", "../x"])
def test_a_name_that_is_none_is_wrong_usage(name: str, tmp_path: Path):
    assert new(name, "--out", tmp_path / "k.tilespec").exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_every_operation_has_a_starter_or_a_reason(tmp_path: Path):
    for name in OPERATIONS:
        result = new("k", "--like", name, "--out", tmp_path / f"{name}.tilespec")
        assert result.exit_code in {0, 2}, (name, result.exception)
