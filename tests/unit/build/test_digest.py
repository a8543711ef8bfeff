"""A package is fresh while its spec, the tool and its own files are what they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilespec.build.digest import is_fresh, source_digest, text_digest
from tilespec.diagnostics import SourceText


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("a = 1\n")
    manifest = {"digest": "abc", "files": {"a.py": text_digest("a = 1\n")}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    return tmp_path


def test_an_unchanged_package_is_fresh(package: Path):
    assert is_fresh(package, "abc")


def test_another_digest_is_stale(package: Path):
    assert not is_fresh(package, "abd")


def test_an_edited_or_lost_file_is_stale(package: Path):
    (package / "a.py").write_text("a = 2\n")
    assert not is_fresh(package, "abc")
    (package / "a.py").unlink()
    assert not is_fresh(package, "abc")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "3",
        '{"digest": "abc"}',
        '{"digest": "abc", "files": 3}',
        '{"digest": "abc", "files": [1]}',
    ],
)
def test_a_broken_manifest_is_stale(package: Path, text: str):
    (package / "manifest.json").write_text(text)
    assert not is_fresh(package, "abc")


def test_a_file_that_is_no_text_is_stale(package: Path):
    (package / "a.py").write_bytes(b"\xff\xfe\x00")
    assert not is_fresh(package, "abc")


def test_a_missing_package_is_stale(tmp_path: Path):
    assert not is_fresh(tmp_path / "none", "abc")


def test_the_digest_depends_on_text_and_path():
    first = source_digest(SourceText("a.tilespec", "one"))
    assert first == source_digest(SourceText("a.tilespec", "one"))
    assert (
        len(
            {
                first,
                source_digest(SourceText("a.tilespec", "two")),
                source_digest(SourceText("b.tilespec", "one")),
            }
        )
        == 3
    )
