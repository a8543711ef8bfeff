"""Interpolation: nearest and (bi, tri)linear upsampling."""

from __future__ import annotations

from collections.abc import Sequence

from tilespec.ir.build import cast, index_node, literal
from tilespec.ir.nodes import Node
from tilespec.lowering.call import Call, Rule, convert
from tilespec.lowering.values import Index, Value
from tilespec.model.dims import ONE, Expr
from tilespec.reference.graph import Argument

__all__ = ["RULES"]


def _rank(call: Call) -> int:
    return int(next(char for char in call.op if char.isdigit()))


def _factors(call: Call, position: int) -> list[float | None]:
    """Return the scale factors that the call states, from the `vec` or the plain overload."""
    rank = _rank(call)
    raw: Argument = None
    if call.node.op.endswith(".vec"):
        raw = call.raw(position, "scale_factors")
        items = raw if isinstance(raw, tuple) else (None,) * rank
    else:
        items = tuple(call.raw(position + number, "") for number in range(rank))
    return [float(item) if isinstance(item, int | float) else None for item in items]


def _nearest(call: Call) -> Value:
    """Read the source element of each target: `i * in // out`, or `i // factor` for a whole factor."""
    value = call.value(0)
    rank = _rank(call)
    exact = "exact" in call.op
    factors = _factors(call, 2)

    def source(place: Expr, size: Expr, out: Expr, factor: float | None) -> Expr:
        if factor is not None and factor == int(factor) and not exact:
            return (place // int(factor)).minimum(size - 1)
        if factor is not None and (out.value is None or factor * (size.value or 0) != out.value):
            if not (1 / factor).is_integer():
                call.refuse("its scale factor is not a whole number", "pass `size=` or a whole scale factor")
            step = int(1 / factor)
            return (place * step + (step // 2 if exact else 0)).minimum(size - 1)
        if exact:
            return ((2 * place + 1) * size // (2 * out)).minimum(size - 1)
        return place * size // out

    def fetch(index: Index) -> Node:
        spatial = [
            source(place, size, out, factor)
            for place, size, out, factor in zip(
                index[-rank:], value.shape[-rank:], call.meta.shape[-rank:], factors, strict=True
            )
        ]
        return value.at((*index[:-rank], *spatial))

    return call.result(fetch)


def _position(call: Call, place: Expr, size: Expr, out: Expr, factor: float | None, *, aligned: bool) -> Node:
    """Return where in the source a target element lies, as a float."""
    kind = call.kind
    target = cast(index_node(place), kind, call.span)
    if aligned:
        steps = cast(index_node((out - 1).maximum(ONE)), kind)
        return call.do("mul", target, call.do("div", cast(index_node(size - 1), kind), steps))
    half = literal(kind, 0.5)
    ratio = (
        literal(kind, 1 / factor)
        if factor is not None
        else call.do("div", cast(index_node(size), kind), cast(index_node(out), kind))
    )
    return call.do("sub", call.do("mul", ratio, call.do("add", target, half)), half)


def _linear(call: Call) -> Value:
    value = call.value(0)
    rank = _rank(call)
    aligned = call.flag(2, "align_corners")
    factors = _factors(call, 3)

    def corners(place: Expr, size: Expr, out: Expr, factor: float | None) -> tuple[Node, Node, Node]:
        """Return the two source positions and the weight of the second."""
        position = _position(call, place, size, out, factor, aligned=aligned)
        if not aligned:
            position = call.do("max", position, literal(call.kind, 0))
        lower = call.do("floor", position)
        first = call.do("min", cast(lower, "int64", call.span), index_node(size - 1))
        second = call.do("min", call.do("add", first, literal("int64", 1)), index_node(size - 1))
        return first, second, call.do("sub", position, lower)

    def blend(index: Index, done: Sequence[Node | Expr], parts: Sequence[tuple[Node, Node, Node]]) -> Node:
        if not parts:
            return call.read(value, (*index[:-rank], *done))
        first, second, weight = parts[0]
        low = blend(index, (*done, first), parts[1:])
        high = blend(index, (*done, second), parts[1:])
        low = call.do("mul", low, call.do("sub", literal(low.dtype, 1), weight))
        return call.do("add", low, call.do("mul", high, weight))

    def fetch(index: Index) -> Node:
        parts = [
            corners(place, size, out, factor)
            for place, size, out, factor in zip(
                index[-rank:], value.shape[-rank:], call.meta.shape[-rank:], factors, strict=True
            )
        ]
        return blend(index, (), parts)

    return call.result(fetch)


def _cubic(call: Call) -> Value:
    """Bicubic: four taps a dim with the weights of the cubic convolution at -0.75, positions clamped to the border."""
    value = call.value(0)
    aligned = call.flag(2, "align_corners")
    factors = _factors(call, 3)
    kind = call.kind

    def near(t: Node) -> Node:
        # 1.25 t^3 - 2.25 t^2 + 1
        inner = call.do("sub", call.do("mul", literal(kind, 1.25), t), literal(kind, 2.25))
        return call.do("add", call.do("mul", call.do("mul", inner, t), t), literal(kind, 1))

    def far(t: Node) -> Node:
        # -0.75 t^3 + 3.75 t^2 - 6 t + 3
        node = call.do("add", call.do("mul", literal(kind, -0.75), t), literal(kind, 3.75))
        node = call.do("sub", call.do("mul", node, t), literal(kind, 6))
        return call.do("add", call.do("mul", node, t), literal(kind, 3))

    def taps(place: Expr, size: Expr, out: Expr, factor: float | None) -> list[tuple[Node, Node]]:
        position = _position(call, place, size, out, factor, aligned=aligned)
        lower = call.do("floor", position)
        t = call.do("sub", position, lower)
        base = cast(lower, "int64", call.span)
        rest = call.do("sub", literal(kind, 1), t)
        one = literal(kind, 1)
        weights = [far(call.do("add", t, one)), near(t), near(rest), far(call.do("add", rest, one))]
        result: list[tuple[Node, Node]] = []
        for offset, weight in enumerate(weights, start=-1):
            moved = call.do("add", base, literal("int64", offset))
            moved = call.do("min", call.do("max", moved, literal("int64", 0)), index_node(size - 1))
            result.append((moved, weight))
        return result

    def fetch(index: Index) -> Node:
        rows, columns = (
            taps(place, size, out, factor)
            for place, size, out, factor in zip(
                index[-2:], value.shape[-2:], call.meta.shape[-2:], factors, strict=True
            )
        )
        total: Node | None = None
        for row, row_weight in rows:
            line: Node | None = None
            for column, weight in columns:
                part = call.do("mul", call.read(value, (*index[:-2], row, column)), weight)
                line = part if line is None else call.do("add", line, part)
            part = call.do("mul", line, row_weight) if line is not None else row_weight
            total = part if total is None else call.do("add", total, part)
        return literal(kind, 0) if total is None else total

    return call.result(fetch)


def _grid_sample(call: Call) -> Value:
    """Read an image at positions that a grid holds in [-1, 1]."""
    value, grid = call.value(0), call.value(1)
    mode, padding = int(call.number(2, "interpolation_mode", 0)), int(call.number(3, "padding_mode", 0))
    aligned = call.flag(4, "align_corners")
    if mode > 1 or padding > 1:
        call.refuse(
            "it is bicubic or pads by reflection", "use bilinear or nearest with zeros or border padding"
        )
    kind = call.kind
    rank = value.rank - 2

    def position(index: Index, dim: int) -> Node:
        size = value.shape[2 + dim]
        raw = cast(grid.at((index[0], *index[2:], Expr.wrap(rank - 1 - dim))), kind, call.span)
        wide, one = cast(index_node(size), kind), literal(kind, 1)
        shifted = call.do("add", raw, one)
        if aligned:
            place = call.do("mul", shifted, call.do("div", call.do("sub", wide, one), literal(kind, 2)))
        else:
            place = call.do("div", call.do("sub", call.do("mul", shifted, wide), one), literal(kind, 2))
        if padding == 1:
            top = cast(index_node(size - 1), kind)
            place = call.do("min", call.do("max", place, literal(kind, 0)), top)
        return place

    def element(index: Index, places: Sequence[Node]) -> Node:
        """Return the element at integral float positions, 0 outside."""
        test: Node | None = None
        found: list[Node] = []
        for dim, place in enumerate(places):
            top = cast(index_node(value.shape[2 + dim] - 1), kind)
            ok = call.do("and", call.do("ge", place, literal(kind, 0)), call.do("le", place, top))
            test = ok if test is None else call.do("and", test, ok)
            clamped = call.do("min", call.do("max", place, literal(kind, 0)), top)
            found.append(cast(clamped, "int64", call.span))
        node = convert(call.read(value, (*index[:2], *found)), kind, call.span)
        return node if test is None else call.do("where", test, node, literal(kind, 0))

    def blend(index: Index, done: Sequence[Node], parts: Sequence[Node]) -> Node:
        if not parts:
            return element(index, done)
        lower = call.do("floor", parts[0])
        weight = call.do("sub", parts[0], lower)
        one = literal(kind, 1)
        low = call.do("mul", blend(index, (*done, lower), parts[1:]), call.do("sub", one, weight))
        high = call.do("mul", blend(index, (*done, call.do("add", lower, one)), parts[1:]), weight)
        return call.do("add", low, high)

    def fetch(index: Index) -> Node:
        places = [position(index, dim) for dim in range(rank)]
        if mode == 1:
            return element(index, [call.do("round", place) for place in places])
        return blend(index, (), places)

    return call.result(fetch)


RULES: dict[str, Rule] = {
    "aten._upsample_nearest_exact1d": _nearest,
    "aten._upsample_nearest_exact2d": _nearest,
    "aten._upsample_nearest_exact3d": _nearest,
    "aten.grid_sampler_2d": _grid_sample,
    "aten.grid_sampler_3d": _grid_sample,
    "aten.upsample_bicubic2d": _cubic,
    "aten.upsample_bilinear2d": _linear,
    "aten.upsample_linear1d": _linear,
    "aten.upsample_nearest1d": _nearest,
    "aten.upsample_nearest2d": _nearest,
    "aten.upsample_nearest3d": _nearest,
    "aten.upsample_trilinear3d": _linear,
}
