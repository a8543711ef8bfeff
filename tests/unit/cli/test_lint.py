"""`tilespec lint` in a repository: fixes, a revision to compare with, packages, summary."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tilespec.cli.app import app
from tilespec.cli.linting.fixing import apply_fixes
from tilespec.cli.linting.summary import markdown
from tilespec.diagnostics import Diagnostic, Severity, SourceText, Span

KERNEL = """\
KERNEL SPEC: {name}
Description: {name} of every element.
Operations: [{operation}]
Inputs:
  - x: shape=(N,), dtype=float32
Outputs:
  - y: shape=(N,), dtype=float32
Dependencies: none
PyTorch Reference:
def reference_{name}(x):
    return {code}
---
"""
ONE = KERNEL.format(name="activate", operation="gelu", code="F.gelu(x)")
WHOLE = ONE + "## Composition Notes\ndef reference_all(x):\n    return F.gelu(x)\n"


def lint(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["lint", "--no-cache", *map(str, arguments)])


def found(result: Result) -> list[tuple[str, str]]:
    return [(item["code"], item["message"]) for item in json.loads(result.stdout)["findings"]]


@pytest.fixture
def repository_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, in which `a.tilespec` is clean and `b.tilespec` has a fault."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "a.tilespec").write_text(WHOLE)
    (tmp_path / "b.tilespec").write_text(ONE.replace("[gelu]", "[gelu, softmax]"))
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "state")


def test_the_completeness_check_is_printed_for_one_file(repository_of: Path):
    result = lint(repository_of / "a.tilespec")
    assert result.exit_code == 0
    assert (
        "Original forward-pass ops: [gelu]\nCovered by kernel specs:\n- gelu -> activate\nGaps: NONE\n"
        in (result.stdout)
    )
    assert "Original forward-pass" not in lint(repository_of).stdout
    assert "Original forward-pass" not in lint("--no-completeness", repository_of / "a.tilespec").stdout


def test_what_a_revision_has_is_not_reported_again(repository_of: Path):
    assert lint(repository_of).exit_code == 1
    assert lint("--against", "HEAD", repository_of).exit_code == 0
    path = repository_of / "b.tilespec"
    # A line before the old fault doesn't make it a new one; a second fault is new.
    path.write_text("# moved\n" + path.read_text().replace("softmax]", "softmax, tanh]"))
    result = lint("--against", "HEAD", "--format", "json", repository_of)
    assert result.exit_code == 1
    assert found(result) == [("TS421", "`tanh` is listed, but the reference does not perform it")]


def test_a_new_file_is_reported_whole_and_a_renamed_one_is_not(repository_of: Path):
    git(repository_of, "mv", "b.tilespec", "c.tilespec")
    assert lint("--against", "HEAD", repository_of).exit_code == 0
    (repository_of / "d.tilespec").write_text((repository_of / "c.tilespec").read_text())
    assert lint("--against", "HEAD", repository_of).exit_code == 1


def test_coverage_that_a_change_removes_is_named(repository_of: Path):
    path = repository_of / "a.tilespec"
    path.write_text(
        'Keep in PyTorch: [gelu] because "slow here"\n---\n'
        + KERNEL.format(name="double", operation="mul", code="x * 2")
        + "## Composition Notes\ndef reference_all(x):\n    return F.gelu(x * 2)\n"
    )
    result = lint("--against", "HEAD", "--format", "json", path)
    assert result.exit_code == 1
    codes = dict(found(result))
    assert codes["TS731"] == "`activate` performed `gelu` at `HEAD`, which now stays in PyTorch"
    assert codes["TS732"] == "`activate` of `HEAD` is gone, which performed `gelu`"
    assert "TS429" in codes


def test_a_deleted_file_is_named(repository_of: Path):
    (repository_of / "a.tilespec").unlink()
    result = lint("--against", "HEAD", "--format", "json", repository_of)
    assert result.exit_code == 0
    assert [code for code, _ in found(result)] == ["TS732"]


@pytest.mark.parametrize("name", ["nonsense", "--help", "HEAD:a.tilespec", "-q"])
def test_no_such_revision_is_wrong_usage(repository_of: Path, name: str):
    result = lint(f"--against={name}", repository_of)
    assert result.exit_code == 2
    assert "compare with" in result.output


def test_comparing_checks_nothing_out_and_runs_nothing(repository_of: Path):
    marker = repository_of / "ran"
    git(repository_of, "config", "diff.external", f"touch {marker}")
    git(repository_of, "config", "filter.evil.smudge", f"touch {marker}")
    git(repository_of, "config", "diff.evil.textconv", f"touch {marker}")
    (repository_of / ".gitattributes").write_text("*.tilespec filter=evil diff=evil\n")
    path = repository_of / "a.tilespec"
    path.write_text("# changed\n" + WHOLE)
    assert lint("--against", "HEAD", repository_of).exit_code == 0
    assert not marker.exists()
    assert path.read_text() == "# changed\n" + WHOLE


def test_stale_packages_are_findings(repository_of: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(repository_of)
    result = lint("--built", "build", "--format", "json", "a.tilespec")
    assert found(result) == [("TS721", "`build/a` is not what this spec builds")]
    assert CliRunner().invoke(app, ["build", "a.tilespec"]).exit_code == 0
    assert lint("--built", "build", "a.tilespec").exit_code == 0
    Path("a.tilespec").write_text(WHOLE.replace("gelu of every", "GELU of every") + "\n# later\n")
    assert lint("--built", "build", "a.tilespec").exit_code == 1


def test_safe_fixes_and_guesses(tmp_path: Path):
    path = tmp_path / "a.tilespec"
    path.write_text(ONE.replace("Dependencies:", "Dependancies:").replace("[gelu]", "[gellu]"))
    path.chmod(0o640)
    result = lint("--fix", path)
    assert result.exit_code == 1
    assert "1 fixed" in result.stderr
    assert path.read_text() == ONE.replace("[gelu]", "[gellu]")
    assert "TS214" in result.stdout
    result = lint("--fix", "--unsafe-fixes", path)
    assert (result.exit_code, path.read_text()) == (0, ONE)
    assert path.stat().st_mode & 0o777 == 0o640
    before = path.stat().st_ino
    assert lint("--fix", path).exit_code == 0
    assert path.stat().st_ino == before


def test_unsafe_fixes_alone_are_wrong_usage(tmp_path: Path):
    assert lint("--unsafe-fixes", tmp_path).exit_code == 2


def fault(start: int, end: int, text: str, *, guessed: bool = False) -> Diagnostic:
    return Diagnostic(
        "TS000",
        "n",
        Severity.ERROR,
        "m",
        SourceText("p", ""),
        Span(start, end),
        replacement=text,
        guessed=guessed,
    )


def test_fixes_that_overlap_wait_for_the_next_pass():
    source = SourceText("p", "abcdef")
    fixes = [fault(3, 5, "Z"), fault(0, 2, "X"), fault(1, 4, "Y")]
    assert apply_fixes(source, fixes, unsafe=False) == ("XcZf", 2)
    assert apply_fixes(source, [fault(0, 1, "q", guessed=True)], unsafe=False) == ("abcdef", 0)


def test_the_summary_is_a_table_and_no_file_writes_markup_into_it(repository_of: Path):
    target = repository_of / "summary.md"
    evil = repository_of / "<img src=x>|a.tilespec"
    evil.write_text(WHOLE)
    lint("--summary", target, repository_of)
    lines = target.read_text().splitlines()
    assert lines[0] == "## tilespec lint"
    assert any(line.endswith("a.tilespec | 1 | 1 | none | none | 0 | 0 |") for line in lines)
    assert any("b.tilespec" in line and line.endswith("| 1 | 0 |") for line in lines)
    assert "<img" not in target.read_text()
    assert all(line.count("|") - line.count("\\|") in {0, 4, 8} for line in lines)
    assert markdown([], []).startswith("## tilespec lint")


def test_what_stays_in_pytorch_is_in_the_summary(tmp_path: Path):
    path = tmp_path / "k.tilespec"
    path.write_text(
        'Keep in PyTorch: [gelu] because "slow here"\n---\n'
        + KERNEL.format(name="double", operation="mul", code="x * 2")
        + "## Composition Notes\ndef reference_all(x):\n    return F.gelu(x * 2)\n"
    )
    result = lint("--summary", tmp_path / "s.md", path)
    assert result.exit_code == 0
    assert "TS429" in result.stdout
    assert "gelu, slow here" in (tmp_path / "s.md").read_text()


def test_a_suppression_of_a_stage_that_did_not_run_is_not_unused(tmp_path: Path):
    path = tmp_path / "b.tilespec"
    path.write_text(
        ONE.replace("Operations: [gelu]", "# tilespec: ignore[TS421] wanted\nOperations: [gelu, softmax]")
    )
    assert lint(path).exit_code == 0
    assert lint("--no-trace", path).exit_code == 0
    assert lint("--syntax", path).exit_code == 0
