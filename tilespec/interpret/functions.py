"""Mathematical functions of one value: integers go to float32, halves are computed in float32 and rounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from tilespec.interpret.convert import (
    PRECISION,
    ROOT,
    Operand,
    Tensors,
    check_options,
    meet,
    refuse_bool,
    require_arithmetic,
    strict,
    to_float,
)
from tilespec.interpret.dtypes import BOOL
from tilespec.interpret.errors import TileTypeError
from tilespec.interpret.tiles import Value, make


def isnan(x: Operand, /) -> Value:
    """Mark NaN elements."""
    value = strict(x, "isnan")
    require_arithmetic(value.dtype, "isnan")
    if not value.dtype.is_float:
        msg = f"isnan(): Unexpected input type {value.dtype}"
        raise TileTypeError(msg)
    return make(torch.isnan(value.data), BOOL, value.poison)


def _function(name: str, function: Tensors, modes: frozenset[str] = frozenset()) -> Callable[..., Any]:
    """Make a mathematical function: integers go to float32, halves are computed in float32 and rounded."""

    def operation(x: Operand, /, *, rounding_mode: object = None, flush_to_zero: bool = False) -> Value:
        value = strict(x, name)
        require_arithmetic(value.dtype, name)
        data, dtype = to_float(value.data, value.dtype)
        if rounding_mode is not None or flush_to_zero:
            check_options(dtype, name, rounding_mode, flush_to_zero=flush_to_zero, modes=modes)
        wide = data.to(torch.float32) if dtype.bits == 16 else data
        return make(function(wide).to(dtype.storage), dtype, value.poison)

    operation.__name__ = name
    return operation


exp = _function("exp", torch.exp, PRECISION)
exp2 = _function("exp2", torch.exp2)
log = _function("log", torch.log)
log2 = _function("log2", torch.log2)
sqrt = _function("sqrt", torch.sqrt, ROOT)
rsqrt = _function("rsqrt", torch.rsqrt)
sin = _function("sin", torch.sin)
cos = _function("cos", torch.cos)
tan = _function("tan", torch.tan)
sinh = _function("sinh", torch.sinh)
cosh = _function("cosh", torch.cosh)
tanh = _function("tanh", torch.tanh, PRECISION)


def atan2(x1: Operand, x2: Operand, /) -> Value:
    """Return the angle of a point given as (y, x)."""
    left, right, dtype, poison = meet(x1, x2, "atan2")
    require_arithmetic(dtype, "atan2")
    refuse_bool(dtype, "atan2")
    left, result = to_float(left, dtype)
    right, _ = to_float(right, dtype)
    return make(torch.atan2(left, right), result, poison)


def _rounding(name: str, function: Tensors, on_number: Callable[[float], int]) -> Callable[..., Any]:
    def operation(x: Operand, /) -> Any:  # noqa: ANN401 - a number for a constant
        if isinstance(x, float):
            return float(on_number(x))
        value = strict(x, name)
        require_arithmetic(value.dtype, name)
        if not value.dtype.is_float:
            msg = f"{name}(): Integer inputs are not supported"
            raise TileTypeError(msg)
        return make(function(value.data), value.dtype, value.poison)

    operation.__name__ = name
    return operation


floor = _rounding("floor", torch.floor, math.floor)
ceil = _rounding("ceil", torch.ceil, math.ceil)
