"""Creation of tiles, and the operations that move elements without computing with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import EllipsisType
from typing import Any

import torch

from tilespec.interpret.convert import Operand, astype, check_shapes, implicit_cast, require_device, strict
from tilespec.interpret.dtypes import DType, promote, wrap
from tilespec.interpret.errors import OutOfBoundsError, TileTypeError
from tilespec.interpret.tiles import Scalar, Tile, Value, make

__all__ = [
    "arange",
    "astile",
    "axis_of",
    "broadcast_to",
    "cat",
    "expand_dims",
    "extract",
    "full",
    "insert",
    "item",
    "ones",
    "permute",
    "reshape",
    "subscript",
    "tile_shape",
    "transpose",
    "zeros",
]


def tile_shape(shape: Any, what: str = "shape") -> tuple[int, ...]:  # noqa: ANN401 - whatever was passed
    """Check that `shape` is constant and that each extent is a power of two."""
    dims = (shape,) if isinstance(shape, int) else shape
    if not isinstance(dims, tuple):
        msg = f"Expected a constant integer tuple as {what}, got {type(shape).__name__}"
        raise TileTypeError(msg)
    for place, extent in enumerate(dims):
        if type(extent) is not int:
            msg = f"Expected a constant integer tuple as {what}, element #{place} is {type(extent).__name__}"
            raise TileTypeError(msg)
        if extent <= 0 or extent & (extent - 1):
            msg = f"Dimension #{place} of shape {dims} is not a power of two"
            raise TileTypeError(msg)
    return dims


def axis_of(axis: Any, ndim: int) -> int:  # noqa: ANN401 - whatever was passed
    """Check a constant axis and count it from the front."""
    if type(axis) is not int:
        msg = f"Expected a constant integer axis, got {type(axis).__name__}"
        raise TileTypeError(msg)
    if not -ndim <= axis < ndim:
        msg = f"Axis {axis} is out of range for rank {ndim}"
        raise TileTypeError(msg)
    return axis % ndim


def _dtype(dtype: Any) -> DType:  # noqa: ANN401 - whatever was passed
    if not isinstance(dtype, DType):
        msg = f"Expected a dtype, got {type(dtype).__name__}"
        raise TileTypeError(msg)
    return dtype


def full(shape: Any, fill_value: Operand, dtype: DType) -> Value:  # noqa: ANN401
    """Make a tile of one value; integers wrap into `dtype`, floats truncate."""
    require_device("full")
    dims = tile_shape(shape)
    value = astype(fill_value, _dtype(dtype))
    if value.ndim:
        msg = "full() expects a scalar fill value"
        raise TileTypeError(msg)
    return make(value.data.expand(dims), dtype, None if value.poison is None else value.poison.expand(dims))


def zeros(shape: Any, dtype: DType) -> Value:  # noqa: ANN401
    """Make a tile of zeros."""
    return full(shape, 0, dtype)


def ones(shape: Any, dtype: DType) -> Value:  # noqa: ANN401
    """Make a tile of ones."""
    return full(shape, 1, dtype)


def arange(size: int, /, *, dtype: DType, start: Operand = 0, step: Operand = 1) -> Value:
    """Count `size` elements from `start` by `step`."""
    require_device("arange")
    if type(size) is not int:
        msg = f"arange() expects a constant integer size, got {type(size).__name__}"
        raise TileTypeError(msg)
    (size,) = tile_shape((size,))
    first, by = astype(start, _dtype(dtype)), astype(step, dtype)
    if dtype.is_integral and isinstance(first, Scalar) and isinstance(by, Scalar):
        counted = torch.arange(size, dtype=torch.int64) * int(by.value) + wrap(int(first.value), dtype)
        if dtype.kind == "uint" and dtype.bits < 64:
            counted &= (1 << dtype.bits) - 1
        return make(counted.to(dtype.storage), dtype)
    if not dtype.is_float:
        msg = f"arange() does not support {dtype}"
        raise TileTypeError(msg)
    return make(torch.arange(size, dtype=dtype.storage) * by.data + first.data, dtype)


def astile(value: Any, /, *, dtype: DType) -> Value:  # noqa: ANN401 - nested tuples of constants
    """Make a tile of nested constant tuples."""
    require_device("astile")
    if isinstance(value, Value) or not isinstance(value, tuple):
        return astype(value, _dtype(dtype))
    data = torch.tensor(value, dtype=torch.float64 if dtype.is_float else torch.int64).to(dtype.storage)
    tile_shape(tuple(data.shape))
    return make(data, dtype)


def broadcast_to(x: Operand, /, shape: Any) -> Value:  # noqa: ANN401
    """Repeat along dimensions of extent 1 and new leading ones."""
    value = strict(x, "broadcast_to")
    dims = tile_shape(shape)
    fits = len(dims) >= value.ndim and all(
        have in (1, want) for have, want in zip(reversed(value.shape), reversed(dims), strict=False)
    )
    if not fits:
        msg = f"Shape {value.shape} can't be broadcast to {dims}"
        raise TileTypeError(msg)
    poison = None if value.poison is None else value.poison.expand(dims)
    return make(value.data.expand(dims), value.dtype, poison)


def _moved(value: Value, move: Any) -> Value:  # noqa: ANN401 - a function of one tensor
    poison = None if value.poison is None else move(value.poison.expand(value.shape))
    return make(move(value.data), value.dtype, poison)


def reshape(x: Operand, /, shape: Any) -> Value:  # noqa: ANN401
    """Give another shape of the same size, in C order; one extent may be -1."""
    value = strict(x, "reshape")
    if not isinstance(shape, tuple):
        msg = f"reshape() expects a tuple of constants, got {type(shape).__name__}"
        raise TileTypeError(msg)
    size = math.prod(value.shape)
    dims = shape
    if dims.count(-1) == 1:
        known = math.prod(extent for extent in dims if extent != -1)
        dims = tuple(size // known if extent == -1 and known else extent for extent in dims)
    dims = tile_shape(dims)
    if math.prod(dims) != size:
        msg = f"Cannot reshape a tile of shape {value.shape} to {shape}"
        raise TileTypeError(msg)
    return _moved(value, lambda data: data.reshape(dims))


def permute(x: Operand, /, axes: Any) -> Value:  # noqa: ANN401
    """Reorder the dimensions."""
    value = strict(x, "permute")
    if not isinstance(axes, tuple):
        msg = "permute() expects a tuple of constants"
        raise TileTypeError(msg)
    order = tuple(axis_of(axis, value.ndim) for axis in axes)
    if sorted(order) != list(range(value.ndim)):
        msg = f"{axes} is not a permutation of the axes of a tile of rank {value.ndim}"
        raise TileTypeError(msg)
    return _moved(value, lambda data: data.permute(order))


def transpose(x: Operand, /, axis0: int | None = None, axis1: int | None = None) -> Value:
    """Swap two dimensions; they may be left out for rank 2."""
    value = strict(x, "transpose")
    if (axis0 is None) != (axis1 is None):
        msg = "transpose() expects both axes or none"
        raise TileTypeError(msg)
    if axis0 is None:
        if value.ndim != 2:
            msg = f"transpose() without axes expects a tile of rank 2, got {value.ndim}"
            raise TileTypeError(msg)
        axis0, axis1 = 0, 1
    first, second = axis_of(axis0, value.ndim), axis_of(axis1, value.ndim)
    return _moved(value, lambda data: data.transpose(first, second))


def expand_dims(x: Operand, /, axis: int) -> Value:
    """Insert a dimension of extent 1."""
    value = strict(x, "expand_dims")
    place = axis_of(axis, value.ndim + 1)
    return _moved(value, lambda data: data.unsqueeze(place))


def subscript(x: Value, key: Any) -> Value:  # noqa: ANN401 - whatever stood between the brackets
    """Handle `x[...]`: only new axes and full slices exist for tiles."""
    entries = key if isinstance(key, tuple) else (key,)
    for entry in entries:
        full_slice = isinstance(entry, slice) and (entry.start, entry.stop, entry.step) == (None, None, None)
        if not (entry is None or isinstance(entry, EllipsisType) or full_slice):
            msg = "Directly indexing a tile is not supported: use extract() or item()"
            raise TileTypeError(msg)
    used = sum(isinstance(entry, slice) for entry in entries)
    if used > x.ndim or entries.count(...) > 1:
        msg = f"Too many indices for a tile of rank {x.ndim}"
        raise TileTypeError(msg)
    return _moved(x, lambda data: data[entries])


def cat(tiles: Any, /, axis: int) -> Value:  # noqa: ANN401
    """Join exactly two tiles."""
    if not isinstance(tiles, tuple) or len(tiles) != 2:
        msg = "cat() expects a tuple of two tiles"
        raise TileTypeError(msg)
    left, right = (strict(tile, "cat") for tile in tiles)
    if left.ndim != right.ndim or left.ndim == 0:
        msg = f"cat() expects tiles of one rank, got {left.shape} and {right.shape}"
        raise TileTypeError(msg)
    place = axis_of(axis, left.ndim)
    for other, (have, want) in enumerate(zip(left.shape, right.shape, strict=True)):
        if other != place and have != want:
            msg = f"cat() expects equal extents beside axis {axis}, got {left.shape} and {right.shape}"
            raise TileTypeError(msg)
    dtype = promote(left.dtype, right.dtype)
    parts = [astype(left, dtype), astype(right, dtype)]
    data = torch.cat([part.data for part in parts], place)
    tile_shape(tuple(data.shape))
    poison = None
    if any(part.poison is not None for part in parts):
        clean = torch.zeros((), dtype=torch.bool)
        marks = [(clean if part.poison is None else part.poison).expand(part.shape) for part in parts]
        poison = torch.cat(marks, place)
    return make(data, dtype, poison)


def _sub_tile(value: Value, index: Any, dims: tuple[int, ...], name: str) -> tuple[slice, ...]:  # noqa: ANN401
    entries = index if isinstance(index, tuple) else (index,)
    if len(entries) != value.ndim or len(dims) != value.ndim:
        msg = f"{name}() expects an index and a shape of rank {value.ndim}"
        raise TileTypeError(msg)
    slices = []
    for entry, part, extent in zip(entries, dims, value.shape, strict=True):
        place = entry.value if isinstance(entry, Scalar) else entry
        if type(place) is not int:
            msg = f"{name}() expects integer indices"
            raise TileTypeError(msg)
        if extent % part:
            msg = f"{name}(): {dims} doesn't divide the tile shape {value.shape}"
            raise TileTypeError(msg)
        if not 0 <= place < extent // part:
            msg = f"{name}(): index {place} is out of range for {extent // part} sub-tiles"
            raise OutOfBoundsError(msg) if isinstance(entry, Scalar) else TileTypeError(msg)
        slices.append(slice(place * part, (place + 1) * part))
    return tuple(slices)


def extract(x: Operand, /, index: Any, shape: Any) -> Value:  # noqa: ANN401
    """Take the sub-tile at `index`, counted in sub-tiles."""
    value = strict(x, "extract")
    dims = tile_shape(shape)
    window = _sub_tile(value, index, dims, "extract")
    if not dims:
        return value
    return _moved(value, lambda data: data[window])


def insert(x: Operand, /, index: Any, value: Operand) -> Value:  # noqa: ANN401
    """Return the tile with the sub-tile at `index` replaced."""
    whole, part = strict(x, "insert"), strict(value, "insert")
    window = _sub_tile(whole, index, part.shape, "insert")
    data, _ = implicit_cast(part, whole.dtype, "insert")
    result = whole.data.clone()
    result[window] = data
    poison = None
    if whole.poison is not None or part.poison is not None:
        clean = torch.zeros((), dtype=torch.bool)
        poison = (clean if whole.poison is None else whole.poison).expand(whole.shape).clone()
        poison[window] = clean if part.poison is None else part.poison
    return make(result, whole.dtype, poison)


def item(x: Value) -> Value:
    """Return the only element as a scalar."""
    if math.prod(x.shape) != 1:
        msg = f"item() expects a tile of one element, got {x.shape}"
        raise TileTypeError(msg)
    return _moved(x, lambda data: data.reshape(()))


def broadcast_all(values: Sequence[Value]) -> tuple[int, ...]:
    """Return the shape to which all operands broadcast."""
    shape: tuple[int, ...] = ()
    for value in values:
        if value.shape != shape:
            check_shapes(Tile(torch.empty(shape, device="meta"), value.dtype), value)
            shape = torch.broadcast_shapes(shape, value.shape)
    return tuple(shape)
