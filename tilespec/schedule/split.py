"""Cut reductions and products in two: blocks fold shares into a workspace, a launch behind them joins the shares.

    before   y[n] = x[n] / sqrt(sum n: x[n]*x[n])
    after    partial_1[share] = sum n: x[n]*x[n]        each block takes every `share`-th tile
             total_2 = sum part_1: partial_1[part_1]
             y[n] = x[n] / sqrt(total_2)

A value of everything is always cut. A product, or a reduction of rows or columns, is cut for sizes where it has few blocks
and many steps; for all others the launch stays as it is. The order in which shares are joined is fixed: the same sizes
give the same bits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tilespec.ir.build import axis_expr
from tilespec.ir.nodes import Contract, Load, Node, Program, Reduce, Store, Tensor, postorder, rewrite
from tilespec.model.dims import ONE, AxisAtom, Expr, OpAtom, axis, const, product, sym
from tilespec.schedule.common import axes_of, most, stored_axes
from tilespec.schedule.plan import AxisPlan, Cover, Fill, Fixed, KernelPlan, Launch, Role

__all__ = ["LEAST_SHARES", "Split", "Step", "split_launch", "store_totals"]


_Fold = Reduce | Contract
_Values = Sequence[tuple[Tensor, tuple[AxisAtom, ...], Node]]

_SHARES = 512
_LEAST_SHARE = 1024
"""At most this many blocks reduce shares of one value, and none fewer elements than that."""
_PROCESSORS = 132
"""What blocks should fill: those of an H100 or H200, times the blocks that a kernel is made to run on each."""
LEAST_SHARES = 4
"""With fewer shares a second launch and the way through memory cost what is gained."""
_LEAST_DEPTH = 1024
_LEAST_STEPS = 8
"""What a share of a product has at least of its depth, and a share of a reduction of its loop."""


@dataclass(frozen=True)
class Step:
    """A launch to be scheduled.

    `dealt` is, for a share of a fold, the grid axis whose blocks take turns at its steps; `other` does the same for sizes
    at which an expression is at least 0.
    """

    program: Program
    dealt: AxisAtom | None = None
    other: tuple[Program, Expr] | None = None


def store_totals(program: Program, workspaces: list[Tensor], steps: list[Step]) -> Program:
    """Cut reductions to a single value: blocks reduce shares, what reads the value joins them.

    Where many blocks read it, one block joins the shares for all of them.
    """
    joins: list[Node] = []
    while True:
        total = next(
            (
                node
                for node in postorder(store.value for store in program.stores)
                if isinstance(node, Reduce) and not node.free and node not in joins
            ),
            None,
        )
        if total is None:
            break
        elements = product(item.extent for item in total.bound)
        shares = elements.ceildiv(_LEAST_SHARE).minimum(_SHARES).maximum(1)
        program, made = _cut(program, [total], (), shares, workspaces, steps)
        joins += made
    if not joins or not any(store.axes for store in program.stores):
        return program
    return _store_joins(program, joins, (), workspaces, steps)


@dataclass(frozen=True)
class Split:
    """What does a launch in shares: it pays where `count` is at least `LEAST_SHARES`; `symbol` stands for it."""

    symbol: str
    count: Expr
    steps: Sequence[Step]
    workspaces: Sequence[Tensor]


def split_launch(launch: Launch, workspaces: Sequence[Tensor]) -> Split | None:
    """Return how to do a launch in shares, None when that never pays; `workspaces` are those that there are."""
    plan = launch.variants[-1]
    count: Expr | None = None
    if plan.family == "contraction":
        count = _product_shares(plan)
    elif plan.family == "reduction":
        count = _reduction_shares(plan)
    return None if count is None else _split_folds(plan, count, list(workspaces))


def _product_shares(plan: KernelPlan) -> Expr | None:
    """Return how many shares the depth of a product has."""
    products = [node for node, *_ in plan.tensor_core]
    if any(item.role is Role.STEP for item in plan.axes) or set(products) != set(_folds(plan.program)):
        return None
    return plan.tensor_core[0][3].extent // _LEAST_DEPTH


def _reduction_shares(plan: KernelPlan) -> Expr | None:
    """Return how many shares the loops of reductions have."""
    folds = _folds(plan.program)
    loops = [item for item in plan.axes if item.role.in_loop]
    if not folds or any(fold.bound != {item.axis for item in loops} for fold in folds):
        return None
    again = len(_stage(plan.program)) < len(folds) or loops[0].axis in stored_axes(plan.program)
    if again and len(loops) == 1 and plan.name == "long_row":
        # Softmax and normalisations of contiguous rows: there are many, or they fit a block.
        return None
    tile = product(_extent(item, plan) for item in loops)
    shares = product(item.axis.extent for item in loops) // (tile * _LEAST_STEPS)
    # Blocks take turns at the outermost loop.
    return shares if len(loops) == 1 else shares.minimum(loops[0].axis.extent)


def _split_folds(plan: KernelPlan, most_shares: Expr, workspaces: list[Tensor]) -> Split | None:
    """Cut all folds of a program, innermost first, into at most some shares."""
    program = plan.program
    kept = tuple(item for item in stored_axes(program) if item in _folds(program)[0].free)
    if any(fold.free != set(kept) for fold in _folds(program)):
        return None
    room = _PROCESSORS * dict(plan.hints).get("occupancy", 1)
    blocks = product(_blocks(item, plan) for item in plan.axes if item.role.in_grid)
    limits = (most(most_shares), room // max(blocks.evaluate(dict.fromkeys(blocks.symbols, 1)), 1))
    if any(limit is not None and limit < LEAST_SHARES for limit in limits):
        return None
    taken = {item.name for item in (*program.inputs, *program.outputs)} | _symbols(program)
    symbol = _free_name(f"shares_{len(workspaces) + 1}", taken)
    steps: list[Step] = []
    joins: list[Node] = []
    while len(_folds(program)) > len(joins):
        if joins:
            program = _store_joins(program, joins, kept, workspaces, steps)
        program, joins = _cut(program, _stage(program), kept, sym(symbol), workspaces, steps)
    if set(stored_axes(program)) != set(kept):
        program = _store_joins(program, joins, kept, workspaces, steps)
    steps.append(Step(replace(program, name=f"{program.name}_finish")))
    return Split(symbol, _quotient(room, blocks).minimum(most_shares), steps, workspaces)


def _symbols(program: Program) -> set[str]:
    extents = [item.extent for item in axes_of(program)]
    shapes = [dim for item in (*program.inputs, *program.outputs) for dim in item.shape]
    return {name for expr in (*extents, *shapes) for name in expr.symbols}


def _folds(program: Program) -> list[_Fold]:
    return [
        node
        for node in postorder(store.value for store in program.stores)
        if isinstance(node, Reduce | Contract)
    ]


def _stage(program: Program) -> list[_Fold]:
    """Return the folds that don't read others."""
    folds = _folds(program)
    return [fold for fold in folds if not any(item in folds for item in postorder(fold.operands))]


