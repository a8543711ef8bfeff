"""Positions of a maximum or a minimum: found in the pass that finds the value.

before   v0 = reduce max r: x[r];  v1 = reduce min r: where(x[r] == v0 or both NaN, r, R)
after    one loop carries the largest value and where it was seen first
"""

from __future__ import annotations

from collections.abc import Iterable

from tilespec.ir.nodes import Compute, Index, Node, Reduce, postorder

__all__ = ["find_positions"]


def find_positions(roots: Iterable[Node]) -> dict[Reduce, Reduce]:
    """Return for each maximum and minimum the reduction to the first position that holds it, where there is one."""
    found: dict[Reduce, Reduce] = {}
    for node in postorder(roots):
        if not isinstance(node, Reduce) or node.op != "min" or not isinstance(node.arg, Compute):
            continue
        extreme = _extreme(node.arg)
        if extreme is not None and extreme.axes == node.axes:
            found[extreme] = node
    return found


def _extreme(choice: Compute) -> Reduce | None:
    """Return the extreme value whose positions a `where` chooses; NaN has to hold a NaN."""
    if choice.op != "where" or not all(isinstance(item, Index) for item in choice.args[1:]):
        return None
    held = choice.args[0]
    if not isinstance(held, Compute):
        return None
    equal = held.args[0] if held.op == "or" else held
    if not isinstance(equal, Compute) or equal.op != "eq":
        return None
    value, extreme = equal.args
    if not isinstance(extreme, Reduce) or extreme.op not in {"max", "min"} or extreme.arg is not value:
        return None
    if not value.dtype.startswith("float"):
        return extreme if held is equal else None
    nan = tuple(Compute("bool", "isnan", (item,)) for item in (value, extreme))
    both = Compute("bool", "and", nan)
    return extreme if held.op == "or" and held.args[1] is both else None
