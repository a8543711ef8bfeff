"""What people get wrong in a file: each is a clear finding and status 1. `wrong_files.txt` holds what is printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner, Result

from tilespec.cli.app import app

if TYPE_CHECKING:
    from tests.conftest import GoldenUpdates

PRINTED = Path(__file__).with_name("wrong_files.txt")

SPEC = """\
KERNEL SPEC: double
Description: Doubles.
Operations: [mul]

Inputs:
  - x: shape=(N,), dtype=float16

Outputs:
  - y: shape=(N,), dtype=float16

Dependencies: none

PyTorch Reference:
def reference_double(x):
    return x * 2
"""

PRODUCT = """\
KERNEL SPEC: product
Description: Multiplies.
Operations: [matmul]
Inputs:
  - a: shape=(M, K), dtype=float16
  - b: shape=(J, N), dtype=float16
Outputs:
  - y: shape=(M, N), dtype=float16
Dependencies: none
PyTorch Reference:
def reference_product(a, b):
    return a @ b
"""

OTHER = SPEC.replace("double", "other")


def changed(old: str, new: str, text: str = SPEC) -> bytes:
    assert old in text
    return text.replace(old, new).encode()


WRONG: dict[str, bytes | None] = {
    "a missing file": None,
    "an empty file": b"",
    "binary junk": bytes(range(256)) * 8,
    "UTF-16": SPEC.encode("utf-16-le"),
    "prose only": b"# A page\n\nNothing here.\n",
    "an unclosed bracket": changed("[mul]", "[mul"),
    "an unclosed shape": changed("x: shape=(N,)", "x: shape=(N"),
    "an unknown field": changed("Dependencies: none", "Dependencies: none\nColour: red"),
    "a misspelt field": changed("Description", "Descripton"),
    "an unknown dtype": changed("y: shape=(N,), dtype=float16", "y: shape=(N,), dtype=float17"),
    "two kernels of one id": (SPEC + "---\n" + SPEC).encode(),
    "a dependency that doesn't exist": changed("none", "[gone]"),
    "a cycle": changed("none", "[other]") + b"---\n" + changed("none", "[double]", OTHER),
    "unequal inner dims": PRODUCT.encode(),
    "another shape than the reference gives": changed("y: shape=(N,)", "y: shape=(N, 2)"),
    "another dtype than the reference gives": changed(
        "y: shape=(N,), dtype=float16", "y: shape=(N,), dtype=int32"
    ),
    "a reference of another name": changed("reference_double", "reference_doubles"),
    "a reference of other parameters": changed("reference_double(x)", "reference_double(z)"),
    "a reference that raises": changed("x * 2", "x.reshape(3, -1, 7)[5]"),
    "a reference that isn't Python": changed("x * 2", "x * (2"),
    "a reference that imports": changed("    return", "    import os\n    return"),
}


def build(content: bytes | None, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.chdir(folder)
    if content is not None:
        (folder / "wrong.tilespec").write_bytes(content)
    return CliRunner().invoke(app, ["build", "wrong.tilespec", "--out", "out"])


@pytest.mark.parametrize("what", WRONG)
def test_it_is_a_finding_and_writes_nothing(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    result = build(WRONG[what], tmp_path, monkeypatch)
    assert result.exit_code == 1, result.output
    assert "error[TS" in result.stdout
    assert "TS999" not in result.stdout
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: GoldenUpdates):
    parts = []
    for at, (what, content) in enumerate(WRONG.items()):
        folder = tmp_path / str(at)
        folder.mkdir()
        parts.append(f"## {what}\n\n{build(content, folder, monkeypatch).stdout}")
    golden.check(PRINTED, "\n".join(parts))
