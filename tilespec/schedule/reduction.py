"""Reductions and normalisations: rows in one tile, rows in a loop, columns; the family that takes what no other does."""

from __future__ import annotations

from dataclasses import replace

from tilespec.ir.nodes import Compute, Load, Program, postorder
from tilespec.model.dims import AxisAtom, Expr, const, product
from tilespec.schedule.common import (
    folded_axes,
    has_scan,
    make_plan,
    merged,
    most,
    slides,
    stored_axes,
    unit_strides,
)
from tilespec.schedule.plan import AxisPlan, Cover, Decline, Fill, Fixed, KernelPlan, Role

__all__ = ["reduction"]


_ROW_LIMIT = 8192
_NARROW_ROW = 4096
_WINDOW_LIMIT = 32
_COLUMN_TILE = 2048
_PACKED = 2048
"""Elements of a tile of several rows of more than one axis. Reduced to its rows, a tile of 2048 elements compiles in 1 s
for sm_90, one of 4096 in 20 s and one of 8192 not in a minute (tileiras 13.4)."""
_COSTLY = frozenset(
    {
        "cos",
        "erf",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log10",
        "log1p",
        "log2",
        "pow",
        "sigmoid",
        "sin",
        "tan",
        "tanh",
    }
)


def reduction(program: Program, dealt: AxisAtom | None = None) -> list[KernelPlan] | Decline:
    """Schedule reductions and normalisations: whole rows in one tile where they fit, else loops over tiles.

    `dealt` is the grid axis of a split reduction, whose blocks share the steps of the outermost reduced axis.
    """
    if has_scan(program):
        return Decline("reduction", "it scans")
    program = merged(program)
    folded = folded_axes(program)
    stored = [item for item in stored_axes(program) if item not in folded]
    # The store of a share is small, whatever axis it runs along.
    unit = unit_strides(program, bulk=dealt is not None)
    everything = stored + folded
    inner = max(everything, key=lambda item: (unit[item], everything.index(item)))
    if stored and dealt is None and folded and all(_is_window(program, item, stored) for item in folded):
        return [_window_reduction(program, stored, folded)]
    if inner in folded:
        return _row_reduction(program, stored, folded, inner, dealt)
    return _column_reduction(program, stored, folded, inner, dealt)


def _is_window(program: Program, item: AxisAtom, stored: list[AxisAtom]) -> bool:
    """Whether a folded axis steps through windows: it overlaps a stored axis in an index, or is short beside one."""
    if slides(program, item):
        return True
    extent = item.extent.value
    return (
        extent is not None
        and extent <= _WINDOW_LIMIT
        and any(
            isinstance(part, Expr) and item in part.axes and part.axes & set(stored)
            for node in postorder(store.value for store in program.stores)
            if isinstance(node, Load)
            for part in node.index
        )
    )


def _window_reduction(program: Program, stored: list[AxisAtom], folded: list[AxisAtom]) -> KernelPlan:
    """Schedule pooling and its kin: tiles of the output, one step of the window at a time."""
    inner = stored[-1]
    rows = stored[-2:-1]
    axes = [
        AxisPlan(item, Role.TILE, Cover(256))
        if item == inner
        else AxisPlan(item, Role.TILE, Fill(1024, (AxisPlan(inner, Role.TILE).block,)))
        if item in rows
        else AxisPlan(item, Role.SCALAR)
        for item in stored
    ]
    axes += [AxisPlan(item, Role.STEP) for item in folded]
    return make_plan("reduction", program, axes, [(*rows, inner)], "window", hints=(("occupancy", 4),))


