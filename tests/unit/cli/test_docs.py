"""Examples in the documentation are examples that work, and links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tilespec.cli.report.text import render_all
from tilespec.pipeline import check_file

REPOSITORY = Path(__file__).resolve().parents[3]
PAGES = [
    page
    for page in (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md")))
    # The examples of rules are tested with the rules: half of them fail on purpose.
    if "diagnostics" not in page.parts
]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_specs_in_a_page_are_clean(page: Path, tmp_path: Path):
    for number, text in enumerate(blocks(page, "tilespec")):
        path = tmp_path / f"example_{number}.tilespec"
        path.write_text(text)
        checked = check_file(path)
        assert not checked.findings, render_all(checked.findings)
        assert checked.plans


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_links_lead_to_files(page: Path):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page}: {target}"


def test_there_are_examples():
    assert sum(len(blocks(page, "tilespec")) for page in PAGES) >= 3
