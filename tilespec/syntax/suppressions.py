"""`# tilespec: ignore[TS402] reason`: which findings a file asks to leave out, and where."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tilespec.diagnostics import Diagnostic, Span
from tilespec.rules import syntax as rules
from tilespec.syntax.nodes import FileNode, Name, Suppression
from tilespec.syntax.scanner import Outline

__all__ = ["apply_suppressions", "collect_suppressions"]

_MARK = re.compile(r"#[ \t]*tilespec[ \t]*:[ \t]*ignore\b[ \t]*(?:\[([^\]\n]*)\])?[ \t]*([^\n]*)")
_CODE = re.compile(r"TS\d{3}")


def collect_suppressions(outline: Outline, report: Callable[..., None]) -> tuple[Suppression, ...]:
    """Find every suppression of a file; one without a code or a reason is a finding."""
    text = outline.source.text
    if "tilespec:" not in text and "tilespec :" not in text:
        return ()
    places = _Places(outline)
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
            found.append(Suppression(codes, "", span, places.after(span)))
        else:
            found.append(Suppression(codes, match[2].strip(), span, places.after(span)))
    return tuple(found)


def apply_suppressions(
    tree: FileNode, findings: list[Diagnostic], *, complete: bool = True
) -> list[Diagnostic]:
    """Return the findings that no suppression of the file covers, and one for each that covers none.

    Where not all stages ran, findings are not `complete`, and a suppression that covers none may yet be needed.
    """
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
    unused = tree.suppressions if complete else ()
    kept.extend(
        rules.UnusedSuppression(code.text).at(tree.source, code.span)
        for suppression in unused
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


class _Places:
    """Which field or kernel starts on which line."""

    def __init__(self, outline: Outline) -> None:
        self.source = outline.source
        self.kernels = {section.first: section for section in outline.sections if section.kind == "kernel"}
        self.fields = {
            self.source.position(raw.name.start)[0]: raw
            for section in outline.sections
            for raw in section.fields
        }

    def after(self, span: Span) -> Span:
        """Return what a suppression covers: its own line, or, alone on a line, the kernel, field or line after it."""
        source = self.source
        number, _ = source.position(span.start)
        line_start = source.line_start(number)
        if source.text[line_start : span.start].strip():
            return Span(line_start, span.end)
        following = self.next_line(number, rules=False)
        kernel = self.kernels.get(self.next_line(number, rules=True))
        if kernel is not None:
            end = source.line_start(kernel.last) + len(source.line(kernel.last))
            return Span(source.line_start(kernel.first), end)
        raw = self.fields.get(following)
        if raw is not None:
            return Span(raw.name.start, max(raw.end, raw.name.end))
        start = source.line_start(following)
        return Span(start, start + len(source.line(following)))

    def next_line(self, number: int, *, rules: bool) -> int:
        """Return the next line that is neither blank nor a comment nor, if asked for, a rule."""
        following = number + 1
        while following < self.source.line_count:
            line = self.source.line(following).strip()
            comment = line.startswith("#") and not line.startswith("##")
            if line and not comment and not (rules and set(line) == {"-"}):
                break
            following += 1
        return min(following, self.source.line_count)
