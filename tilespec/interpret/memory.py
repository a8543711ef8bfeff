"""Arrays in device code, and the loads and stores in tile space.

What a GPU leaves undefined is an error here: a tile wholly outside of its array, a negative tile index, a stored value
that depends on undetermined padding, a write that another block or another argument can see.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

import torch

from tilespec.interpret import state
from tilespec.interpret.convert import Operand, implicit_cast, require_device
from tilespec.interpret.dtypes import BY_TORCH, INT32, INT64, DType, constant_of, from_torch, to_torch
from tilespec.interpret.enums import MemoryOrder, PaddingMode
from tilespec.interpret.errors import (
    AliasError,
    DataRaceError,
    NotSupportedError,
    OutOfBoundsError,
    PoisonError,
    TileCompilerExecutionError,
    TileTypeError,
    TileValueError,
)
from tilespec.interpret.shapes import axis_of, tile_shape
from tilespec.interpret.tiles import Scalar, Value, make

__all__ = ["Array", "TiledView", "load", "num_tiles", "store"]

_INT_POISON: Final = 0x5A5A5A5B
_FLOAT_PADDING: Final = {
    PaddingMode.NEG_ZERO: -0.0,
    PaddingMode.NAN: float("nan"),
    PaddingMode.POS_INF: float("inf"),
    PaddingMode.NEG_INF: float("-inf"),
}
ATOMIC: Final = -1
"""Owner of an element that was last written by an atomic operation."""


class Array:
    """A view of global memory. Extents and strides are runtime scalars, the dtype is known at compile time."""

    __slots__ = ("aliased", "dtype", "extents", "name", "offset", "steps", "tensor", "wide")

    def __init__(
        self, tensor: torch.Tensor, name: str, *, wide: bool = False, aliased: str | None = None
    ) -> None:
        dtype = BY_TORCH.get(tensor.dtype)
        if dtype is None:
            msg = f"Unsupported dtype {tensor.dtype} of array `{name}`"
            raise TypeError(msg)
        self.tensor = tensor
        self.name = name
        self.wide = wide
        self.aliased = aliased
        self.dtype: DType = dtype
        self.extents: tuple[int, ...] = tuple(tensor.shape)
        self.steps: tuple[int, ...] = tuple(int(step) for step in tensor.stride())
        self.offset = int(tensor.storage_offset())

    @property
    def shape(self) -> tuple[Scalar, ...]:
        """Extents."""
        index = INT64 if self.wide else INT32
        return tuple(Scalar(extent, index) for extent in self.extents)

    @property
    def strides(self) -> tuple[Scalar, ...]:
        """Distances in elements."""
        index = INT64 if self.wide else INT32
        return tuple(Scalar(step, index) for step in self.steps)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.extents)

    def __repr__(self) -> str:
        return f"Array({self.name}: {self.dtype}, shape={self.extents})"

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("foreign_pointer", "from_foreign", "get_raw_memory"):
            what = f"Array.{name}()"
            raise NotSupportedError(what)
        msg = f"No such attribute: an array has no `{name}`"
        raise TileTypeError(msg)

    def __getitem__(self, key: object) -> NoReturn:
        msg = "Arrays are not directly subscriptable: use load() or gather()"
        raise TileTypeError(msg)

    def __setitem__(self, key: object, value: object) -> NoReturn:
        msg = "Arrays do not support item assignment: use store() or scatter()"
        raise TileTypeError(msg)

    def __iter__(self) -> NoReturn:
        msg = "Expected a range object, got an array"
        raise TileTypeError(msg)

    def slice(self, axis: int, start: Any, stop: Any) -> Array:  # noqa: ANN401 - constants or scalars
        """Return the view of elements `start` to `stop` of one axis."""
        place = axis_of(axis, self.ndim)
        low, high = integer(start, "slice start"), integer(stop, "slice stop")
        if not 0 <= low <= high <= self.extents[place]:
            msg = f"slice {low}:{high} leaves axis {axis} of `{self.name}`, which has {self.extents[place]} elements"
            raise OutOfBoundsError(msg)
        return Array(
            self.tensor.narrow(place, low, high - low), self.name, wide=self.wide, aliased=self.aliased
        )

    def tiled_view(
        self,
        tile_shape: Any,  # noqa: ANN401 - the name is part of the interface
        *,
        padding_mode: PaddingMode = PaddingMode.UNDETERMINED,
        traversal_steps: tuple[int, ...] | None = None,
    ) -> TiledView:
        """Cut the array into tiles that start every `traversal_steps` elements."""
        return TiledView(self, tile_shape, padding_mode, traversal_steps)


def integer(value: Any, what: str) -> int:  # noqa: ANN401 - whatever the kernel passed
    """Return an integer scalar or constant as a Python number."""
    if type(value) is int:
        return value
    if isinstance(value, Scalar) and value.dtype.is_integral:
        if value.poisoned:
            msg = f"{what} depends on undetermined padding"
            raise PoisonError(msg)
        return int(value.value)
    msg = f"Expected an integer as {what}, got {value!r}"
    raise TileTypeError(msg)


def _index(index: Any, ndim: int) -> tuple[int, ...]:  # noqa: ANN401 - whatever the kernel passed
    entries = index if isinstance(index, tuple) else (index,)
    if len(entries) != ndim:
        msg = f"Index size {len(entries)} does not match the array rank {ndim}"
        raise TileTypeError(msg)
    numbers = []
    for entry in entries:
        if isinstance(entry, Scalar) and entry.dtype.kind != "int":
            msg = f"Expected a tuple of signed integers as tile index, got {entry.dtype}"
            raise TileTypeError(msg)
        numbers.append(integer(entry, "tile index"))
    return tuple(numbers)


def _axis_order(order: Any, ndim: int) -> tuple[int, ...]:  # noqa: ANN401 - whatever the kernel passed
    if order == "C":
        return tuple(range(ndim))
    if order == "F":
        return tuple(reversed(range(ndim)))
    if not isinstance(order, tuple) or sorted(axis_of(axis, ndim) for axis in order) != list(range(ndim)):
        msg = f"order must be 'C', 'F' or a permutation of the axes, got {order!r}"
        raise TileTypeError(msg)
    return tuple(axis_of(axis, ndim) for axis in order)


def _hints(latency: object, allow_tma: object) -> None:
    if latency is not None and not (type(latency) is int and 1 <= latency <= 10):
        msg = f"Latency must be between 1 and 10, got {latency}"
        raise TileValueError(msg)
    if allow_tma is not None and not isinstance(allow_tma, bool):
        msg = "allow_tma must be a constant bool"
        raise TileTypeError(msg)


def padding_mode_of(mode: object) -> PaddingMode:
    """Accept a member of `PaddingMode` or its name."""
    if isinstance(mode, PaddingMode):
        return mode
    if isinstance(mode, str) and mode in PaddingMode.__members__:
        return PaddingMode[mode]
    msg = f"Expected a padding mode, got {mode!r}"
    raise TileTypeError(msg)


def _padding(mode: PaddingMode, dtype: DType) -> torch.Tensor:
    if mode is PaddingMode.ZERO:
        return constant_of(0, dtype)
    if mode is PaddingMode.UNDETERMINED:
        return constant_of(_INT_POISON if dtype.kind in ("int", "uint", "bool") else float("nan"), dtype)
    if dtype.kind in ("int", "uint", "bool"):
        msg = f"Return code 3: padding mode {mode.name} is not valid for {dtype}"
        raise TileCompilerExecutionError(msg)
    return constant_of(_FLOAT_PADDING[mode], dtype)


class _Window:
    """The part of an array that a tile covers: `view` of its in-bounds elements, at the front of a tile of `shape`."""

    __slots__ = ("array", "inside", "offset", "shape", "steps", "whole")

    def __init__(
        self,
        array: Array,
        starts: tuple[int, ...],
        shape: tuple[int, ...],
        order: tuple[int, ...],
        check: object,
    ) -> None:
        extents, steps = array.extents, array.steps
        offset = array.offset
        inside = []
        for axis, start, length in zip(order, starts, shape, strict=True):
            left = extents[axis] - start
            if start < 0 or left <= 0:
                msg = (
                    f"tile of shape {shape} at element {starts} lies wholly outside of `{array.name}`, "
                    f"whose shape is {tuple(extents[each] for each in order)}"
                )
                raise OutOfBoundsError(msg)
            offset += start * steps[axis]
            inside.append(min(length, left))
        self.array = array
        self.shape = shape
        self.inside = tuple(inside)
        self.steps = tuple(steps[axis] for axis in order)
        self.offset = offset
        self.whole = self.inside == shape
        if not self.whole and check is False:
            msg = f"tile leaves `{array.name}`, yet check_bounds=False promises that it doesn't"
            raise OutOfBoundsError(msg)

    def of(self, flat: torch.Tensor) -> torch.Tensor:
        """View the covered elements in `flat`, or in any tensor with the same storage layout."""
        return flat.as_strided(self.inside, self.steps, self.offset)


def read(window: _Window, mode: PaddingMode) -> Value:
    """Load what `window` covers."""
    array = window.array
    view = window.of(array.tensor)
    check_read(array, window)
    data = from_torch(view, array.dtype)
    if window.whole:
        return make(data.clone(), array.dtype)
    padded = _padding(mode, array.dtype).expand(window.shape).clone()
    inner = tuple(slice(0, length) for length in window.inside)
    padded[inner] = data
    if mode is not PaddingMode.UNDETERMINED:
        return make(padded, array.dtype)
    poison = torch.ones(window.shape, dtype=torch.bool)
    poison[inner] = False
    return make(padded, array.dtype, poison)


def write(window: _Window, data: torch.Tensor, poison: torch.Tensor | None) -> None:
    """Store the in-bounds part of a tile."""
    array = window.array
    inner = tuple(slice(0, length) for length in window.inside)
    if poison is not None and poison.expand(window.shape)[inner].any():
        msg = f"a value stored to `{array.name}` depends on undetermined padding"
        raise PoisonError(msg)
    native = to_torch(data if window.whole else data[inner], array.dtype)
    view = window.of(array.tensor)
    claim(array, window, view, native)
    view.copy_(native)


def owners(array: Array) -> torch.Tensor | None:
    """Return the marks of who wrote which element of the storage behind `array`, if anyone did."""
    block = state.current
    return None if block is None else block.launch.owners.get(array.tensor.untyped_storage().data_ptr())


def own(array: Array) -> torch.Tensor:
    """Return the marks of who wrote what, for writing; refuse memory that another argument can see."""
    if array.aliased is not None:
        msg = (
            f"`{array.name}` is written, and shares memory with argument `{array.aliased}` of the same launch"
        )
        raise AliasError(msg)
    block = state.current
    if block is None:
        msg = "store(): Device functions can only be called from device code"
        raise RuntimeError(msg)
    storage = array.tensor.untyped_storage()
    marks = block.launch.owners.get(storage.data_ptr())
    if marks is None:
        marks = torch.zeros(storage.nbytes() // array.tensor.itemsize, dtype=torch.int32)
        block.launch.owners[storage.data_ptr()] = marks
    return marks


def check_read(array: Array, window: _Window) -> None:
    """Refuse to read what another block wrote without atomics."""
    marks = owners(array)
    block = state.current
    if marks is None or block is None or block.launch.atomics_used:
        return
    found = window.of(marks)
    if bool(((found > 0) & (found != block.number)).any()):
        msg = f"a block reads elements of `{array.name}` that another block of the launch wrote"
        raise DataRaceError(msg)


def differ(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """Mark elements whose values differ; NaN equals NaN."""
    if old.dtype.itemsize == 1 and old.dtype.is_floating_point:
        return old.view(torch.uint8) != new.view(torch.uint8)
    changed = old != new
    return changed & ~(torch.isnan(old) & torch.isnan(new)) if old.dtype.is_floating_point else changed


def claim(array: Array, window: _Window, view: torch.Tensor, native: torch.Tensor) -> None:
    """Mark elements as written by this block; refuse those that another block gave a different value."""
    block = state.current
    marks = window.of(own(array))
    number = 0 if block is None else block.number
    foreign = (marks != 0) & (marks != number)
    if bool(foreign.any()) and bool((foreign & differ(view, native.contiguous().expand_as(view))).any()):
        msg = f"two blocks write different values to one element of `{array.name}`"
        raise DataRaceError(msg)
    marks.fill_(number)


def _starts(index: tuple[int, ...], steps: tuple[int, ...], name: str) -> tuple[int, ...]:
    if min(index, default=0) < 0:
        msg = f"negative tile index {index} for `{name}`"
        raise OutOfBoundsError(msg)
    return tuple(place * step for place, step in zip(index, steps, strict=True))


def _array(array: object, name: str) -> Array:
    require_device(name)
    if not isinstance(array, Array):
        msg = f"{name}() expects an array, got {type(array).__name__}"
        raise TileTypeError(msg)
    return array


def _tile_dims(shape: Any, array: Array) -> tuple[int, ...]:  # noqa: ANN401 - whatever the kernel passed
    dims = tile_shape(shape)
    if len(dims) != array.ndim:
        if not dims:
            return (1,) * array.ndim
        msg = f"Shape size {len(dims)} does not match the array rank {array.ndim}"
        raise TileTypeError(msg)
    return dims


def load(
    array: Array,
    /,
    index: Any,  # noqa: ANN401 - an integer or a tuple
    shape: Any,  # noqa: ANN401 - an integer or a tuple
    *,
    order: Any = "C",  # noqa: ANN401 - a letter or a permutation
    padding_mode: PaddingMode | str = PaddingMode.UNDETERMINED,
    check_bounds: bool = True,
    latency: int | None = None,
    allow_tma: bool | None = None,
    memory_order: MemoryOrder = MemoryOrder.WEAK,
    memory_scope: object = None,  # noqa: ARG001 - without meaning for one block at a time
) -> Value:
    """Load the tile at `index`, counted in tiles."""
    _array(array, "load")
    if memory_order not in (MemoryOrder.WEAK, MemoryOrder.RELAXED, MemoryOrder.ACQUIRE):
        msg = f"load() does not support memory order {memory_order}"
        raise TileTypeError(msg)
    _hints(latency, allow_tma)
    mode = padding_mode_of(padding_mode)
    dims = _tile_dims(shape, array)
    starts = _starts(_index(index, array.ndim), dims, array.name)
    if mode is not PaddingMode.UNDETERMINED:
        _padding(mode, array.dtype)
    value = read(_Window(array, starts, dims, _axis_order(order, array.ndim), check_bounds), mode)
    if shape == () and array.ndim:
        return make(value.data.reshape(()), value.dtype, value.poison)
    return value


def store(
    array: Array,
    /,
    index: Any,  # noqa: ANN401 - an integer or a tuple
    tile: Operand,
    *,
    order: Any = "C",  # noqa: ANN401 - a letter or a permutation
    check_bounds: bool = True,
    latency: int | None = None,
    allow_tma: bool | None = None,
    memory_order: MemoryOrder = MemoryOrder.WEAK,
    memory_scope: object = None,  # noqa: ARG001 - without meaning for one block at a time
) -> None:
    """Store `tile` at `index`, counted in tiles; elements outside of the array are dropped."""
    _array(array, "store")
    if memory_order not in (MemoryOrder.WEAK, MemoryOrder.RELAXED, MemoryOrder.RELEASE):
        msg = f"store() does not support memory order {memory_order}"
        raise TileTypeError(msg)
    _hints(latency, allow_tma)
    data, poison = implicit_cast(tile, array.dtype, "store")
    indices = _index(index, array.ndim)
    axes = _axis_order(order, array.ndim)
    if data.ndim == 0:
        data = data.reshape((1,) * array.ndim)
        poison = None if poison is None else poison.reshape((1,) * array.ndim)
    if data.ndim != array.ndim:
        msg = f"Return code 3: store of a tile of rank {data.ndim} into an array of rank {array.ndim}"
        raise TileCompilerExecutionError(msg)
    dims = tuple(data.shape)
    write(_Window(array, _starts(indices, dims, array.name), dims, axes, check_bounds), data, poison)


def num_tiles(array: Array, /, axis: int, shape: Any, order: Any = "C") -> Scalar:  # noqa: ANN401
    """Count the tiles along one axis."""
    _array(array, "num_tiles")
    dims = _tile_dims(shape, array)
    place = axis_of(axis, array.ndim)
    extent = array.extents[_axis_order(order, array.ndim)[place]]
    return Scalar(-(-extent // dims[place]), INT32)


class TiledView:
    """An array cut into tiles, which may overlap or leave gaps."""

    __slots__ = ("_array", "_dims", "_mode", "_steps")

    def __init__(
        self,
        array: Array,
        shape: Any,  # noqa: ANN401 - an integer or a tuple
        padding_mode: PaddingMode | str,
        traversal_steps: Any,  # noqa: ANN401 - a tuple or None
    ) -> None:
        self._array = array
        self._dims = _tile_dims(shape, array)
        self._mode = padding_mode_of(padding_mode)
        steps = self._dims if traversal_steps is None else traversal_steps
        steps = (steps,) if type(steps) is int else steps
        if (
            not isinstance(steps, tuple)
            or len(steps) != array.ndim
            or any(type(step) is not int or step < 1 for step in steps)
        ):
            msg = (
                f"traversal_steps must be a tuple of {array.ndim} positive constants, got {traversal_steps!r}"
            )
            raise TileTypeError(msg)
        self._steps: tuple[int, ...] = steps

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.startswith("atomic_store_"):
            what = f"TiledView.{name}()"
            raise NotSupportedError(what)
        msg = f"No such attribute: a tiled view has no `{name}`"
        raise TileTypeError(msg)

    @property
    def dtype(self) -> DType:
        """Dtype of the array."""
        return self._array.dtype

    @property
    def tile_shape(self) -> tuple[int, ...]:
        """Extents of one tile."""
        return self._dims

    @property
    def traversal_steps(self) -> tuple[int, ...]:
        """Distance between the starts of neighbouring tiles."""
        return self._steps

    def num_tiles(self, axis: int) -> Scalar:
        """Count the tiles along one axis."""
        place = axis_of(axis, self._array.ndim)
        return Scalar(-(-self._array.extents[place] // self._steps[place]), INT32)

    def _window(self, index: Any) -> _Window:  # noqa: ANN401 - an integer or a tuple
        rank = self._array.ndim
        starts = _starts(_index(index, rank), self._steps, self._array.name)
        return _Window(self._array, starts, self._dims, tuple(range(rank)), None)

    def load(self, index: Any, *, latency: int | None = None, allow_tma: bool | None = None) -> Value:  # noqa: ANN401
        """Load one tile."""
        _hints(latency, allow_tma)
        return read(self._window(index), self._mode)

    def store(
        self,
        index: Any,  # noqa: ANN401 - an integer or a tuple
        tile: Operand,
        *,
        latency: int | None = None,
        allow_tma: bool | None = None,
    ) -> None:
        """Store one tile, broadcast to the tile shape."""
        _hints(latency, allow_tma)
        data, poison = implicit_cast(tile, self._array.dtype, "store")
        shape = tuple(data.shape)
        fits = len(shape) <= len(self._dims) and all(
            have in (1, want) for have, want in zip(reversed(shape), reversed(self._dims), strict=False)
        )
        if not fits:
            msg = f"Tile of shape {shape} can't be broadcast to {self._dims}"
            raise TileTypeError(msg)
        write(self._window(index), data.expand(self._dims), poison)
