"""TS4xx: the case files, and the examples in the explanations, of which the first fails with the code and the second passes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from tests.unit.rules.cases import Case, cases_in, place
from tilespec.coverage import examine
from tilespec.diagnostics import Diagnostic, Rule, Severity, SourceText
from tilespec.model import build_model
from tilespec.rules.codes import CODES
from tilespec.syntax import parse

FOLDER = Path(__file__).resolve().parents[2] / "rules"
CASES = [case for path in sorted(FOLDER.glob("TS4*.md")) for case in cases_in(path)]
OURS = {code: rule for code, rule in CODES.items() if code.startswith("TS4")}


def examples(rule: type[Rule]) -> list[str]:
    return re.findall(r"```tilespec\n(.*?)```", inspect.getdoc(rule) or "", re.DOTALL)


def findings(text: str) -> list[Diagnostic]:
    tree, found = parse(SourceText("example.tilespec", text))
    spec, more = build_model(tree)
    assert spec is not None
    return [*found, *more, *examine(spec).findings]


def test_there_are_rules():
    assert len(OURS) > 20


@pytest.mark.parametrize("code", OURS)
def test_the_failing_example_fails(code: str):
    failing, _ = examples(OURS[code])
    found = [item for item in findings(failing) if item.code == code]
    assert found, [item.message for item in findings(failing)]
    for item in found:
        assert item.message[:1] != item.message[:1].upper() or not item.message[:1].isalpha()
        assert not item.message.endswith(".")


@pytest.mark.parametrize("code", OURS)
def test_the_passing_example_passes(code: str):
    _, passing = examples(OURS[code])
    found = [item for item in findings(passing) if item.severity is not Severity.NOTE]
    assert found == [], [(item.code, item.message) for item in found]


@pytest.mark.parametrize("code", OURS)
def test_every_code_has_a_file_with_a_case_that_fails_and_one_that_passes(code: str):
    cases = [case for case in CASES if case.path.stem == code]
    assert any(item.code == code for case in cases for item in case.expected)
    assert any(all(item.code != code for item in case.expected) for case in cases)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.path.stem}:{case.line}")
def test_a_case_gives_what_it_states(case: Case):
    found = sorted(findings(case.text), key=lambda item: (*place(item), item.code))
    wanted = sorted(case.expected, key=lambda item: (item.line, item.column, item.code))
    assert [(item.severity.value, *place(item), item.code) for item in found] == [
        (item.severity, item.line, item.column, item.code) for item in wanted
    ]
    for item, expected in zip(found, wanted, strict=True):
        assert expected.part in item.message
        assert "\n" not in item.message
        assert item.help, item
