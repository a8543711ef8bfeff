"""Access by element index: gather, scatter and atomic operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch

from tilespec.interpret import state
from tilespec.interpret.convert import Operand, check_shapes, implicit_cast, require_device, strict
from tilespec.interpret.dtypes import BOOL, constant_of, from_torch, to_torch
from tilespec.interpret.errors import (
    DataRaceError,
    OutOfBoundsError,
    PoisonError,
    TileTypeError,
    TileValueError,
)
from tilespec.interpret.memory import ATOMIC, Array, differ, own, owners
from tilespec.interpret.tiles import Scalar, Tile, Value, make

__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xchg",
    "atomic_xor",
    "gather",
    "scatter",
]

_BITS_VIEW: Final = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _locate(
    array: Array, entries: tuple[Operand, ...], name: str
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
    """Turn indices into storage offsets; return them, which are in bounds (`None`: all) and which are undetermined."""
    base, reachable = array.offset, True
    offsets: torch.Tensor | None = None
    inside: torch.Tensor | None = None
    poison: torch.Tensor | None = None
    widest: Value | None = None
    for entry, extent, step in zip(entries, array.extents, array.steps, strict=True):
        index = strict(entry, name)
        if not index.dtype.is_integral:
            msg = f"{name}() expects integer indices, got {index.dtype}"
            raise TileTypeError(msg)
        if index.poison is not None:
            poison = index.poison if poison is None else poison | index.poison
        if isinstance(index, Scalar):
            base += int(index.value) * step
            reachable = reachable and 0 <= index.value < extent
            continue
        if widest is not None:
            check_shapes(widest, index)
        place = index.data.to(torch.int64)
        low, high = torch.aminmax(place)
        if int(low) < 0 or int(high) >= extent:
            within = (place >= 0) & (place < extent)
            inside = within if inside is None else inside & within
        offsets = place * step if offsets is None else offsets + place * step
        widest = Tile(offsets, index.dtype)
    offsets = torch.tensor(base) if offsets is None else offsets + base
    if not reachable:
        inside = torch.zeros(offsets.shape, dtype=torch.bool)
    return offsets, inside, poison


class _Places:
    """Element offsets into the storage of an array, the mask of those that take part, and their shape."""

    __slots__ = ("active", "array", "offsets", "poison", "shape")

    def __init__(self, array: object, indices: Any, mask: Any, check_bounds: object, name: str) -> None:  # noqa: ANN401
        require_device(name)
        if not isinstance(array, Array):
            msg = f"{name}() expects an array, got {type(array).__name__}"
            raise TileTypeError(msg)
        entries = indices if isinstance(indices, tuple) else (indices,)
        if len(entries) != array.ndim:
            msg = f"Index size {len(entries)} does not match the array rank {array.ndim}"
            raise TileTypeError(msg)
        offsets, inside, poison = _locate(array, entries, name)
        chosen: torch.Tensor | None = None
        shape = tuple(offsets.shape)
        if mask is not None:
            value = strict(mask, name)
            if value.dtype is not BOOL:
                msg = f"{name}() expects a bool mask, got {value.dtype}"
                raise TileTypeError(msg)
            if tuple(torch.broadcast_shapes(value.shape, shape)) != shape:
                msg = f"{name}(): mask of shape {value.shape} can't be broadcast to {shape}"
                raise TileTypeError(msg)
            chosen = value.data
            if poison is not None:
                poison = poison & chosen
            if value.poison is not None:
                poison = value.poison if poison is None else poison | value.poison
        self.array = array
        self.shape = shape
        self.offsets = offsets
        self.poison = poison.expand(self.shape) if poison is not None and bool(poison.any()) else None
        self.active = self._active(inside, chosen, check_bounds, name)

    def _active(
        self, inside: torch.Tensor | None, chosen: torch.Tensor | None, check: object, name: str
    ) -> torch.Tensor | None:
        """Combine bounds and mask; `None` when every element takes part."""
        if inside is not None and check is False:
            outside = ~inside if chosen is None else ~inside & chosen
            if bool(outside.any()):
                msg = f"{name}() leaves `{self.array.name}`, yet check_bounds=False promises that it doesn't"
                raise OutOfBoundsError(msg)
        if inside is None or chosen is None:
            active = chosen if inside is None else inside
        else:
            active = inside & chosen
        if active is not None and bool(active.all()):
            return None
        return None if active is None else active.expand(self.shape)

    def refuse_poison(self) -> None:
        """Refuse to write where undetermined padding decides."""
        if self.poison is not None:
            msg = f"an element index into `{self.array.name}` depends on undetermined padding"
            raise PoisonError(msg)

    def selected(self) -> torch.Tensor:
        """Return the offsets that take part, in one dimension."""
        flat = self.offsets.expand(self.shape)
        return flat.reshape(-1) if self.active is None else flat[self.active]

    def pick(self, data: torch.Tensor) -> torch.Tensor:
        """Return the elements of a tile that take part, in one dimension."""
        whole = data.expand(self.shape)
        return whole.reshape(-1) if self.active is None else whole[self.active]


def _flat(array: Array, *, bits: bool = False) -> torch.Tensor:
    """View the whole storage behind `array` in one dimension."""
    size = array.tensor.untyped_storage().nbytes() // array.tensor.itemsize
    flat = array.tensor.as_strided((size,), (1,), 0)
    return flat.view(_BITS_VIEW[flat.itemsize]) if bits else flat


def _latency(latency: object) -> None:
    if latency is not None and not (type(latency) is int and 1 <= latency <= 10):
        msg = f"Latency must be between 1 and 10, got {latency}"
        raise TileValueError(msg)


def _check_read(array: Array, offsets: torch.Tensor) -> None:
    marks, block = owners(array), state.current
    if marks is None or block is None or block.launch.atomics_used:
        return
    found = marks[offsets]
    if bool(((found > 0) & (found != block.number)).any()):
        msg = f"a block reads elements of `{array.name}` that another block of the launch wrote"
        raise DataRaceError(msg)


def gather(
    array: Array,
    indices: Any,  # noqa: ANN401 - a tile or a tuple
    /,
    *,
    mask: Operand | None = None,
    padding_value: Operand = 0,
    check_bounds: bool = True,
    latency: int | None = None,
) -> Value:
    """Read elements; those masked out or out of bounds yield `padding_value`."""
    _latency(latency)
    places = _Places(array, indices, mask, check_bounds, "gather")
    padding, padding_poison = implicit_cast(padding_value, array.dtype, "padding_value")
    offsets = places.selected()
    _check_read(array, offsets)
    picked = from_torch(_flat(array, bits=True)[offsets].view(array.tensor.dtype), array.dtype)
    if places.active is None:
        return make(picked.reshape(places.shape), array.dtype, places.poison)
    data = padding.expand(places.shape).clone()
    data[places.active] = picked
    poison = places.poison
    if padding_poison is not None:
        padded = padding_poison.expand(places.shape) & ~places.active
        poison = padded if poison is None else poison | padded
    return make(data, array.dtype, poison)


def scatter(
    array: Array,
    indices: Any,  # noqa: ANN401 - a tile or a tuple
    value: Operand,
    /,
    *,
    mask: Operand | None = None,
    check_bounds: bool = True,
    latency: int | None = None,
) -> None:
    """Write elements; those masked out or out of bounds are dropped."""
    _latency(latency)
    places = _Places(array, indices, mask, check_bounds, "scatter")
    data, poison = implicit_cast(value, array.dtype, "scatter")
    _broadcasts(data, places, "scatter")
    places.refuse_poison()
    offsets = places.selected()
    if poison is not None and bool(places.pick(poison).any()):
        msg = f"a value stored to `{array.name}` depends on undetermined padding"
        raise PoisonError(msg)
    marks, block = own(array), state.current
    number = 0 if block is None else block.number
    flat = _flat(array, bits=True)
    fresh = to_torch(places.pick(data), array.dtype).contiguous()
    found = marks[offsets]
    foreign = (found != 0) & (found != number)
    if bool(foreign.any()):
        old = flat[offsets].view(array.tensor.dtype)
        if bool((foreign & differ(old, fresh)).any()):
            msg = f"two blocks write different values to one element of `{array.name}`"
            raise DataRaceError(msg)
    flat[offsets] = fresh.view(flat.dtype)
    if bool(differ(flat[offsets].view(array.tensor.dtype), fresh).any()):
        msg = f"scatter() writes different values to one element of `{array.name}`"
        raise DataRaceError(msg)
    marks[offsets] = number


def _broadcasts(data: torch.Tensor, places: _Places, name: str) -> None:
    shape = tuple(data.shape)
    fits = len(shape) <= len(places.shape) and all(
        have in (1, want) for have, want in zip(reversed(shape), reversed(places.shape), strict=False)
    )
    if not fits:
        msg = f"{name}(): a value of shape {shape} can't be broadcast to {places.shape}"
        raise TileTypeError(msg)


_WORDS: Final = ("int32", "int64", "uint32", "uint64")
_ATOMIC_DTYPES: Final = {
    "atomic_add": (*_WORDS, "float16", "bfloat16", "float32", "float64"),
    "atomic_xchg": (*_WORDS, "float32", "float64"),
    "atomic_cas": (*_WORDS, "float32", "float64"),
}
_Step = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def _rounds(offsets: torch.Tensor) -> list[torch.Tensor]:
    """Split positions into rounds in which no address comes twice."""
    if offsets.numel() == torch.unique(offsets).numel():
        return [torch.arange(offsets.numel())]
    order = torch.argsort(offsets, stable=True)
    in_order = offsets[order]
    first = torch.ones(in_order.numel(), dtype=torch.bool)
    first[1:] = in_order[1:] != in_order[:-1]
    places = torch.arange(in_order.numel())
    starts = torch.cummax(torch.where(first, places, 0), 0).values
    turn = places - starts
    return [order[turn == number] for number in range(int(turn.max()) + 1)]


def _atomic(
    array: Array,
    indices: Operand,
    values: tuple[Operand, ...],
    check: object,
    name: str,
    step: Callable[..., torch.Tensor],
) -> Value:
    places = _Places(array, indices, None, check, name)
    allowed = _ATOMIC_DTYPES.get(name, _WORDS)
    if array.dtype.name not in allowed:
        msg = f"{name}(): Unsupported array dtype {array.dtype}"
        raise TileTypeError(msg)
    places.refuse_poison()
    picked = []
    for value in values:
        data, poison = implicit_cast(value, array.dtype, name)
        _broadcasts(data, places, name)
        if poison is not None and bool(places.pick(poison).any()):
            msg = f"an atomic update of `{array.name}` depends on undetermined padding"
            raise PoisonError(msg)
        picked.append(places.pick(data))
    offsets = places.selected()
    marks, block = own(array), state.current
    if block is not None:
        block.launch.atomics_used = True
    marks[offsets] = ATOMIC
    flat = _flat(array, bits=True)
    result = constant_of(0, array.dtype).expand(offsets.shape).clone()
    for turn in _rounds(offsets):
        where = offsets[turn]
        old = from_torch(flat[where].view(array.tensor.dtype), array.dtype)
        new = step(old, *(each[turn] for each in picked))
        if array.dtype.name == "uint32":
            new = new & 0xFFFFFFFF
        flat[where] = to_torch(new, array.dtype).contiguous().view(flat.dtype)
        result[turn] = old
    if places.active is None:
        return make(result.reshape(places.shape), array.dtype)
    whole = constant_of(0, array.dtype).expand(places.shape).clone()
    whole[places.active] = result
    return make(whole, array.dtype, ~places.active)


def _updating(name: str, step: _Step) -> Callable[..., Value]:
    def operation(
        array: Array,
        indices: Any,  # noqa: ANN401 - a tile or a tuple
        update: Operand,
        /,
        *,
        check_bounds: bool = True,
        memory_order: object = None,  # noqa: ARG001 - blocks run one after the other
        memory_scope: object = None,  # noqa: ARG001 - blocks run one after the other
    ) -> Value:
        return _atomic(array, indices, (update,), check_bounds, name, step)

    operation.__name__ = name
    return operation


atomic_add = _updating("atomic_add", torch.add)
atomic_max = _updating("atomic_max", torch.maximum)
atomic_min = _updating("atomic_min", torch.minimum)
atomic_and = _updating("atomic_and", torch.bitwise_and)
atomic_or = _updating("atomic_or", torch.bitwise_or)
atomic_xor = _updating("atomic_xor", torch.bitwise_xor)
atomic_xchg = _updating("atomic_xchg", lambda old, new: new)  # noqa: ARG005 - the old value is dropped


def atomic_cas(
    array: Array,
    indices: Any,  # noqa: ANN401 - a tile or a tuple
    expected: Operand,
    desired: Operand,
    /,
    *,
    check_bounds: bool = True,
    memory_order: object = None,  # noqa: ARG001 - blocks run one after the other
    memory_scope: object = None,  # noqa: ARG001 - blocks run one after the other
) -> Value:
    """Replace elements that equal `expected`; return the old ones."""

    def step(old: torch.Tensor, wanted: torch.Tensor, fresh: torch.Tensor) -> torch.Tensor:
        return torch.where(old == wanted, fresh, old)

    return _atomic(array, indices, (expected, desired), check_bounds, "atomic_cas", step)
