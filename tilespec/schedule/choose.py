"""Choose launches and schedules for a program: the families in the order of preference, with their reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tilespec.ir.build import axis_expr
from tilespec.ir.nodes import Contract, Load, Node, Program, Reduce, Scan, Store, Tensor, postorder, rewrite
from tilespec.model.dims import AxisAtom, Expr, sym
from tilespec.schedule.attention import attention
from tilespec.schedule.contraction import contraction
from tilespec.schedule.pack import pack_operands
from tilespec.schedule.plan import Decline, KernelPlan, Launch, ModulePlan
from tilespec.schedule.pointwise import pointwise
from tilespec.schedule.prepare import prepare
from tilespec.schedule.reduction import reduction
from tilespec.schedule.scan import scan
from tilespec.schedule.split import LEAST_SHARES, Step, split_launch, store_totals

__all__ = ["FAMILIES", "schedule_program"]

FAMILIES: Mapping[str, Callable[[Program], list[KernelPlan] | Decline]] = {
    "pointwise": pointwise,
    "contraction": contraction,
    "attention": attention,
    "scan": scan,
    "reduction": reduction,
}
"""The families in the order in which they are asked; the last takes every program that doesn't scan."""


def schedule_program(program: Program) -> ModulePlan | list[Decline]:
    """Return the launches of a kernel, or why every family declined."""
    with program.own_nodes():
        return _schedule_all(program)


def _schedule_all(program: Program) -> ModulePlan | list[Decline]:
    prepared = prepare(program)
    declined: list[Decline] = []
    launches: list[Launch] = []
    workspaces: list[Tensor] = []
    counts: dict[str, Expr] = {}
    for step in _steps(prepared, workspaces):
        found = _schedule(step.program, step.dealt, declined)
        if found is None:
            return declined
        if step.other is not None:
            launches.append(_with_other(found, *step.other))
        else:
            launches += [found] if step.dealt is not None else _in_shares(found, workspaces, counts)
    return ModulePlan(
        program.name, program, tuple(launches), tuple(workspaces), tuple(declined), tuple(counts.items())
    )


def _schedule(program: Program, dealt: AxisAtom | None, declined: list[Decline]) -> Launch | None:
    if dealt is not None:
        plans = contraction(program, dealt)
        if isinstance(plans, Decline):
            plans = reduction(program, dealt)
        return None if isinstance(plans, Decline) else Launch(program, tuple(plans))
    for family in FAMILIES.values():
        plans = family(program)
        if isinstance(plans, Decline):
            declined.append(plans)
            continue
        return Launch(program, tuple(plans))
    return None


def _with_other(launch: Launch, program: Program, condition: Expr) -> Launch:
    """Put another program before the variants of a launch, for sizes at which an expression is at least 0."""
    other = _schedule(program, None, [])
    assert other is not None  # noqa: S101 - no way to pack scans
    first = replace(other.variants[-1], name="few_channels", condition=condition)
    return replace(launch, variants=(first, *launch.variants))


def _ways(program: Program, workspaces: list[Tensor]) -> list[Step]:
    """Return the launches of a program with its operands packed, where one of them is a convolution."""
    ways = pack_operands(program)
    if not ways:
        return [Step(program)]
    for way in ways:
        workspaces += way.tensors
    *others, last = ways
    steps = [Step(item) for item in (*last.steps, last.program)]
    for other in others:
        assert other.condition is not None  # noqa: S101 - of all but the last
        programs = (*other.steps, other.program)
        steps = [
            replace(step, other=(item, other.condition)) for step, item in zip(steps, programs, strict=True)
        ]
    return steps


def _in_shares(launch: Launch, workspaces: list[Tensor], counts: dict[str, Expr]) -> list[Launch]:
    """Return the launches that take the place of one: for sizes where shares pay, those that make and join shares."""
    split = split_launch(launch, workspaces)
    if split is None:
        return [launch]
    parts = [_schedule(step.program, step.dealt, []) for step in split.steps]
    found = [part for part in parts if part is not None]
    count = split.count.value
    if len(found) < len(parts) or (count is not None and count < LEAST_SHARES):
        return [launch]
    workspaces[:] = split.workspaces
    counts[split.symbol] = split.count
    if count is not None:
        return found
    pays = sym(split.symbol) - LEAST_SHARES
    return [*(part.only(pays) for part in found), launch.only(-1 - pays)]


