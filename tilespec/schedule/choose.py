"""Choose launches and schedules for a program: the families in the order of preference, with their reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tilespec.ir.build import axis_expr
from tilespec.ir.nodes import Contract, Load, Node, Program, Reduce, Scan, Store, Tensor, postorder, rewrite
from tilespec.model.dims import Expr, axis, product
from tilespec.schedule.attention import attention
from tilespec.schedule.contraction import contraction
from tilespec.schedule.pack import pack_operands
from tilespec.schedule.plan import Decline, KernelPlan, Launch, ModulePlan
from tilespec.schedule.pointwise import pointwise
from tilespec.schedule.prepare import prepare
from tilespec.schedule.reduction import reduction
from tilespec.schedule.scan import scan

__all__ = ["FAMILIES", "schedule_program"]

FAMILIES: Mapping[str, Callable[[Program], list[KernelPlan] | Decline]] = {
    "pointwise": pointwise,
    "contraction": contraction,
    "attention": attention,
    "scan": scan,
    "reduction": reduction,
}
"""The families in the order in which they are asked; the last takes every program that doesn't scan."""

_SHARES = 512
_LEAST_SHARE = 1024
"""At most this many blocks reduce shares of one value, and none fewer elements than that."""


def schedule_program(program: Program) -> ModulePlan | list[Decline]:
    """Return the launches of a kernel, or why every family declined."""
    with program.own_nodes():
        return _schedule_all(program)


def _schedule_all(program: Program) -> ModulePlan | list[Decline]:
    prepared = prepare(program)
    declined: list[Decline] = []
    launches: list[Launch] = []
    workspaces: list[Tensor] = []
    for step in _steps(prepared, workspaces):
        found = _schedule(step.program, step.dealt, declined)
        if found is None:
            return declined
        launches.append(found if step.other is None else _with_other(found, *step.other))
    return ModulePlan(program.name, program, tuple(launches), tuple(workspaces), tuple(declined))


def _schedule(program: Program, dealt: str | None, declined: list[Decline]) -> Launch | None:
    if dealt is not None:
        share = next(item for item in program.stores[0].axes if item.name == dealt)
        plans = reduction(program, share)
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


@dataclass(frozen=True)
class _Step:
    """A launch to be scheduled; `other` does the same for sizes at which an expression is at least 0."""

    program: Program
    dealt: str | None = None
    other: tuple[Program, Expr] | None = None


def _ways(program: Program, workspaces: list[Tensor]) -> list[_Step]:
    """Return the launches of a program with its operands packed, where one of them is a convolution."""
    ways = pack_operands(program)
    if not ways:
        return [_Step(program)]
    for way in ways:
        workspaces += way.tensors
    *others, last = ways
    steps = [_Step(item) for item in (*last.steps, last.program)]
    for other in others:
        assert other.condition is not None  # noqa: S101 - of all but the last
        programs = (*other.steps, other.program)
        steps = [
            replace(step, other=(item, other.condition)) for step, item in zip(steps, programs, strict=True)
        ]
    return steps


def _steps(program: Program, workspaces: list[Tensor]) -> list[_Step]:
    """Cut a program into launches: what has to stand in memory before the rest can read it; then group by axes.

    Reductions to a single value are cut in two: blocks reduce shares, the next step joins them. A scan that is not stored
    as it is goes to memory first.
    """
    steps: list[_Step] = []
    program = _store_scans(program, workspaces, steps)
    program = _store_products(program, workspaces, steps)
    while True:
        total = next(
            (
                node
                for node in postorder(store.value for store in program.stores)
                if isinstance(node, Reduce) and not node.free and not _is_join(node)
            ),
            None,
        )
        if total is None:
            break
        elements = product(item.extent for item in total.bound)
        shares = elements.ceildiv(_LEAST_SHARE).minimum(_SHARES).maximum(1)
        share = axis("share", shares)
        atom = share.axis
        assert atom is not None  # noqa: S101 - axis() makes one atom
        workspace = Tensor(f"partial_{len(workspaces) + 1}", (shares,), total.dtype)
        workspaces.append(workspace)
        steps.append(
            _Step(
                Program(
                    f"{program.name}_shares",
                    program.inputs,
                    program.parameters,
                    (Store(workspace, (share,), total, (atom,)),),
                ),
                atom.name,
            )
        )
        # The joining axis has a name of its own: the next cut may read this sum in blocks that share another.
        part = axis(f"part_{len(workspaces)}", shares)
        assert part.axis is not None  # noqa: S101 - axis() makes one atom
        join = Reduce(total.dtype, total.op, Load(total.dtype, workspace, (part,)), (part.axis,), total.span)
        memo: dict[Node, Node] = {total: join}
        program = replace(
            program,
            inputs=(*program.inputs, workspace),
            stores=tuple(
                replace(store, value=rewrite(store.value, lambda node: node, memo))
                for store in program.stores
            ),
        )
    groups: dict[tuple[object, ...], list[Store]] = {}
    for store in program.stores:
        groups.setdefault(tuple(item.extent for item in store.axes), []).append(store)
    for stores in groups.values():
        name = program.name if len(groups) == 1 else f"{program.name}_{stores[0].tensor.name}"
        steps += _ways(replace(program, name=name, stores=tuple(stores)), workspaces)
    return steps


def _store_scans(program: Program, workspaces: list[Tensor], steps: list[_Step]) -> Program:
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
            _Step(
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


def _store_products(program: Program, workspaces: list[Tensor], steps: list[_Step]) -> Program:
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


def _is_join(node: Reduce) -> bool:
    return isinstance(node.arg, Load) and node.arg.tensor.name.startswith("partial_")
