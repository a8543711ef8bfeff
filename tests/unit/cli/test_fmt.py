from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.fuzz.meaning import meaning
from tilespec.cli.app import app
from tilespec.diagnostics import SourceText
from tilespec.syntax import parse

CANONICAL = """\
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
UNTIDY = CANONICAL.replace("  - x", "* x").replace("float16", "fp16")


@pytest.fixture
def canonical() -> str:
    result = CliRunner().invoke(app, ["fmt", "-"], input=UNTIDY)
    assert result.exit_code == 0
    return result.stdout


def test_stdin_to_stdout(canonical: str):
    assert "  - x: shape=(N,), dtype=float16\n" in canonical
    again = CliRunner().invoke(app, ["fmt", "-"], input=canonical)
    assert again.stdout == canonical


def test_rewriting_a_file(tmp_path: Path, canonical: str):
    path = tmp_path / "double.tilespec"
    path.write_text(UNTIDY)
    result = CliRunner().invoke(app, ["fmt", str(path)])
    assert result.exit_code == 0
    assert path.read_text() == canonical
    assert "1 of 1 file changed" in result.stderr
    assert "0 of 1 file changed" in CliRunner().invoke(app, ["fmt", str(path)]).stderr


@pytest.mark.parametrize("option", ["--check", "--diff"])
def test_looking_without_writing(tmp_path: Path, option: str, canonical: str):
    path = tmp_path / "double.tilespec"
    path.write_text(UNTIDY)
    result = CliRunner().invoke(app, ["fmt", option, str(path)])
    assert result.exit_code == 1
    assert path.read_text() == UNTIDY
    assert ("+  - x: shape=(N,), dtype=float16\n" in result.stdout) == (option == "--diff")
    path.write_text(canonical)
    assert CliRunner().invoke(app, ["fmt", option, str(path)]).exit_code == 0


@pytest.mark.parametrize(
    "data",
    [b"\xef\xbb\xbf" + CANONICAL.encode(), CANONICAL.replace("\n", "\r\n").encode()],
    ids=["bom", "crlf"],
)
def test_bytes_that_show_nowhere_are_changes_too(tmp_path: Path, data: bytes, canonical: str):
    path = tmp_path / "double.tilespec"
    path.write_bytes(data)
    assert CliRunner().invoke(app, ["fmt", "--check", str(path)]).exit_code == 1
    CliRunner().invoke(app, ["fmt", str(path)])
    assert path.read_bytes() == canonical.encode()


def test_a_broken_file_is_left_alone(tmp_path: Path):
    path = tmp_path / "broken.tilespec"
    path.write_text(UNTIDY.replace("[mul]", "[mul"))
    before = path.read_text()
    result = CliRunner().invoke(app, ["fmt", str(path)])
    assert result.exit_code == 1
    assert "error[TS105]" in result.stderr
    assert path.read_text() == before


def test_shipped_specs_are_canonical(repository: Path):
    result = CliRunner().invoke(app, ["fmt", "--diff", str(repository / "specs")])
    assert (result.exit_code, result.stdout) == (0, "")


CHECKED = """\
KERNEL SPEC: activate
Description: Activates.
Operations: [gelu]

Inputs:
  - x: shape=(N,), dtype=float32

Outputs:
  - y: shape=(N,), dtype=float32

Dependencies: none

PyTorch Reference:
def reference_activate(x):
    return F.gelu(x)
---
"""
BLOCK = """\
## Completeness Check
Original forward-pass ops: [gelu]
Covered by kernel specs:
- gelu -> activate
Gaps: NONE
"""


def formatted(tmp_path: Path, text: str) -> str:
    path = tmp_path / "a.tilespec"
    path.write_text(text)
    result = CliRunner().invoke(app, ["fmt", "--completeness", str(path)])
    assert result.exit_code == 0, result.output
    written = path.read_text()
    assert CliRunner().invoke(app, ["fmt", "--completeness", "--check", str(path)]).exit_code == 0
    assert CliRunner().invoke(app, ["fmt", "--check", str(path)]).exit_code == 0
    assert CliRunner().invoke(app, ["lint", "--no-cache", str(path)]).exit_code == 0
    return written


def test_the_completeness_check_is_written(tmp_path: Path):
    assert formatted(tmp_path, CHECKED) == f"{CHECKED}\n{BLOCK}"


def test_a_wrong_completeness_check_is_replaced_and_prose_below_it_stays(tmp_path: Path):
    wrong = "## Completeness Check\nOriginal forward-pass ops: [relu]\nCovered by kernel specs: relu -> nobody\nGaps: [tanh]\n"
    written = formatted(tmp_path, f"{CHECKED}\n{wrong}\nReviewed twice.\n")
    assert written == f"{CHECKED}\n{BLOCK}\nReviewed twice.\n"


def test_a_gap_is_written_as_one(tmp_path: Path):
    path = tmp_path / "a.tilespec"
    path.write_text(
        CHECKED + "\n## Composition Notes\n\ndef reference_all(x):\n    return F.gelu(x).tanh()\n"
    )
    assert CliRunner().invoke(app, ["fmt", "--completeness", str(path)]).exit_code == 0
    assert "Original forward-pass ops: [gelu, tanh]" in path.read_text()
    assert path.read_text().endswith("Gaps: tanh\n")


def test_a_file_that_does_not_trace_keeps_its_text(tmp_path: Path):
    path = tmp_path / "a.tilespec"
    text = CHECKED.replace("F.gelu(x)", "F.gelu(z)")
    path.write_text(text)
    result = CliRunner().invoke(app, ["fmt", "--completeness", str(path)])
    assert (result.exit_code, path.read_text()) == (1, text)
    assert "TS404" in result.stderr


def test_every_extension_inside_markdown_keeps_its_meaning(tmp_path: Path):
    page = (Path(__file__).parent / "extensions.md").read_text()
    path = tmp_path / "page.md"
    path.write_text(page)
    assert CliRunner().invoke(app, ["lint", "--no-cache", "--no-trace", str(path)]).exit_code == 0
    assert CliRunner().invoke(app, ["fmt", "--check", str(path)]).exit_code == 1
    assert CliRunner().invoke(app, ["fmt", str(path)]).exit_code == 0
    assert CliRunner().invoke(app, ["fmt", "--check", str(path)]).exit_code == 0
    done = path.read_text()
    assert done != page
    before, after = (parse(SourceText("page.md", text))[0] for text in (page, done))
    assert meaning(before) == meaning(after)
    fields = ("dims", "types", "numerics", "bench", "kept", "code")
    assert all(getattr(after, name) for name in fields)
    # What stands around the block is nobody's to rewrite.
    assert done.startswith(page.partition("```")[0])
    assert done.endswith(page.rpartition("```")[2])


def test_a_form_that_would_be_read_as_something_else_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from tilespec import syntax

    path = tmp_path / "a.tilespec"
    path.write_text(CANONICAL + "# a comment\n")
    monkeypatch.setattr(syntax, "format_source", lambda source: (source.text + "#\n", []))
    result = CliRunner().invoke(app, ["fmt", str(path)])
    assert result.exit_code == 1
    assert "TS999" in result.output
    assert path.read_text() == CANONICAL + "# a comment\n"
