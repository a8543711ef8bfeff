"""`docs/reference/diagnostics/` holds one page a code, and it is what `tilespec explain` prints."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import GoldenUpdates
from tilespec.cli.explain_text import explanation, page
from tilespec.diagnostics import Rule
from tilespec.rules.codes import CODES

FOLDER = Path("docs") / "reference" / "diagnostics"


@pytest.mark.parametrize("code", CODES)
def test_the_page_of_a_code(code: str, golden: GoldenUpdates, repository: Path):
    golden.check(repository / FOLDER / f"{code}.md", page(CODES[code]))


def test_the_index_lists_every_code(golden: GoldenUpdates, repository: Path):
    golden.check(repository / FOLDER / "index.md", index(CODES))


def test_no_page_without_a_code(golden: GoldenUpdates, repository: Path):
    for path in (repository / FOLDER).glob("*.md"):
        if path.stem != "index" and path.stem not in CODES:
            golden.check_absent(path)


def test_codes_and_names():
    assert list(CODES) == sorted(CODES)
    assert len({rule.name for rule in CODES.values()}) == len(CODES)
    for code, rule in CODES.items():
        assert rule.code == code
        assert re.fullmatch(r"TS[1-9]\d\d", code)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
        assert re.fullmatch(r"\d+\.\d+\.\d+", rule.since)


@pytest.mark.parametrize("rule", CODES.values(), ids=list(CODES))
def test_a_rule_explains_itself(rule: type[Rule]):
    assert inspect.getdoc(rule) != inspect.getdoc(Rule)
    title, _ = explanation(rule)
    assert title.endswith(".")
    assert len(title) <= 110


def index(codes: Mapping[str, type[Rule]]) -> str:
    rows = "".join(
        f"| [{code}]({code}.md) | `{rule.name}` | {rule.severity.value} | {explanation(rule)[0].replace('|', '&#124;')} |\n"
        for code, rule in codes.items()
    )
    return f"# Findings\n\n| code | name | severity | states |\n| --- | --- | --- | --- |\n{rows}"
