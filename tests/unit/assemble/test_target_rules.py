"""The findings of the target compiler: their examples are valid specs, their words follow the conventions."""

from __future__ import annotations

import inspect
import re
from typing import Final

import pytest

from tilespec.diagnostics import Rule, Severity, SourceText
from tilespec.model.build import build_model
from tilespec.rules import target
from tilespec.rules.codes import CODES
from tilespec.syntax import parse

RULES: Final = {code: rule for code, rule in CODES.items() if rule.__module__ == target.__name__}
FACTS: Final = {"kernel": "k", "target": "sm_90", "complaint": "why", "seconds": 60.0, "frame": 128}


def made(rule: type[Rule]) -> Rule:
    return rule(**{name: FACTS[name] for name in inspect.signature(rule).parameters})


def test_every_rule_of_the_module_has_a_code() -> None:
    assert sorted(rule.__name__ for rule in RULES.values()) == sorted(target.__all__)


@pytest.mark.parametrize("code", RULES)
def test_examples_are_specs_without_a_fault_that_lint_would_find(code: str) -> None:
    blocks = re.findall(r"```tilespec\n(.*?)```", inspect.getdoc(RULES[code]) or "", re.DOTALL)
    assert blocks
    for block in blocks:
        tree, found = parse(SourceText("example.tilespec", block))
        spec, more = build_model(tree)
        assert [item.message for item in (*found, *more) if item.severity is Severity.ERROR] == []
        assert spec is not None


@pytest.mark.parametrize("code", RULES)
def test_messages_are_one_line_without_a_full_stop(code: str) -> None:
    rule = made(RULES[code])
    assert "\n" not in rule.message()
    assert not rule.message().endswith(".")
    assert "`k`" in rule.message()
    assert rule.help()
