"""Layer, group, batch, instance and RMS normalisation."""

from __future__ import annotations

from collections.abc import Sequence

from tilespec.ir.build import literal
from tilespec.ir.nodes import Node
from tilespec.lowering.call import Call, Rule, convert
from tilespec.lowering.reductions import mean_of, moments
from tilespec.lowering.values import Index, Value
from tilespec.model.dims import Expr, product

__all__ = ["RULES"]


def _affine(call: Call, node: Node, weight: Value | None, bias: Value | None, place: Sequence[Expr]) -> Node:
    if weight is not None:
        node = call.do("mul", node, convert(weight.at(place), node.dtype, call.span))
    return node if bias is None else call.do("add", node, convert(bias.at(place), node.dtype, call.span))


class _Rows:
    """Statistics of `value` over `axes`; `row` gives the index of an element of the row that an index lies in."""

    def __init__(self, call: Call, value: Value, axes: dict[int, Expr], eps: Node) -> None:
        self.call = call
        self.value = value
        self.axes = axes
        self.eps = eps
        self.count = product(value.shape[dim] for dim in axes)

    def at(self, index: Sequence[Expr]) -> Node:
        return convert(self.value.at(index), self.call.kind, self.call.span)

    def statistics(self, index: Sequence[Expr]) -> tuple[Node, Node]:
        row = [self.axes.get(dim, item) for dim, item in enumerate(index)]
        axes = tuple(self.axes.values())
        mean, squares = moments(self.call, self.at(row), axes, self.count)
        variance = mean_of(self.call, squares, self.count)
        return mean, self.call.do("rsqrt", self.call.do("add", variance, self.eps))

    def normalised(self, index: Sequence[Expr]) -> Node:
        mean, scale = self.statistics(index)
        return self.call.do("mul", self.call.do("sub", self.at(index), mean), scale)


def _layer_norm(call: Call) -> tuple[Value, ...]:
    value = call.value(0)
    first = value.rank - len(call.sizes(1, "normalized_shape"))
    weight, bias = call.optional(2, "weight"), call.optional(3, "bias")
    axes = {dim: call.axis(f"d{dim}", value.shape[dim]) for dim in range(first, value.rank)}
    rows = _Rows(call, value, axes, call.scalar(4, "eps", 1e-5, call.kind))

    def statistic(number: int) -> Value:
        return call.result(
            lambda index: rows.statistics((*index[:first], *axes.values()))[number - 1], number=number
        )

    made = call.result(lambda index: _affine(call, rows.normalised(index), weight, bias, index[first:]))
    return (made, *(statistic(number) for number in range(1, len(call.node.results))))


def _rms_norm(call: Call) -> Value | tuple[Value, ...]:
    value = call.value(0)
    first = value.rank - len(call.sizes(1, "normalized_shape"))
    weight = call.optional(2, "weight")
    axes = {dim: call.axis(f"d{dim}", value.shape[dim]) for dim in range(first, value.rank)}
    default = {"float64": 2.220446049250313e-16, "float16": 0.0009765625, "bfloat16": 0.0078125}
    eps = call.scalar(3, "eps", default.get(value.dtype, 1.1920928955078125e-07), call.kind)
    count = product(value.shape[first:])

    def scale(index: Index) -> Node:
        element = convert(value.at((*index[:first], *axes.values())), call.kind, call.span)
        squares = call.reduce("sum", call.do("mul", element, element), tuple(axes.values()))
        return call.do("rsqrt", call.do("add", mean_of(call, squares, count), eps))

    def fetch(index: Index) -> Node:
        node = call.do("mul", convert(value.at(index), call.kind, call.span), scale(index))
        return _affine(call, node, weight, None, index[first:])

    made = call.result(fetch)
    if len(call.node.results) == 1:
        return made
    return made, call.result(scale, number=1)


