"""Sums of exponentials that can run beside the maximum they subtract.

`sum exp(x - max x)` needs the maximum first, hence a second pass over a row. Online, one pass keeps a running maximum and
scales what it has added up whenever that grows:

    m' = max(m, max x),  l' = l * exp(m - m') + sum exp(x - m')

`find_online` says which sums and contractions have the form `sum exp(x - m) * w` with `w` free of `m`. Dividing by the
sum before a contraction would make three passes of two: `hoist_normalisers` divides after it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tilespec.ir.nodes import Compute, Const, Contract, Node, Program, Reduce, postorder, rewrite

__all__ = ["find_online", "hoist_normalisers", "is_guard"]


def _reads(root: Node, target: Node) -> bool:
    return any(node is target for node in postorder([root]))


def _is_shifted_exp(node: Node, highest: Node) -> bool:
    """Whether `node` is `exp(x - highest)` times or divided by what doesn't depend on `highest`."""
    if not isinstance(node, Compute):
        return False
    if node.op == "cast":
        return _is_shifted_exp(node.args[0], highest)
    if node.op == "exp":
        inner = node.args[0]
        return (
            isinstance(inner, Compute)
            and inner.op == "sub"
            and (inner.args[1] is highest or is_guard(inner.args[1], highest))
            and not _reads(inner.args[0], highest)
        )
    if node.op == "mul":
        left, right = node.args
        return (_is_shifted_exp(left, highest) and not _reads(right, highest)) or (
            _is_shifted_exp(right, highest) and not _reads(left, highest)
        )
    if node.op == "div":
        return _is_shifted_exp(node.args[0], highest) and not _reads(node.args[1], highest)
    return False


def is_guard(node: Node, highest: Node) -> bool:
    """Whether `node` is `highest`, but 0 where that is -inf: what a softmax subtracts that survives rows of -inf."""
    if not (isinstance(node, Compute) and node.op == "where" and node.args[1] is highest):
        return False
    test, _, zero = node.args
    return (
        isinstance(test, Compute)
        and test.op == "ne"
        and test.args[0] is highest
        and isinstance(test.args[1], Const)
        and test.args[1].value == -math.inf
        and isinstance(zero, Const)
        and zero.value == 0
    )


def find_online(roots: Sequence[Node]) -> dict[Reduce | Contract, Reduce]:
    """Return, for each sum or contraction that can run beside its maximum, that maximum."""
    nodes = list(postorder(roots))
    found: dict[Reduce | Contract, Reduce] = {}
    for node in nodes:
        if not (isinstance(node, Contract) or (isinstance(node, Reduce) and node.op == "sum")):
            continue
        below = [
            item
            for item in postorder(node.operands)
            if isinstance(item, Reduce | Contract) and set(item.bound) == set(node.bound)
        ]
        if len(below) != 1 or not isinstance(below[0], Reduce) or below[0].op != "max":
            continue
        highest = below[0]
        sides = (node.left, node.right) if isinstance(node, Contract) else (node.arg,)
        shifted = [side for side in sides if _is_shifted_exp(side, highest)]
        if len(shifted) == 1 and not any(_reads(side, highest) for side in sides if side is not shifted[0]):
            found[node] = highest
    return found


def hoist_normalisers(program: Program) -> Program:
    """Move what is the same along a contraction behind it: constant factors, a softmax's sum, masks of whole rows.

    Its operands are then what memory holds, and the sum may run beside the contraction.
    """

    def change(node: Node) -> Node:
        if not isinstance(node, Contract):
            return node
        for left in (True, False):
            core, outside = _peel(node.left if left else node.right, node)
            if not outside:
                continue
            result = change(replace(node, left=core) if left else replace(node, right=core))
            for wrapper in reversed(outside):
                if wrapper.op in {"div", "mul"}:
                    result = Compute(node.dtype, wrapper.op, (result, wrapper.args[1]), node.span)
                else:
                    zero = Const(node.dtype, 0.0)
                    result = Compute(node.dtype, "where", (wrapper.args[0], result, zero), node.span)
            return result
        return node

    memo: dict[Node, Node] = {}
    return replace(
        program,
        stores=tuple(replace(store, value=rewrite(store.value, change, memo)) for store in program.stores),
    )


def _peel(operand: Node, product: Contract) -> tuple[Node, list[Compute]]:
    """Take off an operand what is the same along the contracted axes.

    That is casts, constant factors, the quotient of a softmax and masks of whole rows.
    """
    outside: list[Compute] = []
    node = operand
    while isinstance(node, Compute):
        if node.op == "cast" and node.dtype.startswith(("float", "bfloat")):
            node = node.args[0]
        elif _is_scaling(node, product) or (
            node.op == "div" and _is_softmax(node) and not node.args[1].free & product.bound
        ):
            outside.append(node)
            node = node.args[0]
        elif (
            node.op == "where"
            and not node.args[0].free & product.bound
            and isinstance(node.args[2], Const)
            and node.args[2].value == 0
        ):
            outside.append(node)
            node = node.args[1]
        else:
            break
    if not any(item.op in {"div", "mul"} for item in outside):
        return operand, []
    return node, outside


def _is_softmax(node: Compute) -> bool:
    top, bottom = node.args
    if isinstance(bottom, Compute) and bottom.op == "where":
        # 1 in the place of a sum of nothing.
        bottom = bottom.args[1]
    return isinstance(bottom, Reduce) and bottom.op == "sum" and bottom.arg is top


def _is_scaling(node: Compute, product: Contract) -> bool:
    return node.op == "mul" and isinstance(node.args[1], Const) and node.dtype == product.dtype
