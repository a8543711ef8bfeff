"""Writes values: expressions in frames, each placed in the outermost loop that has what it reads."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from tilespec.ir.nodes import Compute, Const, Contract, Index, Load, Node, Parameter, Reduce, Scan
from tilespec.model.dims import Atom, AxisAtom, Expr, SymbolAtom
from tilespec.render.names import Names
from tilespec.render.ops import constant, expression
from tilespec.render.scope import Frame, Scope
from tilespec.render.text import ATOM, Text, atom, binary, call, tuple_text
from tilespec.schedule.plan import Role

__all__ = ["Values"]


class Values(Names, ABC):
    """Writes values; how memory is reached and how loops run is left to the classes below it."""

    @abstractmethod
    def load(self, node: Load, frame: Frame, scope: Scope) -> Text:
        """Write a tile load or a gather."""

    @abstractmethod
    def fold(self, node: Reduce | Contract, scope: Scope) -> Text:
        """Write a reduction or contraction in its own frame."""

    @abstractmethod
    def scan(self, node: Scan, frame: Frame, scope: Scope) -> Text:
        """Write a running value."""

    def value(self, node: Node, frame: Frame, scope: Scope) -> Text:
        """Write a value where it belongs and return its name or its expression."""
        home = self.home(node, scope)
        key = (node, frame)
        if key not in home.memo:
            text = self.convert(node, frame, home) or self.emit(node, frame, home)
            # What a loop reads from outside is worked out outside.
            hoisted = (
                home is not scope and not isinstance(node, Const | Parameter) and not text.code.isidentifier()
            )
            if hoisted or self.worth_a_name(node, text):
                self.comment(node, home)
                name = self.unique(self.hint(node), home, (node.dtype, self.shape(node.free, frame)))
                home.block.line(f"{name} = {text.code}")
                text = atom(name)
            home.memo[key] = text
        return home.memo[key]

    def convert(self, node: Node, frame: Frame, home: Scope) -> Text | None:
        """Reuse a reduction that is there in another frame."""
        if not isinstance(node, Reduce | Contract):
            return None
        source = self.fold_frame(node)
        if source == frame:
            return None
        return self.reframe(self.value(node, source, home), node.free, source, frame)

    def reframe(self, text: Text, axes: frozenset[AxisAtom], source: Frame, target: Frame) -> Text:
        """Bring a tile that spans `axes` from one frame to another."""
        before, after = self.shape(axes, source), self.shape(axes, target)
        have = [axis for axis in source if axis in axes]
        want = [axis for axis in target if axis in axes]
        if before == after and have == want:
            return text
        code = text.at_least(100)
        if have != want:
            order = [source.index(axis) for axis in want]
            order += [place for place in range(len(source)) if place not in order]
            code = f"ct.permute({code}, {tuple_text([str(place) for place in order])})"
        return atom(f"{code}.reshape({tuple_text(after)})") if after else atom(code)

    def emit(self, node: Node, frame: Frame, scope: Scope) -> Text:
        """Write the expression of a node."""
        if isinstance(node, Const):
            return constant(node.value, node.dtype)
        if isinstance(node, Parameter):
            self.used_parameters.add(node.name)
            name = self.argument(node.name)
            return atom(f"{name}.astype(ct.float64)") if node.dtype == "float64" else atom(name)
        if isinstance(node, Index):
            return self.index(node.expr, frame, scope)
        if isinstance(node, Load):
            return self.load(node, frame, scope)
        if isinstance(node, Compute):
            if node.op == "div" and self.divides_lanes(node, frame):
                return self.scaled(node, frame, scope)
            args = [self.value(item, frame, scope) for item in node.args]
            if node.op == "cast" and isinstance(node.args[0], Index) and args[0].precedence != ATOM:
                args = [self.as_value(args[0])]
            if any(
                isinstance(item, Const) and not -(2**31) <= item.value < 2**31
                for item in node.args
                if item.dtype == "int64"
            ):
                # Positions are int32 tiles, which such a constant would not fit.
                args = [
                    atom(f"{text.at_least(100)}.astype(ct.int64)") if isinstance(item, Index) else text
                    for text, item in zip(args, node.args, strict=True)
                ]
            text, helper = expression(node.op, node.dtype, node.args[-1].dtype, args)
            if helper:
                self.helpers[helper] = None
            return text
        if isinstance(node, Reduce | Contract):
            return self.fold(node, scope)
        if isinstance(node, Scan):
            return self.scan(node, frame, scope)
        message = f"no rendering of {type(node).__name__}"
        raise TypeError(message)

    def divides_lanes(self, node: Compute, frame: Frame) -> bool:
        """Whether a float32 quotient has a divisor that is the same along a tile axis of the dividend."""
        left, right = node.args
        if node.dtype != "float32" or isinstance(right, Const):
            return False
        tiles = frozenset(axis for axis in frame if self.tiled(axis))
        return bool((left.free - right.free) & tiles & frozenset(frame[-1:]))

    def scaled(self, node: Compute, frame: Frame, scope: Scope) -> Text:
        """Write a quotient as a product with one reciprocal a row: one rounding more, and no division a lane."""
        left, right = node.args
        home = self.home(right, scope)
        key = (right, frame)
        if key not in self.inverses or self.inverses[key][0] is not home:
            if isinstance(right, Compute) and right.op == "sqrt":
                inverse = call("ct.rsqrt", self.value(right.args[0], frame, scope))
            else:
                inverse = binary("/", atom("1.0"), self.value(right, frame, scope))
            name = self.unique("inverse", home, (right.dtype, self.shape(right.free, frame)))
            self.comment(node, home)
            home.block.line(f"{name} = {inverse.code}")
            self.inverses[key] = (home, atom(name))
        return binary("*", self.value(left, frame, scope), self.inverses[key][1])

    def as_value(self, text: Text) -> Text:
        """Return an expression that a method can be called on."""
        return text if text.precedence == ATOM else atom(f"({text.code})")

    def index(self, expr: Expr, frame: Frame, scope: Scope) -> Text:
        """Write an index expression as an int32 scalar, or as a tile along the frame's axes."""

        def name(item: Atom) -> str:
            if isinstance(item, SymbolAtom):
                self.sizes[item.name] = None
                return self.argument(item.name)
            if isinstance(item, AxisAtom) and self.tiled(item):
                return self.positions(item, frame, scope).code
            return item.name  # type: ignore[union-attr]

        code = expr.text(name)
        return Text(code, 100 if re.fullmatch(r"\w+", code) else 0)

    def positions(self, axis: AxisAtom, frame: Frame, scope: Scope) -> Text:
        """Write the element positions that the tile covers along `axis`."""
        while scope.parent is not None and self.looped(frozenset((axis,))) <= scope.parent.loops:
            scope = scope.parent
        if (axis, frame) not in scope.indices:
            block = self.block_of(axis)
            code = f"ct.arange({block}, dtype=ct.int32)"
            if self.plan.role(axis) is not Role.FULL:
                code = f"{axis.name} * {block} + {code}"
            if len(frame) > 1:
                places = ", ".join(":" if item == axis else "None" for item in frame)
                code = f"({code})[{places}]" if " " in code.split("(")[0] else f"{code}[{places}]"
            variable = self.unique(f"{axis.name}_index", scope, (axis, frame))
            scope.block.line(f"{variable} = {code}")
            scope.indices[axis, frame] = atom(variable)
        return scope.indices[axis, frame]
