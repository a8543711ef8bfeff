"""The cache of `tilespec lint`: the same findings as without it, and none of the work."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tilespec.cli.app import app
from tilespec.cli.linting import cache as module
from tilespec.cli.linting.cache import Cache
from tilespec.diagnostics import SourceText

KERNEL = """\
KERNEL SPEC: activate
Description: GELU of every element.
Operations: [{operations}]
Inputs:
  - x: shape=(N,), dtype=float32
Outputs:
  - y: shape=(N,), dtype=float32
Dependencies: none
PyTorch Reference:
def reference_activate(x):
    return F.gelu(x)
"""
CLEAN = KERNEL.format(operations="gelu")
WRONG = KERNEL.format(operations="gellu")
SOURCE = SourceText("a.tilespec", CLEAN)


def only_file(folder: Path) -> Path:
    (path,) = (item for item in folder.iterdir() if item.name != ".gitignore")
    return path


def lint(cache: Path, *arguments: str | Path) -> str:
    result = CliRunner().invoke(
        app, ["lint", "--no-trace", "--format", "json", "--cache", str(cache), *map(str, arguments)]
    )
    assert result.exit_code in {0, 1}
    return result.stdout


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of the texts that were checked and not taken from the cache."""
    from tilespec.cli.linting import run

    checked: list[str] = []
    check = run.lint_text

    def counting(source: SourceText, mode: str) -> object:
        checked.append(source.path)
        return check(source, mode)

    monkeypatch.setattr(run, "lint_text", counting)
    return checked


def test_findings_come_out_as_they_went_in(tmp_path: Path, counted: list[str]):
    path, cache = tmp_path / "b.tilespec", tmp_path / "cache"
    path.write_text(WRONG)
    first = lint(cache, path)
    assert "TS214" in first
    assert lint(cache, path) == first
    assert len(counted) == 1
    path.write_text(CLEAN)
    assert "TS214" not in lint(cache, path)
    assert len(counted) == 2
    path.write_text(WRONG)
    assert lint(cache, path) == first
    assert len(counted) == 2


def test_a_broken_line_is_checked_again_and_spoils_no_other(tmp_path: Path, counted: list[str]):
    paths, cache = [tmp_path / "a.tilespec", tmp_path / "b.tilespec"], tmp_path / "cache"
    for path in paths:
        path.write_text(WRONG)
    first = lint(cache, *paths)
    _, one, two = only_file(cache).read_text().split("\n")
    key = one.split()[0]
    for broken in ("", key, f"{key} []", f'{key} {{"findings": [[1]], "beside": null}}', one[:-9], "\udc80"):
        counted.clear()
        # As a run leaves it that was killed while it wrote: the next line begins after it.
        only_file(cache).write_bytes(f"\n{broken}\n{two}".encode("utf-8", "surrogateescape"))
        assert lint(cache, *paths) == first
        assert counted == [paths[0].as_posix()]


def test_runs_at_the_same_time_keep_the_entries_of_each_other(tmp_path: Path):
    caches = [Cache(tmp_path), Cache(tmp_path)]
    sources = [SourceText(f"{number}.tilespec", CLEAN) for number in range(2)]
    for cache, source in zip(caches, sources, strict=True):
        assert cache.get(cache.key(source, "names"), source) is None
    for cache, source in zip(caches, sources, strict=True):
        cache.put(cache.key(source, "names"), source, [], source.path)
        cache.write()
    again = Cache(tmp_path)
    for source in sources:
        assert again.get(again.key(source, "names"), source) == ([], source.path)


def test_a_run_that_breaks_off_keeps_what_it_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from tilespec.cli.linting import run

    cache = tmp_path / "cache"
    for name in ("a", "b"):
        (tmp_path / f"{name}.tilespec").write_text(CLEAN)
    check = run.lint_text

    def stopping(source: SourceText, mode: str) -> object:
        if source.path.endswith("b.tilespec"):
            raise KeyboardInterrupt
        return check(source, mode)

    monkeypatch.setattr(run, "lint_text", stopping)
    CliRunner().invoke(app, ["lint", "--no-trace", "--cache", str(cache), str(tmp_path)])
    assert len(only_file(cache).read_bytes().split(b"\n")) == 2


def test_files_of_other_versions_go_once_they_are_old(tmp_path: Path):
    for name, age in (("findings-old", 8), ("findings-recent", 6), ("other", 8)):
        (tmp_path / name).write_text("")
        then = time.time() - age * 24 * 3600
        os.utime(tmp_path / name, (then, then))
    cache = Cache(tmp_path)
    cache.put(cache.key(SOURCE, "names"), SOURCE, [], None)
    cache.write()
    names = {path.name for path in tmp_path.iterdir()}
    assert names >= {"findings-recent", "other", ".gitignore"}
    assert "findings-old" not in names
    assert len(names) == 4


def test_a_file_that_grew_too_large_is_started_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LARGEST", 1000)
    for number in range(40):
        cache = Cache(tmp_path)
        source = SourceText(f"{number}.tilespec", CLEAN)
        cache.put(cache.key(source, "names"), source, [], None)
        cache.write()
        assert only_file(tmp_path).stat().st_size < 1200
    again = Cache(tmp_path)
    assert again.get(again.key(source, "names"), source) == ([], None)


def test_a_folder_that_can_not_be_written_is_done_without(tmp_path: Path):
    path = tmp_path / "a.tilespec"
    path.write_text(CLEAN)
    (tmp_path / "file").write_text("")
    assert '"findings": []' in lint(tmp_path / "file", path)


def test_a_known_file_loads_no_stage(tmp_path: Path):
    path = tmp_path / "a.tilespec"
    path.write_text(CLEAN)
    lint(tmp_path / "cache", path)
    code = (
        "import sys\nfrom tilespec.cli.app import app\n"
        f"app(['lint', '--no-trace', '--cache', {str(tmp_path / 'cache')!r}, {str(path)!r}], standalone_mode=False)\n"
        "print(sorted({name for name in sys.modules if name.partition('.')[0] in {'lark', 'torch', 'jinja2'}\n"
        "    or name.startswith(('tilespec.rules.', 'tilespec.model', 'tilespec.pipeline', 'tilespec.syntax.parser'))}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"
