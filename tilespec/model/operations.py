"""The operation registry: the names that `Operations` may list, as data.

A name stands for a pattern of core ATen ops. `patterns` are alternatives; one of them has to be performed. Inside a
pattern every entry has to be there, and an entry may itself name alternatives with `|`. So `layer_norm` is satisfied by
`native_layer_norm` and by mean, variance and a root written out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from tilespec.model.operation_table import TABLE
from tilespec.syntax.names import closest

__all__ = ["OPERATIONS", "OperationEntry", "find_operation", "normalise_operation", "suggest_operation"]


@dataclass(frozen=True, slots=True)
class OperationEntry:
    """One operation: canonical name, other names, ATen patterns, its formula in words of a reference."""

    name: str
    aliases: tuple[str, ...]
    patterns: tuple[tuple[tuple[str, ...], ...], ...]
    formula: str

    def satisfied_by(self, ops: frozenset[str]) -> bool:
        """Whether these ATen base names (`mm`, `gelu`) contain one of the patterns."""
        return any(all(any(op in ops for op in entry) for entry in pattern) for pattern in self.patterns)

    @property
    def signature(self) -> str:
        """The name with the operands of its formula: `layer_norm(x, shape, weight, bias, eps)`."""
        tree = ast.parse(self.formula, mode="eval")
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        names = [
            (node.lineno, node.col_offset, node.id)
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and id(node) not in called and node.id not in {"F", "torch"}
        ]
        return f"{self.name}({', '.join(dict.fromkeys(name for _, _, name in sorted(names)))})"

    @property
    def aten(self) -> frozenset[str]:
        """All ATen base names that appear in the patterns."""
        return frozenset(op for pattern in self.patterns for entry in pattern for op in entry)


def _entries() -> Iterator[OperationEntry]:
    for row in TABLE.strip().splitlines():
        if not row or row.startswith("#"):
            continue
        names, patterns, formula = (cell.strip() for cell in row.split(";"))
        name, *aliases = names.split()
        yield OperationEntry(
            name,
            tuple(aliases),
            tuple(
                tuple(tuple(entry.split("|")) for entry in pattern.split("&"))
                for pattern in patterns.replace(" ", "").split("/")
            ),
            formula,
        )


OPERATIONS: Mapping[str, OperationEntry] = MappingProxyType({entry.name: entry for entry in _entries()})
"""Canonical name to entry, in the order of the table."""

_BY_NAME: Mapping[str, OperationEntry] = {
    name: entry for entry in OPERATIONS.values() for name in (entry.name, *entry.aliases)
}
_PREFIXES = (
    "torch.nn.functional.",
    "nn.functional.",
    "torch.special.",
    "torch.",
    "functional.",
    "f.",
    "nn.",
    "aten.",
)


@lru_cache(maxsize=4096)
def normalise_operation(written: str) -> str:
    """Return a name as the registry spells names: lower case, underscores, no module in front."""
    name = written.strip().lower()
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return "_".join(name.replace("-", " ").replace("_", " ").split())


@lru_cache(maxsize=4096)
def find_operation(written: str) -> OperationEntry | None:
    """Return the entry of a name or alias; None when the registry has none."""
    return _BY_NAME.get(normalise_operation(written))


@lru_cache(maxsize=4096)
def suggest_operation(written: str) -> str | None:
    """Return the canonical name that was probably meant."""
    name = normalise_operation(written)
    for candidate in (name.removeprefix("fused_"), name.removesuffix("_op"), name.replace("_", "")):
        if candidate in _BY_NAME:
            return _BY_NAME[candidate].name
    near = closest(name, _BY_NAME)
    return _BY_NAME[near].name if near else None
