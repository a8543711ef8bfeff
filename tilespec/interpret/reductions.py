"""Reductions and scans, in the dtype of the tile: a 16-bit sum rounds at each step of its tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tilespec.interpret.arithmetic import add, mul
from tilespec.interpret.convert import Operand, astype, strict
from tilespec.interpret.dtypes import BOOL, FLOAT32, INT32, UINT64, DType
from tilespec.interpret.errors import NotSupportedError, TileTypeError
from tilespec.interpret.shapes import axis_of
from tilespec.interpret.tiles import Tile, Value, make

__all__ = ["argmax", "argmin", "cumprod", "cumsum", "max_", "min_", "prod", "reduce", "scan", "sum_"]

_SIGN = -(1 << 63)


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:  # noqa: ANN401 - int, tuple or None
    if axis is None:
        return tuple(range(ndim))
    listed = axis if isinstance(axis, tuple) else (axis,)
    found = tuple(axis_of(each, ndim) for each in listed)
    if len(set(found)) != len(found):
        msg = f"Duplicate axis in {axis}"
        raise TileTypeError(msg)
    return found


def _check(x: Operand, name: str, flush_to_zero: bool, rounding_mode: object) -> Value:  # noqa: FBT001
    value = strict(x, name)
    if value.dtype.kind == "restricted":
        msg = f"{name}() does not support {value.dtype}: use astype() first"
        raise TileTypeError(msg)
    if flush_to_zero and value.dtype is not FLOAT32:
        msg = f"{name}(): flush_to_zero can only be used with float32, got {value.dtype}"
        raise TileTypeError(msg)
    if rounding_mode is not None and getattr(rounding_mode, "name", "") != "RN":
        what = f"{name}() with {rounding_mode}"
        raise NotSupportedError(what)
    return astype(value, INT32) if value.dtype is BOOL else value


def _poison(value: Value, axes: tuple[int, ...], *, keepdims: bool) -> torch.Tensor | None:
    if value.poison is None:
        return None
    mark = value.poison.expand(value.shape)
    return torch.amax(mark, axes, keepdim=keepdims) if axes else mark


def _tree(
    data: torch.Tensor, axis: int, step: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """Fold an axis by halves, keeping it with extent 1."""
    while data.shape[axis] > 1:
        low, high = data.chunk(2, axis)
        data = step(low, high)
    return data


def _fold(
    value: Value,
    axes: tuple[int, ...],
    whole: Callable[..., torch.Tensor],
    step: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    *,
    keepdims: bool,
) -> Value:
    data, dtype = value.data, value.dtype
    poison = _poison(value, axes, keepdims=keepdims)
    if not axes:
        return value
    if dtype.is_float and dtype.bits == 16:
        for axis in axes:
            data = _tree(data, axis, step)
        return make(data if keepdims else data.squeeze(axes), dtype, poison)
    data = whole(data, axes, keepdims, dtype)
    if dtype.kind == "uint" and dtype.bits in (16, 32):
        data = data & ((1 << dtype.bits) - 1)
    return make(data, dtype, poison)


def _sum(data: torch.Tensor, axes: tuple[int, ...], keepdim: bool, dtype: DType) -> torch.Tensor:  # noqa: FBT001
    return torch.sum(data, axes, keepdim=keepdim, dtype=dtype.storage)


def _prod(data: torch.Tensor, axes: tuple[int, ...], keepdim: bool, dtype: DType) -> torch.Tensor:  # noqa: FBT001
    for axis in axes:
        data = torch.prod(data, axis, keepdim=True, dtype=dtype.storage)
    return data if keepdim else data.squeeze(axes)


def sum_(
    x: Operand,
    /,
    axis: Any = None,  # noqa: ANN401
    *,
    keepdims: bool = False,
    rounding_mode: object = None,
    flush_to_zero: bool = False,
) -> Value:
    """Add up along axes."""
    value = _check(x, "sum", flush_to_zero, rounding_mode)
    return _fold(value, _axes(axis, value.ndim), _sum, torch.add, keepdims=keepdims)


def prod(
    x: Operand,
    /,
    axis: Any = None,  # noqa: ANN401
    *,
    keepdims: bool = False,
    rounding_mode: object = None,
    flush_to_zero: bool = False,
) -> Value:
    """Multiply along axes."""
    value = _check(x, "prod", flush_to_zero, rounding_mode)
    return _fold(value, _axes(axis, value.ndim), _prod, torch.mul, keepdims=keepdims)


def _extreme(
    value: Value, axes: tuple[int, ...], *, keepdims: bool, largest: bool, propagate_nan: bool
) -> Value:
    poison = _poison(value, axes, keepdims=keepdims)
    if not axes:
        return value
    data = value.data
    if value.dtype is UINT64:
        data = data ^ _SIGN
    function = torch.amax if largest else torch.amin
    result = function(data, axes, keepdim=keepdims)
    if value.dtype.is_float and not propagate_nan and torch.isnan(result).any():
        bottom = float("-inf") if largest else float("inf")
        result = function(torch.where(torch.isnan(data), bottom, data), axes, keepdim=keepdims)
    if value.dtype is UINT64:
        result = result ^ _SIGN
    return make(result, value.dtype, poison)


def max_(
    x: Operand,
    /,
    axis: Any = None,  # noqa: ANN401
    *,
    keepdims: bool = False,
    flush_to_zero: bool = False,
    propagate_nan: bool = False,
) -> Value:
    """Take the largest along axes; NaN loses unless it propagates."""
    value = _check(x, "max", flush_to_zero, None)
    axes = _axes(axis, value.ndim)
    return _extreme(value, axes, keepdims=keepdims, largest=True, propagate_nan=propagate_nan)


def min_(
    x: Operand,
    /,
    axis: Any = None,  # noqa: ANN401
    *,
    keepdims: bool = False,
    flush_to_zero: bool = False,
    propagate_nan: bool = False,
) -> Value:
    """Take the smallest along axes; NaN loses unless it propagates."""
    value = _check(x, "min", flush_to_zero, None)
    axes = _axes(axis, value.ndim)
    return _extreme(value, axes, keepdims=keepdims, largest=False, propagate_nan=propagate_nan)


def _arg(x: Operand, axis: Any, *, keepdims: bool, largest: bool, propagate_nan: bool) -> Value:  # noqa: ANN401
    name = "argmax" if largest else "argmin"
    value = _check(x, name, False, None)  # noqa: FBT003 - no flag to pass on
    if isinstance(axis, tuple):
        msg = f"{name}() does not support a tuple of axes"
        raise TileTypeError(msg)
    if axis is None:
        flat = make(
            value.data.reshape(-1), value.dtype, None if value.poison is None else value.poison.reshape(-1)
        )
        found = _arg(flat, 0, keepdims=False, largest=largest, propagate_nan=propagate_nan)
        dims = (1,) * value.ndim
        return make(found.data.reshape(dims), INT32, None) if keepdims else found
    place = axis_of(axis, value.ndim)
    best = _extreme(value, (place,), keepdims=True, largest=largest, propagate_nan=propagate_nan)
    hit = value.data == best.data
    if value.dtype.is_float:
        lost = torch.isnan(value.data)
        hit = hit | (lost & torch.isnan(best.data)) if propagate_nan else hit & ~lost
    data = torch.argmax(hit.to(torch.uint8), place, keepdim=keepdims).to(torch.int32)
    return make(data, INT32, _poison(value, (place,), keepdims=keepdims))


def argmax(x: Operand, /, axis: Any = None, *, keepdims: bool = False, propagate_nan: bool = False) -> Value:  # noqa: ANN401
    """Find the largest; ties go to the smallest index, NaN ranks worst unless it propagates."""
    return _arg(x, axis, keepdims=keepdims, largest=True, propagate_nan=propagate_nan)


def argmin(x: Operand, /, axis: Any = None, *, keepdims: bool = False, propagate_nan: bool = False) -> Value:  # noqa: ANN401
    """Find the smallest; ties go to the smallest index, NaN ranks worst unless it propagates."""
    return _arg(x, axis, keepdims=keepdims, largest=False, propagate_nan=propagate_nan)


def _parts(x: Any, identity: Any, name: str) -> tuple[list[Value], list[Any]]:  # noqa: ANN401
    tiles = [strict(each, name) for each in (x if isinstance(x, tuple) else (x,))]
    starts = list(identity) if isinstance(identity, tuple) else [identity]
    if len(tiles) != len(starts):
        msg = f"{name}() expects one identity for each tile"
        raise TileTypeError(msg)
    if any(tile.shape != tiles[0].shape for tile in tiles):
        msg = f"{name}() expects tiles of one shape"
        raise TileTypeError(msg)
    if any(isinstance(start, Value) for start in starts):
        msg = f"{name}() expects constant identities"
        raise TileTypeError(msg)
    return tiles, starts


def _call(function: Callable[..., Any], old: Sequence[Value], new: Sequence[Value], name: str) -> list[Value]:
    result = function(*old, *new)
    given = list(result) if isinstance(result, tuple) else [result]
    if len(given) != len(old):
        msg = f"{name}(): the body returns {len(given)} values, expected {len(old)}"
        raise TileTypeError(msg)
    checked = []
    for before, after in zip(old, given, strict=True):
        value = strict(after, name)
        if value.dtype is not before.dtype:
            msg = f"{name}(): the body returns {value.dtype}, expected {before.dtype}"
            raise TileTypeError(msg)
        checked.append(value)
    return checked


def _slice(value: Value, axis: int, start: int, length: int) -> Tile:
    poison = None if value.poison is None else value.poison.expand(value.shape).narrow(axis, start, length)
    return Tile(value.data.narrow(axis, start, length), value.dtype, poison)


def reduce(
    x: Any,  # noqa: ANN401 - a tile or a tuple of tiles
    /,
    axis: int,
    func: Callable[..., Any],
    identity: Any,  # noqa: ANN401 - a constant or a tuple of constants
    *,
    keepdims: bool = False,
) -> Any:  # noqa: ANN401 - as many as went in
    """Fold one axis with a function of accumulators and new elements."""
    tiles, _ = _parts(x, identity, "reduce")
    place = axis_of(axis, tiles[0].ndim)
    while tiles[0].shape[place] > 1:
        half = tiles[0].shape[place] // 2
        low = [_slice(tile, place, 0, half) for tile in tiles]
        high = [_slice(tile, place, half, half) for tile in tiles]
        tiles = _call(func, low, high, "reduce")
    if not keepdims:
        tiles = [
            make(
                tile.data.squeeze(place),
                tile.dtype,
                None if tile.poison is None else tile.poison.squeeze(place),
            )
            for tile in tiles
        ]
    return tuple(tiles) if isinstance(x, tuple) else tiles[0]


def _shifted(value: Value, axis: int, by: int, start: Any) -> Tile:  # noqa: ANN401 - a constant
    """Move elements up the axis, filling with the identity."""
    length = value.shape[axis] - by
    dims = [*value.shape]
    dims[axis] = by
    head = astype(start, value.dtype).data.expand(dims)
    data = torch.cat([head, value.data.narrow(axis, 0, length)], axis)
    poison = None
    if value.poison is not None:
        mark = value.poison.expand(value.shape).narrow(axis, 0, length)
        poison = torch.cat([torch.zeros(dims, dtype=torch.bool), mark], axis)
    return Tile(data, value.dtype, poison)


def _flip(value: Value, axis: int) -> Value:
    poison = None if value.poison is None else value.poison.expand(value.shape).flip(axis)
    return make(value.data.flip(axis), value.dtype, poison)


def scan(
    x: Any,  # noqa: ANN401 - a tile or a tuple of tiles
    /,
    axis: int,
    func: Callable[..., Any],
    identity: Any,  # noqa: ANN401 - a constant or a tuple of constants
    *,
    reverse: bool = False,
) -> Any:  # noqa: ANN401 - as many as went in
    """Combine each element with all before it on one axis."""
    tiles, starts = _parts(x, identity, "scan")
    place = axis_of(axis, tiles[0].ndim)
    if reverse:
        tiles = [_flip(tile, place) for tile in tiles]
    by = 1
    while by < tiles[0].shape[place]:
        before = [_shifted(tile, place, by, start) for tile, start in zip(tiles, starts, strict=True)]
        tiles = _call(func, before, tiles, "scan")
        by *= 2
    if reverse:
        tiles = [_flip(tile, place) for tile in tiles]
    return tuple(tiles) if isinstance(x, tuple) else tiles[0]


def cumsum(
    x: Operand,
    /,
    axis: int = 0,
    *,
    reverse: bool = False,
    rounding_mode: object = None,
    flush_to_zero: bool = False,
) -> Value:
    """Return running sums, each element included."""
    value = _check(x, "cumsum", flush_to_zero, rounding_mode)
    return scan(value, axis, add, 0, reverse=reverse)  # type: ignore[no-any-return]


def cumprod(
    x: Operand,
    /,
    axis: int = 0,
    *,
    reverse: bool = False,
    rounding_mode: object = None,
    flush_to_zero: bool = False,
) -> Value:
    """Return running products, each element included."""
    value = _check(x, "cumprod", flush_to_zero, rounding_mode)
    return scan(value, axis, mul, 1, reverse=reverse)  # type: ignore[no-any-return]
