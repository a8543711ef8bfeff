"""`# tilespec: ignore[TS402] reason`: which findings a file asks to leave out, and where."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tilespec.diagnostics import Diagnostic, Span
from tilespec.rules import syntax as rules
from tilespec.syntax.nodes import FileNode, Name, Suppression
from tilespec.syntax.scanner import Outline, RawField, Section

__all__ = ["apply_suppressions", "collect_suppressions"]

_MARK = re.compile(r"#[ \t]*tilespec[ \t]*:[ \t]*ignore\b[ \t]*(?:\[([^\]\n]*)\])?[ \t]*([^\n]*)")
_CODE = re.compile(r"TS\d{3}")


def collect_suppressions(outline: Outline, report: Callable[..., None]) -> tuple[Suppression, ...]:
    """Find every suppression of a file; one without a code or a reason is a finding."""
    text = outline.source.text
    if "tilespec:" not in text and "tilespec :" not in text:
        return ()
    found: list[Suppression] = []
    for match in _MARK.finditer(text):
        span = Span(match.start(), match.start() + len(match[0].rstrip()))
        codes = tuple(_codes(match))
        wrong = [code for code in codes if not _CODE.fullmatch(code.text)]
        if not codes or wrong:
            report(
                rules.MalformedSuppression(wrong[0].text if wrong else ""), wrong[0].span if wrong else span
            )
        elif not match[2].strip():
            report(rules.SuppressionWithoutReason(codes[0].text), span)
            found.append(Suppression(codes, "", span, _covers(outline, span)))
        else:
            found.append(Suppression(codes, match[2].strip(), span, _covers(outline, span)))
    return tuple(found)


def apply_suppressions(tree: FileNode, findings: list[Diagnostic]) -> list[Diagnostic]:
    """Return the findings that no suppression of the file covers, and one for each that covers none."""
    if not tree.suppressions:
        return findings
    used: set[tuple[Suppression, str]] = set()
    kept: list[Diagnostic] = []
    for finding in findings:
        cover = next((each for each in tree.suppressions if _covered(finding, each)), None)
        if cover is None or finding.source is not tree.source:
            kept.append(finding)
        else:
            used.add((cover, finding.code))
    kept.extend(
        rules.UnusedSuppression(code.text).at(tree.source, code.span)
        for suppression in tree.suppressions
        for code in suppression.codes
        if (suppression, code.text) not in used
    )
    return sorted(kept, key=lambda finding: finding.sort_key)


def _covered(finding: Diagnostic, suppression: Suppression) -> bool:
    if finding.span is None or all(code.text != finding.code for code in suppression.codes):
        return False
    return (
        suppression.covers.start
        <= finding.span.start
        < max(suppression.covers.end, suppression.covers.start + 1)
    )


def _codes(match: re.Match[str]) -> Iterator[Name]:
    position = match.start(1)
    for piece in (match[1] or "").split(","):
        word = piece.strip()
        if word:
            begin = position + piece.index(word)
            yield Name(word, Span(begin, begin + len(word)))
        position += len(piece) + 1


def _covers(outline: Outline, span: Span) -> Span:
    """Return what a suppression covers: its own line, or, alone on a line, the field, kernel or line that follows."""
    source = outline.source
    number, _ = source.position(span.start)
    line_start = source.line_start(number)
    if source.text[line_start : span.start].strip():
        return Span(line_start, span.end)
    for section in outline.sections:
        if section.first > number and section.kind == "kernel" and _directly_before(outline, number, section):
            end = source.line_start(section.last) + len(source.line(section.last))
            return Span(source.line_start(section.first), end)
    following = number + 1
    while following < source.line_count and _passed_over(source.line(following)):
        following += 1
    following = min(following, source.line_count)
    start = source.line_start(following)
    line = Span(start, start + len(source.line(following)))
    for section in outline.sections:
        for raw in section.fields:
            if line.start <= raw.name.start <= line.end:
                return _field_range(raw)
    return line


def _passed_over(line: str) -> bool:
    """Whether a comment also stands before what comes after this line."""
    stripped = line.strip()
    return not stripped or (stripped.startswith("#") and not stripped.startswith("##"))


def _directly_before(outline: Outline, number: int, section: Section) -> bool:
    between = range(number + 1, section.first)
    lines = (outline.source.line(each).strip() for each in between)
    return all(line.startswith("#") or not line or set(line) == {"-"} for line in lines)


def _field_range(raw: RawField) -> Span:
    return Span(raw.name.start, max(raw.end, raw.start))
