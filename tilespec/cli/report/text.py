"""Findings for people: the message, the lines it is about, what to do."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from tilespec.diagnostics import Diagnostic, Severity, SourceText, Span

__all__ = ["render", "render_all", "summary"]

_COLOURS = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.NOTE: "36"}
_FRAME = "34"
# A line longer than this is cut around what it is shown for.
_WIDTH = 160


def render_all(findings: Sequence[Diagnostic], *, colour: bool = False) -> str:
    """Render findings in their order, a blank line after each."""
    return "".join(render(item, colour=colour) + "\n" for item in findings)


def render(finding: Diagnostic, *, colour: bool = False) -> str:
    """Render one finding, with its line end.

    Control characters of the source are replaced, so that a file can't send escape sequences to the terminal.
    """
    paint = _Paint(on=colour)
    marks = _marks(finding)
    width = max((len(str(mark.line)) for mark in marks), default=1) + 1
    gutter = " " * width
    bar = paint.frame("|")
    head = paint.severity(finding.severity, f"{finding.severity.value}[{finding.code}]")
    lines = [f"{head}{paint.bold(': ' + _printable(finding.message))}"]
    lines.append(f"{gutter}{paint.frame('-->')} {_printable(_place(finding))}")
    if marks:
        lines.append(f"{gutter} {bar}")
    shown = 0
    for mark in marks:
        text, start, length = _window(finding.source.line(mark.line), mark)
        if mark.line != shown:
            lines.append(f"{paint.frame(f'{mark.line:>{width}} |')} {text}".rstrip())
            shown = mark.line
        underline = (("^" if mark.primary else "-") * length) + (f" {mark.label}" if mark.label else "")
        tone = _COLOURS[finding.severity] if mark.primary else _FRAME
        lines.append(f"{gutter} {bar} {' ' * start}{paint.tone(tone, underline)}")
    remarks = [("note", note) for note in finding.notes]
    if finding.help:
        remarks.append(("help", finding.help))
    remarks.append(("more", f"tilespec explain {finding.code}"))
    for kind, text in remarks:
        first, *rest = [_printable(line) for line in text.splitlines()] or [""]
        lines.append(f"{gutter} {paint.frame('=')} {paint.bold(kind + ':')} {first}")
        lines.extend(f"{gutter}   {' ' * (len(kind) + 1)} {line}".rstrip() for line in rest)
    return "\n".join(lines) + "\n"


def summary(findings: Sequence[Diagnostic], files: int) -> str:
    """Say in one line how much was found in how many files."""
    where = f"{files} file{'' if files == 1 else 's'}"
    counts = []
    for severity in Severity:
        count = sum(1 for item in findings if item.severity is severity)
        if count:
            counts.append(f"{count} {severity.value}{'' if count == 1 else 's'}")
    return f"{', '.join(counts)} in {where}" if counts else f"no findings in {where}"


@dataclass(frozen=True, slots=True)
class _Mark:
    """An underlined stretch of one line; `column` counts from 0."""

    line: int
    column: int
    length: int
    label: str
    primary: bool


@dataclass(frozen=True, slots=True)
class _Paint:
    """Puts text in colour, or leaves it."""

    on: bool

    def tone(self, code: str, text: str) -> str:
        """Use the escape code `code`, bold."""
        return f"\x1b[1;{code}m{text}\x1b[0m" if self.on else text

    def bold(self, text: str) -> str:
        """Make text bold."""
        return f"\x1b[1m{text}\x1b[0m" if self.on else text

    def frame(self, text: str) -> str:
        """Use the colour of line numbers and bars."""
        return self.tone(_FRAME, text)

    def severity(self, severity: Severity, text: str) -> str:
        """Use the colour of a severity."""
        return self.tone(_COLOURS[severity], text)


def _place(finding: Diagnostic) -> str:
    if finding.span is None:
        return finding.source.path
    line, column = finding.source.position(finding.span.start)
    return f"{finding.source.path}:{line}:{column}"


def _marks(finding: Diagnostic) -> list[_Mark]:
    if finding.span is None:
        return []
    marks = [_mark(finding.source, finding.span, finding.label or "", primary=True)]
    marks += [_mark(finding.source, label.span, label.text, primary=False) for label in finding.labels]
    return sorted(marks, key=lambda mark: (mark.line, not mark.primary, mark.column))


def _mark(source: SourceText, span: Span, label: str, *, primary: bool) -> _Mark:
    line, column = source.position(span.start)
    # A span over several lines is underlined to the end of its first.
    room = len(source.line(line)) - (column - 1)
    length = max(1, min(span.end - span.start, room))
    return _Mark(line, column - 1, length, _printable(label), primary)


def _window(line: str, mark: _Mark) -> tuple[str, int, int]:
    """Return the line as shown, and where and how wide the underline is in terminal cells."""
    start = max(0, mark.column - _WIDTH // 3) if len(line) > _WIDTH else 0
    stop = start + _WIDTH
    before = ("…" if start else "") + _printable(line[start : mark.column])
    marked = _printable(line[mark.column : min(mark.column + mark.length, stop)])
    after = _printable(line[mark.column + mark.length : stop]) + ("…" if stop < len(line) else "")
    return before + marked + after, _cells(before), max(1, _cells(marked))


def _printable(text: str) -> str:
    return "".join(
        char if char.isprintable() else (" " if char == "\t" else "\N{REPLACEMENT CHARACTER}")
        for char in text
    )


def _cells(text: str) -> int:
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