def _group_norm(call: Call) -> Value | tuple[Value, ...]:
    value = call.value(0)
    native = call.op == "native_group_norm"
    weight = call.optional(1 if native else 2, "weight")
    bias = call.optional(2 if native else 3, "bias")
    groups = call.size(6 if native else 1, "group" if native else "num_groups")
    eps = call.scalar(7 if native else 4, "eps", 1e-5, call.kind)
    width = value.shape[1] // groups
    channel = call.axis("c", width)
    axes = [call.axis(f"d{dim}", value.shape[dim]) for dim in range(2, value.rank)]
    count = product((width, *value.shape[2:]))

    def statistics(sample: Expr, group: Expr) -> tuple[Node, Node]:
        element = convert(value.at((sample, group * width + channel, *axes)), call.kind, call.span)
        mean, squares = moments(call, element, (channel, *axes), count)
        return mean, call.do("rsqrt", call.do("add", mean_of(call, squares, count), eps))

    def fetch(index: Index) -> Node:
        mean, scale = statistics(index[0], index[1] // width)
        node = call.do("mul", call.do("sub", convert(value.at(index), call.kind, call.span), mean), scale)
        return _affine(call, node, weight, bias, index[1:2])

    made = call.result(fetch)
    if len(call.node.results) == 1:
        return made
    return (
        made,
        call.result(lambda index: statistics(index[0], index[1])[0], number=1),
        call.result(lambda index: statistics(index[0], index[1])[1], number=2),
    )


def _batch_norm(call: Call) -> Value | tuple[Value, ...]:
    """Batch statistics in training, else the running ones; the running ones are not updated."""
    value = call.value(0)
    weight, bias = call.optional(1, "weight"), call.optional(2, "bias")
    training, eps_at = _batch_norm_form(call)
    eps = call.scalar(eps_at, "eps", 1e-5, call.kind)
    channel = 1

    if training:
        axes = {dim: call.axis(f"d{dim}", value.shape[dim]) for dim in range(value.rank) if dim != channel}
        rows = _Rows(call, value, axes, eps)
        made = call.result(lambda index: _affine(call, rows.normalised(index), weight, bias, index[1:2]))

        def statistic(number: int) -> Value:
            return call.result(
                lambda index: rows.statistics([index[0]] * value.rank)[number - 1], number=number
            )

        return _with_statistics(
            call, made, (statistic(1), statistic(2)) if len(call.node.results) > 2 else ()
        )
    mean, variance = call.value(3), call.value(4)

    def fetch(index: Index) -> Node:
        place = index[1:2]
        scale = call.do("rsqrt", call.do("add", convert(variance.at(place), call.kind), eps))
        centred = call.do("sub", convert(value.at(index), call.kind), convert(mean.at(place), call.kind))
        return _affine(call, call.do("mul", centred, scale), weight, bias, place)

    return _with_statistics(call, call.result(fetch), ())


def _with_statistics(call: Call, made: Value, statistics: tuple[Value, ...]) -> Value | tuple[Value, ...]:
    if len(call.node.results) == 1:
        return made

    def refuse(_: Index) -> Node:
        call.refuse(
            "it reads running statistics after their update", "compute the update as an output of its own"
        )

    rest = list(statistics)
    for number in range(1 + len(rest), len(call.node.results)):
        meta = call.node.results[number]
        rest.append(Value(meta.shape, meta.dtype, refuse))
    return (made, *rest)


def _batch_norm_form(call: Call) -> tuple[bool, int]:
    """Return whether batch statistics are used, and where `eps` stands."""
    if call.op == "_native_batch_norm_legit_no_training":
        return False, 6
    if call.op == "_native_batch_norm_legit" and call.node.op.endswith("no_stats"):
        return True, 5
    if call.op == "_batch_norm_with_update":
        return True, 6
    if call.op == "_batch_norm_no_update":
        return False, 6
    return call.flag(5, "training"), 7


def _instance_norm(call: Call) -> Value:
    value = call.value(0)
    weight, bias = call.optional(1, "weight"), call.optional(2, "bias")
    if not call.flag(5, "use_input_stats", default=True):
        call.refuse("it uses running statistics", "pass `use_input_stats=True`")
    axes = {dim: call.axis(f"d{dim}", value.shape[dim]) for dim in range(2, value.rank)}
    rows = _Rows(call, value, axes, call.scalar(7, "eps", 1e-5, call.kind))
    return call.result(lambda index: _affine(call, rows.normalised(index), weight, bias, index[1:2]))


def _renorm(call: Call) -> Value:
    value = call.value(0)
    order = call.number(1, "p", 2)
    if order != 2:
        call.refuse("its order is not 2", "write the norm out")
    dim = call.dim(2, "dim", value.rank)
    limit = call.scalar(3, "maxnorm", None, call.kind)
    axes = {other: call.axis(f"d{other}", value.shape[other]) for other in range(value.rank) if other != dim}

    def fetch(index: Index) -> Node:
        row = [axes.get(other, item) for other, item in enumerate(index)]
        element = convert(value.at(row), call.kind, call.span)
        norm = call.do("sqrt", call.reduce("sum", call.do("mul", element, element), tuple(axes.values())))
        scale = call.do("div", limit, call.do("add", norm, literal(call.kind, 1e-7)))
        factor = call.do("where", call.do("gt", norm, limit), scale, literal(call.kind, 1))
        return call.do("mul", convert(value.at(index), call.kind, call.span), factor)

    return call.result(fetch)


RULES: dict[str, Rule] = {
    "aten._batch_norm_no_update": _batch_norm,
    "aten._batch_norm_with_update": _batch_norm,
    "aten._batch_norm_with_update_functional": _batch_norm,
    "aten._fused_rms_norm": _rms_norm,
    "aten._native_batch_norm_legit": _batch_norm,
    "aten._native_batch_norm_legit_functional": _batch_norm,
    "aten._native_batch_norm_legit_no_training": _batch_norm,
    "aten.batch_norm": _batch_norm,
    "aten.group_norm": _group_norm,
    "aten.instance_norm": _instance_norm,
    "aten.layer_norm": lambda call: _layer_norm(call)[0],
    "aten.native_batch_norm": _batch_norm,
    "aten.native_group_norm": _group_norm,
    "aten.native_layer_norm": _layer_norm,
    "aten.renorm": _renorm,
    "aten.rms_norm": _rms_norm,
}
