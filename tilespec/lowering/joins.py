"""Concatenation, padding and writes into slices: piecewise reads."""

from __future__ import annotations

from collections.abc import Sequence

from tilespec.ir.build import index_node, literal
from tilespec.ir.nodes import Node
from tilespec.lowering.call import Call, Rule, convert
from tilespec.lowering.values import Index, Value, broadcast_index, padded
from tilespec.model.dims import ZERO, Expr, const

__all__ = ["RULES"]


def _cat(call: Call) -> Value:
    # torch skips legacy empty operands of shape (0,).
    given = call.value_list(0, "tensors")
    parts = [item for item in given if item.rank > 1 or item.shape[0] != ZERO] or given[:1]
    rank = len(call.meta.shape)
    dim = call.dim(1, "dim", rank)
    starts = [ZERO]
    for part in parts:
        starts.append(starts[-1] + part.shape[dim])

    def fetch(index: Index) -> Node:
        def piece(number: int) -> Node:
            place = (*index[:dim], index[dim] - starts[number], *index[dim + 1 :])
            return convert(parts[number].at(place), call.kind, call.span)

        node = piece(len(parts) - 1)
        for number in reversed(range(len(parts) - 1)):
            inside = call.do("lt", index_node(index[dim]), index_node(starts[number + 1]))
            node = call.do("where", inside, piece(number), node)
        return node

    return call.result(fetch)


def _stack(call: Call) -> Value:
    parts = call.value_list(0, "tensors")
    dim = call.dim(1, "dim", len(call.meta.shape))

    def fetch(index: Index) -> Node:
        inner = (*index[:dim], *index[dim + 1 :])
        node = convert(parts[-1].at(inner), call.kind, call.span)
        for number in reversed(range(len(parts) - 1)):
            chosen = call.do("eq", index_node(index[dim]), literal("int64", number))
            node = call.do("where", chosen, convert(parts[number].at(inner), call.kind, call.span), node)
        return node

    return call.result(fetch)


