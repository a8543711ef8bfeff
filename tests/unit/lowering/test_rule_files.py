"""The case files of TS5xx, traced and lowered."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tilespec.diagnostics import Diagnostic, SourceText
from tilespec.lowering import lower
from tilespec.model import build_model
from tilespec.reference.trace import trace_kernel
from tilespec.rules.codes import CODES
from tilespec.syntax import parse

_TESTS = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("lowering_rule_cases", _TESTS / "unit" / "rules" / "cases.py")
assert _spec is not None
assert _spec.loader is not None
cases = importlib.util.module_from_spec(_spec)
sys.modules["lowering_rule_cases"] = cases
_spec.loader.exec_module(cases)

CODES_HERE = sorted(
    code for code in CODES if code.startswith("TS5") and CODES[code].__module__.endswith("lowering")
)
CASES = [case for code in CODES_HERE for case in cases.cases_in(_TESTS / "rules" / f"{code}.md")]
_EXAMPLE = re.compile(r"^(`{3,})tilespec\n(.*?)^\1$", re.MULTILINE | re.DOTALL)


def check(text: str) -> list[Diagnostic]:
    tree, findings = parse(SourceText("case.tilespec", text))
    spec, more = build_model(tree)
    assert spec is not None, [item.message for item in findings + more]
    found: list[Diagnostic] = []
    for kernel in spec.kernels:
        graph, traced = trace_kernel(spec, kernel)
        assert graph is not None, [item.message for item in traced]
        _, lowered = lower(graph, numerics=kernel.numerics, source=spec.source)
        found += lowered
    return found


def test_there_are_cases():
    assert len(CASES) >= 6
    assert {item.code for case in CASES for item in case.expected} == set(CODES_HERE)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.path.stem}:{case.line}")
def test_a_case_gives_what_it_states(case: Any):  # noqa: ANN401 - loaded by path
    findings = check(case.text)
    got = sorted((item.severity.value, *cases.place(item), item.code) for item in findings)
    assert got == sorted((item.severity, item.line, item.column, item.code) for item in case.expected)
    for item, finding in zip(case.expected, findings, strict=True):
        assert item.part in finding.message


@pytest.mark.parametrize("code", CODES_HERE)
def test_the_first_example_fails_and_the_second_passes(code: str):
    doc = inspect.cleandoc(CODES[code].__doc__ or "")
    failing, passing = (match[2] for match in _EXAMPLE.finditer(doc))
    assert {finding.code for finding in check(failing)} == {code}
    assert check(passing) == []


@pytest.mark.parametrize("case", [case for case in CASES if case.expected], ids=lambda case: case.path.stem)
def test_a_finding_says_what_would_work(case: Any):  # noqa: ANN401 - loaded by path
    for finding in check(case.text):
        assert finding.help
        assert not finding.message.endswith(".")
