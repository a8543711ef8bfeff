"""Operations on bits: logic, shifts, and reading a value as another dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tilespec.interpret.convert import (
    Operand,
    Tensors,
    both_constant,
    fold,
    meet,
    on_unsigned,
    on_whole,
    require_device,
    strict,
)
from tilespec.interpret.dtypes import BOOL, UINT64, DType, from_torch, to_torch
from tilespec.interpret.errors import TileTypeError
from tilespec.interpret.tiles import Scalar, Tile, Value, make


def _bits(name: str, function: Tensors, on_ints: Callable[[int, int], int]) -> Callable[..., Any]:
    shift = name in ("bitwise_lshift", "bitwise_rshift")

    def operation(x: Operand, y: Operand, /) -> Any:  # noqa: ANN401 - a number for two constants
        if not shift:
            quick = on_whole(x, y, on_ints)
            if quick is not None:
                return quick
        if both_constant(x, y):
            require_device(name)
            return on_ints(x, y)
        for each in (x, y):
            bad = isinstance(each, float) or (
                isinstance(each, Value) and each.dtype.kind in ("float", "restricted")
            )
            if bad or (shift and isinstance(each, Value) and each.dtype is BOOL):
                msg = f"{name}() expects integers{'' if shift else ' or bools'}"
                raise TileTypeError(msg)
        if isinstance(x, Value) and isinstance(y, Value) and x.dtype is not y.dtype:
            msg = f"{name}() requires operands of the same dtype, got {x.dtype} and {y.dtype}"
            raise TileTypeError(msg)
        left, right, dtype, poison = meet(x, y, name)
        if shift:
            over = (right < 0) | (right >= dtype.bits)
            if over.any():  # undefined on the machine
                right = torch.where(over, 0, right)
                poison = over if poison is None else poison | over
            if dtype is UINT64 and name == "bitwise_rshift":
                return make(on_unsigned(left, right, lambda a, b: a >> b), dtype, poison)
        return make(fold(function(left, right), dtype), dtype, poison)

    operation.__name__ = name
    return operation


bitwise_and = _bits("bitwise_and", torch.bitwise_and, lambda a, b: a & b)
bitwise_or = _bits("bitwise_or", torch.bitwise_or, lambda a, b: a | b)
bitwise_xor = _bits("bitwise_xor", torch.bitwise_xor, lambda a, b: a ^ b)
bitwise_lshift = _bits("bitwise_lshift", torch.bitwise_left_shift, lambda a, b: a << b)
bitwise_rshift = _bits("bitwise_rshift", torch.bitwise_right_shift, lambda a, b: a >> b)


def bitwise_not(x: Operand, /) -> Any:  # noqa: ANN401 - a number for a constant
    """Invert every bit; logical for bool tiles."""
    if isinstance(x, bool):
        msg = "bitwise_not() does not support a constant bool: write `not`"
        raise TileTypeError(msg)
    if isinstance(x, int):
        return ~x
    value = strict(x, "bitwise_not")
    if not value.dtype.is_integral and value.dtype is not BOOL:
        msg = f"bitwise_not() expects integers or bools, got {value.dtype}"
        raise TileTypeError(msg)
    return make(fold(torch.bitwise_not(value.data), value.dtype), value.dtype, value.poison)


def logical_not(x: Any) -> Any:  # noqa: ANN401 - any Python value
    """Python's `not`, which is elementwise on a tile."""
    if isinstance(x, Tile):
        return make(x.data == 0, BOOL, x.poison)
    return Scalar(not x, BOOL) if isinstance(x, Scalar) else not x


def bitcast(x: Operand, /, dtype: DType) -> Value:
    """Read the bits as another dtype of the same width."""
    value = strict(x, "bitcast")
    if BOOL in (value.dtype, dtype):
        msg = "bitcast() does not support bool"
        raise TileTypeError(msg)
    if value.dtype.bits != dtype.bits:
        msg = f"bitcast() from {value.dtype} to {dtype}: widths differ"
        raise TileTypeError(msg)
    native = to_torch(value.data, value.dtype).contiguous().view(dtype.native or dtype.storage)
    return make(from_torch(native, dtype), dtype, value.poison)
