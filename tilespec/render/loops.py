"""Writes loops over tiles, and one step of a reduction, a scan or a contraction."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tilespec.ir.nodes import Compute, Contract, Load, Node, Reduce, Scan
from tilespec.model.dims import AxisAtom, Expr
from tilespec.render.memory import Memory
from tilespec.render.ops import constant, cutile_dtype, expression
from tilespec.render.padding import IDENTITY, padded_value
from tilespec.render.scope import Frame, Scope
from tilespec.render.text import Block, Text, atom, binary, call, tuple_text
from tilespec.schedule.plan import Role

__all__ = ["Loops"]


class Loops(Memory):
    """Writes loops, and the single steps of reductions and contractions."""

    def loop_order(self, axes: frozenset[AxisAtom] | Sequence[AxisAtom]) -> list[AxisAtom]:
        """Return the looped axes as the plan orders them: outermost first."""
        return [item.axis for item in self.plan.axes if item.axis in axes and item.role.in_loop]

    def tile_count(self, axis: AxisAtom) -> str:
        """Write how many steps a looped axis has."""
        plan = self.plan.plan(axis)
        count = self.size(axis.extent if plan.count is None else plan.count).code
        if plan.until is not None:
            end = self.diagonal(plan.until, 0)
            count = f"max(min({count}, {end}), 0)" if plan.until[1].terms else f"min({count}, {end})"
        return f"ct.cdiv({count}, {self.block_of(axis)})" if plan.role is Role.LOOP else count

    def dealers(self) -> str:
        """Write how many blocks take turns at the steps of a loop: they differ in the slowest axis of the grid."""
        beside = [self.counts[axis] for axis in self.plan.grid[1:]]
        if not beside:
            return "ct.num_blocks(0)"
        return (
            f"ct.num_blocks(0) // {beside[0]}"
            if len(beside) == 1
            else f"ct.num_blocks(0) // ({' * '.join(beside)})"
        )

    def diagonal(self, until: tuple[AxisAtom, Expr, Node], rows: int) -> str:
        """Write the position past the last that the last row of a tile reads; less `rows` tiles for its first row."""
        row, offset, _ = until
        end = f"{row.name} * {self.block_of(row)} + 1" if rows else f"({row.name} + 1) * {self.block_of(row)}"
        return end if not offset.terms else f"{end} + {self.size(offset).at_least(41)}"

    def clear_tiles(self, axis: AxisAtom, scope: Scope) -> tuple[dict[Node, Node], str]:
        """Write how many tiles come before the end of the axis and the diagonal; what masks are worth there."""
        block, until = self.block_of(axis), self.plan.plan(axis).until
        whole = f"{self.size(axis.extent).at_least(51)} // {block}"
        masks: dict[Node, Node] = {}
        if until is not None:
            mask = until[2]
            assert isinstance(mask, Compute)  # noqa: S101 - a `where`
            masks[mask] = mask.args[1]
            whole = f"max(min({whole}, ({self.diagonal(until, 1)}) // {block}), 0)"
        name = self.unique("clear", scope)
        scope.block.line(f"{name} = {whole}")
        return masks, name

    def open_loops(
        self, axes: Sequence[AxisAtom], scope: Scope, ranges: Mapping[AxisAtom, str] | None = None
    ) -> tuple[Scope, list[tuple[Scope, str, Block]]]:
        """Open a loop an axis, over all its steps or those of `ranges`; the innermost scope and what `close_loops` needs."""
        pending: list[tuple[Scope, str, Block]] = []
        for axis in axes:
            count = self.tile_count(axis)
            dealt = self.plan.plan(axis).dealt
            if dealt is not None:
                count = f"{dealt.name}, {count}, {self.dealers()}"
            count = (ranges or {}).get(axis, count)
            block = Block()
            if self.plan.plan(axis).backward:
                step = self.unique("step", scope)
                header = f"for {step} in range({count}):"
                block.line(f"{axis.name} = {count} - 1 - {step}")
            else:
                header = f"for {axis.name} in range({count}):"
            pending.append((scope, header, block))
            scope = Scope(block, scope.loops | {axis}, scope)
            self.open.append(scope)
        return scope, pending

    def close_loops(self, pending: list[tuple[Scope, str, Block]]) -> None:
        """Append the bodies of loops, innermost first."""
        # A body is appended only now: what it needs from outside stands before it.
        for outer, header, block in reversed(pending):
            closed = self.open.pop()
            outer.inside |= closed.inside
            outer.block.entries.extend([header, block])

    def identity(self, node: Reduce | Contract | Scan) -> Text:
        """Return the value that changes nothing in a fold."""
        if isinstance(node, Contract):
            return constant(0, node.dtype)
        value = IDENTITY[node.op]
        if node.dtype in {"float32", "float64", "float16", "bfloat16"}:
            return constant(value, node.dtype)
        if value in {0.0, 1.0}:
            return constant(int(value), node.dtype)
        bits = int(re.sub(r"\D", "", node.dtype))
        signed = node.dtype.startswith("int")
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        return constant(low if value < 0 else high, node.dtype)

    def operand(self, node: Reduce | Contract, frame: Frame, scope: Scope) -> Text:
        """Write what a reduction adds up, with the identity in lanes past the end of its axes."""
        if isinstance(node, Contract):
            left = self.value(self.widened(node.left, node.dtype), frame, scope)
            right = self.value(self.widened(node.right, node.dtype), frame, scope)
            text = binary("*", left, right)
            padded = [
                (axis, self._known_zero(node, axis))
                for axis in node.axes
                if self.tiled(axis) and self.ragged(axis)
            ]
            axes = [axis for axis, zero in padded if not zero]
        else:
            text = self.value(node.arg, frame, scope)
            if node.dtype == "int64" and not isinstance(node.arg, Load):
                text = atom(f"{text.at_least(100)}.astype(ct.int64)")
            axes = [
                axis
                for axis in node.axes
                if self.tiled(axis)
                and self.ragged(axis)
                and padded_value(node.arg, axis, self.access, self.padding, self.known) != IDENTITY[node.op]
            ]
            missing = [axis for axis in node.axes if self.tiled(axis) and axis not in node.arg.free]
            if missing and not axes:
                spans = frozenset(axis for axis in node.free | node.bound if self.tiled(axis))
                text = call("ct.broadcast_to", text, tuple_text(self.shape(spans, frame)))
        if axes:
            mask = " & ".join(
                f"({binary('<', self.positions(axis, frame, scope), self.size(axis.extent)).code})"
                for axis in axes
            )
            mask = mask[1:-1] if len(axes) == 1 else mask
            text = call("ct.where", mask, text, self.identity(node))
        return text

    def widened(self, node: Node, dtype: str) -> Node:
        """Return a node in a dtype."""
        return node if node.dtype == dtype else Compute(dtype, "cast", (node,))

    def _known_zero(self, node: Contract, axis: AxisAtom) -> bool:
        return all(
            padded_value(side, axis, self.access, self.padding, self.known) == 0
            for side in (node.left, node.right)
        )

    def combine(self, node: Reduce | Contract | Scan, lanes: Text, operand: Text) -> Text:
        """Write one step of a fold."""
        if isinstance(node, Contract) or node.op == "sum":
            return binary("+", lanes, operand)
        if node.op == "prod":
            return binary("*", lanes, operand)
        return expression(node.op, node.dtype, node.dtype, [lanes, operand])[0]

    def reduce_lanes(self, node: Reduce | Contract, text: Text, frame: Frame) -> Text:
        """Write the fold over the lanes of a tile, along the axes that a node binds."""
        places = [str(frame.index(axis)) for axis in frame if axis in node.bound]
        if not places:
            return text
        op = "sum" if isinstance(node, Contract) else node.op
        nan = ", propagate_nan=True" if op in {"max", "min"} and node.dtype.startswith("float") else ""
        axis = places[0] if len(places) == 1 else tuple_text(places)
        return atom(f"ct.{op}({text.code}, axis={axis}, keepdims=True{nan})")

    def product(self, node: Reduce | Contract, scope: Scope, into: str | None) -> Text:
        """Write one tensor-core step of a contraction, added to `into`."""
        assert isinstance(node, Contract)  # noqa: S101 - tensor_core holds contractions only
        rows, columns, depth = self.tensor_core[node]
        left = self.mma_operand(node, node.left, (rows, depth), scope)
        right = self.mma_operand(node, node.right, (depth, columns), scope)
        shape = tuple_text([self.block_of(rows), self.block_of(columns)])
        dtype = cutile_dtype(node.dtype)
        if node.operand != "float32":
            start = into or f"ct.zeros({shape}, dtype={dtype})"
            return atom(f"ct.mma({left.code}, {right.code}, {start})")
        self.helpers["mma_float32"] = None
        step = call("mma_float32", left, right)
        return step if into is None else binary("+", atom(into), step)

    def mma_operand(self, node: Contract, side: Node, frame: Frame, scope: Scope) -> Text:
        """Write an operand of a tensor-core step: in its dtype, whole, with zeros past the end of the depth."""
        inner = side
        while isinstance(inner, Compute) and inner.op == "cast" and inner.args[0].dtype == node.operand:
            inner = inner.args[0]
        text = self.value(inner, frame, scope)
        if inner.dtype != node.operand:
            text = atom(f"{text.at_least(100)}.astype({cutile_dtype(node.operand)})")
        for axis in frame:
            if (
                axis in node.bound
                and self.ragged(axis)
                and padded_value(side, axis, self.access, self.padding, self.known) != 0
            ):
                mask = binary("<", self.positions(axis, frame, scope), self.size(axis.extent))
                text = call("ct.where", mask, text, constant(0, node.operand))
        missing = frozenset(axis for axis in frame if axis not in side.free)
        if missing:
            text = call("ct.broadcast_to", text, tuple_text(self.shape(frozenset(frame), frame)))
        return text
