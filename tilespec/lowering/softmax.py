"""The softmax family, with the usual shift by the maximum."""

from __future__ import annotations

import math

from tilespec.ir.build import literal
from tilespec.ir.nodes import Node
from tilespec.lowering.call import Call, Rule, convert
from tilespec.lowering.values import Index, Value
from tilespec.model.dims import Expr

__all__ = ["RULES", "softmax_of"]


def softmax_of(
    call: Call, here: Node, along: Node, axis: Expr, *, log: bool = False, safe: bool = False
) -> Node:
    """Return softmax of `here`, an element of the row whose elements are `along` over `axis`.

    With `safe` a row of nothing but -inf, as masks leave it, gives zeros; without, NaN.
    """
    top = call.reduce("max", along, (axis,))
    if safe:
        some = call.do("ne", top, literal(top.dtype, -math.inf))
        top = call.do("where", some, top, literal(top.dtype, 0))
    total = call.reduce("sum", call.do("exp", call.do("sub", along, top)), (axis,))
    if safe:
        positive = call.do("ne", total, literal(total.dtype, 0))
        total = call.do("where", positive, total, literal(total.dtype, 1))
    shifted = call.do("sub", here, top)
    if log:
        return call.do("sub", shifted, call.do("log", total))
    return call.do("div", call.do("exp", shifted), total)


def _softmax(*, log: bool = False, safe: bool = False) -> Rule:
    def rule(call: Call) -> Value:
        value = call.value(0)
        if not value.rank and not safe:
            # One element is a whole row; NaN and infinity stay NaN.
            gap = call.result(lambda index: call.do("sub", value.at(index), value.at(index)))
            return gap if log else call.pointwise(lambda x: call.do("exp", x), gap)
        dim = call.dim(1, "dim", value.rank)
        axis = call.axis("row", value.shape[dim])

        def fetch(index: Index) -> Node:
            row = (*index[:dim], axis, *index[dim + 1 :])
            here = convert(value.at(index), call.kind, call.span)
            along = convert(value.at(row), call.kind, call.span)
            return softmax_of(call, here, along, axis, log=log, safe=safe)

        return call.result(fetch)

    return rule


RULES: dict[str, Rule] = {
    "aten._log_softmax": _softmax(log=True),
    "aten._safe_softmax": _softmax(safe=True),
    "aten._softmax": _softmax(),
    "aten.log_softmax": _softmax(log=True),
    "aten.softmax": _softmax(),
}
