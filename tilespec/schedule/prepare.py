"""Bring a lowered program into the form that the families read.

Stores of equal shape share their axes; `argmax`, `any` and their kin become plain reductions; axes are unified again.
"""

from __future__ import annotations

from dataclasses import replace

from tilespec.ir.axes import map_expressions, unify
from tilespec.ir.nodes import (
    Compute,
    Const,
    Contract,
    Index,
    Load,
    Node,
    Program,
    Reduce,
    Scan,
    Store,
    postorder,
    rewrite,
)
from tilespec.model.dims import ONE, AxisAtom, Expr, axis, const, product
from tilespec.schedule.online import hoist_normalisers
from tilespec.schedule.regroup import substitute_axes

__all__ = ["prepare"]

_MOST_PIECES = 8


def prepare(program: Program) -> Program:
    """Return an equal program with few axes and only `sum`, `prod`, `max`, `min` reductions."""
    program = _share_store_axes(_split_stores(program))
    memo: dict[Node, Node] = {}
    program = replace(
        program,
        stores=tuple(
            replace(store, value=rewrite(store.value, _plain_reduction, memo)) for store in program.stores
        ),
    )
    return _narrow_operands(hoist_normalisers(_align_scans(unify(program))))


def _narrow_operands(program: Program) -> Program:
    """Multiply 16-bit values as such where both operands are 16-bit in memory: their products are exact in float32."""

    def change(node: Node) -> Node:
        if not isinstance(node, Contract) or node.operand != "float32":
            return node
        kinds = {_stored_dtype(node.left), _stored_dtype(node.right)}
        kind = kinds.pop()
        return replace(node, operand=kind) if not kinds and kind in {"float16", "bfloat16"} else node

    memo: dict[Node, Node] = {}
    return replace(
        program,
        stores=tuple(replace(store, value=rewrite(store.value, change, memo)) for store in program.stores),
    )


def _stored_dtype(node: Node) -> str:
    while isinstance(node, Compute) and node.op == "cast":
        node = node.args[0]
    return node.dtype if isinstance(node, Load) else ""


def _align_scans(program: Program) -> Program:
    """Let a scan that is read at an axis run along that axis, so that it is stored as it is made."""

    def change(node: Node) -> Node:
        if not isinstance(node, Scan):
            return node
        at = node.at.axis
        if at is None or at == node.axis or at.extent != node.axis.extent or at in node.arg.free:
            return node
        renamed = map_expressions(node.arg, lambda expr: expr.substitute({node.axis.name: node.at}))
        return replace(node, arg=renamed, axis=at)

    memo: dict[Node, Node] = {}
    return replace(
        program,
        stores=tuple(replace(store, value=rewrite(store.value, change, memo)) for store in program.stores),
    )


def _split_stores(program: Program) -> Program:
    """Store the pieces of a concatenation one by one, so that each is a tile: the halves of a rotary embedding.

    before   y[r] = where(r < R, a[r], b[r - R])    over r < 2*R
    after    y[r] = a[r] over r < R,  y[R + r] = b[r] over r < R
    """
    stores: list[Store] = []
    pending = list(reversed(program.stores))
    while pending:
        store = pending.pop()
        found = None if len(stores) + len(pending) >= _MOST_PIECES else _joint(store)
        if found is None:
            stores.append(store)
            continue
        whole, size = found
        taken = {item.name for item in store.axes}
        name = f"{whole.name}_high"
        while name in taken:
            name += "_"
        low, high = axis(whole.name, size), size + axis(name, whole.extent - size)
        pending.append(_piece(store, whole, high, low=False, size=size))
        pending.append(_piece(store, whole, low, low=True, size=size))
    return replace(program, stores=tuple(stores))


def _joint(store: Store) -> tuple[AxisAtom, Expr] | None:
    """Return a stored axis and where it is cut in two by a test `axis < size`."""
    for node in postorder([store.value]):
        if not isinstance(node, Compute) or node.op != "lt" or not isinstance(node.args[0], Index):
            continue
        whole = node.args[0].expr.axis
        size = _whole_number(node.args[1])
        if whole is None or whole not in store.axes or size is None:
            continue
        bound = {item for below in postorder([store.value]) for item in below.bound}
        inside = size.is_positive() and (whole.extent - size).is_positive()
        if whole not in bound and inside:
            return whole, size
    return None


