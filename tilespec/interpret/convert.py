"""Operands: from constants to strict values, from two dtypes to one, and what options a dtype allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import torch

from tilespec.interpret import state
from tilespec.interpret.dtypes import (
    BOOL,
    FLOAT32,
    TFLOAT32,
    UINT64,
    DType,
    constant_of,
    default_for,
    fits,
    promote,
    promote_constant,
    round_tf32,
    wrap,
)
from tilespec.interpret.errors import NotSupportedError, TileTypeError, TileValueError
from tilespec.interpret.tiles import Scalar, Value, make, merge_poison

Operand: TypeAlias = Any
"""A tile, a scalar or a constant. Device code may pass anything, so every operation checks."""
Tensors = Callable[..., torch.Tensor]
SIGN: Final = -(1 << 63)


def require_device(name: str) -> None:
    """Refuse a device operation on the host."""
    if state.current is None:
        msg = f"{name}(): Device functions can only be called from device code"
        raise RuntimeError(msg)


def strict(value: Any, name: str = "operation") -> Value:  # noqa: ANN401 - whatever the kernel passed
    """Return `value` as a tile or scalar; a constant takes its default dtype."""
    if isinstance(value, Value):
        return value
    if isinstance(value, (bool, int, float)):
        require_device(name)
        dtype = default_for(value)
        return Scalar(constant_of(value, dtype).item() if dtype is FLOAT32 else value, dtype)
    msg = f"{name}() expects a tile or a scalar, got {type(value).__name__}"
    raise TileTypeError(msg)


def cast_data(data: torch.Tensor, source: DType, target: DType) -> torch.Tensor:
    """Convert held elements from one dtype to another, as `astype` does."""
    if source is target:
        return data
    if target is BOOL:
        return data != 0
    if source is UINT64 and not target.is_integral:
        halves = (data >> 1 & ~SIGN).to(torch.float64) * 2.0 + (data & 1).to(torch.float64)
        data, source = halves, FLOAT32
    if target.is_integral:
        if target.kind == "uint" and target.bits in (16, 32):
            return data.to(torch.int64) & ((1 << target.bits) - 1)
        if source.kind in ("float", "restricted"):
            return data.to(torch.float64).to(torch.int64).to(target.storage)
        return data.to(target.storage)
    if source.storage.itemsize == 1 and source.kind == "restricted":
        data = data.to(torch.float32)
    if target is TFLOAT32:
        return round_tf32(data.to(torch.float32))
    if (
        target.name in _SATURATING
    ):  # the machine's conversion to these has no other mode; torch gives NaN or infinity
        largest = torch.finfo(target.storage).max
        return data.to(torch.float32).clamp(-largest, largest).to(target.storage)
    return data.to(target.storage)


def cast(value: Value, dtype: DType) -> torch.Tensor:
    """Return the elements of `value` in `dtype`."""
    return value.data if value.dtype is dtype else cast_data(value.data, value.dtype, dtype)


def astype(x: Operand, dtype: Operand, /, *, rounding_mode: object = None) -> Value:  # noqa: ARG001 - RN only
    """Convert to `dtype`; integers that a float can't reach are undetermined."""
    if not isinstance(dtype, DType):
        msg = f"astype() expects a dtype, got {type(dtype).__name__}"
        raise TileTypeError(msg)
    if not isinstance(x, Value):
        require_device("astype")
        if isinstance(x, float) and dtype.is_integral:
            x = int(x)
        return make(constant_of(x, dtype), dtype)
    if x.dtype is dtype:
        return x
    poison = x.poison
    if dtype.is_integral and x.dtype.kind in ("float", "restricted"):
        wide = x.data.to(torch.float64)
        lost = ~((wide > float(dtype.low) - 1.0) & (wide < float(dtype.high) + 1.0))
        if lost.any():
            poison = lost if poison is None else poison | lost
            return make(cast_data(torch.where(lost, 0.0, wide), FLOAT32, dtype), dtype, poison)
    return make(cast(x, dtype), dtype, poison)


def check_shapes(x: Value, y: Value) -> None:
    """Refuse shapes that don't broadcast."""
    for left, right in zip(reversed(x.shape), reversed(y.shape), strict=False):
        if left != right and 1 not in (left, right):
            msg = f"Shapes {x.shape} and {y.shape} are not broadcastable"
            raise TileTypeError(msg)


def meet(x: Operand, y: Operand, name: str) -> tuple[torch.Tensor, torch.Tensor, DType, torch.Tensor | None]:
    """Bring two operands to their common dtype; return both, the dtype and the merged poison."""
    if isinstance(x, Value):
        if isinstance(y, Value):
            left, right = x.data, y.data
            if left.shape != right.shape:
                check_shapes(x, y)
            if x.dtype is y.dtype:
                return left, right, x.dtype, merge_poison(x, y)
            dtype = promote(x.dtype, y.dtype)
            return (
                cast_data(left, x.dtype, dtype),
                cast_data(right, y.dtype, dtype),
                dtype,
                merge_poison(x, y),
            )
        if isinstance(y, (bool, int, float)):
            dtype = promote_constant(x.dtype, y)
            return cast(x, dtype), constant_of(y, dtype), dtype, x.poison
    elif isinstance(y, Value):
        if isinstance(x, (bool, int, float)):
            dtype = promote_constant(y.dtype, x)
            return constant_of(x, dtype), cast(y, dtype), dtype, y.poison
    elif isinstance(x, (bool, int, float)) and isinstance(y, (bool, int, float)):
        alone = strict(x, name)
        dtype = promote_constant(alone.dtype, y)
        return cast(alone, dtype), constant_of(y, dtype), dtype, None
    other = y if isinstance(x, (Value, bool, int, float)) else x
    msg = f"{name}() expects tiles or scalars, got {type(other).__name__}"
    raise TileTypeError(msg)


