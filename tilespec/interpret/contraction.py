"""Matrix products: exact products, accumulation in the accumulator's dtype (16-bit ones are rounded once per call)."""

from __future__ import annotations

from typing import Final

import torch

from tilespec.interpret.convert import Operand, astype
from tilespec.interpret.dtypes import BY_NAME, DType, promote
from tilespec.interpret.errors import TileTypeError
from tilespec.interpret.tiles import Value, make

__all__ = ["matmul", "mma"]

_ACCUMULATORS: Final[dict[str, tuple[str, ...]]] = {
    "float8_e4m3fn": ("float16", "float32"),
    "float8_e5m2": ("float16", "float32"),
    "float16": ("float16", "float32"),
    "bfloat16": ("float32",),
    "float32": ("float32",),
    "tfloat32": ("float32",),
    "float64": ("float64",),
    "int8": ("int32",),
    "uint8": ("int32",),
}
_BYTES: Final = ("int8", "uint8")


def _check_shapes(x: Value, y: Value) -> tuple[int, ...]:
    batched = x.ndim == y.ndim == 3
    if not batched and not x.ndim == y.ndim == 2:
        msg = f"mma() expects two tiles of rank 2 or of rank 3, got {x.shape} and {y.shape}"
        raise TileTypeError(msg)
    if x.shape[-1] != y.shape[-2] or x.shape[:-2] != y.shape[:-2]:
        msg = f"mma(): shapes {x.shape} and {y.shape} don't contract"
        raise TileTypeError(msg)
    return (*x.shape[:-1], y.shape[-1])


def _product(x: Value, y: Value, wide: torch.dtype) -> torch.Tensor:
    return torch.matmul(x.data.to(wide), y.data.to(wide))


def _poison(x: Value, y: Value, acc: Value | None) -> torch.Tensor | None:
    marks = [] if acc is None or acc.poison is None else [acc.poison]
    if x.poison is not None:
        marks.append(x.poison.expand(x.shape).any(-1, keepdim=True))
    if y.poison is not None:
        marks.append(y.poison.expand(y.shape).any(-2, keepdim=True))
    merged = None
    for mark in marks:
        merged = mark if merged is None else merged | mark
    return merged


def mma(x: Operand, y: Operand, /, acc: Operand, *, use_fast_acc: bool = False) -> Value:
    """Return `x @ y + acc` in the dtype of `acc`."""
    for operand in (x, y, acc):
        if not isinstance(operand, Value):
            msg = f"mma() expects tiles, got {type(operand).__name__}"
            raise TileTypeError(msg)
    if x.dtype is not y.dtype and not (x.dtype.name in _BYTES and y.dtype.name in _BYTES):
        msg = f"x and y must have the same dtype unless they are int8/uint8, got {x.dtype} {y.dtype}"
        raise TileTypeError(msg)
    allowed = _ACCUMULATORS.get(x.dtype.name)
    if allowed is None:
        msg = f"Unsupported input dtype {x.dtype}, supported dtypes are {','.join(_ACCUMULATORS)}"
        raise TileTypeError(msg)
    if acc.dtype.name not in allowed:
        msg = f"Unsupported acc dtype {acc.dtype}, supported dtypes are {', '.join(allowed)}"
        raise TileTypeError(msg)
    if use_fast_acc and not x.dtype.name.startswith("float8"):
        msg = f"use_fast_acc is only supported for float8 inputs, got {x.dtype}"
        raise TileTypeError(msg)
    shape = _check_shapes(x, y)
    if acc.shape != shape:
        msg = f"mma(): acc has shape {acc.shape}, expected {shape}"
        raise TileTypeError(msg)
    if acc.dtype.is_integral:
        total = _product(x, y, torch.float64).to(torch.int64) + acc.data.to(torch.int64)
        data = total.to(torch.int32)
    elif acc.dtype.bits == 64:
        data = _product(x, y, torch.float64) + acc.data
    else:
        data = (_product(x, y, torch.float32) + acc.data.to(torch.float32)).to(acc.dtype.storage)
    return make(data, acc.dtype, _poison(x, y, acc))


def matmul(x: Operand, y: Operand, /) -> Value:
    """Return `x @ y`, whose accumulator has the promoted dtype of the operands."""
    if not isinstance(x, Value) or not isinstance(y, Value):
        msg = "matmul() expects two tiles"
        raise TileTypeError(msg)
    dtype: DType = promote(x.dtype, y.dtype)
    if dtype.name not in _ACCUMULATORS:
        msg = f"Unsupported input dtype {dtype}, supported dtypes are {','.join(_ACCUMULATORS)}"
        raise TileTypeError(msg)
    left, right = astype(x, dtype), astype(y, dtype)
    _check_shapes(left, right)
    if dtype.is_integral:
        return make(
            _product(left, right, torch.float64).to(torch.int32), BY_NAME["int32"], _poison(left, right, None)
        )
    wide = torch.float64 if dtype.bits == 64 else torch.float32
    data = _product(left, right, wide).to(dtype.storage)
    return make(data, dtype, _poison(left, right, None))
