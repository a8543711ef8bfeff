"""Writes a maximum and the sums of exponentials that subtract it as one loop, see `schedule.online`.

Each step folds its tile, and rescales what was added up before where the maximum grew. Where tiles need masks, for the end
of the axis or a causal diagonal, the tiles that lie clear of both run first, in a loop without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilespec.ir.nodes import Contract, Node, Parameter, Reduce, postorder, rewrite
from tilespec.model.dims import AxisAtom
from tilespec.render.loops import Loops
from tilespec.render.ops import cutile_dtype
from tilespec.render.scope import Frame, Scope
from tilespec.render.text import atom, binary, tuple_text
from tilespec.schedule.online import is_guard

__all__ = ["Online"]

Fold = Reduce | Contract


@dataclass(frozen=True)
class _Pass:
    """One loop: the maximum, the sums beside it, and the variables that carry both from step to step."""

    highest: Reduce
    sums: Sequence[Fold]
    frame: Frame
    tiles: frozenset[AxisAtom]
    kind: tuple[str, str]
    running: str
    totals: dict[Fold, str]


class Online(Loops):
    """Writes one-pass softmax and what is like it."""

    def run_online(self, highest: Reduce, scope: Scope) -> None:
        """Write the loop of a maximum and of all sums that subtract it; their values are known in `scope` then."""
        step = self._begin(highest, scope)
        axes = self.loop_order(highest.bound)
        peeled = [axis for axis in axes if self.plan.plan(axis).peeled]
        if peeled:
            axis = peeled[0]
            masks, clear = self.clear_tiles(axis, scope)
            self.full.add(axis)
            self._loop(step, axes, scope, {axis: clear}, masks)
            self.full.discard(axis)
            self._loop(step, axes, scope, {axis: f"{clear}, {self.tile_count(axis)}"}, {})
        else:
            self._loop(step, axes, scope, {}, {})
        scope.memo[highest, step.frame] = atom(step.running)
        for node in step.sums:
            scope.memo[node, self.fold_frame(node)] = atom(step.totals[node])

    def _loop(
        self,
        step: _Pass,
        axes: Sequence[AxisAtom],
        scope: Scope,
        ranges: Mapping[AxisAtom, str],
        masks: Mapping[Node, Node],
    ) -> None:
        """Write one loop over tiles; `masks` says what to put in the places of masks that change nothing there."""
        inner, pending = self.open_loops(axes, scope, ranges)
        memo: dict[Node, Node] = dict(masks)
        argument = rewrite(step.highest.arg, lambda item: item, memo)
        self.count_users([argument])
        higher, shift, scale = self._raise(step, argument, inner)
        stand_in = self._stand_in(step, shift, inner)
        guards = [node for node in postorder(step.sums) if is_guard(node, step.highest)]
        moved: dict[Node, Node] = {**masks, step.highest: stand_in, **dict.fromkeys(guards, stand_in)}
        sums: dict[Fold, Fold] = {}
        for node in step.sums:
            shifted = rewrite(node, lambda item: item, moved)
            assert isinstance(shifted, Reduce | Contract)  # noqa: S101 - rewriting keeps the kind
            sums[node] = shifted
        self.count_users(sums.values())
        for node, shifted in sums.items():
            self._add(step, node, shifted, scale, inner)
        inner.block.line(f"{step.running} = {higher}")
        self.close_loops(pending)

    def _begin(self, highest: Reduce, scope: Scope) -> _Pass:
        """Write what the loop starts from."""
        sums = [node for node, other in self.online.items() if other is highest]
        frame = self.fold_frame(highest)
        tiles = frozenset(axis for axis in highest.free if self.tiled(axis))
        shape = tuple_text(self.shape(tiles, frame))
        kind = (highest.dtype, shape)
        running = self.unique("highest", scope, kind)
        scope.block.line(f'{running} = ct.full({shape}, -float("inf"), dtype={cutile_dtype(highest.dtype)})')
        totals: dict[Fold, str] = {}
        for node in sums:
            own = self.fold_frame(node)
            size = tuple_text(self.shape(frozenset(axis for axis in node.free if self.tiled(axis)), own))
            base = "acc" if isinstance(node, Contract) else "total"
            totals[node] = self.unique(base, scope, (node.dtype, size))
            scope.block.line(f"{totals[node]} = ct.zeros({size}, dtype={cutile_dtype(node.dtype)})")
        return _Pass(highest, sums, frame, tiles, kind, running, totals)

    def _raise(self, step: _Pass, argument: Node, inner: Scope) -> tuple[str, str, str]:
        """Write the new maximum, what to subtract, and the factor for what was added up under the old one."""
        highest, frame = step.highest, step.frame
        fold = Reduce(highest.dtype, highest.op, argument, highest.axes, highest.span)
        operand = self.operand(fold, frame, inner)
        self.comment(highest, inner)
        if self.value(argument, frame, inner).code != operand.code:
            # The mask serves the exponentials too: e^-inf is 0.
            masked = self.unique("masked", inner, (highest.dtype, self.shape(argument.free, frame)))
            inner.block.line(f"{masked} = {operand.code}")
            operand = atom(masked)
            self.home(argument, inner).memo[argument, frame] = operand
            self.known.update({(argument, axis): float("-inf") for axis in highest.axes})
        lifted = self.reduce_lanes(fold, operand, frame)
        higher = self.unique("higher", inner, step.kind)
        inner.block.line(f"{higher} = ct.maximum({step.running}, {lifted.code}, propagate_nan=True)")
        # While all that was seen is -inf, nothing is subtracted: -inf - -inf would be NaN.
        shift = self.unique("shift", inner, step.kind)
        inner.block.line(f'{shift} = ct.where({higher} == -float("inf"), 0.0, {higher})')
        scale = self.unique("scale", inner, step.kind)
        inner.block.line(f"{scale} = ct.exp({step.running} - {shift})")
        return higher, shift, scale

    def _stand_in(self, step: _Pass, shift: str, inner: Scope) -> Node:
        """Return a node that is written as the variable `shift`, in every frame that holds the maximum."""
        stand_in = Parameter(step.highest.dtype, f"@{shift}")
        root = inner
        while root.parent is not None:
            root = root.parent
        for item in self.plan.frames:
            if step.tiles <= frozenset(item):
                root.memo[stand_in, item] = self.reframe(atom(shift), step.tiles, step.frame, item)
        return stand_in

    def _add(self, step: _Pass, node: Fold, shifted: Fold, scale: str, inner: Scope) -> None:
        """Write one sum's step."""
        own = self.fold_frame(node)
        kept = binary("*", atom(step.totals[node]), self.reframe(atom(scale), step.tiles, step.frame, own))
        if isinstance(node, Contract) and isinstance(shifted, Contract) and node in self.tensor_core:
            self.tensor_core[shifted] = self.tensor_core[node]
            added = self.product(shifted, inner, kept.code)
        else:
            added = binary("+", kept, self.reduce_lanes(shifted, self.operand(shifted, own, inner), own))
        self.comment(node, inner)
        inner.block.line(f"{step.totals[node]} = {added.code}")
