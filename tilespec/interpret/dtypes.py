"""The dtypes of cuTile, how two of them promote, and how each is held on the CPU.

A dtype that torch computes with is held as itself. `tfloat32` is held as float32 whose low mantissa bits are zero;
unsigned integers above 8 bits are held as int64 (64-bit ones by bit pattern), since torch has few operations on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

import torch

from tilespec.interpret.errors import TileTypeError, TileValueError

__all__ = [
    "BY_NAME",
    "BY_TORCH",
    "DType",
    "constant_of",
    "default_for",
    "fits",
    "promote",
    "promote_constant",
]


@dataclass(frozen=True, eq=False)
class DType:
    """One dtype: `kind` is `bool`, `int`, `uint`, `float` or `restricted`; `native` is torch's name for it, `storage` what tiles hold it in."""

    name: str
    kind: str
    bits: int
    native: torch.dtype | None
    storage: torch.dtype

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name

    @property
    def bitwidth(self) -> int:
        """Width of one element in bits."""
        return self.bits

    @property
    def is_integral(self) -> bool:
        """Whether values are integers (bool is not)."""
        return self.kind in ("int", "uint")

    @property
    def is_float(self) -> bool:
        """Whether arithmetic on it is floating point."""
        return self.kind == "float"

    @property
    def low(self) -> int:
        """Smallest value of an integer dtype."""
        return -(1 << (self.bits - 1)) if self.kind == "int" else 0

    @property
    def high(self) -> int:
        """Largest value of an integer dtype."""
        return (1 << (self.bits - 1)) - 1 if self.kind == "int" else (1 << self.bits) - 1

    def __call__(self, value: Any) -> Any:  # noqa: ANN401 - a tile, a scalar or a constant
        """Make a strict scalar of this dtype, as `ct.float32(x)` does in device code."""
        from tilespec.interpret import convert, state  # noqa: PLC0415 - those import this module

        if state.current is None:
            msg = f"{self.name}() can only be called from device code"
            raise TypeError(msg)
        return convert.astype(value, self)


def _make() -> dict[str, DType]:
    listed = [
        ("bool_", "bool", 8, torch.bool, torch.bool),
        ("int8", "int", 8, torch.int8, torch.int8),
        ("int16", "int", 16, torch.int16, torch.int16),
        ("int32", "int", 32, torch.int32, torch.int32),
        ("int64", "int", 64, torch.int64, torch.int64),
        ("uint8", "uint", 8, torch.uint8, torch.uint8),
        ("uint16", "uint", 16, torch.uint16, torch.int64),
        ("uint32", "uint", 32, torch.uint32, torch.int64),
        ("uint64", "uint", 64, torch.uint64, torch.int64),
        ("float16", "float", 16, torch.float16, torch.float16),
        ("bfloat16", "float", 16, torch.bfloat16, torch.bfloat16),
        ("float32", "float", 32, torch.float32, torch.float32),
        ("float64", "float", 64, torch.float64, torch.float64),
        ("tfloat32", "restricted", 32, None, torch.float32),
        ("float8_e4m3fn", "restricted", 8, torch.float8_e4m3fn, torch.float8_e4m3fn),
        ("float8_e5m2", "restricted", 8, torch.float8_e5m2, torch.float8_e5m2),
        ("float8_e8m0fnu", "restricted", 8, torch.float8_e8m0fnu, torch.float8_e8m0fnu),
    ]
    return {name: DType(name, kind, bits, held, storage) for name, kind, bits, held, storage in listed}


BY_NAME: Final = _make()
BY_TORCH: Final = {dtype.native: dtype for dtype in BY_NAME.values() if dtype.native is not None}

BOOL: Final = BY_NAME["bool_"]
INT32: Final = BY_NAME["int32"]
INT64: Final = BY_NAME["int64"]
UINT64: Final = BY_NAME["uint64"]
FLOAT32: Final = BY_NAME["float32"]
TFLOAT32: Final = BY_NAME["tfloat32"]


