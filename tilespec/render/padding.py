"""What a value reads as outside its axes: which padding each load names, and where a mask is still needed.

A ragged tile reads padding past the end of an axis. A reduction over that axis is right when those lanes hold its
identity. The padding of each load is chosen so that as many reductions as possible get that for nothing; the others
mask their operand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tilespec.ir.nodes import Compute, Const, Contract, Load, Node, Reduce, postorder
from tilespec.model.dims import AxisAtom
from tilespec.schedule.access import Gather, TileAccess

__all__ = ["IDENTITY", "Padding", "choose_padding", "padded_value"]

Padding = float | None
"""The value in padded lanes; None when it is not known."""

IDENTITY: Mapping[str, float] = {"sum": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}
_CHOICES = (0.0, -math.inf, math.inf)
_FLOATS = {"float16", "bfloat16", "float32", "float64"}

Accesses = Callable[[Load], TileAccess | Gather]


def padded_value(
    root: Node,
    axis: AxisAtom,
    accesses: Accesses,
    padding: Mapping[Load, float],
    masked: Mapping[tuple[Node, AxisAtom], float] | None = None,
) -> Padding:
    """Return what `root` holds in lanes past the end of `axis`, or None; `masked` names values that a mask has set."""
    known: dict[Node, Padding] = {}
    for node in postorder([root]):
        if masked and (node, axis) in masked:
            known[node] = masked[node, axis]
        elif isinstance(node, Const):
            known[node] = float(node.value)
        elif isinstance(node, Load):
            known[node] = padding.get(node, 0.0) if _padded(node, axis, accesses) else None
        elif isinstance(node, Compute):
            known[node] = _fold(node, [known[item] for item in node.args])
        else:
            known[node] = None
    return known[root]


def _padded(load: Load, axis: AxisAtom, accesses: Accesses) -> bool:
    access = accesses(load)
    if isinstance(access, TileAccess):
        return any(dim.axis == axis and dim.cut is None for dim in access.dims)
    # A gather leaves the tensor with the axis where one dim is indexed by the axis alone and is as long.
    return load.fill is None and any(
        not isinstance(item, Node) and item.axis == axis and extent == axis.extent
        for item, extent in zip(load.index, load.tensor.shape, strict=True)
    )


def _fold(node: Compute, values: list[Padding]) -> Padding:
    op = node.op
    if op == "cast" and node.dtype in _FLOATS:
        return values[0]
    if op == "sub" and values[0] is not None and math.isinf(values[0]) and values[1] is None:
        # x - max(x) with x = -inf: whatever is finite leaves it; an infinite one is NaN in the lanes that count, too.
        return values[0]
    if any(value is None for value in values):
        return None
    numbers = [value for value in values if value is not None]
    try:
        return _FOLD[op](*numbers)
    except (KeyError, ValueError, OverflowError, ZeroDivisionError):
        return None


_FOLD: Mapping[str, Callable[..., float]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "abs": abs,
    "max": max,
    "min": min,
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "tanh": math.tanh,
    "sqrt": math.sqrt,
    "erf": math.erf,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
}


def choose_padding(roots: list[Node], accesses: Accesses) -> dict[Load, float]:
    """Choose the padding of every float load: the one that spares the most masks, zero first."""
    nodes = list(postorder(roots))
    demands: list[tuple[Node, AxisAtom, float]] = []
    for node in nodes:
        if isinstance(node, Reduce) and node.op in IDENTITY:
            demands.extend((node.arg, axis, IDENTITY[node.op]) for axis in node.axes)
        elif isinstance(node, Contract):
            demands.extend((side, axis, 0.0) for side in (node.left, node.right) for axis in node.axes)
    chosen: dict[Load, float] = {}
    for load in nodes:
        if not isinstance(load, Load):
            continue
        chosen[load] = 0.0
        if load.dtype not in _FLOATS or load.fill is not None:
            continue
        below = [
            (root, axis, identity)
            for root, axis, identity in demands
            if axis in load.free and _reads(root, load)
        ]
        best = -1
        for choice in _CHOICES:
            met = sum(
                padded_value(root, axis, accesses, {**chosen, load: choice}) == identity
                for root, axis, identity in below
            )
            if met > best:
                best, chosen[load] = met, choice
    return chosen


def _reads(root: Node, load: Load) -> bool:
    return any(node is load for node in postorder([root]))
