"""Writes a maximum and the sums of exponentials that subtract it as one loop, see `schedule.online`.

by lane       every sum adds up elements of the maximum's own frame: lanes keep a maximum and sums each, joined at the end
by tile       a product is added up in other frames: each step folds its tile, and rescales what was added before
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilespec.ir.nodes import Contract, Node, Parameter, Reduce, postorder, rewrite
from tilespec.model.dims import AxisAtom
from tilespec.render.loops import Loops
from tilespec.render.ops import cutile_dtype
from tilespec.render.scope import Frame, Scope
from tilespec.render.text import Text, atom, binary, tuple_text

__all__ = ["Online"]

Fold = Reduce | Contract


@dataclass(frozen=True)
class _Pass:
    """One loop: the maximum, the sums beside it, and the variables that carry both from step to step."""

    highest: Reduce
    sums: Sequence[Fold]
    frame: Frame
    by_lane: bool
    tiles: frozenset[AxisAtom]
    kind: tuple[str, str]
    running: str
    totals: dict[Fold, str]


class Online(Loops):
    """Writes one-pass softmax and what is like it."""

    def run_online(self, highest: Reduce, scope: Scope) -> None:
        """Write the loop of a maximum and of all sums that subtract it; their values are known in `scope` then."""
        step = self._begin(highest, scope)
        inner, pending = self.open_loops(self.loop_order(highest.bound), scope)
        higher, shift, scale = self._raise(step, inner)
        moved = self._subtract(step, shift, inner)
        for node in step.sums:
            self._add(step, node, moved[node], scale, inner)
        inner.block.line(f"{step.running} = {higher}")
        self.close_loops(pending)
        if step.by_lane:
            self._join(step, scope)
            return
        scope.memo[highest, step.frame] = atom(step.running)
        for node in step.sums:
            scope.memo[node, self.fold_frame(node)] = atom(step.totals[node])

    def _begin(self, highest: Reduce, scope: Scope) -> _Pass:
        """Write what the loop starts from."""
        sums = [node for node, other in self.online.items() if other is highest]
        frame = self.fold_frame(highest)
        by_lane = all(isinstance(node, Reduce) and self.fold_frame(node) == frame for node in sums)
        spans = highest.free | (highest.bound if by_lane else frozenset())
        tiles = frozenset(axis for axis in spans if self.tiled(axis))
        shape = tuple_text(self.shape(tiles, frame))
        kind = (highest.dtype, shape)
        running = self.unique("highest", scope, kind)
        scope.block.line(f'{running} = ct.full({shape}, -float("inf"), dtype={cutile_dtype(highest.dtype)})')
        totals: dict[Fold, str] = {}
        for node in sums:
            own = self.fold_frame(node)
            extent = node.free | (node.bound if by_lane else frozenset())
            size = tuple_text(self.shape(frozenset(axis for axis in extent if self.tiled(axis)), own))
            base = "acc" if isinstance(node, Contract) else "total"
            totals[node] = self.unique(base, scope, (node.dtype, size))
            scope.block.line(f"{totals[node]} = ct.zeros({size}, dtype={cutile_dtype(node.dtype)})")
        return _Pass(highest, sums, frame, by_lane, tiles, kind, running, totals)

    def _raise(self, step: _Pass, inner: Scope) -> tuple[str, str, str]:
        """Write the new maximum, what to subtract, and the factor for what was added up under the old one."""
        highest, frame = step.highest, step.frame
        operand = self.operand(highest, frame, inner)
        self.comment(highest, inner)
        if self.value(highest.arg, frame, inner).code != operand.code:
            # The mask serves the exponentials too: e^-inf is 0.
            masked = self.unique("masked", inner, (highest.dtype, self.shape(highest.arg.free, frame)))
            inner.block.line(f"{masked} = {operand.code}")
            operand = atom(masked)
            self.home(highest.arg, inner).memo[highest.arg, frame] = operand
            self.known.update({(highest.arg, axis): float("-inf") for axis in highest.axes})
        if not step.by_lane:
            operand = self.reduce_lanes(highest, operand, frame)
        higher = self.unique("higher", inner, step.kind)
        inner.block.line(f"{higher} = ct.maximum({step.running}, {operand.code}, propagate_nan=True)")
        # While all that was seen is -inf, nothing is subtracted: -inf - -inf would be NaN.
        shift = self.unique("shift", inner, step.kind)
        inner.block.line(f'{shift} = ct.where({higher} == -float("inf"), 0.0, {higher})')
        scale = self.unique("scale", inner, step.kind)
        inner.block.line(f"{scale} = ct.exp({step.running} - {shift})")
        return higher, shift, scale

    def _subtract(self, step: _Pass, shift: str, inner: Scope) -> dict[Fold, Fold]:
        """Return the sums with the variable `shift` in the place of the maximum."""
        stand_in = Parameter(step.highest.dtype, f"@{shift}")
        root = inner
        while root.parent is not None:
            root = root.parent
        for item in self.plan.frames:
            if step.tiles <= frozenset(item):
                root.memo[stand_in, item] = self.reframe(atom(shift), step.tiles, step.frame, item)
        memo: dict[Node, Node] = {step.highest: stand_in}
        moved: dict[Fold, Fold] = {}
        for node in step.sums:
            shifted = rewrite(node, lambda item: item, memo)
            assert isinstance(shifted, Reduce | Contract)  # noqa: S101 - rewriting keeps the kind
            moved[node] = shifted
        for below in postorder(moved.values()):
            for operand in below.operands:
                self.users[operand] = self.users.get(operand, 0) + 1
        return moved

    def _add(self, step: _Pass, node: Fold, shifted: Fold, scale: str, inner: Scope) -> None:
        """Write one sum's step."""
        own = self.fold_frame(node)
        kept = binary("*", atom(step.totals[node]), self.reframe(atom(scale), step.tiles, step.frame, own))
        if isinstance(node, Contract) and isinstance(shifted, Contract) and node in self.tensor_core:
            self.tensor_core[shifted] = self.tensor_core[node]
            added = self.product(shifted, inner, kept.code)
        else:
            part = self.operand(shifted, own, inner)
            added = binary("+", kept, part if step.by_lane else self.reduce_lanes(shifted, part, own))
        self.comment(node, inner)
        inner.block.line(f"{step.totals[node]} = {added.code}")

    def _join(self, step: _Pass, scope: Scope) -> None:
        """Write the row's maximum and sums from those of its lanes."""
        highest, frame = step.highest, step.frame
        peak = self.unique("peak", scope, (highest.dtype, self.shape(highest.free, frame)))
        scope.block.line(f"{peak} = {self.reduce_lanes(highest, atom(step.running), frame).code}")
        weight = self.unique("weight", scope, step.kind)
        scope.block.line(
            f'{weight} = ct.exp({step.running} - ct.where({peak} == -float("inf"), 0.0, {peak}))'
        )
        scope.memo[highest, frame] = atom(peak)
        for node in step.sums:
            joined: Text = self.reduce_lanes(node, binary("*", atom(step.totals[node]), atom(weight)), frame)
            name = self.unique(self.hint(node), scope, (node.dtype, self.shape(node.free, frame)))
            scope.block.line(f"{name} = {joined.code}")
            scope.memo[node, frame] = atom(name)