def _whole_number(node: Node) -> Expr | None:
    if isinstance(node, Index) and not node.expr.axes:
        return node.expr
    if isinstance(node, Const) and isinstance(node.value, int):
        return const(int(node.value))
    return None


def _piece(store: Store, whole: AxisAtom, part: Expr, *, low: bool, size: Expr) -> Store:
    """Return the store for the positions `part` of an axis, its tests against `size` decided."""

    def decide(node: Node) -> Node:
        if (
            isinstance(node, Compute)
            and node.op == "lt"
            and isinstance(node.args[0], Index)
            and node.args[0].expr.axis == whole
            and _whole_number(node.args[1]) == size
        ):
            return Const("bool", low)
        if isinstance(node, Compute) and node.op == "where" and isinstance(node.args[0], Const):
            return node.args[1] if node.args[0].value else node.args[2]
        return node

    value = map_expressions(rewrite(store.value, decide), lambda expr: expr.substitute({whole.name: part}))
    replaced = next(iter(part.axes))
    return Store(
        store.tensor,
        tuple(item.substitute({whole.name: part}) for item in store.index),
        value,
        tuple(replaced if item == whole else item for item in store.axes),
    )


def _share_store_axes(program: Program) -> Program:
    """Give stores of one extent list the axes of the first, so that they share loads and loops."""
    stores: list[Store] = []
    for store in program.stores:
        mapping = {}
        for first in stores:
            if len(first.axes) == len(store.axes) and all(
                left.extent == right.extent for left, right in zip(first.axes, store.axes, strict=True)
            ):
                mapping = {
                    mine: axis(theirs.name, theirs.extent)
                    for mine, theirs in zip(store.axes, first.axes, strict=True)
                    if mine != theirs
                }
                break
        if mapping:
            store = substitute_axes(replace(program, stores=(store,)), mapping).stores[0]  # noqa: PLW2901
        stores.append(store)
    return replace(program, stores=tuple(stores))


def _is_above_minus_infinity(node: Node) -> bool:
    return (
        isinstance(node, Compute)
        and node.op == "ne"
        and node.args[0].dtype in {"float32", "float64"}
        and isinstance(node.args[1], Const)
        and node.args[1].value == float("-inf")
    )


def _plain_reduction(node: Node) -> Node:
    if not isinstance(node, Reduce) or node.op not in {"any", "all", "argmax", "argmin"}:
        return node
    if node.op == "any" and _is_above_minus_infinity(node.arg):
        # Some value is not -inf when the largest is not: the maximum that a softmax needs anyway.
        assert isinstance(node.arg, Compute)  # noqa: S101 - as the test says
        value, bottom = node.arg.args
        return Compute(
            "bool", "ne", (Reduce(value.dtype, "max", value, node.axes, node.span), bottom), node.span
        )
    if node.op in {"any", "all"}:
        flags = Compute("int32", "cast", (node.arg,), node.span)
        found = Reduce("int32", "max" if node.op == "any" else "min", flags, node.axes, node.span)
        return Compute("bool", "ne", (found, Const("int32", 0)), node.span)
    # The first position that holds the extreme value; NaN is extreme and equals NaN.
    extreme = Reduce(node.arg.dtype, node.op[3:], node.arg, node.axes, node.span)
    held: Node = Compute("bool", "eq", (node.arg, extreme), node.span)
    if node.arg.dtype.startswith("float"):
        both = Compute(
            "bool",
            "and",
            (Compute("bool", "isnan", (node.arg,)), Compute("bool", "isnan", (extreme,))),
        )
        held = Compute("bool", "or", (held, both), node.span)
    position: Expr = product([])
    position = position - ONE
    for item in node.axes:
        position = position * item.extent + axis(item.name, item.extent)
    total = product(item.extent for item in node.axes)
    candidate = Compute("int32", "where", (held, Index("int32", position), Index("int32", total)), node.span)
    return Compute("int64", "cast", (Reduce("int32", "min", candidate, node.axes, node.span),), node.span)
