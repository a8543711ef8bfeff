"""The softmax family, with the usual shift by the maximum."""

from __future__ import annotations

from tilespec.ir.nodes import Node
from tilespec.lowering.call import Call, Rule, convert
from tilespec.lowering.values import Index, Value
from tilespec.model.dims import Expr

__all__ = ["RULES", "softmax_of"]


def softmax_of(call: Call, here: Node, along: Node, axis: Expr, *, log: bool = False) -> Node:
    """Return softmax of `here`, an element of the row whose elements are `along` over `axis`."""
    top = call.reduce("max", along, (axis,))
    total = call.reduce("sum", call.do("exp", call.do("sub", along, top)), (axis,))
    shifted = call.do("sub", here, top)
    if log:
        return call.do("sub", shifted, call.do("log", total))
    return call.do("div", call.do("exp", shifted), total)


def _softmax(*, log: bool) -> Rule:
    def rule(call: Call) -> Value:
        value = call.value(0)
        if not value.rank:
            # One element is a whole row; NaN and infinity stay NaN.
            gap = call.result(lambda index: call.do("sub", value.at(index), value.at(index)))
            return gap if log else call.pointwise(lambda x: call.do("exp", x), gap)
        dim = call.dim(1, "dim", value.rank)
        axis = call.axis("row", value.shape[dim])

        def fetch(index: Index) -> Node:
            row = (*index[:dim], axis, *index[dim + 1 :])
            here = convert(value.at(index), call.kind, call.span)
            return softmax_of(call, here, convert(value.at(row), call.kind, call.span), axis, log=log)

        return call.result(fetch)

    return rule


RULES: dict[str, Rule] = {
    "aten._log_softmax": _softmax(log=True),
    "aten._safe_softmax": _softmax(log=False),
    "aten._softmax": _softmax(log=False),
    "aten.log_softmax": _softmax(log=True),
    "aten.softmax": _softmax(log=False),
}
