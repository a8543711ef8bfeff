"""Expressions of a spec as values: dims as `Expr`, scalar defaults and ranges as numbers.

Both are bounded: exponents, number sizes and the count of terms, so that no expression costs more than its text.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tilespec.diagnostics import Span
from tilespec.model.dims import Expr, OpAtom, const, sym
from tilespec.syntax.nodes import Binary, Call, DimNode, Negate, Number, Symbol

__all__ = ["ExpressionFault", "to_expr", "to_number"]

_LARGEST = 2**63 - 1
_MOST_TERMS = 256
_LARGEST_POWER = 8
_DEEPEST = 6


_NUMBER_OPERATORS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_SIZE_OPERATORS: Mapping[str, Callable[[Expr, Expr], Expr]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}


@dataclass(frozen=True, slots=True)
class ExpressionFault(Exception):  # noqa: N818 - it carries a finding to the builder, it is no crash
    """An expression has no value: `reason` completes the sentence `the expression ...`."""

    span: Span
    reason: str
    advice: str | None = None


def to_expr(node: DimNode) -> Expr:
    """Return the size that a dim expression states.

    Raises:
        ExpressionFault: it isn't an integer expression, divides by zero, or is too large.
    """
    if isinstance(node, Symbol):
        return sym(node.name)
    if isinstance(node, Number):
        return _whole(node)
    if isinstance(node, Negate):
        return -to_expr(node.operand)
    if isinstance(node, Call):
        return _call(node)
    return _binary(node)


def _whole(node: Number) -> Expr:
    if not isinstance(node.value, int):
        raise ExpressionFault(node.span, "is no whole number", "sizes are whole numbers")
    if node.value > _LARGEST:
        raise ExpressionFault(node.span, f"has a number of {len(node.text)} digits", "sizes fit in 64 bits")
    return const(node.value)


def _call(node: Call) -> Expr:
    values = [to_expr(argument) for argument in node.arguments]
    if node.function == "ceildiv":
        if len(values) != 2:
            raise ExpressionFault(node.span, f"gives `ceildiv` {len(values)} values", "write `ceildiv(a, b)`")
        if values[1].value == 0:
            raise ExpressionFault(node.arguments[1].span, "divides by zero")
        _check_depth(node, *values)
        return values[0].ceildiv(values[1])
    _check_depth(node, *values)
    result = values[0]
    for value in values[1:]:
        result = result.minimum(value) if node.function == "min" else result.maximum(value)
    return _checked(result, node)


def _binary(node: Binary) -> Expr:
    if node.op == "/":
        raise ExpressionFault(node.span, "uses `/`", "write `//`, which rounds down")
    left, right = to_expr(node.left), to_expr(node.right)
    if node.op in {"//", "%"} and right.value == 0:
        raise ExpressionFault(node.right.span, "divides by zero")
    if node.op in {"//", "%"}:
        _check_depth(node, left, right)
    if node.op == "**":
        power = right.value
        if power is None or not 0 <= power <= _LARGEST_POWER:
            raise ExpressionFault(
                node.right.span, f"has the exponent `{right}`", f"exponents are 0 to {_LARGEST_POWER}"
            )
        result = const(1)
        for _ in range(power):
            if len(result.terms) * len(left.terms) > _MOST_TERMS:
                raise ExpressionFault(node.span, "has too many terms")
            result = _checked(result * left, node)
        return result
    if node.op == "*" and len(left.terms) * len(right.terms) > _MOST_TERMS:
        raise ExpressionFault(node.span, "has too many terms")
    return _checked(_SIZE_OPERATORS[node.op](left, right), node)


def _check_depth(node: DimNode, *values: Expr) -> None:
    """Refuse divisions, minima and maxima inside each other beyond what a formula needs: their cost doubles each time."""
    if max(map(_depth, values)) >= _DEEPEST:
        advice = f"nest `//`, `%`, `min` and `max` at most {_DEEPEST} deep"
        raise ExpressionFault(node.span, "is nested too deeply", advice)


def _depth(value: Expr) -> int:
    atoms = [atom for monomial, _ in value.terms for atom in monomial if isinstance(atom, OpAtom)]
    return max((1 + max(_depth(atom.left), _depth(atom.right)) for atom in atoms), default=0)


def _checked(value: Expr, node: DimNode) -> Expr:
    if len(value.terms) > _MOST_TERMS:
        raise ExpressionFault(node.span, "has too many terms")
    if any(abs(coefficient) > _LARGEST for _, coefficient in value.terms):
        raise ExpressionFault(node.span, "has a number that doesn't fit in 64 bits")
    return value


def to_number(node: DimNode) -> float | int:
    """Return the number that a scalar default or a range end states; `inf` and `nan` are numbers.

    Raises:
        ExpressionFault: a name stands in it, or it has no finite value.
    """
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Negate):
        return -to_number(node.operand)
    if isinstance(node, Symbol):
        if node.name.lower() in {"inf", "nan", "infinity"}:
            return float(node.name)
        raise ExpressionFault(node.span, f"uses the name `{node.name}`", "write a number")
    if isinstance(node, Call):
        values = [to_number(argument) for argument in node.arguments]
        if node.function == "ceildiv":
            raise ExpressionFault(node.span, "uses `ceildiv`", "write a number")
        return min(values) if node.function == "min" else max(values)
    return _number_binary(node)


def _number_binary(node: Binary) -> float | int:
    left, right = to_number(node.left), to_number(node.right)
    try:
        if node.op == "**":
            if abs(right) > 64 or abs(left) > 1e6:
                raise ExpressionFault(node.span, "has a power that is too large", "write the number")
            result = left**right
        else:
            result = _NUMBER_OPERATORS[node.op](left, right)
    except (ZeroDivisionError, OverflowError) as error:
        raise ExpressionFault(node.span, "has no finite value") from error
    if isinstance(result, complex) or abs(result) > 1e300:
        raise ExpressionFault(node.span, "has no finite value")
    return result
