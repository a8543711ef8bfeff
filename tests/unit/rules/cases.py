"""Case files of rules: Markdown with spec blocks whose lines state the findings that they cause.

`Dependencies: [frist]  # error: 16 [TS201] "not defined"` expects a finding at column 16 of that line; column 0 means
the file as a whole. A block ```` ```snapshot ```` pins the printed findings of the block before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tilespec.diagnostics import Diagnostic, SourceText
from tilespec.model import build_model
from tilespec.syntax import apply_suppressions, parse

_BLOCK = re.compile(r"^(`{3,})(tilespec|snapshot)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
_EXPECTED = re.compile(r'[ \t]*# (error|warning|note): (\d+) \[(TS\d{3})\] "([^"\n]*)"')


@dataclass(frozen=True)
class Expected:
    """One expectation: where, which code, and a part of the message."""

    severity: str
    line: int
    column: int
    code: str
    part: str


@dataclass(frozen=True)
class Case:
    """One spec block, without the expectations in its text."""

    path: Path
    line: int
    text: str
    expected: tuple[Expected, ...]
    snapshot: str | None


def cases_in(path: Path) -> list[Case]:
    """Read the cases of a file."""
    content = path.read_text(encoding="utf-8")
    found: list[Case] = []
    for match in _BLOCK.finditer(content):
        body = match[3]
        if match[2] == "snapshot":
            last = found.pop()
            found.append(Case(last.path, last.line, last.text, last.expected, body))
            continue
        lines: list[str] = []
        expected: list[Expected] = []
        for number, line in enumerate(body.split("\n"), 1):
            for each in _EXPECTED.finditer(line):
                column = int(each[2])
                expected.append(Expected(each[1], number if column else 0, column, each[3], each[4]))
            lines.append(_EXPECTED.sub("", line))
        found.append(
            Case(path, content.count("\n", 0, match.start()) + 1, "\n".join(lines), tuple(expected), None)
        )
    return found


def check(text: str) -> list[Diagnostic]:
    """Return what the stages without torch find in a text."""
    tree, findings = parse(SourceText("case.tilespec", text))
    _, more = build_model(tree)
    return apply_suppressions(tree, sorted(findings + more, key=lambda finding: finding.sort_key))


def place(finding: Diagnostic) -> tuple[int, int]:
    """Return line and column of a finding; zeros when it is about the whole file."""
    return (0, 0) if finding.span is None else finding.source.position(finding.span.start)
