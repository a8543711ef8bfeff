"""Tensors made from nothing: constants, positions, triangles."""

from __future__ import annotations

from tilespec.ir.build import cast, index_node, literal
from tilespec.ir.nodes import Node
from tilespec.lowering.call import Call, Rule, convert
from tilespec.lowering.values import Index, Value

__all__ = ["RULES"]


def _constant(value: float) -> Rule:
    return lambda call: call.result(lambda _: literal(call.kind, value))


def _full(call: Call) -> Value:
    position, name = (1, "fill_value")
    value = call.value(position, name)
    return call.result(lambda _: value.at(()))


def _scalar_tensor(call: Call) -> Value:
    value = call.value(0)
    return call.result(lambda _: value.at(()))


def _fill(call: Call) -> Value:
    value = call.value(1)
    return call.result(lambda _: value.at(()))


def _arange(call: Call) -> Value:
    """`arange(end)`, `arange(start, end)`, `arange(start, end, step)` in one rule; `prims.iota` has a length."""
    count = len(call.node.args)
    start: tuple[int, str] | None = (0, "start") if count > 1 else None
    raw_step = call.raw(2, "step", 1)

    def fetch(index: Index) -> Node:
        plain = isinstance(raw_step, int) and not isinstance(raw_step, bool)
        first = call.as_value(0 if start is None else call.raw(*start)).at(())
        if plain and first.dtype == "int64":
            begin = call.size(*start) if start is not None else index[0] * 0
            return cast(index_node(begin + index[0] * int(call.number(2, "step", 1))), call.kind, call.span)
        step = call.scalar(2, "step", 1, call.kind)
        position = cast(index_node(index[0]), call.kind, call.span)
        return call.do("add", convert(first, call.kind, call.span), call.do("mul", position, step))

    return call.result(fetch)


def _iota(call: Call) -> Value:
    start, step = call.size(1, "start", 0), call.size(2, "step", 1)
    return call.result(lambda index: cast(index_node(start + index[0] * step), call.kind, call.span))


def _linspace(call: Call) -> Value:
    first, last = call.scalar(0, "start", None, call.kind), call.scalar(1, "end", None, call.kind)
    count = call.size(2, "steps")

    def fetch(index: Index) -> Node:
        if count.value == 1:
            return first
        steps = cast(index_node((count - 1).maximum(index[0] * 0 + 1)), call.kind, call.span)
        step = call.do("div", call.do("sub", last, first), steps)
        return call.do("add", first, call.do("mul", cast(index_node(index[0]), call.kind, call.span), step))

    return call.result(fetch)


def _eye(call: Call) -> Value:
    return call.result(lambda index: call.do("eq", index_node(index[0]), index_node(index[1])))


def _triangle_indices(call: Call) -> Value:
    call.refuse(
        "the places of a triangle have no closed form here", "use `tril`, `triu` or a comparison of `arange`s"
    )


def _sym_size(call: Call) -> Value:
    value = call.value(0)
    dim = call.dim(1, "dim", value.rank)
    return call.result(lambda _: index_node(value.shape[dim]))


RULES: dict[str, Rule] = {
    "aten.arange": _arange,
    "aten.empty": _constant(0),
    "aten.empty_like": _constant(0),
    "aten.empty_permuted": _constant(0),
    "aten.empty_strided": _constant(0),
    "aten.eye": _eye,
    "aten.fill": _fill,
    "aten.full": _full,
    "aten.full_like": _full,
    "aten.linspace": _linspace,
    "aten.new_empty": _constant(0),
    "aten.new_full": lambda call: call.result(lambda _: call.value(2, "fill_value").at(())),
    "aten.new_ones": _constant(1),
    "aten.new_zeros": _constant(0),
    "aten.ones": _constant(1),
    "aten.ones_like": _constant(1),
    "aten.scalar_tensor": _scalar_tensor,
    "aten.sym_size": _sym_size,
    "aten.tril_indices": _triangle_indices,
    "aten.triu_indices": _triangle_indices,
    "aten.zeros": _constant(0),
    "aten.zeros_like": _constant(0),
    "prims.iota": _iota,
}
