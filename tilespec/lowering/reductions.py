"""Reductions over any set of dims, and what is made of them: mean, variance, norms, logsumexp."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tilespec.ir.build import cast, index_node, literal
from tilespec.ir.nodes import Node
from tilespec.lowering.call import Call, Rule, convert
from tilespec.lowering.values import Index, Value, broadcast_index, broadcast_shape
from tilespec.model.dims import Expr, product

__all__ = ["RULES", "Over", "mean_of", "moments", "norm_of"]


class Over:
    """The dims that a reduction removes: makes its axes and full indices.

    `keep` tells whether the result still has those dims, with size 1.
    """

    def __init__(self, call: Call, value: Value, dims: Sequence[int], *, keep: bool) -> None:
        self.value = value
        self.dims = tuple(dims)
        self.keep = keep
        self.axes: dict[int, Expr] = {dim: call.axis(f"d{dim}", value.shape[dim]) for dim in self.dims}

    @property
    def count(self) -> Expr:
        """How many elements one result is made of."""
        return product(self.value.shape[dim] for dim in self.dims)

    def outer(self, index: Index) -> list[Expr]:
        """Return the index of the result without the kept dims of size 1."""
        if not self.keep:
            return list(index)
        return [item for dim, item in enumerate(index) if dim not in self.axes]

    def inner(self, index: Index) -> Index:
        """Return the index into the operand for an index of the result."""
        rest = self.outer(index)
        return tuple(self.axes[dim] if dim in self.axes else rest.pop(0) for dim in range(self.value.rank))

    def over(self) -> tuple[Expr, ...]:
        """Return the axes in order of dim."""
        return tuple(self.axes[dim] for dim in self.dims)


def _over(call: Call, position: int = 1, keep_position: int = 2) -> Over:
    value = call.value(0)
    dims = call.dims(position, "dim", value.rank)
    return Over(call, value, dims, keep=call.flag(keep_position, "keepdim"))


def mean_of(call: Call, total: Node, count: Expr) -> Node:
    """Return `total / count`."""
    return call.do("div", total, cast(index_node(count), total.dtype, call.span))


def moments(call: Call, element: Node, axes: Sequence[Expr], count: Expr) -> tuple[Node, Node]:
    """Return mean and sum of squared distances from it, in two passes; `element` depends on `axes`."""
    mean = mean_of(call, call.reduce("sum", element, axes), count)
    centred = call.do("sub", element, mean)
    return mean, call.reduce("sum", call.do("mul", centred, centred), axes)


def _reduction(op: str, *, prepare: Callable[[Call, Node], Node] = lambda _, x: x) -> Rule:
    def rule(call: Call) -> Value:
        over = _over(call)
        return call.result(
            lambda index: call.reduce(op, prepare(call, over.value.at(over.inner(index))), over.over())
        )

    return rule


def _accumulated(call: Call, x: Node) -> Node:
    """Convert before accumulating: integers sum in int64."""
    return convert(x, call.kind, call.span)


def _one_dim(op: str) -> Rule:
    """`prod.dim_int`, `any.dim`: one dim or none given."""

    def rule(call: Call) -> Value:
        over = _over(call)
        kind = "bool" if op in {"any", "all"} else call.kind
        return call.result(
            lambda index: call.reduce(
                op, cast(over.value.at(over.inner(index)), kind, call.span), over.over()
            )
        )

    return rule


def _mean(call: Call) -> Value:
    over = _over(call)
    return call.result(
        lambda index: mean_of(
            call,
            call.reduce("sum", convert(over.value.at(over.inner(index)), call.kind, call.span), over.over()),
            over.count,
        )
    )


def _divisor(call: Call, count: Expr) -> Node:
    """Return the divisor of a variance: `count - correction`, not below 0."""
    if len(call.node.args) > 1 and isinstance(call.node.args[1], bool):
        correction: float = float(call.node.args[1])
    elif "unbiased" in dict(call.node.kwargs) or (
        len(call.node.args) > 2 and isinstance(call.node.args[2], bool)
    ):
        correction = float(call.flag(2, "unbiased", default=True))
    else:
        raw = dict(call.node.kwargs).get("correction", 1)
        correction = float(raw) if isinstance(raw, int | float) else 1.0
    if correction == int(correction):
        left = (count - int(correction)).maximum(Expr.wrap(0))
        return cast(index_node(left), call.kind, call.span)
    total = call.do("sub", cast(index_node(count), call.kind), literal(call.kind, correction))
    return call.do("max", total, literal(call.kind, 0))


def _variance_parts(call: Call) -> tuple[Over, Callable[[Index], tuple[Node, Node]]]:
    value = call.value(0)
    short = len(call.node.args) > 1 and isinstance(call.node.args[1], bool)
    dims = tuple(range(value.rank)) if short else call.dims(1, "dim", value.rank)
    over = Over(call, value, dims, keep=False if short else call.flag(3, "keepdim"))

    def fetch(index: Index) -> tuple[Node, Node]:
        element = convert(value.at(over.inner(index)), call.kind, call.span)
        mean, squares = moments(call, element, over.over(), over.count)
        variance = call.do("div", squares, _divisor(call, over.count))
        return mean, call.do("sqrt", variance) if call.op.startswith("std") else variance

    return over, fetch


def _variance(call: Call) -> Value:
    _, fetch = _variance_parts(call)
    return call.result(lambda index: fetch(index)[1])


def _variance_mean(call: Call) -> tuple[Value, Value]:
    _, fetch = _variance_parts(call)
    return call.result(lambda index: fetch(index)[1]), call.result(lambda index: fetch(index)[0], number=1)


def _extremum_place(op: str) -> Rule:
    def rule(call: Call) -> Value:
        over = _over(call)
        return call.result(lambda index: call.reduce(op, over.value.at(over.inner(index)), over.over()))

    return rule


def _extremum_and_place(op: str) -> Rule:
    """`max.dim`: values and positions; without a dim only the value."""

    def rule(call: Call) -> Value | tuple[Value, Value]:
        if len(call.node.results) == 1:
            if len(call.node.args) > 1:
                return call.pointwise(lambda x, y: call.do(op, x, y), call.value(0), call.value(1))
            whole = Over(call, call.value(0), range(call.value(0).rank), keep=False)
            return call.result(
                lambda index: call.reduce(op, whole.value.at(whole.inner(index)), whole.over())
            )
        over = _over(call)
        return (
            call.result(lambda index: call.reduce(op, over.value.at(over.inner(index)), over.over())),
            call.result(
                lambda index: call.reduce(f"arg{op}", over.value.at(over.inner(index)), over.over()), number=1
            ),
        )

    return rule


def _aminmax(call: Call) -> tuple[Value, Value]:
    value = call.value(0)
    over = Over(call, value, call.dims(1, "dim", value.rank), keep=call.flag(2, "keepdim"))

    def one(op: str, number: int) -> Value:
        return call.result(
            lambda index: call.reduce(op, value.at(over.inner(index)), over.over()), number=number
        )

    return one("min", 0), one("max", 1)


def _logsumexp(call: Call) -> Value:
    over = _over(call)

    def fetch(index: Index) -> Node:
        element = convert(over.value.at(over.inner(index)), call.kind, call.span)
        top = call.reduce("max", element, over.over())
        # A row of -inf (or with +inf) must not give inf - inf.
        infinite = call.do("isinf", top)
        shift = call.do("where", infinite, literal(top.dtype, 0), top)
        total = call.reduce("sum", call.do("exp", call.do("sub", element, shift)), over.over())
        return call.do("add", call.do("log", total), shift)

    return call.result(fetch)


def _norm(call: Call) -> Value:
    value = call.value(0)
    order = call.number(1, "ord" if "vector" in call.op else "p", 2)
    dims = call.dims(2, "dim", value.rank)
    over = Over(call, value, dims, keep=call.flag(3, "keepdim"))

    def fetch(index: Index) -> Node:
        element = convert(value.at(over.inner(index)), call.kind, call.span)
        return norm_of(call, element, order, over.over())

    return call.result(fetch)


def norm_of(call: Call, element: Node, order: float, axes: Sequence[Expr]) -> Node:
    """Return the vector norm of `element` over `axes`."""
    if order == 2:
        return call.do("sqrt", call.reduce("sum", call.do("mul", element, element), axes))
    if order == 0:
        hit = cast(call.do("ne", element, literal(element.dtype, 0)), element.dtype, call.span)
        return call.reduce("sum", hit, axes)
    size = call.do("abs", element)
    if math.isinf(order):
        return call.reduce("max" if order > 0 else "min", size, axes)
    if order == 1:
        return call.reduce("sum", size, axes)
    power = call.do("pow", size, literal(size.dtype, order))
    return call.do("pow", call.reduce("sum", power, axes), literal(size.dtype, 1 / order))


def _count_nonzero(call: Call) -> Value:
    value = call.value(0)
    over = Over(call, value, call.dims(1, "dim", value.rank), keep=False)
    return call.result(
        lambda index: call.reduce(
            "sum", cast(cast(value.at(over.inner(index)), "bool", call.span), "int64", call.span), over.over()
        )
    )


def _without_nan(call: Call, x: Node) -> Node:
    return call.do("where", call.do("isnan", x), literal(x.dtype, 0), _accumulated(call, x))


def _dist(call: Call) -> Value:
    left, right = call.value(0), call.value(1)
    order = call.number(2, "p", 2)
    shape = broadcast_shape(left.shape, right.shape)
    axes = [call.axis(f"d{dim}", size) for dim, size in enumerate(shape)]

    def fetch(_: Index) -> Node:
        one, other = (item.at(broadcast_index(item.shape, axes)) for item in (left, right))
        gap = call.do("sub", convert(one, call.kind), convert(other, call.kind))
        return norm_of(call, gap, order, axes)

    return call.result(fetch)


def _cdist(call: Call) -> Value:
    """Distances between all rows of two tensors."""
    left, right = call.value(0), call.value(1)
    order = call.number(2, "p", 2)
    inner = call.axis("k", left.shape[-1])

    def fetch(index: Index) -> Node:
        *lead, row, column = index
        one = left.at((*broadcast_index(left.shape[:-2], lead), row, inner))
        other = right.at((*broadcast_index(right.shape[:-2], lead), column, inner))
        gap = call.do("sub", convert(one, call.kind, call.span), convert(other, call.kind, call.span))
        return norm_of(call, gap, order, (inner,))

    return call.result(fetch)


def _trace(call: Call) -> Value:
    value = call.value(0)
    place = call.axis("d", value.shape[0].minimum(value.shape[1]))
    return call.result(lambda _: call.reduce("sum", _accumulated(call, value.at((place, place))), (place,)))


RULES: dict[str, Rule] = {
    "aten._cdist_forward": _cdist,
    "aten.all": _one_dim("all"),
    "aten.amax": _reduction("max"),
    "aten.amin": _reduction("min"),
    "aten.aminmax": _aminmax,
    "aten.any": _one_dim("any"),
    "aten.argmax": _extremum_place("argmax"),
    "aten.argmin": _extremum_place("argmin"),
    "aten.count_nonzero": _count_nonzero,
    "aten.dist": _dist,
    "aten.linalg_vector_norm": _norm,
    "aten.logsumexp": _logsumexp,
    "aten.max": _extremum_and_place("max"),
    "aten.mean": _mean,
    "aten.min": _extremum_and_place("min"),
    "aten.nansum": _reduction("sum", prepare=_without_nan),
    "aten.norm": _norm,
    "aten.prod": _one_dim("prod"),
    "aten.std": _variance,
    "aten.std_mean": _variance_mean,
    "aten.sum": _reduction("sum", prepare=_accumulated),
    "aten.trace": _trace,
    "aten.var": _variance,
    "aten.var_mean": _variance_mean,
}
