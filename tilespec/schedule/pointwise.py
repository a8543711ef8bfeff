"""Programs without reductions."""

from __future__ import annotations

from tilespec.ir.nodes import Program
from tilespec.schedule.common import folded_axes, has_scan, make_plan, merged, stored_axes, unit_strides
from tilespec.schedule.plan import AxisPlan, BlockRule, Cover, Decline, Fill, Fixed, KernelPlan, Role

__all__ = ["pointwise"]


def pointwise(program: Program) -> list[KernelPlan] | Decline:
    """Schedule a program without reductions: one tile of the innermost axes a block."""
    if folded_axes(program) or has_scan(program):
        return Decline("pointwise", "it reduces or scans")
    program = merged(program)
    stored = stored_axes(program)
    unit = unit_strides(program)
    if not stored:
        return [make_plan("pointwise", program, [], [], "elementwise")]
    inner = max(stored, key=lambda item: (unit[item], stored.index(item)))
    others = [item for item in stored if item != inner]
    tiles = [inner]
    if others:
        # A transpose reads along one axis and writes along another: tile both.
        second = max(others, key=lambda item: (unit[item], stored.index(item)))
        tiles = sorted([second, inner], key=stored.index)
    plans: list[AxisPlan] = []
    inner_block = AxisPlan(inner, Role.TILE).block
    for item in stored:
        rule: BlockRule | None = None
        if item == inner:
            # With only unit stride along `inner` a wide tile; where two axes are walked, a square one. A vector along
            # the other axis, a bias of each channel, is no walk.
            walked = unit_strides(program, beside=inner)
            square = len(tiles) > 1 and any(walked[other] for other in tiles if other != inner)
            rule = Fixed(1024) if len(tiles) == 1 else Cover(64 if square else 1024)
        elif item in tiles:
            rule = Fill(2048, (inner_block,))
        plans.append(AxisPlan(item, Role.TILE if item in tiles else Role.SCALAR, rule))
    return [make_plan("pointwise", program, plans, [tuple(tiles)], "elementwise")]
