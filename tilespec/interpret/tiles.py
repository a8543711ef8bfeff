"""Tiles and scalars, the values of device code.

A loose constant is a plain Python number. Everything strict is a `Tile`, or a `Scalar` when it has no dimension:
a scalar keeps its number as a Python value, since index arithmetic would be slow on 0-d tensors. `poison` marks the
elements that depend on padding which the hardware leaves undetermined. `operators.py` adds Python's operators.
"""

from __future__ import annotations

from typing import NoReturn

import torch

from tilespec.interpret.dtypes import UINT64, DType, constant_of, wrap
from tilespec.interpret.errors import PoisonError, TileTypeError

__all__ = ["Number", "Scalar", "Tile", "Value", "make", "merge_poison", "scalar"]

Number = bool | int | float
"""A loose constant."""

_POISONED = torch.tensor(True)  # noqa: FBT003 - the value of the tensor


class Value:
    """What tiles and scalars share."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    data: torch.Tensor
    dtype: DType
    poison: torch.Tensor | None

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, all known when the kernel is compiled."""
        return tuple(self.data.shape)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.data.ndim

    def __repr__(self) -> str:
        return f"Tile({self.dtype}, shape={self.shape})"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        msg = f"No such attribute: a tile has no `{name}`"
        raise TileTypeError(msg)

    def __setitem__(self, key: object, value: object) -> NoReturn:
        msg = "Tiles are immutable"
        raise TileTypeError(msg)

    def __iter__(self) -> NoReturn:
        msg = "Expected a range object, got a tile"
        raise TileTypeError(msg)

    def __len__(self) -> NoReturn:
        msg = "len() of a tile is not supported"
        raise TileTypeError(msg)

    def __int__(self) -> NoReturn:
        msg = "int() expects a constant argument"
        raise TileTypeError(msg)

    def __float__(self) -> NoReturn:
        msg = "float() expects a constant argument"
        raise TileTypeError(msg)

    def __index__(self) -> NoReturn:
        msg = "Expected a constant integer, got a runtime value"
        raise TileTypeError(msg)

    def __bool__(self) -> bool:
        if self.data.ndim:
            msg = f"Expected a scalar value, got a tile of shape {self.shape}"
            raise TileTypeError(msg)
        if self.poison is not None:
            msg = "a branch depends on undetermined padding"
            raise PoisonError(msg)
        return bool(self.data)


class Tile(Value):
    """A value with at least one dimension; `data` is held as `dtype.storage` and is never written to."""

    __slots__ = ("data", "dtype", "poison")

    def __init__(self, data: torch.Tensor, dtype: DType, poison: torch.Tensor | None = None) -> None:
        self.data = data
        self.dtype = dtype
        self.poison = poison


class Scalar(Value):
    """A value without dimensions."""

    __slots__ = ("dtype", "poisoned", "value")

    def __init__(self, value: Number, dtype: DType, *, poisoned: bool = False) -> None:
        self.value = value
        self.dtype = dtype
        self.poisoned = poisoned

    @property
    def data(self) -> torch.Tensor:  # type: ignore[override]
        """The value as a 0-d tensor."""
        return constant_of(self.value, self.dtype)

    @property
    def poison(self) -> torch.Tensor | None:  # type: ignore[override]
        """The poison mark as a 0-d tensor."""
        return _POISONED if self.poisoned else None

    @property
    def shape(self) -> tuple[int, ...]:
        """Always empty."""
        return ()

    @property
    def ndim(self) -> int:
        """Always 0."""
        return 0

    def __repr__(self) -> str:
        return f"Scalar({self.value}, {self.dtype})"

    def __bool__(self) -> bool:
        if self.poisoned:
            msg = "a branch depends on undetermined padding"
            raise PoisonError(msg)
        return bool(self.value)


def scalar(value: Number, dtype: DType) -> Scalar:
    """Make a strict scalar; integers wrap, floats round."""
    if dtype.is_integral:
        return Scalar(wrap(int(value), dtype), dtype)
    return Scalar(constant_of(value, dtype).item(), dtype)


def make(data: torch.Tensor, dtype: DType, poison: torch.Tensor | None = None) -> Value:
    """Wrap a result: a scalar when it has no dimension, else a tile."""
    if data.ndim:
        return Tile(data, dtype, poison)
    value = data.item()
    if dtype is UINT64:
        value = wrap(int(value), UINT64)
    return Scalar(value, dtype, poisoned=poison is not None and bool(poison))


def merge_poison(*values: Value) -> torch.Tensor | None:
    """Return the marks of several operands together, broadcast."""
    merged: torch.Tensor | None = None
    for value in values:
        mark = value.poison
        if mark is not None:
            merged = mark if merged is None else merged | mark
    return merged
