"""Text to a syntax tree with spans, and back."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

# Loaded on first use: reading a file whose findings are known needs neither the grammar nor the formatter.
_MODULES = {
    "apply_suppressions": "suppressions",
    "decode_source": "reader",
    "format_source": "formatter",
    "parse": "parser",
    "read_source": "reader",
    "replace_completeness": "formatter",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        message = f"module `{__name__}` has no attribute `{name}`"
        raise AttributeError(message)
    found: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found