def _steps(program: Program, workspaces: list[Tensor]) -> list[Step]:
    """Cut a program into launches: what has to stand in memory before the rest can read it; then group by axes.

    Reductions to a single value are cut in two: blocks reduce shares, the next step joins them. A scan that is not stored
    as it is goes to memory first.
    """
    steps: list[Step] = []
    program = _store_scans(program, workspaces, steps)
    program = _store_products(program, workspaces, steps)
    program = store_totals(program, workspaces, steps)
    groups: dict[tuple[object, ...], list[Store]] = {}
    for store in program.stores:
        groups.setdefault(tuple(item.extent for item in store.axes), []).append(store)
    for stores in groups.values():
        name = program.name if len(groups) == 1 else f"{program.name}_{stores[0].tensor.name}"
        steps += _ways(replace(program, name=name, stores=tuple(stores)), workspaces)
    return steps


def _store_scans(program: Program, workspaces: list[Tensor], steps: list[Step]) -> Program:
    """Give every scan that its store can't run along a launch of its own, innermost first."""
    while True:
        nodes = list(postorder(store.value for store in program.stores))
        scans = [node for node in nodes if isinstance(node, Scan)]
        reduces = any(isinstance(node, Reduce | Contract) for node in nodes)
        fitting = len({(node.axis, node.reverse) for node in scans}) <= 1 and not reduces
        if not scans or (fitting and all(node.at.axis == node.axis for node in scans)):
            return program
        first = scans[0]
        kept = sorted(first.arg.free - {first.axis}, key=lambda item: item.name)
        axes = (*kept, first.axis)
        workspace = Tensor(f"scan_{len(workspaces) + 1}", tuple(item.extent for item in axes), first.dtype)
        workspaces.append(workspace)
        here = axis_expr(first.axis)
        value = replace(first, at=here)
        index = tuple(axis_expr(item) for item in axes)
        steps.append(
            Step(
                Program(
                    f"{program.name}_scan",
                    program.inputs,
                    program.parameters,
                    (Store(workspace, index, value, axes),),
                )
            )
        )
        load = Load(first.dtype, workspace, (*(axis_expr(item) for item in kept), first.at))
        memo: dict[Node, Node] = {first: load}
        program = replace(
            program,
            inputs=(*program.inputs, workspace),
            stores=tuple(
                replace(store, value=rewrite(store.value, lambda node: node, memo))
                for store in program.stores
            ),
        )


def _store_products(program: Program, workspaces: list[Tensor], steps: list[Step]) -> Program:
    """Give a product a launch of its own when the rest reduces over its rows or columns, unless one loop does both.

    A block has a tile of the product, not the whole row that a softmax or a norm behind it needs.
    """
    while True:
        inner = _reduced_product(program)
        if inner is None or not isinstance(attention(program), Decline):
            return program
        axes = tuple(sorted(inner.free, key=lambda item: item.name))
        stored = [item for store in program.stores for item in store.axes]
        axes = tuple(sorted(axes, key=lambda item: stored.index(item) if item in stored else len(stored)))
        workspace = Tensor(f"product_{len(workspaces) + 1}", tuple(item.extent for item in axes), inner.dtype)
        workspaces.append(workspace)
        index = tuple(axis_expr(item) for item in axes)
        first = Program(
            f"{program.name}_product",
            program.inputs,
            program.parameters,
            (Store(workspace, index, inner, axes),),
        )
        steps += _ways(first, workspaces)
        memo: dict[Node, Node] = {inner: Load(inner.dtype, workspace, index)}
        program = replace(
            program,
            inputs=(*program.inputs, workspace),
            stores=tuple(
                replace(store, value=rewrite(store.value, lambda node: node, memo))
                for store in program.stores
            ),
        )


def _reduced_product(program: Program) -> Contract | None:
    """Return the innermost product of two matrices whose rows or columns something above it reduces."""
    nodes = list(postorder(store.value for store in program.stores))
    for node in nodes:
        if not isinstance(node, Contract):
            continue
        left = node.left.free - node.right.free - node.bound
        right = node.right.free - node.left.free - node.bound
        if not left or not right:
            continue
        for above in nodes:
            if not isinstance(above, Reduce | Contract) or above is node or not above.bound & node.free:
                continue
            if any(item is node for item in postorder(above.operands)):
                return node
    return None
