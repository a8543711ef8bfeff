from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from tilespec.rules.codes import CODES

_FOLDER = Path(__file__).resolve().parent
_spec = importlib.util.spec_from_file_location("rule_cases", _FOLDER / "cases.py")
assert _spec is not None
assert _spec.loader is not None
cases = importlib.util.module_from_spec(_spec)
__import__("sys").modules["rule_cases"] = cases
_spec.loader.exec_module(cases)

RULES = _FOLDER.parents[1] / "rules"
FILES = sorted(RULES.glob("TS[123]*.md"))
CASES = [case for path in FILES for case in cases.cases_in(path)]
EARLY = sorted(code for code in CODES if code[2] in "123")
WITHOUT_TEXT = {"TS101", "TS102", "TS103"}
_EXAMPLE = re.compile(r"^(`{3,})tilespec\n(.*?)^\1$", re.MULTILINE | re.DOTALL)


def test_there_are_cases() -> None:
    assert len(CASES) > 80
    assert all(cases.cases_in(path) for path in FILES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.path.stem}:{case.line}")
def test_a_case_gives_what_it_states(case: cases.Case) -> None:  # type: ignore[name-defined]
    findings = cases.check(case.text)
    got = sorted((item.severity.value, *cases.place(item), item.code) for item in findings)
    wanted = sorted((item.severity, item.line, item.column, item.code) for item in case.expected)
    assert got == wanted
    for item in case.expected:
        messages = [
            finding.message
            for finding in findings
            if (*cases.place(finding), finding.code) == (item.line, item.column, item.code)
        ]
        assert any(item.part in message for message in messages), (item.part, messages)
    assert all(finding.help for finding in findings)


@pytest.mark.parametrize("case", [case for case in CASES if case.snapshot], ids=lambda case: case.path.stem)
def test_a_snapshot_is_what_is_printed(case: cases.Case) -> None:  # type: ignore[name-defined]
    from tilespec.cli.report.text import render_all

    assert render_all(cases.check(case.text)).rstrip("\n") == case.snapshot.rstrip("\n")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_has_a_case_of_its_code(path: Path) -> None:
    codes = {item.code for case in cases.cases_in(path) for item in case.expected}
    assert path.stem in codes


@pytest.mark.parametrize("code", [code for code in EARLY if code not in WITHOUT_TEXT])
def test_every_code_has_a_file(code: str) -> None:
    assert (RULES / f"{code}.md").is_file()


@pytest.mark.parametrize("code", [code for code in EARLY if code not in WITHOUT_TEXT])
def test_the_first_example_fails_and_the_second_passes(code: str) -> None:
    doc = inspect.cleandoc(CODES[code].__doc__ or "")
    failing, passing = (match[2] for match in _EXAMPLE.finditer(doc))
    assert {finding.code for finding in cases.check(failing)} == {code}
    assert cases.check(passing) == []


@pytest.mark.parametrize("code", EARLY)
def test_a_message_reads_as_the_style_asks(code: str) -> None:
    rule = CODES[code]
    assert rule.code == code
    assert re.fullmatch(r"[a-z]+(-[a-z0-9]+)+", rule.name)
    assert (inspect.cleandoc(rule.__doc__ or "").split("\n")[0]).endswith(".")
    for case in CASES:
        for finding in cases.check(case.text):
            if finding.code == code:
                assert "\n" not in finding.message
                assert not finding.message.endswith(".")
                assert finding.message[0] in "`0123456789" or finding.message[0].islower()


def test_names_are_unique() -> None:
    names = [rule.name for rule in CODES.values()]
    assert len(names) == len(set(names))
