"""What a trace assumed about sizes: the assumptions that sizes of the file can break."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import sympy  # type: ignore[import-untyped]

from tilespec.model.dims import Expr
from tilespec.reference.sizes import SizeSpace
from tilespec.reference.symbols import NotExpressibleError, SymbolTable

__all__ = ["restrictions"]

_RELATIONS: dict[type[sympy.Basic], tuple[str, Callable[[int, int], bool]]] = {
    sympy.Eq: ("==", lambda one, other: one == other),
    sympy.Ne: ("!=", lambda one, other: one != other),
    sympy.Lt: ("<", lambda one, other: one < other),
    sympy.Le: ("<=", lambda one, other: one <= other),
    sympy.Gt: (">", lambda one, other: one > other),
    sympy.Ge: (">=", lambda one, other: one >= other),
}
_SAMPLES = 48


def restrictions(
    conditions: Iterable[sympy.Basic], table: SymbolTable, space: SizeSpace, *, strict: bool = False
) -> list[tuple[str, str]]:
    """Return each condition that some allowed sizes break, as text, with such sizes as text.

    Unless `strict`, only equalities count: torch compares sizes for many reasons of speed and memory layout, but two
    different expressions that it found equal have a meaning. What fails for small sizes is found by trying some.
    """
    scalars = {name: hint for name, hint in table.hints.items() if name not in space.free}
    samples = space.samples(_SAMPLES)
    found: dict[str, str] = {}
    for condition in conditions:
        if not strict and not isinstance(condition, sympy.Eq):
            continue
        if not condition.free_symbols <= table.names.keys():
            continue
        if condition.free_symbols and all(
            table.names[symbol] in scalars for symbol in condition.free_symbols
        ):
            continue  # Decided by a scalar, which is reported as fixed.
        test = _condition(condition, table)
        if test is None:
            continue
        text, holds, symbols = test
        for values in samples:
            if not _holds(holds, {**scalars, **values}):
                shown = sorted(symbols & values.keys())
                found.setdefault(text, ", ".join(f"{name}={values[name]}" for name in shown))
                break
    return list(found.items())


def _holds(test: Callable[[Mapping[str, int]], bool], values: Mapping[str, int]) -> bool:
    try:
        return test(values)
    except (KeyError, ZeroDivisionError):
        return True


def _condition(
    condition: sympy.Basic, table: SymbolTable
) -> tuple[str, Callable[[Mapping[str, int]], bool], frozenset[str]] | None:
    """Return a condition as text, as a test of sizes, and the symbols in it; None when it is none on integers."""
    if isinstance(condition, sympy.Not):
        inner = _condition(condition.args[0], table)
        return None if inner is None else (f"not ({inner[0]})", lambda values: not inner[1](values), inner[2])
    if isinstance(condition, sympy.And | sympy.Or):
        parts = [_condition(part, table) for part in condition.args]
        known = [part for part in parts if part is not None]
        if len(known) != len(parts):
            return None
        every = isinstance(condition, sympy.And)
        text = (" and " if every else " or ").join(part[0] for part in known)
        symbols = frozenset().union(*(part[2] for part in known))
        return text, lambda values: (all if every else any)(part[1](values) for part in known), symbols
    for kind, (sign, relation) in _RELATIONS.items():
        if isinstance(condition, kind):
            try:
                left, right = (table.expr(side) for side in condition.args)
            except NotExpressibleError:
                return None
            return _relation(left, sign, right, relation)
    return None


def _relation(
    left: Expr, sign: str, right: Expr, relation: Callable[[int, int], bool]
) -> tuple[str, Callable[[Mapping[str, int]], bool], frozenset[str]]:
    return (
        f"{left} {sign} {right}",
        lambda values: relation(left.evaluate(values), right.evaluate(values)),
        left.symbols | right.symbols,
    )
