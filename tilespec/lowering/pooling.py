"""Max, average and adaptive pooling of 1, 2 and 3 dims as reductions over window axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tilespec.ir.build import cast, index_node, is_float, literal
from tilespec.ir.nodes import Node
from tilespec.lowering.call import Call, Result, Rule
from tilespec.lowering.values import Index, Value, padded
from tilespec.model.dims import ZERO, Expr, product

__all__ = ["RULES"]


def _lowest(dtype: str) -> float:
    if is_float(dtype):
        return -math.inf
    return 0 if dtype.startswith("u") else -(2 ** (int(dtype.removeprefix("int")) - 1))


@dataclass(frozen=True, slots=True)
class _Window:
    """Sizes of a pooling window for each spatial dim."""

    size: tuple[Expr, ...]
    stride: tuple[Expr, ...]
    padding: tuple[Expr, ...]
    dilation: tuple[Expr, ...]
    axes: tuple[Expr, ...]

    def places(self, spatial: Sequence[Expr]) -> list[Expr]:
        """Return the input position under each window axis at an output place."""
        return [
            place * stride + axis * dilation - padding
            for place, stride, axis, dilation, padding in zip(
                spatial, self.stride, self.axes, self.dilation, self.padding, strict=True
            )
        ]


def _rank(call: Call) -> int:
    return int(next(char for char in call.op if char.isdigit()))


def _window(call: Call, *, dilated: bool) -> _Window:
    rank = _rank(call)

    def spread(position: int, name: str, default: int) -> tuple[Expr, ...]:
        sizes = call.sizes(position, name, default)
        return sizes if len(sizes) == rank else sizes * rank

    size = spread(1, "kernel_size", 1)
    raw = call.raw(2, "stride", ())
    stride = size if raw in {(), None} else spread(2, "stride", 1)
    dilation = spread(4, "dilation", 1) if dilated else (Expr.wrap(1),) * rank
    axes = tuple(call.axis(f"w{number}", item) for number, item in enumerate(size))
    return _Window(size, stride, spread(3, "padding", 0), dilation, axes)


def _max_pool(call: Call) -> Result:
    """Values, and with `_with_indices` the flat position in the input plane."""
    value = call.value(0)
    window = _window(call, dilated=True)
    rank = len(window.size)

    def element(index: Index) -> Node:
        places = window.places(index[-rank:])
        return padded(value, (*index[:-rank], *places), _lowest(value.dtype))

    made = call.result(lambda index: call.reduce("max", element(index), window.axes))
    if len(call.node.results) == 1:
        return made

    def position(index: Index) -> Node:
        found = call.reduce("argmax", element(index), window.axes)
        return _flat(call, found, window, index[-rank:], value.shape[-rank:])

    return made, call.result(position, number=1)


def _flat(call: Call, found: Node, window: _Window, spatial: Sequence[Expr], shape: Sequence[Expr]) -> Node:
    """Turn a position in the window into one in the input plane."""
    total: Node = literal("int64", 0)
    rank = len(window.size)
    for number in range(rank):
        inner = product(window.size[number + 1 :])
        offset = call.do(
            "mod", call.do("floordiv", found, index_node(inner)), index_node(window.size[number])
        )
        start = index_node(spatial[number] * window.stride[number] - window.padding[number])
        place = call.do("add", start, call.do("mul", offset, index_node(window.dilation[number])))
        total = call.do("add", call.do("mul", total, index_node(shape[number])), place)
    return total


def _avg_pool(call: Call) -> Value:
    value = call.value(0)
    window = _window(call, dilated=False)
    rank = len(window.size)
    with_padding = call.flag(5, "count_include_pad", default=True)
    override = call.raw(6, "divisor_override")

    def divisor(spatial: Sequence[Expr]) -> Node:
        if override is not None:
            return call.scalar(6, "divisor_override", None, call.kind)
        count = Expr.wrap(1)
        for place, size, stride, padding, extent in zip(
            spatial, window.size, window.stride, window.padding, value.shape[-rank:], strict=True
        ):
            start = place * stride - padding
            end = (start + size).minimum(extent + padding)
            if not with_padding:
                start, end = start.maximum(ZERO), end.minimum(extent)
            count = count * (end - start)
        return cast(index_node(count), call.kind, call.span)

    def fetch(index: Index) -> Node:
        spatial = index[-rank:]
        element = padded(value, (*index[:-rank], *window.places(spatial)), 0)
        total = call.reduce("sum", element, window.axes)
        return call.do("div", total, divisor(spatial))

    return call.result(fetch)


@dataclass(frozen=True, slots=True)
class _Adaptive:
    """One spatial dim of an adaptive pooling: its axis, position, length and the test of a ragged window."""

    axis: Expr
    place: Expr
    length: Expr
    test: Node | None


def _adaptive_dim(call: Call, number: int, place: Expr, size: Expr, out: Expr) -> _Adaptive:
    if out == Expr.wrap(1):
        axis = call.axis(f"w{number}", size)
        return _Adaptive(axis, axis, size, None)
    if (size % out).value == 0:
        length = size // out
        axis = call.axis(f"w{number}", length)
        return _Adaptive(axis, place * length + axis, length, None)
    start, end = (place * size) // out, ((place + 1) * size).ceildiv(out)
    axis = call.axis(f"w{number}", size.ceildiv(out) + 1)
    test = call.do("lt", index_node(axis), index_node(end - start))
    return _Adaptive(axis, start + axis, end - start, test)


def _adaptive(call: Call) -> Result:
    value = call.value(0)
    rank = _rank(call)
    sizes = value.shape[-rank:]
    outs = call.meta.shape[-rank:]
    mean = "avg" in call.op

    def parts(index: Index) -> tuple[Node, list[_Adaptive]]:
        dims = [
            _adaptive_dim(call, number, place, size, out)
            for number, (place, size, out) in enumerate(zip(index[-rank:], sizes, outs, strict=True))
        ]
        node = value.at((*index[:-rank], *(dim.place for dim in dims)))
        fill = literal(node.dtype, 0 if mean else _lowest(value.dtype))
        for dim in dims:
            if dim.test is not None:
                node = call.do("where", dim.test, node, fill)
        return node, dims

    def pooled(index: Index) -> Node:
        node, dims = parts(index)
        made = call.reduce("sum" if mean else "max", node, [dim.axis for dim in dims])
        if not mean:
            return made
        count = product(dim.length for dim in dims)
        return call.do("div", made, cast(index_node(count), made.dtype, call.span))

    made = call.result(pooled)
    if len(call.node.results) == 1:
        return made

    def position(index: Index) -> Node:
        node, dims = parts(index)
        found = call.reduce("argmax", node, [dim.axis for dim in dims])
        total: Node = literal("int64", 0)
        for number, dim in enumerate(dims):
            inner = product(_extent(other) for other in dims[number + 1 :])
            offset = call.do("mod", call.do("floordiv", found, index_node(inner)), index_node(_extent(dim)))
            place = call.do("add", index_node(dim.place - dim.axis), offset)
            total = call.do("add", call.do("mul", total, index_node(sizes[number])), place)
        return total

    return made, call.result(position, number=1)


def _extent(dim: _Adaptive) -> Expr:
    atom = dim.axis.axis
    return Expr.wrap(1) if atom is None else atom.extent


RULES: dict[str, Rule] = {
    "aten._adaptive_avg_pool2d": _adaptive,
    "aten._adaptive_avg_pool3d": _adaptive,
    "aten.adaptive_avg_pool1d": _adaptive,
    "aten.adaptive_avg_pool2d": _adaptive,
    "aten.adaptive_avg_pool3d": _adaptive,
    "aten.adaptive_max_pool1d": _adaptive,
    "aten.adaptive_max_pool2d": _adaptive,
    "aten.adaptive_max_pool3d": _adaptive,
    "aten.avg_pool1d": _avg_pool,
    "aten.avg_pool2d": _avg_pool,
    "aten.avg_pool3d": _avg_pool,
    "aten.max_pool1d": _max_pool,
    "aten.max_pool1d_with_indices": _max_pool,
    "aten.max_pool2d": _max_pool,
    "aten.max_pool2d_with_indices": _max_pool,
    "aten.max_pool3d": _max_pool,
    "aten.max_pool3d_with_indices": _max_pool,
}
