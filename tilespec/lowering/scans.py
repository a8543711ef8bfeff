"""Running sums, products and extrema along one dim."""

from __future__ import annotations

import math

from tilespec.ir.build import index_node, literal
from tilespec.ir.nodes import Node, Scan
from tilespec.lowering.call import Call, Rule, convert
from tilespec.lowering.values import Index, Value
from tilespec.model.dims import Expr

__all__ = ["RULES"]


class _Run:
    """A dim to scan along: the element at the scanned position and the scan at an index."""

    def __init__(self, call: Call, kind: str) -> None:
        self.call = call
        self.value = call.value(0)
        self.kind = kind
        self.dim = call.dim(1, "dim", self.value.rank)
        self.axis = call.axis("scan", self.value.shape[self.dim]) if self.value.rank else Expr.wrap(0)

    def along(self, index: Index) -> Node:
        """Return the element at the scanned position."""
        if not self.value.rank:
            return convert(self.value.at(()), self.kind, self.call.span)
        row = (*index[: self.dim], self.axis, *index[self.dim + 1 :])
        return convert(self.value.at(row), self.kind, self.call.span)

    def scan(self, op: str, index: Index) -> Node:
        """Return the running `op` at an index."""
        node = self.along(index)
        atom = self.axis.axis
        if atom is None:
            return node
        return Scan(node.dtype, op, node, atom, index[self.dim], span=self.call.span)

    def up_to(self, index: Index, node: Node, fill: Node) -> Node:
        """Return `node` at scanned positions not after the index, else `fill`."""
        test = self.call.do("le", index_node(self.axis), index_node(index[self.dim]))
        return self.call.do("where", test, node, fill)


def _cumulative(op: str) -> Rule:
    def rule(call: Call) -> Value:
        run = _Run(call, call.kind)
        return call.result(lambda index: run.scan(op, index))

    return rule


def _extremum(op: str) -> Rule:
    def rule(call: Call) -> tuple[Value, Value]:
        run = _Run(call, call.kind)

        def place(index: Index) -> Node:
            """Look for the last position so far that holds the extremum; a NaN holds from where it stands."""
            if run.axis.axis is None:
                return literal("int64", 0)
            node, best = run.along(index), run.scan(op, index)
            hit = call.do("eq", node, best)
            if call.kind.startswith("float"):
                hit = call.do("or", hit, call.do("isnan", node))
            position = call.do("where", hit, index_node(run.axis), literal("int64", -1))
            return call.reduce("max", run.up_to(index, position, literal("int64", -1)), (run.axis,))

        return call.result(lambda index: run.scan(op, index)), call.result(place, number=1)

    return rule


def _logcumsumexp(call: Call) -> Value:
    """Every element shifts by its own maximum, so no element is lost: a reduction for each, not a scan."""
    run = _Run(call, call.kind)

    def fetch(index: Index) -> Node:
        node = run.along(index)
        if run.axis.axis is None:
            return node
        least = literal(node.dtype, -math.inf)
        part = run.up_to(index, node, least)
        top = call.reduce("max", part, (run.axis,))
        shift = call.do("where", call.do("isinf", top), literal(node.dtype, 0), top)
        total = call.reduce("sum", call.do("exp", call.do("sub", part, shift)), (run.axis,))
        return call.do("add", call.do("log", total), shift)

    return call.result(fetch)


def _diff(call: Call) -> Value:
    value = call.value(0)
    dim = call.dim(2, "dim", value.rank, -1)
    if call.number(1, "n", 1) != 1:
        call.refuse("it takes a higher difference", "take differences one after the other")

    def fetch(index: Index) -> Node:
        after = value.at((*index[:dim], index[dim] + 1, *index[dim + 1 :]))
        return call.do("sub", after, value.at(index))

    return call.result(fetch)


RULES: dict[str, Rule] = {
    "aten.cummax": _extremum("max"),
    "aten.cummin": _extremum("min"),
    "aten.cumprod": _cumulative("prod"),
    "aten.cumsum": _cumulative("sum"),
    "aten.diff": _diff,
    "aten.logcumsumexp": _logcumsumexp,
}
