"""Reads and writes at positions that are data: embedding, gather, index, scatter."""

from __future__ import annotations

from collections.abc import Sequence

from tilespec.ir.build import cast, index_node, literal
from tilespec.ir.nodes import Node
from tilespec.lowering.call import Call, Rule, convert
from tilespec.lowering.values import Index, Value, broadcast_index
from tilespec.model.dims import ONE, Expr

__all__ = ["RULES"]


def _embedding(call: Call) -> Value:
    table, places = call.value(0), call.value(1)
    lead = places.rank
    return call.result(lambda index: call.read(table, (places.at(index[:lead]), *index[lead:])))


def _index_select(call: Call) -> Value:
    value, places = call.value(0), call.value(2)
    dim = call.dim(1, "dim", value.rank)

    def fetch(index: Index) -> Node:
        place = places.at((index[dim],) if places.rank else ())
        return call.read(value, (*index[:dim], place, *index[dim + 1 :]))

    return call.result(fetch)


def _gather(call: Call) -> Value:
    value, places = call.value(0), call.value(2)
    if not value.rank:
        return call.result(lambda _: value.at(()))
    dim = call.dim(1, "dim", value.rank)
    return call.result(lambda index: call.read(value, (*index[:dim], places.at(index), *index[dim + 1 :])))


def _take(call: Call) -> Value:
    from_value, places = call.value(0), call.value(1)
    raise call.reject(
        f"it reads a tensor of rank {from_value.rank} as flat at positions of rank {places.rank}",
        "flatten the tensor and use `gather`",
    )


def _wrapped(call: Call, place: Node, size: Expr) -> Node:
    """Count negative positions from the end."""
    moved = call.do("add", cast(place, "int64", call.span), index_node(size))
    negative = call.do("lt", place, literal(place.dtype, 0))
    return call.do("where", negative, moved, cast(place, "int64", call.span))


class _Advanced:
    """How `x[i, :, j]` maps an index of the result: where the joint dims of the index tensors stand."""

    def __init__(self, call: Call, value: Value, position: int) -> None:
        raw = call.raw(position, "indices")
        items = raw if isinstance(raw, tuple) else ()
        self.call = call
        self.value = value
        self.places: dict[int, Value] = {
            dim: call.as_value(item) for dim, item in enumerate(items) if item is not None
        }
        if any(item.dtype in {"bool", "uint8"} for item in self.places.values()):
            raise call.reject("it picks by a mask", "use `where` or `masked_fill`, whose result has a fixed size")
        self.joint_rank = max((item.rank for item in self.places.values()), default=0)
        dims = sorted(self.places)
        adjacent = bool(dims) and dims == list(range(dims[0], dims[-1] + 1))
        self.joint_at = dims[0] if adjacent else 0

    @property
    def joint_shape(self) -> tuple[Expr, ...]:
        """The broadcast shape of the index tensors."""
        shape = [ONE] * self.joint_rank
        for item in self.places.values():
            for back, size in enumerate(reversed(item.shape), start=1):
                if size != ONE:
                    shape[-back] = size
        return tuple(shape)

    def place(self, dim: int, joint: Sequence[Expr]) -> Node:
        """Return the position that the index tensor of `dim` holds."""
        item = self.places[dim]
        node = item.at(broadcast_index(item.shape, joint))
        return _wrapped(self.call, node, self.value.shape[dim])

    def source(self, index: Index) -> tuple[Expr | Node, ...]:
        """Return the index into the value for an index of the result."""
        joint = index[self.joint_at : self.joint_at + self.joint_rank]
        rest = list((*index[: self.joint_at], *index[self.joint_at + self.joint_rank :]))
        return tuple(
            self.place(dim, joint) if dim in self.places else rest.pop(0) for dim in range(self.value.rank)
        )


def _index(call: Call) -> Value:
    value = call.value(0)
    advanced = _Advanced(call, value, 1)
    return call.result(lambda index: call.read(value, advanced.source(index)))


def _index_put(call: Call) -> Value:
    """Write `values` at index tensors: each element looks for the last write that hits it, or sums all of them."""
    base, source = call.value(0), call.value(2)
    advanced = _Advanced(call, base, 1)
    shape = advanced.joint_shape
    joint = tuple(call.axis(f"j{number}", size) for number, size in enumerate(shape))
    accumulate = call.flag(3, "accumulate")

    def fetch(index: Index) -> Node:
        hit: Node | None = None
        for dim in advanced.places:
            test = call.do("eq", advanced.place(dim, joint), index_node(index[dim]))
            hit = test if hit is None else call.do("and", hit, test)
        rest = [item for dim, item in enumerate(index) if dim not in advanced.places]
        at = (*rest[: advanced.joint_at], *joint, *rest[advanced.joint_at :])
        if hit is None:
            return convert(source.at(broadcast_index(source.shape, rest)), call.kind, call.span)
        return _written(call, base.at(index), source, at, hit, joint, shape, accumulate=accumulate)

    return call.result(fetch)


