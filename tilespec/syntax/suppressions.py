"""`# tilespec: ignore[TS402] reason`: which findings a file asks to leave out, and where."""

from __future__ import annotations

import itertools
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

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
    cover = _Cover(tree.suppressions)
    used: set[tuple[int, str]] = set()
    kept: list[Diagnostic] = []
    for finding in findings:
        index = cover.of(finding) if finding.source is tree.source else None
        if index is None:
            kept.append(finding)
        else:
            used.add((index, finding.code))
    if complete:
        kept.extend(
            rules.UnusedSuppression(code.text).at(tree.source, code.span)
            for index, suppression in enumerate(tree.suppressions)
            for code in suppression.codes
            if (index, code.text) not in used
        )
    return sorted(kept, key=lambda finding: finding.sort_key)


class _Cover:
    """Suppressions by code, in the order of what they cover."""

    def __init__(self, suppressions: Sequence[Suppression]) -> None:
        ranges: dict[str, list[tuple[int, int, int]]] = {}
        for index, each in enumerate(suppressions):
            begin, end = each.covers.start, max(each.covers.end, each.covers.start + 1)
            for code in dict.fromkeys(code.text for code in each.codes):
                ranges.setdefault(code, []).append((begin, index, end))
        self.ranges = {code: sorted(rows) for code, rows in ranges.items()}
        # How far the ranges up to one reach: behind that, none before it covers anything.
        self.reach = {
            code: list(itertools.accumulate((end for _, _, end in rows), max))
            for code, rows in self.ranges.items()
        }

    def of(self, finding: Diagnostic) -> int | None:
        """Return the number of the suppression that covers a finding, the innermost of several; None without one."""
        rows = self.ranges.get(finding.code)
        if rows is None or finding.span is None:
            return None
        place, reach = finding.span.start, self.reach[finding.code]
        position = bisect_right(rows, (place, sys.maxsize, 0)) - 1
        while position >= 0 and reach[position] > place:
            _, index, end = rows[position]
            if place < end:
                return index
            position -= 1
        return None


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
        self.following: dict[bool, dict[int, int]] = {False: {}, True: {}}

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
        known = self.following[rules]
        passed: list[int] = []
        following = number + 1
        while following < self.source.line_count and following not in known:
            line = self.source.line(following).strip()
            comment = line.startswith("#") and not line.startswith("##")
            if line and not comment and not (rules and set(line) == {"-"}):
                break
            passed.append(following)
            following += 1
        found = known.get(following, min(following, self.source.line_count))
        # Of many suppressions in a row, each would walk over all those below it.
        known.update(dict.fromkeys(passed, found))
        return found
