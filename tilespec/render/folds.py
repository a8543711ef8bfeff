"""Writes reductions, contractions and scans: at once, in a loop that they share, or online."""

from __future__ import annotations

from collections.abc import Mapping

from tilespec.ir.nodes import Compute, Contract, Node, Reduce, Scan
from tilespec.render.online import Online
from tilespec.render.ops import cutile_dtype
from tilespec.render.padding import IDENTITY, padded_value
from tilespec.render.scope import Frame, Scope
from tilespec.render.text import Text, atom, binary, call, tuple_text

__all__ = ["Folds"]


class Folds(Online):
    """Writes reductions, contractions and scans."""

    def fold(self, node: Reduce | Contract, scope: Scope) -> Text:
        """Write a reduction in its own frame: at once where its tiles cover its axes, else by the loop it shares."""
        loops, _ = self.loop_key(node)
        frame = self.fold_frame(node)
        if not loops:
            if node in self.tensor_core:
                return self.product(node, scope, None)
            return self.reduce_lanes(node, self.operand(node, frame, scope), frame)
        extreme = next((item for item, place in self.firsts.items() if place is node), None)
        if extreme is not None:
            self.value(extreme, frame, scope)
        if (node, frame) not in scope.memo:
            highest = self.online.get(node)
            if highest is not None and (highest, self.fold_frame(highest)) not in scope.memo:
                self.run_online(highest, scope)
            elif isinstance(node, Reduce) and node in self.online.values():
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
        places = {item: self.firsts[item] for item in group if item in self.firsts}
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
            if item in places:
                # Nothing is beyond the identity: a row that holds nothing else has it first.
                name = self.unique("first_lanes", scope, (places[item].dtype, shape))
                scope.block.line(f"{name} = ct.zeros({shape}, dtype={cutile_dtype(places[item].dtype)})")
                lanes[places[item]] = name
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
            if item in places:
                self.place(item, operand, lanes, inner)
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
            if item in places:
                self.settle(item, lanes, text, scope)

    def place(self, extreme: Reduce, operand: Text, lanes: Mapping[Node, str], inner: Scope) -> None:
        """Write down where lanes meet a value beyond all before: the first of equal ones stays."""
        place = self.firsts[extreme]
        assert isinstance(place.arg, Compute)  # noqa: S101 - a `where`
        best, first = lanes[extreme], lanes[place]
        if extreme.dtype.startswith("float"):
            helper = "exceeds" if extreme.op == "max" else "undercuts"
            self.helpers[helper] = None
            beyond = call(helper, operand, best).code
        else:
            beyond = binary(">" if extreme.op == "max" else "<", operand, atom(best)).code
        position = self.value(place.arg.args[1], self.fold_frame(extreme), inner)
        inner.block.line(f"{first} = ct.where({beyond}, {position.code}, {first})")

    def settle(self, extreme: Reduce, lanes: Mapping[Node, str], value: Text, scope: Scope) -> None:
        """Write the first position among the lanes that hold the extreme value."""
        place, frame = self.firsts[extreme], self.fold_frame(extreme)
        best, first = lanes[extreme], lanes[place]
        held = f"{best} == {value.code}"
        if extreme.dtype.startswith("float"):
            held = f"({held}) | ct.isnan({best}) & ct.isnan({value.code})"
        chosen = call("ct.where", held, first, self.identity(place))
        name = self.unique(self.hint(place), scope, (place.dtype, self.shape(place.free, frame)))
        scope.block.line(f"{name} = {self.reduce_lanes(place, chosen, frame).code}")
        scope.memo[place, frame] = atom(name)

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