def _blocks(item: AxisPlan, plan: KernelPlan) -> Expr:
    """Return how many blocks divide an axis between them."""
    return item.axis.extent if item.role is Role.SCALAR else item.axis.extent.ceildiv(_extent(item, plan))


def _extent(item: AxisPlan, plan: KernelPlan) -> Expr:
    """Return the tile extent along an axis that is long; 1 where single indices are worked through."""
    if isinstance(item.rule, Fixed):
        return const(item.rule.value)
    if isinstance(item.rule, Cover):
        return const(item.rule.cap) if item.rule.cap else item.axis.extent
    if isinstance(item.rule, Fill):
        others = [
            _extent(other, plan).minimum(other.axis.extent)
            for other in plan.axes
            if other.block in item.rule.others
        ]
        return _quotient(item.rule.budget, product(others)).maximum(1)
    return ONE


def _quotient(number: int, divisor: Expr) -> Expr:
    """Return `number // divisor`; of an empty tensor, whose divisor is 0, `number`."""
    if divisor.value is not None:
        return const(number // max(divisor.value, 1))
    return const(number) // Expr.of({(OpAtom("max", divisor, ONE),): 1})


def _cut(
    program: Program,
    folds: Sequence[_Fold],
    kept: tuple[AxisAtom, ...],
    shares: Expr,
    workspaces: list[Tensor],
    steps: list[Step],
) -> tuple[Program, list[Node]]:
    """Add the step that stores shares of folds, which keep some axes; return what joins them, and the program with it."""
    taken = {item.name for item in axes_of(program)}
    share = _atom("share", shares, taken)
    before = sum(step.dealt is not None for step in steps)
    name = f"{program.name}_shares" if not before else f"{program.name}_shares_{before + 1}"
    # The joining axis has a name of its own: the next cut may read this sum in blocks that share another.
    part = _atom(f"part_{len(workspaces) + 1}", shares, taken)
    extents = tuple(item.extent for item in kept)
    values: list[tuple[Tensor, tuple[AxisAtom, ...], Node]] = []
    joins: dict[Node, Node] = {}
    for fold in folds:
        tensor = _workspace("partial", (shares, *extents), fold, workspaces)
        values.append((tensor, (share, *kept), fold))
        load = Load(fold.dtype, tensor, tuple(axis_expr(item) for item in (part, *kept)))
        op = fold.op if isinstance(fold, Reduce) else "sum"
        joins[fold] = Reduce(fold.dtype, op, load, (part,), fold.span)
    steps.append(Step(_storing(program, name, values), share))
    return _reading(program, [tensor for tensor, _, _ in values], joins), list(joins.values())


def _store_joins(
    program: Program,
    joins: Sequence[Node],
    kept: tuple[AxisAtom, ...],
    workspaces: list[Tensor],
    steps: list[Step],
) -> Program:
    """Add the step that stores joined values, which keep some axes; return the program that reads them."""
    extents = tuple(item.extent for item in kept)
    before = sum(step.dealt is not None for step in steps)
    name = f"{program.name}_totals" if before < 2 else f"{program.name}_totals_{before}"
    values: _Values = [(_workspace("total", extents, join, workspaces), kept, join) for join in joins]
    steps.append(Step(_storing(program, name, values)))
    index = tuple(axis_expr(item) for item in kept)
    read: dict[Node, Node] = {join: Load(join.dtype, tensor, index) for tensor, _, join in values}
    return _reading(program, [tensor for tensor, _, _ in values], read)


def _free_name(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _atom(name: str, extent: Expr, taken: Collection[str]) -> AxisAtom:
    """Return an axis whose name no other one has."""
    made = axis(_free_name(name, taken), extent).axis
    assert made is not None  # noqa: S101 - axis() makes one atom
    return made


def _workspace(stem: str, shape: tuple[Expr, ...], value: Node, workspaces: list[Tensor]) -> Tensor:
    """Return a workspace for values of a node, and add it to those that there are."""
    made = Tensor(f"{stem}_{len(workspaces) + 1}", shape, value.dtype)
    workspaces.append(made)
    return made


def _storing(program: Program, name: str, values: _Values) -> Program:
    """Return the program that stores values over axes, from what another one reads."""
    stores = tuple(
        Store(tensor, tuple(axis_expr(item) for item in axes), value, axes) for tensor, axes, value in values
    )
    return replace(program, name=name, stores=stores)


def _reading(program: Program, tensors: Sequence[Tensor], values: Mapping[Node, Node]) -> Program:
    """Return a program that reads tensors in the places of values."""
    memo = dict(values)
    stores = tuple(
        replace(store, value=rewrite(store.value, lambda node: node, memo)) for store in program.stores
    )
    return replace(program, inputs=(*program.inputs, *tensors), stores=stores)
