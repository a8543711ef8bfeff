"""Writes reductions, contractions and scans: at once, in a loop that they share, or online."""

from __future__ import annotations

from tilespec.ir.nodes import Contract, Node, Parameter, Reduce, Scan, postorder, rewrite
from tilespec.render.loops import Loops
from tilespec.render.ops import cutile_dtype
from tilespec.render.padding import IDENTITY, padded_value
from tilespec.render.scope import Frame, Scope
from tilespec.render.text import Text, atom, binary, call, tuple_text

__all__ = ["Folds"]


class Folds(Loops):
    """Writes reductions, contractions and scans."""

    def fold(self, node: Reduce | Contract, scope: Scope) -> Text:
        """Write a reduction in its own frame: at once where its tiles cover its axes, else by the loop it shares."""
        loops, _ = self.loop_key(node)
        frame = self.fold_frame(node)
        if not loops:
            if node in self.tensor_core:
                return self.product(node, scope, None)
            return self.reduce_lanes(node, self.operand(node, frame, scope), frame)
        if (node, frame) not in scope.memo:
            highest = self.online.get(node)
            if highest is not None and (highest, self.fold_frame(highest)) not in scope.memo:
                self.run_online(highest, scope)
            elif node in self.online.values():
                self.run_online(node, scope)
            else:
                self.run_loop(node, scope)
        return scope.memo[node, frame]

    def run_loop(self, node: Reduce | Contract, scope: Scope) -> None:
        """Write the loop of a reduction, with all others that can share it."""
        key = self.loop_key(node)
        group = [
            item
            for item in self.folds
            if self.loop_key(item) == key
            and self.stages[item] == self.stages[node]
            and (item, self.fold_frame(item)) not in scope.memo
        ]
        lanes: dict[Node, str] = {}
        for item in group:
            frame = self.fold_frame(item)
            spans = item.free | (frozenset() if item in self.tensor_core else item.bound)
            shape = tuple_text(self.shape(frozenset(axis for axis in spans if self.tiled(axis)), frame))
            base = "acc" if isinstance(item, Contract) else f"{self.hint(item)}_lanes"
            lanes[item] = self.unique(base, scope, (item.dtype, shape))
            dtype = cutile_dtype(item.dtype)
            identity = 0.0 if isinstance(item, Contract) else IDENTITY[item.op]
            if identity == 0:
                scope.block.line(f"{lanes[item]} = ct.zeros({shape}, dtype={dtype})")
            else:
                scope.block.line(
                    f"{lanes[item]} = ct.full({shape}, {self.identity(item).code}, dtype={dtype})"
                )
        inner, pending = self.open_loops(self.loop_order(node.bound), scope)
        for item in group:
            frame = self.fold_frame(item)
            name = lanes[item]
            if isinstance(item, Contract) and item in self.tensor_core:
                text = self.product(item, inner, name)
                self.comment(item, inner)
                inner.block.line(f"{name} = {text.code}")
                continue
            operand = self.operand(item, frame, inner)
            self.comment(item, inner)
            inner.block.line(f"{name} = {self.combine(item, atom(name), operand).code}")
        self.close_loops(pending)
        for item in group:
            frame = self.fold_frame(item)
            text = atom(lanes[item])
            if item not in self.tensor_core:
                text = self.reduce_lanes(item, text, frame)
            if text.code != lanes[item]:
                name = self.unique(self.hint(item), scope, (item.dtype, self.shape(item.free, frame)))
                scope.block.line(f"{name} = {text.code}")
                text = atom(name)
            scope.memo[item, frame] = text

    def run_online(self, highest: Node, scope: Scope) -> None:
        """Write a maximum and the sums of exponentials that subtract it as one loop, see `schedule.online`."""
        assert isinstance(highest, Reduce)  # noqa: S101 - find_online pairs sums with a maximum
        sums = [node for node, other in self.online.items() if other is highest]
        frame = self.fold_frame(highest)
        by_lane = all(isinstance(node, Reduce) and self.fold_frame(node) == frame for node in sums)
        spans = highest.free | (highest.bound if by_lane else frozenset())
        tiles = frozenset(axis for axis in spans if self.tiled(axis))
        shape = tuple_text(self.shape(tiles, frame))
        kind = (highest.dtype, shape)
        dtype = cutile_dtype(highest.dtype)
        running = self.unique("highest", scope, kind)
        scope.block.line(f'{running} = ct.full({shape}, -float("inf"), dtype={dtype})')
        totals: dict[Node, str] = {}
        for node in sums:
            assert isinstance(node, Reduce | Contract)  # noqa: S101 - as find_online gives them
            own = self.fold_frame(node)
            extent = node.free | (node.bound if by_lane else frozenset())
            size = tuple_text(self.shape(frozenset(axis for axis in extent if self.tiled(axis)), own))
            totals[node] = self.unique(
                "acc" if isinstance(node, Contract) else "total", scope, (node.dtype, size)
            )
            scope.block.line(f"{totals[node]} = ct.zeros({size}, dtype={cutile_dtype(node.dtype)})")
        inner, pending = self.open_loops(self.loop_order(highest.bound), scope)
        operand = self.operand(highest, frame, inner)
        self.comment(highest, inner)
        if self.value(highest.arg, frame, inner).code != operand.code:
            # The mask serves the exponentials too: e^-inf is 0.
            masked = self.unique("masked", inner, (highest.dtype, self.shape(highest.arg.free, frame)))
            inner.block.line(f"{masked} = {operand.code}")
            operand = atom(masked)
            self.home(highest.arg, inner).memo[highest.arg, frame] = operand
            self.known.update({(highest.arg, axis): float("-inf") for axis in highest.axes})
        if not by_lane:
            operand = self.reduce_lanes(highest, operand, frame)
        higher = self.unique("higher", inner, kind)
        inner.block.line(f"{higher} = ct.maximum({running}, {operand.code}, propagate_nan=True)")
        # While all that was seen is -inf, nothing is subtracted: -inf - -inf would be NaN.
        shift = self.unique("shift", inner, kind)
        inner.block.line(f'{shift} = ct.where({higher} == -float("inf"), 0.0, {higher})')
        scale = self.unique("scale", inner, kind)
        inner.block.line(f"{scale} = ct.exp({running} - {shift})")
        stand_in = Parameter(highest.dtype, f"@{shift}")
        root = inner
        while root.parent is not None:
            root = root.parent
        for item in self.plan.frames:
            if tiles <= frozenset(item):
                root.memo[stand_in, item] = self.reframe(atom(shift), tiles, frame, item)
        memo: dict[Node, Node] = {highest: stand_in}
        moved = {node: rewrite(node, lambda item: item, memo) for node in sums}
        for below in postorder(moved.values()):
            for item in below.operands:
                self.users[item] = self.users.get(item, 0) + 1
        for node in sums:
            shifted = moved[node]
            own = self.fold_frame(node)
            rescale = self.reframe(atom(scale), tiles, frame, own)
            kept = binary("*", atom(totals[node]), rescale)
            if isinstance(node, Contract) and node in self.tensor_core:
                assert isinstance(shifted, Contract)  # noqa: S101 - rewriting keeps the kind
                self.tensor_core[shifted] = self.tensor_core[node]
                step = self.product(shifted, inner, kept.code)
            else:
                assert isinstance(shifted, Reduce | Contract)  # noqa: S101 - rewriting keeps the kind
                part = self.operand(shifted, own, inner)
                step = binary("+", kept, part if by_lane else self.reduce_lanes(shifted, part, own))
            self.comment(node, inner)
            inner.block.line(f"{totals[node]} = {step.code}")
        inner.block.line(f"{running} = {higher}")
        self.close_loops(pending)
        if not by_lane:
            scope.memo[highest, frame] = atom(running)
            scope.memo.update({(node, self.fold_frame(node)): atom(totals[node]) for node in sums})  # type: ignore[arg-type]
            return
        peak = self.unique("peak", scope, (highest.dtype, self.shape(highest.free, frame)))
        scope.block.line(f"{peak} = {self.reduce_lanes(highest, atom(running), frame).code}")
        weight = self.unique("weight", scope, kind)
        scope.block.line(f'{weight} = ct.exp({running} - ct.where({peak} == -float("inf"), 0.0, {peak}))')
        scope.memo[highest, frame] = atom(peak)
        for node in sums:
            assert isinstance(node, Reduce)  # noqa: S101 - by_lane says so
            joined = self.reduce_lanes(node, binary("*", atom(totals[node]), atom(weight)), frame)
            name = self.unique(self.hint(node), scope, (node.dtype, self.shape(node.free, frame)))
            scope.block.line(f"{name} = {joined.code}")
            scope.memo[node, frame] = atom(name)

    def scan(self, node: Scan, frame: Frame, scope: Scope) -> Text:
        """Write the running value along a looped axis: that of the tile, on top of what the tiles before carry over."""
        axis, place = node.axis, frame.index(node.axis)
        operand = self.value(node.arg, frame, scope)
        if (
            node.reverse
            and self.ragged(axis)
            and padded_value(node.arg, axis, self.access, self.padding, self.known) != IDENTITY[node.op]
        ):
            mask = binary("<", self.positions(axis, frame, scope), self.size(axis.extent))
            operand = call("ct.where", mask, operand, self.identity(node))
        if axis not in node.arg.free:
            operand = call("ct.broadcast_to", operand, tuple_text(self.shape(node.arg.free | {axis}, frame)))
        direction = ", reverse=True" if node.reverse else ""
        if node.op in {"sum", "prod"}:
            within = atom(f"ct.cum{node.op}({operand.code}, axis={place}{direction})")
        else:
            self.helpers[f"running_{node.op}"] = None
            within = atom(
                f"ct.scan({operand.code}, {place}, running_{node.op}, {self.identity(node).code}{direction})"
            )
        if not self.plan.role(axis).in_loop:
            return within
        while scope.parent is not None and axis in scope.parent.loops:
            scope = scope.parent
        outer = scope.parent
        assert outer is not None  # noqa: S101 - a looped axis has a loop
        shape = tuple_text(self.shape(node.arg.free - {axis}, frame))
        carry = self.unique("carry", outer, (node.dtype, shape))
        outer.block.line(
            f"{carry} = ct.full({shape}, {self.identity(node).code}, dtype={cutile_dtype(node.dtype)})"
        )
        name = self.unique(self.hint(node), scope, (node.dtype, self.shape(node.free, frame)))
        self.comment(node, scope)
        scope.block.line(f"{name} = {self.combine(node, atom(carry), within).code}")
        last = ["0"] * len(frame)
        last[place] = "0" if node.reverse else f"{self.block_of(axis)} - 1"
        scope.block.line(f"{carry} = ct.extract({name}, {tuple_text(last)}, {shape})")
        return atom(name)