def _row_reduction(
    program: Program,
    stored: list[AxisAtom],
    folded: list[AxisAtom],
    inner: AxisAtom,
    dealt: AxisAtom | None,
) -> list[KernelPlan]:
    rows = [item for item in stored if item != dealt][-1:]
    # Short axes that never meet the row (the partial sums of a split reduction) are one tile everywhere.
    short = [item for item in folded if item != inner and _apart(program, item, inner)]
    rest = [item for item in folded if item != inner and item not in short]
    frame = (*rows, *short, *rest, inner)
    blocks = tuple(AxisPlan(item, Role.FULL).block for item in (*rest, inner))
    total = product(item.extent for item in (*rest, inner))
    plans: list[KernelPlan] = []
    known, covered = most(total), 0
    if dealt is None:
        for limit, budget, hints in _row_tiles(program, inner):
            if (total.value is not None and total.value > limit) or (
                plans and known is not None and known <= covered
            ):
                continue
            covered = limit
            grid = [
                AxisPlan(item, Role.TILE, Fill(min(budget, _PACKED) if rest else budget, blocks))
                if item in rows
                else AxisPlan(item, Role.SCALAR)
                for item in stored
            ]
            full = [AxisPlan(item, Role.FULL, Cover()) for item in (*short, *rest, inner)]
            name = {_ROW_LIMIT: "wide_row", _NARROW_ROW: "row"}.get(limit, "narrow_row")
            plans.append(
                make_plan(
                    "reduction",
                    program,
                    [*grid, *full],
                    [frame],
                    name,
                    hints=hints,
                    condition=const(limit) - total,
                )
            )
        if known is not None and known <= covered:
            return [*plans[:-1], replace(plans[-1], condition=None)]
    looped = [
        AxisPlan(item, Role.TILE, Fill(4096, (AxisPlan(inner, Role.LOOP).block,)))
        if item in rows
        else AxisPlan(item, Role.SCALAR)
        for item in stored
    ]
    looped += [AxisPlan(item, Role.FULL, Cover()) for item in short]
    looped += [AxisPlan(item, Role.STEP) for item in rest]
    costly = _is_costly(program, inner)
    looped.append(AxisPlan(inner, Role.LOOP, Cover(8192 if costly else 4096)))
    looped = _deal(looped, program, dealt)
    # Shares of a split reduction fill a GPU once: four blocks an SM.
    hints = (
        (("num_worker_warps", 8), ("occupancy", 4)) if costly else (("occupancy", 2 if dealt is None else 4),)
    )
    plans.append(make_plan("reduction", program, looped, [(*rows, *short, inner)], "long_row", hints=hints))
    return plans


def _row_tiles(program: Program, inner: AxisAtom) -> list[tuple[int, int, tuple[tuple[str, int], ...]]]:
    """Return, for rows up to a limit, the elements of a block and its hints.

    From measurements on an H200 at 1024, 4096 and 16384 columns: rows that need exponentials are short of arithmetic, so
    narrow ones take smaller blocks, more at a time, and wider ones 8 warps; a LayerNorm of 16384 columns in one tile ran
    at half the speed of a loop.
    """
    if _is_costly(program, inner):
        return [
            (1024, 4096, (("occupancy", 8),)),
            (_NARROW_ROW, 8192, (("num_worker_warps", 8), ("occupancy", 4))),
            (_ROW_LIMIT, 8192, (("num_worker_warps", 8), ("occupancy", 2))),
        ]
    return [(_NARROW_ROW, 8192, (("occupancy", 4),)), (_ROW_LIMIT, 8192, (("occupancy", 2),))]


def _is_costly(program: Program, inner: AxisAtom) -> bool:
    """Whether something expensive is computed for every element of a row."""
    return any(
        isinstance(node, Compute) and node.op in _COSTLY and inner in node.free
        for node in postorder(store.value for store in program.stores)
    )


def _apart(program: Program, axis: AxisAtom, other: AxisAtom) -> bool:
    """Whether `axis` is short and no value depends on both axes at once."""
    extent = most(axis.extent)
    return (
        extent is not None
        and extent <= _NARROW_ROW
        and not any({axis, other} <= node.free for node in postorder(store.value for store in program.stores))
    )


def _deal(axes: list[AxisPlan], program: Program, dealt: AxisAtom | None) -> list[AxisPlan]:
    """Let the blocks along `dealt` take turns at the outermost axis of the split reduction."""
    if dealt is None:
        return axes
    shared = program.stores[0].value.bound
    outer = next((item.axis for item in axes if item.role.in_loop and item.axis in shared), None)
    return [replace(item, dealt=dealt) if item.axis == outer else item for item in axes]


def _column_reduction(
    program: Program,
    stored: list[AxisAtom],
    folded: list[AxisAtom],
    inner: AxisAtom,
    dealt: AxisAtom | None,
) -> list[KernelPlan]:
    if not folded:
        return [
            make_plan(
                "reduction",
                program,
                [
                    AxisPlan(item, Role.TILE, Fixed(128)) if item == inner else AxisPlan(item, Role.SCALAR)
                    for item in stored
                ],
                [(inner,)],
                "column",
            )
        ]
    depth = folded[-1]
    axes = [
        AxisPlan(item, Role.TILE, Cover(128)) if item == inner else AxisPlan(item, Role.SCALAR)
        for item in stored
    ]
    axes += [AxisPlan(item, Role.STEP) for item in folded if item != depth]
    # Where rows are not aligned, loads are not pipelined: many small blocks wait for memory at once.
    axes.append(AxisPlan(depth, Role.LOOP, Fill(_COLUMN_TILE, (AxisPlan(inner, Role.TILE).block,))))
    axes = _deal(axes, program, dealt)
    return [make_plan("reduction", program, axes, [(depth, inner)], "column", hints=(("occupancy", 4),))]
