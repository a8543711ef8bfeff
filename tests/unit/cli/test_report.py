from __future__ import annotations

import json

import pytest

from tilespec.cli.report import Format, render_findings
from tilespec.cli.report.text import render, summary
from tilespec.diagnostics import Diagnostic, Label, Severity, SourceText, Span
from tilespec.rules.environment import NoSpecFiles

TEXT = """\
KERNEL SPEC: scores
Operations: [matmul]
Inputs:
  - q: shape=(M, D), dtype=bfloat16
  - k: shape=(N, D), dtype=bfloat16
Outputs:
  - p: shape=(M, N), dtype=bfloat16
PyTorch Reference:
def reference_scores(q, k):
    return q @ k
"""
SOURCE = SourceText("specs/scores.tilespec", TEXT)


def finding(**changes: object) -> Diagnostic:
    at = TEXT.index("q @ k") + 4
    declared = TEXT.index("(N, D)")
    fields: dict[str, object] = {
        "code": "TS923",
        "name": "no-spec-files",
        "severity": Severity.ERROR,
        "message": "`q @ k` contracts `D` of `q` with `N` of `k`",
        "source": SOURCE,
        "span": Span(at, at + 1),
        "label": "needs D rows, has N",
        "labels": (Label(Span(declared, declared + 6), "declared here"),),
        "help": "transpose it: `q @ k.T`",
    }
    return Diagnostic(**(fields | changes))


def test_a_finding_as_text():
    assert render(finding()) == (
        "error[TS923]: `q @ k` contracts `D` of `q` with `N` of `k`\n"
        "   --> specs/scores.tilespec:10:16\n"
        "    |\n"
        "  5 |   - k: shape=(N, D), dtype=bfloat16\n"
        "    |              ------ declared here\n"
        " 10 |     return q @ k\n"
        "    |                ^ needs D rows, has N\n"
        "    = help: transpose it: `q @ k.T`\n"
        "    = more: tilespec explain TS923\n"
    )


def test_a_finding_about_a_whole_file_shows_no_line():
    text = render(finding(span=None, labels=(), label=None, notes=("first\nsecond",)))
    assert text == (
        "error[TS923]: `q @ k` contracts `D` of `q` with `N` of `k`\n"
        "  --> specs/scores.tilespec\n"
        "   = note: first\n"
        "           second\n"
        "   = help: transpose it: `q @ k.T`\n"
        "   = more: tilespec explain TS923\n"
    )


def test_the_end_of_a_file_can_be_shown():
    text = render(finding(span=Span(len(TEXT), len(TEXT)), labels=()))
    assert " 11 |\n    | ^ needs D rows, has N\n" in text


def test_a_span_over_lines_is_underlined_on_its_first():
    start = TEXT.index("q: shape")
    text = render(finding(span=Span(start, start + 60), labels=()))
    assert "  4 |   - q: shape=(M, D), dtype=bfloat16\n    |     ^" not in text
    assert " 4 |   - q: shape=(M, D), dtype=bfloat16\n   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ needs" in text


def test_control_characters_never_reach_the_terminal():
    source = SourceText("a\x1b[31m.tilespec", "x\x1b]0;title\x07y\tz\n")
    text = render(finding(source=source, span=Span(0, 1), labels=(), message="bad \x1b[2J"))
    assert "\x1b" not in text
    assert "\x07" not in text


def test_wide_characters_keep_the_underline_in_place():
    source = SourceText("a.tilespec", "描述: x\n")
    text = render(finding(source=source, span=Span(4, 5), labels=(), label=None))
    assert "| 描述: x\n   |       ^\n" in text


def test_a_very_long_line_is_cut_around_the_place():
    source = SourceText("a.tilespec", "a" * 5000 + "b" + "c" * 5000)
    text = render(finding(source=source, span=Span(5000, 5001), labels=()))
    assert max(len(line) for line in text.splitlines()) < 200
    line, underline = text.splitlines()[3:5]
    assert line[underline.index("^")] == "b"


def test_colour_is_only_colour():
    import re

    coloured = render(finding(), colour=True)
    assert coloured != render(finding())
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == render(finding())


@pytest.mark.parametrize(
    ("severities", "files", "expected"),
    [
        ((), 1, "no findings in 1 file"),
        ((Severity.ERROR,), 2, "1 error in 2 files"),
        ((Severity.NOTE, Severity.ERROR, Severity.ERROR), 1, "2 errors, 1 note in 1 file"),
    ],
)
def test_the_summary(severities: tuple[Severity, ...], files: int, expected: str):
    assert summary([finding(severity=severity) for severity in severities], files) == expected


def test_findings_as_json():
    document = json.loads(render_findings([finding()], Format.JSON, files=1))
    assert document["summary"] == {"files": 1, "error": 1, "warning": 0, "note": 0}
    (found,) = document["findings"]
    assert found["span"] == {"line": 10, "column": 16, "end_line": 10, "end_column": 17}
    assert found["labels"][0]["span"]["line"] == 5
    assert found["replacement"] is None


def test_findings_as_sarif():
    mended = finding(replacement="k.T")
    whole = NoSpecFiles("empty folder").at(SourceText("empty folder", ""), None)
    document = json.loads(render_findings([mended, whole], Format.SARIF, files=2))
    (run,) = document["runs"]
    assert document["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["TS923"]
    first, second = run["results"]
    assert first["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 10,
        "startColumn": 16,
        "endLine": 10,
        "endColumn": 17,
    }
    assert first["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"] == {"text": "k.T"}
    assert second["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "empty%20folder"}}}]
    assert all(
        run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        for result in run["results"]
    )


def test_findings_as_github_commands():
    text = render_findings(
        [finding(source=SourceText("a,b.tilespec", TEXT), message="50% of\nit")], Format.GITHUB, files=1
    )
    assert text == (
        "::error file=a%2Cb.tilespec,line=10,col=16,endLine=10,endColumn=16,title=TS923 no-spec-files"
        "::50%25 of%0Ait%0Atranspose it: `q @ k.T`\n"
    )
