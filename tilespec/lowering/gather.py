"""Reads and writes at positions that are data: embedding, gather, index, scatter."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tilespec.ir.build import cast, index_node, is_float, literal
from tilespec.ir.nodes import Node
from tilespec.lowering.call import Call, Rule, convert
from tilespec.lowering.values import Index, Value, broadcast_index, broadcast_shape, inside
from tilespec.model.dims import ONE, Expr

__all__ = ["RULES"]


def _embedding(call: Call) -> Value:
    table, places = call.value(0), call.value(1)
    lead = places.rank
    return call.result(lambda index: call.read(table, (places.at(index[:lead]), *index[lead:])))


def _index_select(call: Call) -> Value:
    value, places = call.value(0), call.value(2)
    if not value.rank:
        return call.result(lambda _: value.at(()))
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

    def fetch(index: Index) -> Node:
        place = places.at(index) if places.rank else places.at(())
        return call.read(value, (*index[:dim], place, *index[dim + 1 :]) if index else (place,))

    return call.result(fetch)


def _take(call: Call) -> Value:
    from_value, places = call.value(0), call.value(1)
    call.refuse(
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
            call.refuse("it picks by a mask", "use `where` or `masked_fill`, whose result has a fixed size")
        self.joint_rank = max((item.rank for item in self.places.values()), default=0)
        dims = sorted(self.places)
        adjacent = bool(dims) and dims == list(range(dims[0], dims[-1] + 1))
        self.joint_at = dims[0] if adjacent else 0

    @property
    def joint_shape(self) -> tuple[Expr, ...]:
        """The broadcast shape of the index tensors."""
        return broadcast_shape(*(item.shape for item in self.places.values()))

    def place(self, dim: int, joint: Sequence[Expr]) -> Node:
        """Return the position that the index tensor of `dim` holds."""
        item = self.places[dim]
        node = item.at(broadcast_index(item.shape, joint))
        return _wrapped(self.call, node, self.value.shape[dim])

    def source(self, index: Index) -> tuple[Expr | Node, ...]:
        """Return the index into the value for an index of the result."""
        joint = index[self.joint_at : self.joint_at + self.joint_rank]
        rest = [*index[: self.joint_at], *index[self.joint_at + self.joint_rank :]]
        return tuple(
            self.place(dim, joint) if dim in self.places else rest.pop(0) for dim in range(self.value.rank)
        )


def _index(call: Call) -> Value:
    value = call.value(0)
    advanced = _Advanced(call, value, 1)
    return call.result(lambda index: call.read(value, advanced.source(index)))


def _masked_put(call: Call, base: Value, source: Value) -> Value | None:
    """Write one value where a mask holds: `x[x < 0] = 0`."""
    raw = call.raw(1, "indices")
    items = raw if isinstance(raw, tuple) else ()
    values = [call.as_value(item) for item in items if item is not None]
    one = not any(size != ONE for size in source.shape)
    if (
        len(items) != 1
        or len(values) != 1
        or values[0].dtype != "bool"
        or not one
        or call.flag(3, "accumulate")
    ):
        return None
    mask = values[0]

    def fetch(index: Index) -> Node:
        written = convert(source.at((Expr.wrap(0),) * source.rank), call.kind, call.span)
        return call.do("where", mask.at(index[: mask.rank]), written, base.at(index))

    return call.result(fetch)


def _index_put(call: Call) -> Value:
    """Write `values` at index tensors: each element looks for the last write that hits it, or sums all of them."""
    base, source = call.value(0), call.value(2)
    masked = _masked_put(call, base, source)
    if masked is not None:
        return masked
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
    if reduce_name == "multiply":
        return _scatter_reduce(call)
    if not base.rank or not places.rank:
        call.refuse("it writes to a 0-d tensor", "use `where`")
    accumulate = call.op == "scatter_add" or reduce_name == "add"
    axis = call.axis("k", places.shape[dim])

    def fetch(index: Index) -> Node:
        at = (*index[:dim], axis, *index[dim + 1 :])
        hit = call.do("eq", cast(places.at(at), "int64", call.span), index_node(index[dim]))
        for other, item in enumerate(index):
            if other != dim and not inside(item, places.shape[other]):
                test = call.do("lt", index_node(item), index_node(places.shape[other]))
                hit = call.do("and", test, hit)
        return _written(
            call, base.at(index), source, at if source.rank else (), hit, (axis,), (places.shape[dim],),
            accumulate=accumulate,
        )  # fmt: skip

    return call.result(fetch)


def _scatter_reduce(call: Call) -> Value:
    """`scatter_reduce` by sum, prod, mean, amax or amin, with or without the old element."""
    base, places, source = call.value(0), call.value(2), call.value(3)
    dim = call.dim(1, "dim", base.rank)
    name = str(call.raw(4, "reduce"))
    with_old = call.flag(5, "include_self", default=True)
    op = {"sum": "sum", "mean": "sum", "prod": "prod", "multiply": "prod", "amax": "max", "amin": "min"}[name]
    if not base.rank or not places.rank:
        call.refuse("it writes to a 0-d tensor", "use `where`")
    axis = call.axis("k", places.shape[dim])

    def fetch(index: Index) -> Node:
        at = (*index[:dim], axis, *index[dim + 1 :])
        hit = call.do("eq", cast(places.at(at), "int64", call.span), index_node(index[dim]))
        for other, item in enumerate(index):
            if other != dim and not inside(item, places.shape[other]):
                test = call.do("lt", index_node(item), index_node(places.shape[other]))
                hit = call.do("and", test, hit)
        element = convert(source.at(at if source.rank else ()), call.kind, call.span)
        neutral = literal(element.dtype, _neutral(op, element.dtype))
        made = call.reduce(op, call.do("where", hit, element, neutral), (axis,))
        count = call.reduce("sum", cast(hit, "int64", call.span), (axis,))
        old = base.at(index)
        some = call.do("gt", count, literal("int64", 0))
        if with_old:
            made = call.do({"sum": "add", "prod": "mul"}.get(op, op), old, made)
            count = call.do("add", count, literal("int64", 1))
        if name == "mean":
            divide = "div" if is_float(element.dtype) else "floordiv"
            made = call.do(divide, made, cast(count, element.dtype, call.span))
        return call.do("where", some, made, old)

    return call.result(fetch)


def _neutral(op: str, dtype: str) -> float:
    if op in {"sum", "prod"}:
        return 0 if op == "sum" else 1
    sign = -1 if op == "max" else 1
    if is_float(dtype):
        return sign * math.inf
    if dtype.startswith("u"):
        return 0 if op == "max" else 255
    bits = int(dtype.removeprefix("int")) - 1
    return float(-(2**bits) if op == "max" else 2**bits - 1)


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
            call.do("eq", cast(places.at(index[:-1]), "int64", call.span), index_node(index[-1])),
            "int64",
            call.span,
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
    "aten.scatter_reduce": _scatter_reduce,
    "aten.take": _take,
}
