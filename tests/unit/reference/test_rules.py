"""The examples in the explanations of TS4xx: the first fails with the code, the second passes."""

from __future__ import annotations

import inspect
import re

import pytest

from tilespec.coverage import examine
from tilespec.diagnostics import Diagnostic, Rule, Severity, SourceText
from tilespec.model import build_model
from tilespec.rules.codes import CODES
from tilespec.syntax import parse

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
