"""Split the output of a transposed convolution by its phases: each is a convolution of stride 1 with some of the taps.

The place of an output element, modulo the stride, decides which taps meet an input element. With that phase as an axis of
its own the input is read along a window, and no place is divided.

    before   y[o] = contract c, k: where(2*k + (o + 1) % 2 < 3, x[c, (o + 1) // 2 - k], 0) * w[c, 2*k + (o + 1) % 2]
    after    y[2*o + p] =
             contract c, k: where(2*k + (p + 1) % 2 < 3, x[c, o + (p + 1) // 2 - k], 0) * w[c, 2*k + (p + 1) % 2]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tilespec.ir.build import literal
from tilespec.ir.nodes import Contract, Load, Node, Program, postorder, rewrite
from tilespec.model.dims import AxisAtom, Expr, OpAtom, axis
from tilespec.schedule.access import inside
from tilespec.schedule.common import axes_of, folded_axes, stored_axes
from tilespec.schedule.regroup import substitute_axes

__all__ = ["split_phases"]


def split_phases(program: Program) -> Program:
    """Split every stored axis that an operand of a contraction divides, where its parts are then divided no more.

    The last places of an axis may lie past its end: stores of such axes are partial, and loads along them are filled.
    """
    products = [
        node for node in postorder(store.value for store in program.stores) if isinstance(node, Contract)
    ]
    read = [
        item
        for node in postorder(side for product in products for side in product.operands)
        if isinstance(node, Load)
        for item in node.index
        if isinstance(item, Expr)
    ]
    folded = folded_axes(program)
    for item in stored_axes(program):
        period = None if item in folded else _period(item, read)
        if period is not None:
            program = _split(program, item, period)
    return program


def _period(item: AxisAtom, read: Sequence[Expr]) -> int | None:
    """Return the least period that makes every quotient and remainder depend on the phase alone, if there is one."""
    divided = [expr for expr in read if any(_divides(expr, item))]
    divisors = {value for expr in divided for value in _divides(expr, item)}
    for period in sorted(divisors | {left * right for left in divisors for right in divisors}):
        step, phase = _parts(item, period, ())
        by_name = {item.name: period * step + phase}
        if not any(any(_divides(expr.substitute(by_name), atom)) for expr in divided for atom in step.axes):
            return period
    return None


def _divides(expr: Expr, item: AxisAtom) -> Iterable[int]:
    """Yield the constants that an expression divides an axis by."""
    for atom in expr.atoms():
        if isinstance(atom, OpAtom) and atom.op in {"//", "%"} and item in atom.left.axes:
            yield atom.right.value or 0


def _parts(item: AxisAtom, period: int, taken: Iterable[str]) -> tuple[Expr, Expr]:
    name = f"{item.name}_phase"
    while name in taken:
        name += "_"
    return axis(item.name, item.extent.ceildiv(period)), axis(name, period)


def _split(program: Program, item: AxisAtom, period: int) -> Program:
    step, phase = _parts(item, period, {other.name for other in axes_of(program)})
    partial = (item.extent % period).value != 0
    program = substitute_axes(program, {item: period * step + phase})

    def fill(node: Node) -> Node:
        if not isinstance(node, Load) or node.fill is not None:
            return node
        leaves = any(
            isinstance(place, Expr) and step.axes & place.axes and not inside(place, extent)
            for place, extent in zip(node.index, node.tensor.shape, strict=True)
        )
        return replace(node, fill=literal(node.dtype, 0).value) if leaves else node

    if not partial:
        return program
    memo: dict[Node, Node] = {}
    return replace(
        program,
        stores=tuple(
            replace(
                store,
                value=rewrite(store.value, fill, memo),
                partial=store.partial or bool(step.axes & set(store.axes)),
            )
            for store in program.stores
        ),
    )