def require_arithmetic(dtype: DType, name: str) -> None:
    """Refuse dtypes that are only stored and multiplied."""
    if dtype.kind == "restricted":
        msg = f"{name}() does not support {dtype}: use astype() first"
        raise TileTypeError(msg)


def refuse_bool(dtype: DType, name: str) -> None:
    """Refuse arithmetic between two bools."""
    if dtype is BOOL:
        msg = f"{name}() does not support bool operands"
        raise TileTypeError(msg)


def check_options(
    dtype: DType, name: str, rounding_mode: object, *, flush_to_zero: bool, modes: frozenset[str]
) -> None:
    """Check what the compiler checks of the precision options; only round-to-nearest is modelled."""
    if flush_to_zero and dtype is not FLOAT32:
        msg = f"{name}(): flush_to_zero can only be used with float32, got {dtype}"
        raise TileTypeError(msg)
    if rounding_mode is None:
        return
    label = str(getattr(rounding_mode, "name", rounding_mode))
    if label not in modes:
        msg = f"{name}(): rounding mode {label} is not supported"
        raise TileTypeError(msg)
    if label in ("APPROX", "FULL") and dtype is not FLOAT32 and label == "APPROX":
        msg = f"{name}(): rounding mode APPROX can only be used with float32, got {dtype}"
        raise TileTypeError(msg)
    if label in ("RZ", "RM", "RP"):
        what = f"{name}() with rounding mode {label}"
        raise NotSupportedError(what)


_SATURATING: Final = ("float8_e4m3fn", "float8_e5m2")
DIRECTED: Final = frozenset({"RN", "RZ", "RM", "RP"})
DIVISION: Final = DIRECTED | {"FULL", "APPROX"}
ROOT: Final = DIRECTED | {"APPROX"}
PRECISION: Final = frozenset({"FULL", "APPROX"})


def fold(data: torch.Tensor, dtype: DType) -> torch.Tensor:
    """Wrap a result that is held wider than its dtype."""
    if dtype.kind == "uint" and dtype.bits in (16, 32):
        return data & ((1 << dtype.bits) - 1)
    return data


def on_whole(x: Operand, y: Operand, function: Callable[[int, int], int]) -> Scalar | None:
    """Compute on Python integers when both sides are scalars of one integer dtype."""
    if type(x) is Scalar:
        dtype = x.dtype
        if not dtype.is_integral or x.poisoned:
            return None
        if type(y) is Scalar:
            if y.dtype is not dtype or y.poisoned:
                return None
            return Scalar(wrap(function(x.value, y.value), dtype), dtype)  # type: ignore[arg-type]
        if type(y) is int and fits(y, dtype):
            return Scalar(wrap(function(x.value, y), dtype), dtype)  # type: ignore[arg-type]
    elif type(y) is Scalar and type(x) is int and y.dtype.is_integral and not y.poisoned and fits(x, y.dtype):
        return Scalar(wrap(function(x, y.value), y.dtype), y.dtype)  # type: ignore[arg-type]
    return None


def both_constant(x: object, y: object) -> bool:
    """Whether neither side is strict."""
    return not isinstance(x, Value) and not isinstance(y, Value)


def to_float(data: torch.Tensor, dtype: DType) -> tuple[torch.Tensor, DType]:
    """Bring integers to float32; floats stay."""
    return (data, dtype) if dtype.is_float else (cast_data(data, dtype, FLOAT32), FLOAT32)


def on_unsigned(left: torch.Tensor, right: torch.Tensor, function: Callable[[Any, Any], Any]) -> torch.Tensor:
    """Apply a NumPy function to two uint64 tensors held by bit pattern."""
    pair = torch.broadcast_tensors(left, right)
    wide = [each.contiguous().view(torch.uint64).numpy() for each in pair]
    return torch.from_numpy(function(*wide)).view(torch.int64)


def implicit_cast(value: Operand, dtype: DType, what: str) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Convert for a store: only where promotion with the target gives the target."""
    if not isinstance(value, Value):
        if not isinstance(value, (bool, int, float)):
            msg = f"{what} expects a tile or a scalar, got {type(value).__name__}"
            raise TileTypeError(msg)
        if isinstance(value, float) and (dtype.is_integral or dtype is BOOL):
            msg = f"cannot implicitly cast float constant to {dtype} in {what}"
            raise TileTypeError(msg)
        if not fits(value, dtype):
            msg = f"Integer constant {value} is out of range of {dtype}"
            raise TileValueError(msg)
        return constant_of(value, dtype), None
    if value.dtype is dtype:
        return value.data, value.poison
    try:
        allowed = promote(value.dtype, dtype) is dtype
    except TileTypeError:
        allowed = False
    if not allowed:
        msg = f"cannot implicitly cast {value.dtype} to {dtype} in {what}: use astype()"
        raise TileTypeError(msg)
    return cast(value, dtype), value.poison
