"""Running sums, products, maxima and minima."""

from __future__ import annotations

from tilespec.ir.nodes import Program, Scan, postorder
from tilespec.schedule.common import folded_axes, make_plan, merged, stored_axes, unit_strides
from tilespec.schedule.plan import AxisPlan, Cover, Decline, Fill, KernelPlan, Role

__all__ = ["scan"]


def scan(program: Program) -> list[KernelPlan] | Decline:
    """Schedule running sums: a loop over the tiles of the scanned axis that carries the last value on."""
    program = merged(program)
    scans = [node for node in postorder(store.value for store in program.stores) if isinstance(node, Scan)]
    if not scans:
        return Decline("scan", "it does not scan")
    if folded_axes(program):
        return Decline("scan", "it also reduces")
    along = {(node.axis, node.reverse) for node in scans}
    if len(along) > 1 or any(node.at.axis != node.axis for node in scans):
        return Decline("scan", "it scans along several axes, or reads a scan elsewhere than where it stands")
    axis_, backward = along.pop()
    stored = stored_axes(program)
    unit = unit_strides(program)
    others = [item for item in stored if item != axis_]
    inner = max(stored, key=lambda item: (unit[item], stored.index(item)))
    beside = inner if inner != axis_ else (others[-1] if others else None)
    plans = []
    for item in others:
        if item != beside:
            plans.append(AxisPlan(item, Role.SCALAR))
        elif inner == axis_:
            plans.append(AxisPlan(item, Role.TILE, Fill(4096, (AxisPlan(axis_, Role.LOOP).block,))))
        else:
            plans.append(AxisPlan(item, Role.TILE, Cover(128)))
    plans.append(AxisPlan(axis_, Role.LOOP, Cover(2048 if inner == axis_ else 64), backward=backward))
    frame = [axis_] if beside is None else [beside, axis_] if inner == axis_ else [axis_, beside]
    return [make_plan("scan", program, plans, [tuple(frame)], "scan", hints=(("occupancy", 4),))]
