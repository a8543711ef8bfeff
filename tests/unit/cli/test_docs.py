"""Examples in the documentation are examples that work, and links lead somewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import GoldenUpdates
from tilespec.cli.report.text import render_all
from tilespec.pipeline import BuildOptions, build_paths, check_file

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


def kernels(text: str) -> Iterator[str]:
    """Yield the kernels of a module as they stand in it."""
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            yield "".join(lines[node.decorator_list[0].lineno - 1 : node.end_lineno])


def test_the_kernel_in_the_readme_is_the_generated_one(golden: GoldenUpdates, tmp_path: Path):
    page = REPOSITORY / "README.md"
    head, mark, rest = page.read_text().partition("<!-- generated: ")
    spec = re.search(r"[\w/]+\.tilespec", rest)[0]
    report = build_paths([REPOSITORY / spec], BuildOptions(out=tmp_path))
    module = next(report.files[0].folder.glob("kernels/[a-z]*.py"))
    code = next(kernels(module.read_text()))
    before, fence, after = rest.partition("```python\n")
    end = after.index("```")
    golden.check(page, head + mark + before + fence + code + after[end:])


def test_there_are_examples():
    assert sum(len(blocks(page, "tilespec")) for page in PAGES) >= 3
