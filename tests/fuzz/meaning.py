"""What a file means, whatever its layout."""

from __future__ import annotations

import dataclasses
import re

from tilespec.syntax.names import DTYPE_ALIASES

_PLACES = {"span", "source", "covers", "first_line", "last_line", "indent", "suppressions"}


def meaning(node: object) -> object:
    """Return a tree without places, with the spellings that the formatter makes one."""
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        fields = {field.name: meaning(getattr(node, field.name)) for field in dataclasses.fields(node)}
        return type(node).__name__, tuple(
            (name, value) for name, value in fields.items() if name not in _PLACES
        )
    if isinstance(node, tuple):
        return tuple(meaning(each) for each in node)
    if isinstance(node, str):
        text = node.removeprefix("torch.")
        text = {"true": "True", "false": "False"}.get(text.lower(), DTYPE_ALIASES.get(text.lower(), text))
        return re.sub(r"\n\s*", "\n", text)
    return () if node is None else node