def _margins(sizes: Sequence[Expr], rank: int) -> list[tuple[Expr, Expr]]:
    """Return (before, after) for each dim from torch's list, which starts at the last dim."""
    pairs = [(sizes[2 * number], sizes[2 * number + 1]) for number in range(len(sizes) // 2)]
    return [(ZERO, ZERO)] * (rank - len(pairs)) + list(reversed(pairs))


def _constant_pad(call: Call) -> Value:
    value = call.value(0)
    margins = _margins(call.sizes(1, "pad"), value.rank)
    fill = call.number(2, "value", 0)
    return call.result(
        lambda index: padded(
            value, tuple(item - before for item, (before, _) in zip(index, margins, strict=True)), fill
        )
    )


def _mirror_pad(call: Call) -> Value:
    value = call.value(0)
    margins = _margins(call.sizes(1, "padding"), value.rank)
    reflect = "reflection" in call.op

    def fetch(index: Index) -> Node:
        inner: list[Expr] = []
        for item, (before, _), size in zip(index, margins, value.shape, strict=True):
            place = item - before
            if before != ZERO or not (size - 1 - place.upper()).is_nonnegative():
                if reflect:
                    # |p| mirrors the front; (n - 1) - |n - 1 - p| the back.
                    front = place.maximum(-place)
                    back = size - 1 - front
                    place = size - 1 - back.maximum(-back)
                else:
                    place = place.maximum(ZERO).minimum(size - 1)
            inner.append(place)
        return value.at(inner)

    return call.result(fetch)


def _pad(call: Call) -> Value:
    mode = call.raw(2, "mode", "constant")
    value = call.value(0)
    margins = _margins(call.sizes(1, "pad"), value.rank)
    if mode == "constant":
        fill = call.number(3, "value", 0)
        return call.result(
            lambda index: padded(
                value, tuple(item - before for item, (before, _) in zip(index, margins, strict=True)), fill
            )
        )
    if mode != "circular":
        call.refuse(f"the mode `{mode}` is unknown here", "use constant, reflect, replicate or circular")
    return call.result(
        lambda index: value.at(
            [
                item if pair == (ZERO, ZERO) else (item - pair[0]) % size
                for item, pair, size in zip(index, margins, value.shape, strict=True)
            ]
        )
    )


def _slice_scatter(call: Call) -> Value:
    base, source = call.value(0), call.value(1)
    dim = call.dim(2, "dim", base.rank)
    size = base.shape[dim]
    start = ZERO if call.raw(3, "start") is None else call.size(3, "start")
    if (-start).is_positive():
        start = start + size
    step = call.size(5, "step", 1)
    count = source.shape[dim]

    def fetch(index: Index) -> Node:
        offset = index[dim] - start
        tests: list[Node] = []
        if not offset.is_nonnegative():
            tests.append(call.do("ge", index_node(offset), literal("int64", 0)))
        end = start + (count - 1) * step
        if not (end - index[dim].upper()).is_nonnegative():
            tests.append(call.do("le", index_node(index[dim]), index_node(end)))
        if step.value != 1:
            tests.append(call.do("eq", index_node(offset % step), literal("int64", 0)))
        node = convert(source.at((*index[:dim], offset // step, *index[dim + 1 :])), call.kind, call.span)
        return _under(call, tests, node, base.at(index))

    return call.result(fetch)


def _under(call: Call, tests: Sequence[Node], yes: Node, no: Node) -> Node:
    if not tests:
        return yes
    condition = tests[0]
    for test in tests[1:]:
        condition = call.do("and", condition, test)
    return call.do("where", condition, yes, no)


def _select_scatter(call: Call) -> Value:
    base, source = call.value(0), call.value(1)
    dim = call.dim(2, "dim", base.rank)
    position = call.size(3, "index")
    if (-position).is_positive():
        position = position + base.shape[dim]

    def fetch(index: Index) -> Node:
        test = call.do("eq", index_node(index[dim]), index_node(position))
        inner = convert(source.at((*index[:dim], *index[dim + 1 :])), call.kind, call.span)
        return call.do("where", test, inner, base.at(index))

    return call.result(fetch)


def _diagonal_scatter(call: Call) -> Value:
    base, source = call.value(0), call.value(1)
    offset = int(call.number(2, "offset", 0))
    first = call.dim(3, "dim1", base.rank, 0)
    second = call.dim(4, "dim2", base.rank, 1)

    def fetch(index: Index) -> Node:
        test = call.do("eq", index_node(index[second] - index[first]), literal("int64", offset))
        rest = [item for dim, item in enumerate(index) if dim not in {first, second}]
        place = index[first] - max(-offset, 0)
        return call.do(
            "where", test, convert(source.at((*rest, place)), call.kind, call.span), base.at(index)
        )

    return call.result(fetch)


def _copy(call: Call) -> Value:
    source = call.value(1)
    return call.result(lambda index: source.at(broadcast_index(source.shape, index)))


def _diag_embed(call: Call) -> Value:
    value = call.value(0)
    rank = len(call.meta.shape)
    offset = int(call.number(1, "offset", 0))
    first, second = call.dim(2, "dim1", rank, -2), call.dim(3, "dim2", rank, -1)

    def fetch(index: Index) -> Node:
        test = call.do("eq", index_node(index[second] - index[first]), literal("int64", offset))
        rest = [item for dim, item in enumerate(index) if dim not in {first, second}]
        node = value.at((*rest, index[first] - max(-offset, 0)))
        return call.do("where", test, node, literal(node.dtype, 0))

    return call.result(fetch)


def _triangle(call: Call) -> Value:
    value = call.value(0)
    diagonal = call.size(1, "diagonal", 0)
    upper = call.op == "triu"

    def fetch(index: Index) -> Node:
        gap = index_node(index[-1] - index[-2] - diagonal)
        test = call.do("ge" if upper else "le", gap, literal("int64", 0))
        node = value.at(index)
        return call.do("where", test, node, literal(node.dtype, 0))

    return call.result(fetch)


def _pixel_shuffle(call: Call) -> Value:
    value = call.value(0)
    factor = int(call.number(1, "upscale_factor", 1))

    def fetch(index: Index) -> Node:
        *lead, channel, row, column = index
        inner = channel * const(factor * factor) + (row % factor) * factor + column % factor
        return value.at((*lead, inner, row // factor, column // factor))

    return call.result(fetch)


RULES: dict[str, Rule] = {
    "aten.cat": _cat,
    "aten.concat": _cat,
    "aten.constant_pad_nd": _constant_pad,
    "aten.copy": _copy,
    "aten.diag_embed": _diag_embed,
    "aten.diagonal_scatter": _diagonal_scatter,
    "aten.pad": _pad,
    "aten.pixel_shuffle": _pixel_shuffle,
    "aten.reflection_pad1d": _mirror_pad,
    "aten.reflection_pad2d": _mirror_pad,
    "aten.reflection_pad3d": _mirror_pad,
    "aten.replication_pad1d": _mirror_pad,
    "aten.replication_pad2d": _mirror_pad,
    "aten.replication_pad3d": _mirror_pad,
    "aten.select_scatter": _select_scatter,
    "aten.slice_scatter": _slice_scatter,
    "aten.stack": _stack,
    "aten.tril": _triangle,
    "aten.triu": _triangle,
}
