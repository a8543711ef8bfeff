"""Arithmetic, comparison and selection, elementwise; a result is rounded to its dtype after each operation."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import torch

from tilespec.interpret import state
from tilespec.interpret.convert import (
    DIRECTED,
    DIVISION,
    SIGN,
    Operand,
    Tensors,
    astype,
    both_constant,
    check_options,
    check_shapes,
    fold,
    meet,
    on_unsigned,
    on_whole,
    refuse_bool,
    require_arithmetic,
    require_device,
    strict,
    to_float,
)
from tilespec.interpret.dtypes import BOOL, INT32, UINT64, fits
from tilespec.interpret.errors import TileInternalError, TileTypeError
from tilespec.interpret.tiles import Scalar, Tile, Value, make


def _ring(name: str, on_ints: Callable[[int, int], int], on_tensors: Tensors) -> Callable[..., Any]:
    def operation(
        x: Operand, y: Operand, /, *, rounding_mode: object = None, flush_to_zero: bool = False
    ) -> Any:  # noqa: ANN401 - a number for two constants
        if type(x) is not Tile:
            quick = on_whole(x, y, on_ints)
            if quick is not None:
                return quick
            if both_constant(x, y):
                require_device(name)
                return on_ints(x, y)
        left, right, dtype, poison = meet(x, y, name)
        require_arithmetic(dtype, name)
        refuse_bool(dtype, name)
        if rounding_mode is not None or flush_to_zero:
            check_options(dtype, name, rounding_mode, flush_to_zero=flush_to_zero, modes=DIRECTED)
        return make(fold(on_tensors(left, right), dtype), dtype, poison)

    operation.__name__ = name
    return operation


add = _ring("add", lambda a, b: a + b, torch.add)
sub = _ring("sub", lambda a, b: a - b, torch.sub)
mul = _ring("mul", lambda a, b: a * b, torch.mul)


def truediv(x: Operand, y: Operand, /, *, rounding_mode: object = None, flush_to_zero: bool = False) -> Any:  # noqa: ANN401 - a number for two constants
    """Divide; two integers give float32."""
    if both_constant(x, y):
        require_device("truediv")
        return x / y
    left, right, dtype, poison = meet(x, y, "truediv")
    require_arithmetic(dtype, "truediv")
    left, result = to_float(left, dtype)
    right, _ = to_float(right, dtype)
    if rounding_mode is not None or flush_to_zero:
        check_options(result, "truediv", rounding_mode, flush_to_zero=flush_to_zero, modes=DIVISION)
    return make(torch.div(left, right), result, poison)


def _quotient(
    name: str, on_ints: Callable[[int, int], int], on_floats: Tensors, on_tensors: Tensors
) -> Callable[..., Any]:
    def operation(x: Operand, y: Operand, /) -> Any:  # noqa: ANN401 - a number for two constants
        divisor = y.value if type(y) is Scalar else y
        if not isinstance(y, Tile) and divisor != 0:
            quick = on_whole(x, y, on_ints)
            if quick is not None:
                return quick
        if both_constant(x, y):
            if state.current is None or y != 0:
                return on_ints(x, y)
            x = strict(x, name)
        left, right, dtype, poison = meet(x, y, name)
        require_arithmetic(dtype, name)
        refuse_bool(dtype, name)
        if dtype.is_float:
            return make(on_floats(left, right), dtype, poison)
        empty = right == 0
        if empty.any():  # undefined on the machine
            right = torch.where(empty, 1, right)
            poison = empty if poison is None else poison | empty
        if dtype is UINT64:
            return make(
                on_unsigned(left, right, lambda a, b: a // b if name == "floordiv" else a % b), dtype, poison
            )
        return make(on_tensors(left, right), dtype, poison)

    operation.__name__ = name
    return operation


floordiv = _quotient(
    "floordiv",
    lambda a, b: a // b,
    lambda a, b: torch.floor(torch.div(a, b)),
    lambda a, b: torch.div(a, b, rounding_mode="floor"),
)
mod = _quotient("mod", lambda a, b: a % b, torch.remainder, torch.remainder)


def divmod_(x: Operand, y: Operand, /) -> tuple[Any, Any]:
    """Return quotient and remainder of integers."""
    if any(isinstance(each, float) or (isinstance(each, Value) and each.dtype.is_float) for each in (x, y)):
        msg = "divmod() expects integers"
        raise TileTypeError(msg)
    return floordiv(x, y), mod(x, y)


def cdiv(x: Operand, y: Operand, /) -> Any:  # noqa: ANN401 - a number on the host, a value on the device
    """Divide rounding up; works on the host too."""
    for each in (x, y):
        if isinstance(each, float) or (isinstance(each, Value) and not each.dtype.is_integral):
            msg = "cdiv() expects integers"
            raise TileTypeError(msg)
    if both_constant(x, y):
        return -(-x // y)
    quick = None if isinstance(y, Tile) else on_whole(x, y, lambda a, b: -(-a // b) if b else 0)
    if quick is not None and _number(y):
        return quick
    down, rest = floordiv(x, y), mod(x, y)
    return add(down, astype(not_equal(rest, 0), down.dtype))


def _number(y: Operand) -> Operand:
    return y.value if isinstance(y, Scalar) else y


def pow_(x: Operand, y: Operand, /) -> Any:  # noqa: ANN401 - a number when both are
    """Raise to a power; a runtime integer base has no implementation in the compiler."""
    if both_constant(x, y):
        require_device("pow")
        return x**y
    base = strict(x, "pow")
    whole = isinstance(y, int) or (isinstance(y, Value) and y.dtype.is_integral)
    if base.dtype.is_integral and whole:
        msg = "Missing binary arithmetic implementation for pow, int"
        raise TileInternalError(msg)
    left, right, dtype, poison = meet(x, y, "pow")
    require_arithmetic(dtype, "pow")
    return make(torch.pow(left, right), dtype, poison)


def _comparison(name: str, function: Tensors, on_numbers: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    def operation(x: Operand, y: Operand, /) -> Any:  # noqa: ANN401 - a number for two constants
        if type(x) is Scalar and not x.poisoned:
            if type(y) is Scalar and y.dtype is x.dtype and not y.poisoned:
                return Scalar(on_numbers(x.value, y.value), BOOL)
            if type(y) is int and x.dtype.is_integral and fits(y, x.dtype):
                return Scalar(on_numbers(x.value, y), BOOL)
        if both_constant(x, y):
            require_device(name)
            return on_numbers(x, y)
        left, right, dtype, poison = meet(x, y, name)
        require_arithmetic(dtype, name)
        if dtype is UINT64:
            left, right = left ^ SIGN, right ^ SIGN
        return make(function(left, right), BOOL, poison)

    operation.__name__ = name
    return operation


equal = _comparison("equal", torch.eq, lambda a, b: a == b)
not_equal = _comparison("not_equal", torch.ne, lambda a, b: a != b)
less = _comparison("less", torch.lt, lambda a, b: a < b)
less_equal = _comparison("less_equal", torch.le, lambda a, b: a <= b)
greater = _comparison("greater", torch.gt, lambda a, b: a > b)
greater_equal = _comparison("greater_equal", torch.ge, lambda a, b: a >= b)


def _extremum(name: str, dropping: Tensors, keeping: Tensors) -> Callable[..., Any]:
    def operation(
        x: Operand, y: Operand, /, *, flush_to_zero: bool = False, propagate_nan: bool = False
    ) -> Any:  # noqa: ANN401 - a number for two constants
        quick = on_whole(x, y, builtins.max if name == "maximum" else builtins.min)
        if quick is not None:
            return quick
        if both_constant(x, y):
            require_device(name)
            return builtins.max(x, y) if name == "maximum" else builtins.min(x, y)
        left, right, dtype, poison = meet(x, y, name)
        require_arithmetic(dtype, name)
        refuse_bool(dtype, name)
        if flush_to_zero:
            check_options(dtype, name, None, flush_to_zero=True, modes=DIRECTED)
        if dtype is UINT64:
            return make(keeping(left ^ SIGN, right ^ SIGN) ^ SIGN, dtype, poison)
        function = dropping if dtype.is_float and not propagate_nan else keeping
        return make(function(left, right), dtype, poison)

    operation.__name__ = name
    return operation


maximum = _extremum("maximum", torch.fmax, torch.maximum)
minimum = _extremum("minimum", torch.fmin, torch.minimum)


def where(cond: Operand, x: Operand, y: Operand, /) -> Value:
    """Choose elementwise; both sides have been evaluated, poison counts only where it is chosen."""
    condition = astype(strict(cond, "where"), BOOL)
    if isinstance(x, Value) and isinstance(y, Value) and x.dtype is y.dtype:
        left, right, dtype = x.data, y.data, x.dtype
    else:
        left, right, dtype, _ = meet(x, y, "where")
    for each in (x, y):
        if isinstance(each, Value) and each.shape != condition.shape:
            check_shapes(condition, each)
    data = torch.where(condition.data, left, right)
    marks = [each.poison if isinstance(each, Value) else None for each in (x, y)]
    poison = condition.poison
    if marks != [None, None]:
        clean = torch.zeros((), dtype=torch.bool)
        on_true, on_false = (clean if mark is None else mark for mark in marks)
        chosen = torch.where(condition.data, on_true, on_false)
        if chosen.any():
            poison = chosen if poison is None else poison | chosen
    return make(data, dtype, poison)


def negative(x: Operand, /) -> Any:  # noqa: ANN401 - a number for a constant
    """Change the sign; a bool becomes int32."""
    if not isinstance(x, Value):
        return -x
    if x.dtype is BOOL:
        x = astype(x, INT32)
    require_arithmetic(x.dtype, "negative")
    return make(fold(torch.neg(x.data), x.dtype), x.dtype, x.poison)


def abs_(x: Operand, /) -> Any:  # noqa: ANN401 - a number for a constant
    """Drop the sign."""
    if not isinstance(x, Value):
        return builtins.abs(x)
    require_arithmetic(x.dtype, "abs")
    if x.dtype.kind in ("uint", "bool"):
        return x
    return make(torch.abs(x.data), x.dtype, x.poison)
