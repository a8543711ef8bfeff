"""Take no step of a contraction that adds zeros: tests on an operand become the number of steps of a loop.

    before   contract c, k<2: where(2*k + p < 3, x[c, q - k], 0) * w[c, 2*k + p else 0]
    after    contract c, k<2: x[c, q - k] * w[c, 2*k + p]      of k only the first (4 - p) // 2

A block knows how many they are where the test reads only axes with one index a block or a step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import reduce

from tilespec.ir.build import compute, literal
from tilespec.ir.nodes import Compute, Const, Contract, Index, Load, Node, rewrite
from tilespec.model.dims import ONE, ZERO, AxisAtom, Expr, const
from tilespec.schedule.access import inside

__all__ = ["skip_zeros", "without_tests"]


def without_tests(node: Node) -> tuple[list[Node], Node]:
    """Take the tests off a value that is zero where one of them fails; return them and the value."""
    tests: list[Node] = []
    while (
        isinstance(node, Compute)
        and node.op == "where"
        and isinstance(node.args[2], Const)
        and node.args[2].value == 0
    ):
        tests += _conjuncts(node.args[0])
        node = node.args[1]
    return tests, node


def _conjuncts(node: Node) -> Iterator[Node]:
    if isinstance(node, Compute) and node.op == "and":
        for item in node.args:
            yield from _conjuncts(item)
    else:
        yield node


def skip_zeros(
    product: Contract, order: Sequence[AxisAtom], tiled: Collection[AxisAtom]
) -> tuple[Contract, dict[AxisAtom, Expr]]:
    """Return a contraction without the tests that its loops do, and how much of an axis those run over.

    `order` has the axes of the contraction, outermost first; `tiled` are the axes that have tiles.
    """
    counts: dict[AxisAtom, Expr] = {}
    free: list[Expr] = []
    bounds: list[tuple[Expr, Expr]] = []
    sides: list[Node] = []
    for side in product.operands:
        tests, value = without_tests(side)
        left: list[Node] = []
        for test in tests:
            bound = _bound(test)
            count = None if bound is None else _count(*bound, order, tiled)
            if bound is None or count is None:
                left.append(test)
                continue
            bounds.append(bound)
            step, number = count
            if step is None:
                free.append(number)
            else:
                counts[step] = number.minimum(counts.get(step, step.extent))
        if left:
            condition = reduce(lambda first, second: compute("and", first, second), left)
            value = compute("where", condition, value, literal(value.dtype, 0))
        sides.append(value)
    if not bounds:
        return product, {}
    # What is zero at all steps is so in any loop: each test gets one of its own where there are enough.
    for place, number in enumerate(free):
        step = order[min(place, len(order) - 1)]
        counts[step] = counts.get(step, step.extent) * number
    memo: dict[Node, Node] = {}

    def bare(node: Node) -> Node:
        if not isinstance(node, Load) or node.fill is None:
            return node
        places = zip(node.index, node.tensor.shape, strict=True)
        stays = all(
            isinstance(item, Expr) and (inside(item, extent) or (item, extent) in bounds)
            for item, extent in places
        )
        return replace(node, fill=None) if stays else node

    left_side, right_side = (rewrite(side, bare, memo) for side in sides)
    return replace(product, left=left_side, right=right_side), counts


def _bound(test: Node) -> tuple[Expr, Expr] | None:
    """Read a test as `place < limit`: `p % 2 == 0` is `p % 2 < 1`."""
    if not isinstance(test, Compute) or test.op not in {"lt", "eq"} or not isinstance(test.args[0], Index):
        return None
    place, limit = test.args[0].expr, test.args[1]
    if test.op == "eq":
        zero = isinstance(limit, Const) and limit.value == 0
        return (place, ONE) if zero and place.is_nonnegative() else None
    if isinstance(limit, Index):
        return (place, limit.expr) if not limit.expr.axes else None
    return (place, const(int(limit.value))) if isinstance(limit, Const) else None


def _count(
    place: Expr, limit: Expr, order: Sequence[AxisAtom], tiled: Collection[AxisAtom]
) -> tuple[AxisAtom | None, Expr] | None:
    """Return the axis that walks towards a limit and how many steps it takes; without one, 1 inside and 0 outside."""
    steps = [item for item in order if item in place.axes]
    if place.axes & set(tiled) or len(steps) > 1:
        return None
    if not steps:
        return None, (limit - place).maximum(0).minimum(1)
    start = place.substitute({steps[0].name: ZERO})
    split = (place - start).linear()
    stride = None if split is None else split[0].get(steps[0], ZERO).value
    if stride is None or stride <= 0 or steps[0] in start.axes:
        return None
    number = (limit + stride - 1 - start) // stride
    fits = start.is_nonnegative() and limit.ceildiv(stride) == steps[0].extent
    return steps[0], number if fits else number.minimum(steps[0].extent)
