"""The hand-written `## Completeness Check`: lists and mapping lines out of prose."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tilespec.diagnostics import SourceText, Span
from tilespec.syntax.nodes import CompletenessNode, MappingLine, Name
from tilespec.syntax.scanner import RawField, Section

__all__ = ["parse_completeness"]

_NAME = re.compile(r"`?([A-Za-z_][\w.]*(?:[ -][\w.]+)*)`?")
_MAPPING = re.compile(r"([^:\n]+?)[ \t]*(?:->|→|=>|:)[ \t]*([^:\n]+)")
_LONGEST_LINE = 2000
_NONE = {"none", "none.", "[]", "no gaps", "-", "n/a"}


def parse_completeness(source: SourceText, section: Section) -> CompletenessNode:
    """Read the section; what is no list and no mapping line is prose and left alone."""
    operations: tuple[Name, ...] = ()
    mapping: list[MappingLine] = []
    gaps: tuple[Name, ...] | None = None
    for raw in section.fields:
        if raw.key == "Original forward-pass ops":
            operations = tuple(
                name for begin, end in _pieces(source, raw) for name in _names(source.text, begin, end)
            )
        elif raw.key == "Gaps":
            gaps = _gaps(source, raw)
        else:
            mapping.extend(_mapping(source, raw))
    head = section.head or Span(0, 0)
    return CompletenessNode(operations, tuple(mapping), gaps, head)


def _gaps(source: SourceText, raw: RawField) -> tuple[Name, ...]:
    """Read what stands behind `Gaps:`, else in the bullets below; prose after `NONE` says nothing."""
    pieces = [(begin, end) for begin, end in _pieces(source, raw) if source.text[begin:end].strip()]
    if not pieces:
        return ()
    text = source.text[slice(*pieces[0])].strip().strip("*`").lower()
    if text in _NONE or text.startswith(("none ", "none,", "none(")):
        return ()
    return tuple(name for begin, end in pieces for name in _names(source.text, begin, end))


def _pieces(source: SourceText, raw: RawField) -> Iterator[tuple[int, int]]:
    newline = source.text.find("\n", raw.start, raw.end)
    yield raw.start, raw.end if newline < 0 or not raw.items else newline
    yield from raw.items


def _names(text: str, begin: int, end: int) -> Iterator[Name]:
    position = begin
    for piece in re.split(
        r"[,+\n]", re.sub(r"\([^()\n]*\)", lambda match: " " * len(match[0]), text[begin:end])
    ):
        match = _NAME.search(piece)
        if match and not piece.strip(" \t[]`*.\"'-•" + match[1]):
            yield Name(match[1], Span(position + match.start(1), position + match.end(1)))
        position += len(piece) + 1


def _mapping(source: SourceText, raw: RawField) -> Iterator[MappingLine]:
    for begin, end in _pieces(source, raw):
        for entry in _split_entries(source.text, begin, end):
            match = _MAPPING.match(source.text, *entry) if entry[1] - entry[0] <= _LONGEST_LINE else None
            if match is None:
                continue
            left = tuple(_names(source.text, *match.span(1)))
            right = tuple(_names(source.text, *match.span(2)))
            if left and right:
                yield MappingLine(left, right, Span(left[0].span.start, right[-1].span.end))


def _split_entries(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Split `[a -> k, b -> k]` at its commas; `k: a, b` stays whole."""
    piece = text[begin:end]
    arrows = len(re.findall(r"->|→|=>", piece))
    if arrows < 2:
        yield begin, end
        return
    position = begin
    for part in piece.split(","):
        yield position, position + len(part)
        position += len(part) + 1