@cache
def promote(left: DType, right: DType) -> DType:
    """Return the dtype in which two strict operands meet; raise where the compiler asks for a cast."""
    if left is right:
        return left
    if "restricted" in (left.kind, right.kind):
        msg = (
            f"Implicit promotion of {left} and {right} is not supported as it involves restricted float dtypes. "
            "Perform an explicit cast instead."
        )
        raise TileTypeError(msg)
    if left.kind == "bool":
        return right
    if right.kind == "bool":
        return left
    if left.is_float != right.is_float:
        return left if left.is_float else right
    mixed_halves = left.is_float and left.bits == right.bits
    if mixed_halves or left.kind != right.kind:
        msg = f"Implicit promotion of {left} and {right} is not supported. Perform an explicit cast instead."
        raise TileTypeError(msg)
    return left if left.bits > right.bits else right


_RANK: Final = {"bool": 0, "int": 1, "uint": 1, "float": 2}


def default_for(value: float) -> DType:
    """Return the dtype that a constant has when it stands alone."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        if INT32.low <= value <= INT32.high:
            return INT32
        if INT64.low <= value <= INT64.high:
            return INT64
        if 0 <= value <= UINT64.high:
            return UINT64
        msg = f"Integer constant {value} is out of range of any supported integer type"
        raise TileValueError(msg)
    return FLOAT32


def fits(value: float, dtype: DType) -> bool:
    """Whether an integer constant is in the range of `dtype`; floats and bools always are."""
    return type(value) is not int or not dtype.is_integral or dtype.low <= value <= dtype.high


def promote_constant(strict: DType, value: float) -> DType:
    """Return the dtype in which a strict operand and a loose constant meet."""
    if strict.kind == "restricted":
        msg = f"Implicit promotion of {strict} and a constant is not supported. Perform an explicit cast instead."
        raise TileTypeError(msg)
    rank = 0 if isinstance(value, bool) else 1 if isinstance(value, int) else 2
    if rank > _RANK[strict.kind]:
        return default_for(value)
    if not fits(value, strict):
        msg = f"Integer constant {value} is out of range of {strict}"
        raise TileValueError(msg)
    return strict


def wrap(value: int, dtype: DType) -> int:
    """Reduce an integer into the range of `dtype`, as two's complement does."""
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.kind == "int" and value >> (dtype.bits - 1) else value


def constant_of(value: float, dtype: DType) -> torch.Tensor:
    """Return a shared 0-d tensor that holds `value` rounded (floats) or wrapped (integers) into `dtype`."""
    number = (
        float(value)
        if dtype.kind in ("float", "restricted")
        else int(value)
        if dtype.is_integral
        else bool(value)
    )
    return _constant(number, dtype, math.copysign(1.0, number))


@lru_cache(maxsize=4096)
def _constant(number: float, dtype: DType, sign: float) -> torch.Tensor:  # noqa: ARG001 - tells -0.0 from 0.0
    if dtype.is_integral:
        whole = wrap(int(number), dtype)
        if dtype is UINT64:
            whole = wrap(whole, INT64)
        return torch.tensor(whole, dtype=dtype.storage)
    held = torch.tensor(number, dtype=torch.float64).to(dtype.storage)
    return round_tf32(held) if dtype is TFLOAT32 else held


def round_tf32(data: torch.Tensor) -> torch.Tensor:
    """Round float32 values to 10 mantissa bits, ties to even; infinities and NaN stay."""
    bits = data.view(torch.int32)
    rounded = (bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF
    return torch.where(data.isfinite(), rounded.view(torch.float32), data)


def from_torch(tensor: torch.Tensor, dtype: DType) -> torch.Tensor:
    """Bring array elements into the form in which tiles of `dtype` are held."""
    if dtype.storage is tensor.dtype:
        return tensor
    if dtype is UINT64:
        return tensor.view(torch.int64)
    if dtype.kind == "uint":
        signed = {16: torch.int16, 32: torch.int32}[dtype.bits]
        return tensor.view(signed).to(torch.int64) & ((1 << dtype.bits) - 1)
    return tensor.to(dtype.storage)


def to_torch(data: torch.Tensor, dtype: DType) -> torch.Tensor:
    """Bring tile elements into the form in which an array of `dtype` holds them."""
    if dtype.native is None or dtype.native is dtype.storage:
        return data
    if dtype is UINT64:
        return data.view(torch.uint64)
    signed = {16: torch.int16, 32: torch.int32}[dtype.bits]
    return data.to(signed).view(dtype.native)
