"""Apply the replacements of findings to the text that they are about."""

from __future__ import annotations

from collections.abc import Sequence

from tilespec.diagnostics import Diagnostic, SourceText

__all__ = ["apply_fixes"]


def apply_fixes(source: SourceText, findings: Sequence[Diagnostic], *, unsafe: bool) -> tuple[str, int]:
    """Return the text with every fix that doesn't overlap one before it, and how many there were.

    Guesses are left out unless `unsafe` is set.
    """
    pieces: list[str] = []
    position = applied = 0
    for item in sorted(findings, key=lambda each: each.sort_key):
        span = item.span
        if item.replacement is None or span is None or item.source.path != source.path:
            continue
        if (item.guessed and not unsafe) or span.start < position:
            continue
        pieces += [source.text[position : span.start], item.replacement]
        position = span.end
        applied += 1
    return "".join([*pieces, source.text[position:]]), applied
