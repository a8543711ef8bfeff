"""Pieces of generated Python: expressions with their precedence, and nested blocks of lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

__all__ = ["ATOM", "Block", "Text", "atom", "binary", "call", "prefix", "tuple_text"]

ATOM = 100
_UNARY = 60
_PRECEDENCE = {
    "**": 70,
    "*": 50,
    "/": 50,
    "//": 50,
    "%": 50,
    "+": 40,
    "-": 40,
    "<<": 36,
    ">>": 36,
    "&": 34,
    "^": 32,
    "|": 30,
    "==": 20,
    "!=": 20,
    "<": 20,
    "<=": 20,
    ">": 20,
    ">=": 20,
}


@dataclass(frozen=True, slots=True)
class Text:
    """An expression and how tightly it binds; `shape` is that of the tile, () for a scalar."""

    code: str
    precedence: int = ATOM

    def at_least(self, precedence: int) -> str:
        """Return the code, in parentheses when it binds less tightly than `precedence`."""
        return self.code if self.precedence >= precedence else f"({self.code})"


def atom(code: str) -> Text:
    """Return a name, a literal or a call."""
    return Text(code)


def binary(operator: str, left: Text, right: Text) -> Text:
    """Return `left operator right`."""
    level = _PRECEDENCE[operator]
    # `a - (b - c)`, `a * (b // c)` and chained comparisons need their parentheses. `a + (b + c)` does too: in floating
    # point it isn't `a + b + c`.
    right_level = level if operator in {"&", "|", "^"} else level + 1
    left_level = level + 1 if level <= _PRECEDENCE["=="] or operator == "**" else level
    return Text(f"{left.at_least(left_level)} {operator} {right.at_least(right_level)}", level)


def prefix(operator: str, value: Text) -> Text:
    """Return `operator value`."""
    return Text(f"{operator}{value.at_least(_UNARY)}", _UNARY)


def call(function: str, *arguments: Text | str) -> Text:
    """Return `function(arguments)`."""
    return atom(
        f"{function}({', '.join(item if isinstance(item, str) else item.code for item in arguments)})"
    )


def tuple_text(items: Sequence[str]) -> str:
    """Return a tuple of expressions."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


@dataclass
class Block:
    """Lines of code; an entry is a line or an indented block."""

    entries: list[str | Block] = field(default_factory=list)

    def line(self, code: str) -> None:
        """Append one line."""
        self.entries.append(code)

    def nest(self, header: str) -> Block:
        """Append `header` and return the block indented under it."""
        self.entries.append(header)
        inner = Block()
        self.entries.append(inner)
        return inner

    def lines(self, depth: int = 0) -> Iterator[str]:
        """Yield the lines with their indentation."""
        for entry in self.entries:
            if isinstance(entry, Block):
                yield from entry.lines(depth + 1)
            else:
                yield "    " * depth + entry if entry else ""
