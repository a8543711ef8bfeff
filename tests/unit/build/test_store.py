"""A package on disk is whole: the old one or the new one, whoever writes and whatever fails."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from tilespec.build import store
from tilespec.build.store import write_package

FILES = {
    "manifest.json": "{}\n",
    "kernels/a.py": "a = 1\n",
    "kernels/b.py": "b = 1\n",
    "composed.py": "c = 1\n",
}


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def test_a_package_is_exactly_its_files(tmp_path: Path):
    write_package(tmp_path / "p", FILES)
    assert contents(tmp_path / "p") == FILES


def test_kernels_of_an_earlier_package_go_and_other_files_stay(tmp_path: Path):
    folder = tmp_path / "p"
    write_package(folder, FILES)
    (folder / "notes.txt").write_text("mine\n")
    fewer = {name: text for name, text in FILES.items() if name != "kernels/b.py"}
    write_package(folder, fewer)
    assert contents(folder) == {**fewer, "notes.txt": "mine\n"}


def test_lines_end_in_one_newline_character_everywhere(tmp_path: Path):
    write_package(tmp_path / "p", {"a.py": "x = 1\ny = 2\n"})
    assert (tmp_path / "p" / "a.py").read_bytes() == b"x = 1\ny = 2\n"


def test_what_is_written_can_be_read_by_everybody(tmp_path: Path):
    write_package(tmp_path / "p", FILES)
    assert (tmp_path / "p" / "composed.py").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("survives", range(len(FILES)))
def test_a_failure_before_all_is_staged_changes_nothing(
    survives: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "p"
    write_package(folder, FILES)
    stage, calls = store._stage, []

    def fail(target: Path, text: str) -> Path:
        calls.append(target)
        if len(calls) > survives:
            raise OSError(28, "No space left on device")
        return stage(target, text)

    monkeypatch.setattr(store, "_stage", fail)
    with pytest.raises(OSError, match="No space"):
        write_package(folder, {name: text.upper() for name, text in FILES.items()})
    assert contents(folder) == FILES


@pytest.mark.parametrize("survives", range(len(FILES)))
def test_a_failure_between_renames_leaves_whole_files_and_an_old_manifest(
    survives: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "p"
    write_package(folder, FILES)
    replace, calls = Path.replace, []

    def fail(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) > survives:
            raise OSError(5, "Input/output error")
        return replace(self, target)

    newer = {name: text.upper() for name, text in FILES.items()}
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="Input/output"):
        write_package(folder, newer)
    found = contents(folder)
    assert set(found) == set(FILES)
    assert all(text in {FILES[name], newer[name]} for name, text in found.items())
    # The manifest vouches for the others and comes last.
    assert found["manifest.json"] == FILES["manifest.json"]


def write_many(place: tuple[str, str]) -> None:
    folder, mark = place
    for number in range(30):
        write_package(Path(folder), dict.fromkeys(FILES, f"{mark}{number}\n" * 200))


def test_two_writers_never_mix_their_files(tmp_path: Path):
    folder = tmp_path / "p"
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        list(pool.map(write_many, [(os.fspath(folder), "left "), (os.fspath(folder), "right ")]))
    found = contents(folder)
    assert set(found) == set(FILES)
    assert len(set(found.values())) == 1
