"""Views: no work, only another index.

`permute`, `view` and the rest ask their operand for the element that the new index stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilespec.lowering.call import Call, Rule
from tilespec.lowering.values import Index, Value
from tilespec.model.dims import ONE, ZERO, Expr, product

__all__ = ["RULES", "reshape_index"]


def reshape_index(old: Sequence[Expr], new: Sequence[Expr], index: Sequence[Expr]) -> Index:
    """Return the index into shape `old` of the element at `index` of shape `new`, both row-major.

    Dims are matched in groups of equal size from the left, so that an untouched dim keeps its index.

        reshape_index((B, S*D), (B, S, D), (b, s, d)) == (b, s*D + d)
    """
    result: list[Expr] = []
    left = right = 0
    while left < len(old):
        if old[left] == ONE:
            result.append(ZERO)
            left += 1
        elif right < len(new) and new[right] == ONE:
            right += 1
        else:
            width, height = _group(old, new, left, right)
            position = _flatten(new[right:height], index[right:height])
            result.extend(_unflatten(old[left:width], position))
            left, right = width, height
    return tuple(result)


def _group(old: Sequence[Expr], new: Sequence[Expr], left: int, right: int) -> tuple[int, int]:
    """Return the ends of the smallest runs of dims of equal size from `left` and `right`; of all dims if none."""
    for total in range(2, len(old) - left + len(new) - right + 1):
        for width in range(left + 1, min(left + total, len(old) + 1)):
            height = right + total - (width - left)
            if height <= len(new) and product(old[left:width]) == product(new[right:height]):
                return width, height
    return len(old), len(new)


def _flatten(shape: Sequence[Expr], index: Sequence[Expr]) -> Expr:
    total = ZERO
    for size, item in zip(shape, index, strict=True):
        total = total * size + item
    return total


def _unflatten(shape: Sequence[Expr], position: Expr) -> list[Expr]:
    result: list[Expr] = []
    for number, size in enumerate(shape):
        if size == ONE:
            result.append(ZERO)
            continue
        inner = product(shape[number + 1 :])
        whole = position // inner
        outermost = all(item == ONE for item in shape[:number])
        result.append(whole if outermost else whole % size)
    return result


def _reshape(call: Call) -> Value:
    value = call.value(0)
    shape = call.meta.shape
    return call.result(lambda index: value.at(reshape_index(value.shape, shape, index)))


def _permute(call: Call) -> Value:
    value = call.value(0)
    order = _order(call, value.rank)

    def fetch(index: Index) -> Index:
        inner = [ZERO] * value.rank
        for position, dim in enumerate(order):
            inner[dim] = index[position]
        return tuple(inner)

    return call.result(lambda index: value.at(fetch(index)))


def _order(call: Call, rank: int) -> list[int]:
    if call.op in {"permute", "permute_copy"}:
        numbers = [int(size.value or 0) for size in call.sizes(1, "dims")]
        return [number % rank for number in numbers]
    order = list(range(rank))
    if rank > 1:
        first = call.dim(1, "dim0", rank, 0)
        second = call.dim(2, "dim1", rank, 1)
        order[first], order[second] = order[second], order[first]
    return order


def _reindexed(make: Callable[[Call, Value], Callable[[Index], Sequence[Expr]]]) -> Rule:
    def rule(call: Call) -> Value:
        value = call.value(0)
        inner = make(call, value)
        return call.result(lambda index: value.at(tuple(inner(index))))

    return rule


def _expand(call: Call, value: Value) -> Callable[[Index], Sequence[Expr]]:
    lead = len(call.meta.shape) - value.rank
    return lambda index: tuple(
        ZERO if size == ONE else item for size, item in zip(value.shape, index[lead:], strict=True)
    )


def _slice_bounds(call: Call, value: Value) -> tuple[int, Expr, Expr]:
    dim = call.dim(1, "dim", value.rank)
    size = value.shape[dim]
    raw = call.raw(2, "start")
    start = ZERO if raw is None else call.size(2, "start")
    step = call.size(4, "step", 1)
    return dim, _wrap(start, size), step


def _wrap(position: Expr, size: Expr) -> Expr:
    if (-position).is_positive():
        return (position + size).maximum(ZERO)
    return position.minimum(size)


def _slice(call: Call, value: Value) -> Callable[[Index], Sequence[Expr]]:
    dim, start, step = _slice_bounds(call, value)
    return lambda index: (*index[:dim], start + index[dim] * step, *index[dim + 1 :])


def _select(call: Call, value: Value) -> Callable[[Index], Sequence[Expr]]:
    dim = call.dim(1, "dim", value.rank)
    position = call.size(2, "index")
    if (-position).is_positive():
        position = position + value.shape[dim]
    return lambda index: (*index[:dim], position, *index[dim:])


def _squeeze(call: Call, value: Value) -> Callable[[Index], Sequence[Expr]]:
    raw = call.raw(1, "dim")
    chosen = range(value.rank) if raw is None else call.dims(1, "dim", value.rank)
    gone = [dim for dim in chosen if value.shape[dim] == ONE]

    def inner(index: Index) -> Sequence[Expr]:
        rest = list(index)
        return [ZERO if dim in gone else rest.pop(0) for dim in range(value.rank)]

    return inner


def _unsqueeze(call: Call, value: Value) -> Callable[[Index], Sequence[Expr]]:
    dim = call.dim(1, "dim", value.rank + 1)
    return lambda index: (*index[:dim], *index[dim + 1 :])


def _flip(call: Call, value: Value) -> Callable[[Index], Sequence[Expr]]:
    flipped = () if call.raw(1, "dims") == () else call.dims(1, "dims", value.rank)
    return lambda index: [
        value.shape[dim] - 1 - item if dim in flipped else item for dim, item in enumerate(index)
    ]


def _roll(call: Call, value: Value) -> Callable[[Index], Sequence[Expr]]:
    shifts = call.sizes(1, "shifts")
    raw = call.raw(2, "dims", ())
    if raw in {(), None}:
        total = product(value.shape)

        def flat(index: Index) -> Sequence[Expr]:
            return _unflatten(value.shape, (_flatten(value.shape, index) - shifts[0]) % total)

        return flat
    items = raw if isinstance(raw, tuple) else (raw,)
    dims = [int(item) % value.rank for item in items if isinstance(item, int)]

    def inner(index: Index) -> Sequence[Expr]:
        result = list(index)
        for dim, shift in zip(dims, shifts, strict=True):
            result[dim] = (result[dim] - shift) % value.shape[dim]
        return result

    return inner


def _repeat(call: Call, value: Value) -> Callable[[Index], Sequence[Expr]]:
    lead = len(call.meta.shape) - value.rank
    return lambda index: [
        ZERO if size == ONE else item if item.axis is not None and item.axis.extent == size else item % size
        for size, item in zip(value.shape, index[lead:], strict=True)
    ]


def _repeat_interleave(call: Call, value: Value) -> Callable[[Index], Sequence[Expr]]:
    count = call.size(1, "repeats")
    raw = call.raw(2, "dim")
    if raw is None:
        return lambda index: _unflatten(value.shape, index[0] // count)
    dim = call.dim(2, "dim", value.rank)
    return lambda index: (*index[:dim], index[dim] // count, *index[dim + 1 :])


def _unfold(call: Call, value: Value) -> Callable[[Index], Sequence[Expr]]:
    if not value.rank:
        return lambda _: ()
    dim = call.dim(1, "dimension", value.rank)
    step = call.size(3, "step")
    return lambda index: (*index[:dim], index[dim] * step + index[-1], *index[dim + 1 : -1])


def _diagonal(call: Call, value: Value) -> Callable[[Index], Sequence[Expr]]:
    offset = int(call.number(1, "offset", 0))
    first = call.dim(2, "dim1", value.rank, 0)
    second = call.dim(3, "dim2", value.rank, 1)

    def inner(index: Index) -> Sequence[Expr]:
        rest = list(index[:-1])
        place = {first: index[-1] + max(-offset, 0), second: index[-1] + max(offset, 0)}
        return [place[dim] if dim in place else rest.pop(0) for dim in range(value.rank)]

    return inner


def _split(call: Call) -> tuple[Value, ...]:
    value = call.value(0)
    dim = call.dim(2, "dim", value.rank)
    starts: list[Expr] = []
    position = ZERO
    for meta in call.node.results:
        starts.append(position)
        position = position + meta.shape[dim]
    return tuple(_piece(call, value, dim, start, number) for number, start in enumerate(starts))


def _piece(call: Call, value: Value, dim: int, start: Expr, number: int) -> Value:
    return call.result(
        lambda index: value.at((*index[:dim], index[dim] + start, *index[dim + 1 :])), number=number
    )


def _unbind(call: Call) -> tuple[Value, ...]:
    value = call.value(0)
    dim = call.dim(1, "dim", value.rank)

    def one(number: int) -> Value:
        return call.result(
            lambda index: value.at((*index[:dim], Expr.wrap(number), *index[dim:])), number=number
        )

    return tuple(one(number) for number in range(len(call.node.results)))


def _as_strided(call: Call) -> Value:
    value = call.value(0)
    strides = call.sizes(2, "stride")
    offset = ZERO if call.raw(3, "storage_offset") is None else call.size(3, "storage_offset")

    def fetch(index: Index) -> Index:
        position = offset
        for item, stride in zip(index, strides, strict=True):
            position = position + item * stride
        return tuple(_unflatten(value.shape, position))

    return call.result(lambda index: value.at(fetch(index)))


RULES: dict[str, Rule] = {
    "aten._reshape_alias": _reshape,
    "aten._unsafe_view": _reshape,
    "aten.as_strided": _as_strided,
    "aten.broadcast_to": _reindexed(_expand),
    "aten.chunk": _split,
    "aten.diagonal": _reindexed(_diagonal),
    "aten.diagonal_copy": _reindexed(_diagonal),
    "aten.expand": _reindexed(_expand),
    "aten.expand_copy": _reindexed(_expand),
    "aten.flatten": _reshape,
    "aten.flip": _reindexed(_flip),
    "aten.permute": _permute,
    "aten.permute_copy": _permute,
    "aten.repeat": _reindexed(_repeat),
    "aten.repeat_interleave": _reindexed(_repeat_interleave),
    "aten.reshape": _reshape,
    "aten.roll": _reindexed(_roll),
    "aten.select": _reindexed(_select),
    "aten.select_copy": _reindexed(_select),
    "aten.slice": _reindexed(_slice),
    "aten.slice_copy": _reindexed(_slice),
    "aten.split": _split,
    "aten.split_with_sizes": _split,
    "aten.split_with_sizes_copy": _split,
    "aten.squeeze": _reindexed(_squeeze),
    "aten.squeeze_copy": _reindexed(_squeeze),
    "aten.t": _permute,
    "aten.tile": _reindexed(_repeat),
    "aten.transpose": _permute,
    "aten.unbind": _unbind,
    "aten.unflatten": _reshape,
    "aten.unfold": _reindexed(_unfold),
    "aten.unfold_copy": _reindexed(_unfold),
    "aten.unsafe_split": _split,
    "aten.unsqueeze": _reindexed(_unsqueeze),
    "aten.unsqueeze_copy": _reindexed(_unsqueeze),
    "aten.view": _reshape,
    "aten.view_copy": _reshape,
}
