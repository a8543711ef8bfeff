"""Elementwise operations: promotion as cuTile does it, and a result that is rounded to its dtype after each one."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any, Final

import torch

from tilespec.interpret import state
from tilespec.interpret.dtypes import (
    BOOL,
    FLOAT32,
    INT32,
    INT64,
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
from tilespec.interpret.errors import (
    NotSupportedError,
    TileInternalError,
    TileTypeError,
    TileValueError,
)
from tilespec.interpret.tiles import Number, Scalar, Tile, Value, make, merge_poison

Operand = Value | Number
Tensors = Callable[..., torch.Tensor]

_SIGN: Final = -(1 << 63)


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
        halves = (data >> 1 & ~_SIGN).to(torch.float64) * 2.0 + (data & 1).to(torch.float64)
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
    return data.to(target.storage)


def cast(value: Value, dtype: DType) -> torch.Tensor:
    """Return the elements of `value` in `dtype`."""
    return value.data if value.dtype is dtype else cast_data(value.data, value.dtype, dtype)


def astype(x: Operand, dtype: DType, /, *, rounding_mode: object = None) -> Value:  # noqa: ARG001 - RN only
    """Convert to `dtype`; integers that a float can't reach are undetermined."""
    if not isinstance(dtype, DType):
        msg = f"astype() expects a dtype, got {type(dtype).__name__}"
        raise TileTypeError(msg)
    if not isinstance(x, Value):
        require_device("astype")
        if isinstance(x, float) and dtype.is_integral:
            x = int(x)
        held = constant_of(x, dtype)
        return make(held, dtype)
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
            dtype = promote(x.dtype, y.dtype)
            if x.shape != y.shape:
                check_shapes(x, y)
            return cast(x, dtype), cast(y, dtype), dtype, merge_poison(x, y)
        if isinstance(y, (bool, int, float)):
            dtype = promote_constant(x.dtype, y)
            return cast(x, dtype), constant_of(y, dtype), dtype, x.poison
    elif isinstance(y, Value):
        if isinstance(x, (bool, int, float)):
            dtype = promote_constant(y.dtype, x)
            return constant_of(x, dtype), cast(y, dtype), dtype, y.poison
    elif isinstance(x, (bool, int, float)) and isinstance(y, (bool, int, float)):
        left = strict(x, name)
        dtype = promote_constant(left.dtype, y)
        return cast(left, dtype), constant_of(y, dtype), dtype, None
    other = y if isinstance(x, (Value, bool, int, float)) else x
    msg = f"{name}() expects tiles or scalars, got {type(other).__name__}"
    raise TileTypeError(msg)


def _arithmetic(dtype: DType, name: str) -> None:
    if dtype.kind == "restricted":
        msg = f"{name}() does not support {dtype}: use astype() first"
        raise TileTypeError(msg)


def _options(dtype: DType, name: str, rounding_mode: object, *, flush_to_zero: bool, modes: frozenset[str]) -> None:
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


_DIRECTED: Final = frozenset({"RN", "RZ", "RM", "RP"})
_DIVISION: Final = _DIRECTED | {"FULL", "APPROX"}
_ROOT: Final = _DIRECTED | {"APPROX"}
_FUNCTION: Final = frozenset({"FULL", "APPROX"})


def _fold(data: torch.Tensor, dtype: DType) -> torch.Tensor:
    """Wrap a result that is held wider than its dtype."""
    if dtype.kind == "uint" and dtype.bits in (16, 32):
        return data & ((1 << dtype.bits) - 1)
    return data


def _whole(x: Operand, y: Operand, function: Callable[[int, int], int]) -> Scalar | None:
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


def _both_constant(x: object, y: object) -> bool:
    return not isinstance(x, Value) and not isinstance(y, Value)


def _ring(name: str, on_ints: Callable[[int, int], int], on_tensors: Tensors) -> Callable[..., Any]:
    def operation(
        x: Operand, y: Operand, /, *, rounding_mode: object = None, flush_to_zero: bool = False
    ) -> Value | Number:
        quick = _whole(x, y, on_ints)
        if quick is not None:
            return quick
        if _both_constant(x, y):
            require_device(name)
            return on_ints(x, y)  # type: ignore[arg-type]
        left, right, dtype, poison = meet(x, y, name)
        _arithmetic(dtype, name)
        if dtype is BOOL:
            msg = f"{name}() does not support bool operands"
            raise TileTypeError(msg)
        if rounding_mode is not None or flush_to_zero:
            _options(dtype, name, rounding_mode, flush_to_zero=flush_to_zero, modes=_DIRECTED)
        return make(_fold(on_tensors(left, right), dtype), dtype, poison)

    operation.__name__ = name
    return operation


add = _ring("add", lambda a, b: a + b, torch.add)
sub = _ring("sub", lambda a, b: a - b, torch.sub)
mul = _ring("mul", lambda a, b: a * b, torch.mul)


def _to_float(data: torch.Tensor, dtype: DType) -> tuple[torch.Tensor, DType]:
    return (data, dtype) if dtype.is_float else (cast_data(data, dtype, FLOAT32), FLOAT32)


