"""Text to a syntax tree with spans, and back."""

from __future__ import annotations

from tilespec.syntax.formatter import format_source, replace_completeness
from tilespec.syntax.parser import parse
from tilespec.syntax.reader import decode_source, read_source
from tilespec.syntax.suppressions import apply_suppressions

__all__ = [
    "apply_suppressions",
    "decode_source",
    "format_source",
    "parse",
    "read_source",
    "replace_completeness",
]
