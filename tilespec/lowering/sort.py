"""Sorting by counting: the rank of an element is the number of elements before it.

All pairs of a row are compared, so a row has a literal length of at most `LONGEST` elements (the experts of a router, the
candidates of a beam). Equal elements keep their order; NaN counts as the largest value, as in torch.
"""

from __future__ import annotations

from tilespec.ir.build import cast, index_node, is_float, literal
from tilespec.ir.nodes import Node
from tilespec.lowering.call import Call, Rule
from tilespec.lowering.values import Index, Value
from tilespec.model.dims import Expr

__all__ = ["LONGEST", "RULES"]

LONGEST = 1024


class _Ranks:
    """The rows of a value along a dim and the ranks of their elements."""

    def __init__(self, call: Call, dim: int) -> None:
        self.call = call
        self.value = call.value(0)
        self.dim = dim
        self.size = self.value.shape[dim] if self.value.rank else Expr.wrap(1)
        if self.size.value is None or self.size.value > LONGEST:
            call.refuse(
                f"a row of {self.size} elements is not known to have {LONGEST} or fewer, and all pairs are compared",
                f"give the dim as a number up to {LONGEST}, or keep the sort in PyTorch with a reason",
            )
        self.here = call.axis("i", self.size)
        self.other = call.axis("j", self.size)

    def element(self, index: Index, place: Expr) -> Node:
        """Return an element of the row that an index of the result lies in."""
        if not self.value.rank:
            return self.value.at(())
        return self.value.at((*index[: self.dim], place, *index[self.dim + 1 :]))

    def rank(self, index: Index, *, descending: bool) -> Node:
        """Return how many elements of the row stand before the one at the axis `here`."""
        call = self.call
        mine, theirs = self.element(index, self.here), self.element(index, self.other)
        before = _above(call, theirs, mine) if descending else _above(call, mine, theirs)
        same = call.do("eq", mine, theirs)
        if is_float(mine.dtype):
            both = call.do("and", call.do("isnan", mine), call.do("isnan", theirs))
            same = call.do("or", same, both)
        earlier = call.do("lt", index_node(self.other), index_node(self.here))
        counted = call.do("or", before, call.do("and", same, earlier))
        return call.reduce("sum", cast(counted, "int64", call.span), (self.other,))

    def place(self, index: Index, rank: Node, *, descending: bool) -> Node:
        """Return the position of the element with this rank."""
        call = self.call
        hit = call.do("eq", self.rank(index, descending=descending), rank)
        part = call.do("where", hit, index_node(self.here), literal("int64", 0))
        return call.reduce("sum", part, (self.here,))

    def at_rank(self, index: Index, rank: Node, *, descending: bool) -> Node:
        """Return the element with this rank."""
        if not self.value.rank:
            return self.value.at(())
        place = self.place(index, rank, descending=descending)
        return self.call.read(self.value, (*index[: self.dim], place, *index[self.dim + 1 :]))


def _above(call: Call, left: Node, right: Node) -> Node:
    if left.dtype == "bool":
        left, right = cast(left, "int32", call.span), cast(right, "int32", call.span)
    above = call.do("gt", left, right)
    if not is_float(left.dtype):
        return above
    return call.do(
        "or", above, call.do("and", call.do("isnan", left), call.do("not", call.do("isnan", right)))
    )


def _ordered(call: Call, dim: int, *, descending: bool) -> tuple[Value, Value]:
    ranks = _Ranks(call, dim)

    def rank(index: Index) -> Node:
        return index_node(index[dim]) if index else literal("int64", 0)

    return (
        call.result(lambda index: ranks.at_rank(index, rank(index), descending=descending)),
        call.result(lambda index: ranks.place(index, rank(index), descending=descending), number=1),
    )


def _sort(call: Call) -> tuple[Value, Value]:
    stable = call.node.op.endswith(".stable")
    rank = call.value(0).rank
    dim = call.dim(2 if stable else 1, "dim", rank, -1)
    return _ordered(call, dim, descending=call.flag(3 if stable else 2, "descending"))


def _topk(call: Call) -> tuple[Value, Value]:
    dim = call.dim(2, "dim", call.value(0).rank, -1)
    return _ordered(call, dim, descending=call.flag(3, "largest", default=True))


def _selected(call: Call, dim: int, rank: Node, *, keep: bool, nan_wins: bool) -> tuple[Value, ...]:
    ranks = _Ranks(call, dim)

    def row(index: Index) -> Index:
        return index if keep else (*index[:dim], Expr.wrap(0), *index[dim:])

    def element(index: Index) -> Node:
        found = ranks.at_rank(row(index), rank, descending=False)
        if not nan_wins or not is_float(found.dtype):
            return found
        missing = call.do("isnan", ranks.element(row(index), ranks.here))
        any_missing = call.reduce("any", missing, (ranks.here,))
        return call.do("where", any_missing, literal(found.dtype, float("nan")), found)

    if len(call.node.results) == 1:
        return (call.result(element),)
    return (
        call.result(element),
        call.result(lambda index: ranks.place(row(index), rank, descending=False), number=1),
    )


def _kthvalue(call: Call) -> tuple[Value, ...]:
    dim = call.dim(2, "dim", call.value(0).rank, -1)
    rank = call.scalar(1, "k", None, "int64")
    before = call.do("sub", rank, literal("int64", 1))
    return _selected(call, dim, before, keep=call.flag(3, "keepdim"), nan_wins=False)


def _median(call: Call) -> tuple[Value, ...]:
    """The lower of two medians; over all elements only for one dim."""
    value = call.value(0)
    if len(call.node.results) == 1 and value.rank > 1:
        call.refuse("it is the median of all elements of several dims", "flatten to one dim, or name a dim")
    dim = call.dim(1, "dim", value.rank)
    size = value.shape[dim] if value.rank else Expr.wrap(1)
    keep = len(call.node.results) == 2 and call.flag(2, "keepdim")
    return _selected(call, dim, index_node((size - 1) // 2), keep=keep, nan_wins=True)


def _search(call: Call) -> Value:
    """`bucketize` and `searchsorted`: how many boundaries stand before a value."""
    if call.op == "bucketize":
        value, bounds = call.value(0), call.value(1)
    else:
        bounds, value = call.value(0), call.value(1)
        if call.optional(5, "sorter") is not None:
            call.refuse("it goes through a `sorter`", "sort the boundaries first")
    right = call.flag(3, "right") or call.raw(4, "side") == "right"
    axis = call.axis("bound", bounds.shape[-1])

    def fetch(index: Index) -> Node:
        lead = () if bounds.rank == 1 else index[:-1]
        bound, here = bounds.at((*lead, axis)), value.at(index)
        kind = "float32" if is_float(bound.dtype) or is_float(here.dtype) else "int64"
        kind = "float64" if "float64" in {bound.dtype, here.dtype} else kind
        test = call.do("le" if right else "lt", cast(bound, kind, call.span), cast(here, kind, call.span))
        return call.reduce("sum", cast(test, "int64", call.span), (axis,))

    return call.result(fetch)


RULES: dict[str, Rule] = {
    "aten.bucketize": _search,
    "aten.kthvalue": _kthvalue,
    "aten.median": _median,
    "aten.searchsorted": _search,
    "aten.sort": _sort,
    "aten.topk": _topk,
}