def truediv(
    x: Operand, y: Operand, /, *, rounding_mode: object = None, flush_to_zero: bool = False
) -> Value | Number:
    """Divide; two integers give float32."""
    if _both_constant(x, y):
        require_device("truediv")
        return x / y  # type: ignore[operator]
    left, right, dtype, poison = meet(x, y, "truediv")
    _arithmetic(dtype, "truediv")
    left, result = _to_float(left, dtype)
    right, _ = _to_float(right, dtype)
    if rounding_mode is not None or flush_to_zero:
        _options(result, "truediv", rounding_mode, flush_to_zero=flush_to_zero, modes=_DIVISION)
    return make(torch.div(left, right), result, poison)


def _unsigned(left: torch.Tensor, right: torch.Tensor, function: Callable[[Any, Any], Any]) -> torch.Tensor:
    """Apply a NumPy function to two uint64 tensors held by bit pattern."""
    pair = torch.broadcast_tensors(left, right)
    wide = [each.contiguous().view(torch.uint64).numpy() for each in pair]
    return torch.from_numpy(function(*wide)).view(torch.int64)


def _quotient(
    name: str, on_ints: Callable[[int, int], int], on_floats: Tensors, on_tensors: Tensors
) -> Callable[..., Any]:
    def operation(x: Operand, y: Operand, /) -> Value | Number:
        divisor = y.value if type(y) is Scalar else y
        if not isinstance(y, Tile) and divisor != 0:
            quick = _whole(x, y, on_ints)
            if quick is not None:
                return quick
        if _both_constant(x, y):
            if state.current is None or y != 0:
                return on_ints(x, y)  # type: ignore[arg-type]
            x = strict(x, name)
        left, right, dtype, poison = meet(x, y, name)
        _arithmetic(dtype, name)
        if dtype is BOOL:
            msg = f"{name}() does not support bool operands"
            raise TileTypeError(msg)
        if dtype.is_float:
            return make(on_floats(left, right), dtype, poison)
        empty = right == 0
        if empty.any():  # undefined on the machine
            right = torch.where(empty, 1, right)
            poison = empty if poison is None else poison | empty
        if dtype is UINT64:
            return make(_unsigned(left, right, lambda a, b: a // b if name == "floordiv" else a % b), dtype, poison)
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
    if not isinstance(x, Value) and not isinstance(y, Value):
        return -(-x // y)
    return floordiv(sub(add(x, y), 1), y)


def pow_(x: Operand, y: Operand, /) -> Any:  # noqa: ANN401 - a number when both are
    """Raise to a power; a runtime integer base has no implementation in the compiler."""
    if _both_constant(x, y):
        require_device("pow")
        return x**y  # type: ignore[operator]
    base = strict(x, "pow")
    whole = isinstance(y, int) or (isinstance(y, Value) and y.dtype.is_integral)
    if base.dtype.is_integral and whole:
        msg = "Missing binary arithmetic implementation for pow, int"
        raise TileInternalError(msg)
    left, right, dtype, poison = meet(x, y, "pow")
    _arithmetic(dtype, "pow")
    return make(torch.pow(left, right), dtype, poison)


def _comparison(name: str, function: Tensors, on_numbers: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    def operation(x: Operand, y: Operand, /) -> Value | Number:
        if type(x) is Scalar and not x.poisoned:
            if type(y) is Scalar and y.dtype is x.dtype and not y.poisoned:
                return Scalar(on_numbers(x.value, y.value), BOOL)
            if type(y) is int and x.dtype.is_integral and fits(y, x.dtype):
                return Scalar(on_numbers(x.value, y), BOOL)
        if _both_constant(x, y):
            require_device(name)
            return on_numbers(x, y)
        left, right, dtype, poison = meet(x, y, name)
        _arithmetic(dtype, name)
        if dtype is UINT64:
            left, right = left ^ _SIGN, right ^ _SIGN
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
    ) -> Value | Number:
        quick = _whole(x, y, builtins.max if name == "maximum" else builtins.min)
        if quick is not None:
            return quick
        if _both_constant(x, y):
            require_device(name)
            return builtins.max(x, y) if name == "maximum" else builtins.min(x, y)  # type: ignore[type-var]
        left, right, dtype, poison = meet(x, y, name)
        _arithmetic(dtype, name)
        if flush_to_zero:
            _options(dtype, name, None, flush_to_zero=True, modes=_DIRECTED)
        if dtype is UINT64:
            return make(keeping(left ^ _SIGN, right ^ _SIGN) ^ _SIGN, dtype, poison)
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
        chosen = torch.where(condition.data, *(clean if mark is None else mark for mark in marks))
        if chosen.any():
            poison = chosen if poison is None else poison | chosen
    return make(data, dtype, poison)


def _bits(name: str, function: Tensors, on_ints: Callable[[int, int], int]) -> Callable[..., Any]:
    shift = name in ("bitwise_lshift", "bitwise_rshift")

    def operation(x: Operand, y: Operand, /) -> Value | Number:
        if not shift:
            quick = _whole(x, y, on_ints)
            if quick is not None:
                return quick
        if _both_constant(x, y):
            require_device(name)
            return on_ints(x, y)  # type: ignore[arg-type]
        for each in (x, y):
            bad = isinstance(each, float) or (isinstance(each, Value) and each.dtype.kind in ("float", "restricted"))
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
                return make(_unsigned(left, right, lambda a, b: a >> b), dtype, poison)
        return make(_fold(function(left, right), dtype), dtype, poison)

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
    return make(_fold(torch.bitwise_not(value.data), value.dtype), value.dtype, value.poison)


def logical_not(x: Any) -> Any:  # noqa: ANN401 - any Python value
    """Python's `not`, which is elementwise on a tile."""
    if isinstance(x, Tile):
        return make(x.data == 0, BOOL, x.poison)
    return Scalar(not x, BOOL) if isinstance(x, Scalar) else not x


def negative(x: Operand, /) -> Any:  # noqa: ANN401 - a number for a constant
    """Change the sign; a bool becomes int32."""
    if not isinstance(x, Value):
        return -x
    if x.dtype is BOOL:
        x = astype(x, INT32)
    _arithmetic(x.dtype, "negative")
    return make(_fold(torch.neg(x.data), x.dtype), x.dtype, x.poison)


def abs_(x: Operand, /) -> Any:  # noqa: ANN401 - a number for a constant
    """Drop the sign."""
    if not isinstance(x, Value):
        return builtins.abs(x)
    _arithmetic(x.dtype, "abs")
    if x.dtype.kind in ("uint", "bool"):
        return x
    return make(torch.abs(x.data), x.dtype, x.poison)


def isnan(x: Operand, /) -> Value:
    """Mark NaN elements."""
    value = strict(x, "isnan")
    _arithmetic(value.dtype, "isnan")
    return make(torch.isnan(value.data), BOOL, value.poison)


def _function(name: str, function: Tensors, modes: frozenset[str] = frozenset()) -> Callable[..., Any]:
    """Make a mathematical function: integers go to float32, halves are computed in float32 and rounded."""

    def operation(x: Operand, /, *, rounding_mode: object = None, flush_to_zero: bool = False) -> Value:
        value = strict(x, name)
        _arithmetic(value.dtype, name)
        data, dtype = _to_float(value.data, value.dtype)
        if rounding_mode is not None or flush_to_zero:
            _options(dtype, name, rounding_mode, flush_to_zero=flush_to_zero, modes=modes)
        if dtype.bits == 16:  # noqa: PLR2004 - both half formats
            data = function(data.to(torch.float32)).to(dtype.storage)
        else:
            data = function(data)
        return make(data, dtype, value.poison)

    operation.__name__ = name
    return operation


exp = _function("exp", torch.exp, _FUNCTION)
exp2 = _function("exp2", torch.exp2)
log = _function("log", torch.log)
log2 = _function("log2", torch.log2)
sqrt = _function("sqrt", torch.sqrt, _ROOT)
rsqrt = _function("rsqrt", torch.rsqrt)
sin = _function("sin", torch.sin)
cos = _function("cos", torch.cos)
tan = _function("tan", torch.tan)
sinh = _function("sinh", torch.sinh)
cosh = _function("cosh", torch.cosh)
tanh = _function("tanh", torch.tanh, _FUNCTION)


def atan2(x1: Operand, x2: Operand, /) -> Value:
    """Return the angle of a point given as (y, x)."""
    left, right, dtype, poison = meet(x1, x2, "atan2")
    _arithmetic(dtype, "atan2")
    left, result = _to_float(left, dtype)
    right, _ = _to_float(right, dtype)
    return make(torch.atan2(left, right), result, poison)


def _rounding(name: str, function: Tensors, on_number: Callable[[float], int]) -> Callable[..., Any]:
    def operation(x: Operand, /) -> Any:  # noqa: ANN401 - a number for a constant
        if isinstance(x, float):
            return float(on_number(x))
        value = strict(x, name)
        _arithmetic(value.dtype, name)
        if not value.dtype.is_float:
            msg = f"{name}(): Integer inputs are not supported"
            raise TileTypeError(msg)
        return make(function(value.data), value.dtype, value.poison)

    operation.__name__ = name
    return operation


floor = _rounding("floor", torch.floor, math.floor)
ceil = _rounding("ceil", torch.ceil, math.ceil)


def bitcast(x: Operand, /, dtype: DType) -> Value:
    """Read the bits as another dtype of the same width."""
    value = strict(x, "bitcast")
    if BOOL in (value.dtype, dtype):
        msg = "bitcast() does not support bool"
        raise TileTypeError(msg)
    if value.dtype.bits != dtype.bits:
        msg = f"bitcast() from {value.dtype} to {dtype}: widths differ"
        raise TileTypeError(msg)
    from tilespec.interpret.dtypes import from_torch, to_torch  # noqa: PLC0415 - used here only

    native = to_torch(value.data, value.dtype).contiguous().view(dtype.torch or dtype.storage)
    return make(from_torch(native, dtype), dtype, value.poison)


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