def _written(
    call: Call,
    base: Node,
    source: Value,
    at: Sequence[Expr],
    hit: Node,
    axes: Sequence[Expr],
    shape: Sequence[Expr],
    *,
    accumulate: bool,
) -> Node:
    """Return an element after writes: `hit` says whether the write at `axes` meets it, `at` where its value stands."""
    element = convert(source.at(broadcast_index(source.shape, at)), call.kind, call.span)
    if accumulate:
        part = call.do("where", hit, element, literal(element.dtype, 0))
        return call.do("add", base, call.reduce("sum", part, axes))
    if not source.rank or not any(item in axes for item in broadcast_index(source.shape, at)):
        return call.do("where", call.reduce("any", hit, axes), element, base)
    flat = Expr.wrap(0)
    for item, size in zip(axes, shape, strict=True):
        flat = flat * size + item
    last = call.reduce("max", call.do("where", hit, index_node(flat), literal("int64", -1)), axes)
    places: dict[Expr, Node] = {}
    inner = last
    for item, size in reversed(list(zip(axes, shape, strict=True))):
        places[item] = call.do("mod", inner, index_node(size))
        inner = call.do("floordiv", inner, index_node(size))
    found = call.read(source, [places.get(item, item) for item in broadcast_index(source.shape, at)])
    anything = call.do("ge", last, literal("int64", 0))
    return call.do("where", anything, convert(found, call.kind, call.span), base)


def _scatter(call: Call) -> Value:
    """`scatter`, `scatter_add` along one dim; on equal positions the last write wins."""
    base, places, source = call.value(0), call.value(2), call.value(3)
    dim = call.dim(1, "dim", base.rank)
    reduce_name = call.raw(4, "reduce")
    accumulate = call.op == "scatter_add" or reduce_name == "add" or (reduce_name == "sum")
    if not accumulate and reduce_name is not None:
        raise call.reject(f"it reduces by `{reduce_name}`", "use `scatter_add`")
    axis = call.axis("k", places.shape[dim])

    def fetch(index: Index) -> Node:
        at = (*index[:dim], axis, *index[dim + 1 :])
        hit = call.do("eq", cast(places.at(at), "int64", call.span), index_node(index[dim]))
        for other, item in enumerate(index):
            size = places.shape[other]
            if other != dim and not (size - 1 - item.upper()).is_nonnegative():
                inside = call.do("lt", index_node(item), index_node(size))
                hit = call.do("and", inside, hit)
        return _written(
            call, base.at(index), source, at if source.rank else (), hit, (axis,), (places.shape[dim],),
            accumulate=accumulate,
        )  # fmt: skip

    return call.result(fetch)


def _index_add(call: Call) -> Value:
    base, places, source = call.value(0), call.value(2), call.value(3)
    dim = call.dim(1, "dim", base.rank)
    axis = call.axis("k", places.shape[0])
    accumulate = call.op == "index_add"

    def fetch(index: Index) -> Node:
        at = (*index[:dim], axis, *index[dim + 1 :])
        hit = call.do("eq", cast(places.at((axis,)), "int64", call.span), index_node(index[dim]))
        return _written(
            call, base.at(index), source, at if source.rank else (), hit, (axis,), (places.shape[0],),
            accumulate=accumulate,
        )  # fmt: skip

    return call.result(fetch)


def _one_hot(call: Call) -> Value:
    places = call.value(0)
    return call.result(
        lambda index: cast(
            call.do("eq", cast(places.at(index[:-1]), "int64", call.span), index_node(index[-1])), "int64", call.span
        )
    )


RULES: dict[str, Rule] = {
    "aten._index_put_impl": _index_put,
    "aten._unsafe_index": _index,
    "aten._unsafe_index_put": _index_put,
    "aten.embedding": _embedding,
    "aten.gather": _gather,
    "aten.index": _index,
    "aten.index_add": _index_add,
    "aten.index_copy": _index_add,
    "aten.index_fill": _index_add,
    "aten.index_put": _index_put,
    "aten.index_select": _index_select,
    "aten.one_hot": _one_hot,
    "aten.scatter": _scatter,
    "aten.scatter_add": _scatter,
    "aten.take": _take,
}
