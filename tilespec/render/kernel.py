"""Writes one `@ct.kernel` from a schedule.

A value is written in a frame: the ordered tile axes that its tile spans, extent 1 along axes that it does not depend on.
Work is placed in the outermost loop that binds what it reads, so what doesn't change in a loop stands before it.
Reductions over the same looped axes that don't read each other share one loop.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tilespec.diagnostics import SourceText, Span
from tilespec.ir.nodes import (
    Compute,
    Const,
    Contract,
    Index,
    Load,
    Node,
    Parameter,
    Reduce,
    Scan,
    Store,
    Tensor,
    postorder,
    rewrite,
)
from tilespec.model.dims import Atom, AxisAtom, Expr, SymbolAtom
from tilespec.render.ops import constant, cutile_dtype, expression
from tilespec.render.padding import IDENTITY, choose_padding, padded_value
from tilespec.render.text import Block, Text, atom, binary, call
from tilespec.schedule.access import Gather, TileAccess, find_access
from tilespec.schedule.online import find_online
from tilespec.schedule.plan import Cover, Fixed, KernelPlan, Role

__all__ = ["ArrayParameter", "KernelText", "write_kernel"]

Frame = tuple[AxisAtom, ...]
_WIDE = 64
_ASSIGNED = re.compile(r"^\s*([A-Za-z_]\w*)\s*[-+*/@]?=[^=]")


@dataclass(frozen=True, slots=True)
class ArrayParameter:
    """One array argument: a view of a tensor. `shape` None means the tensor as it is."""

    name: str
    tensor: Tensor
    shape: tuple[Expr, ...] | None
    cuts: tuple[tuple[Expr, Expr, int] | None, ...]
    written: bool


@dataclass(frozen=True)
class KernelText:
    """One kernel as text: parameters in order and the lines of its body."""

    plan: KernelPlan
    arrays: tuple[ArrayParameter, ...]
    scalars: tuple[tuple[str, str], ...]
    sizes: tuple[str, ...]
    blocks: tuple[str, ...]
    tma_store: bool
    """Whether the kernel takes `TMA_STORE`, a constant that forbids TMA stores when False."""
    body: tuple[str, ...]
    helpers: tuple[str, ...]
    lines_of: tuple[tuple[int, Span], ...] = ()


@dataclass
class _Scope:
    block: Block
    loops: frozenset[AxisAtom]
    parent: _Scope | None = None
    memo: dict[tuple[Node, Frame], Text] = field(default_factory=dict)
    indices: dict[tuple[AxisAtom, Frame], Text] = field(default_factory=dict)
    commented: set[int] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    inside: set[str] = field(default_factory=set)
    """Names in this block and in the loops inside it."""


def write_kernel(plan: KernelPlan, source: SourceText | None = None) -> KernelText:
    """Write the kernel of a plan; `source` is the spec file, for names and comments."""
    return _Writer(plan, source).write()


class _Writer:
    def __init__(self, plan: KernelPlan, source: SourceText | None) -> None:
        self.plan = plan
        self.source = source
        self.program = plan.program
        self.roots = [store.value for store in self.program.stores]
        self.nodes = list(postorder(self.roots))
        self.tensor_core = {node: axes for node, *axes in plan.tensor_core}
        self.names: set[str] = {item.axis.name for item in plan.axes}
        self.names |= {item.name for item in (*self.program.inputs, *self.program.outputs)}
        self.names |= {name for name, _ in self.program.parameters} | {"ct", "torch", "math", "block"}
        self.arrays: list[ArrayParameter] = []
        self.sizes: dict[str, None] = {}
        self.blocks: dict[str, None] = {}
        self.helpers: dict[str, None] = {}
        self.used_parameters: set[str] = set()
        self.users: dict[Node, int] = {}
        for node in self.nodes:
            for item in node.operands:
                self.users[item] = self.users.get(item, 0) + 1
        for root in self.roots:
            self.users[root] = self.users.get(root, 0) + 1
        self.assigned = self.outermost()
        self.inverses: dict[tuple[Node, Frame], tuple[_Scope, Text]] = {}
        self.tile_stores = 0
        self.kinds: dict[str, object] = {}
        self.open: list[_Scope] = []
        self.access_memo: dict[Load, TileAccess | Gather] = {}
        self.padding = choose_padding(self.roots, self.access)
        self.folds = [node for node in self.nodes if isinstance(node, Reduce | Contract)]
        self.online = find_online(self.roots)
        self.known: dict[tuple[Node, AxisAtom], float] = {}
        self.stages: dict[Node, int] = {}
        for node in self.folds:
            same = [
                self.stages[below]
                for below in postorder(node.operands)
                if below in self.stages and self._loop_key(below) == self._loop_key(node)
            ]
            self.stages[node] = 1 + max(same, default=-1)

    # roles and names

    def tiled(self, axis: AxisAtom) -> bool:
        return self.plan.role(axis).has_tile

    def looped(self, axes: frozenset[AxisAtom]) -> frozenset[AxisAtom]:
        return frozenset(axis for axis in axes if self.plan.role(axis).in_loop)

    def _loop_key(self, node: Node) -> tuple[frozenset[AxisAtom], frozenset[AxisAtom]]:
        return self.looped(node.bound), self.looped(node.free)

    def access(self, load: Load) -> TileAccess | Gather:
        if load not in self.access_memo:
            self.access_memo[load] = find_access(
                load.index, load.tensor.shape, self.tiled, guarded=load.fill is not None
            )
        return self.access_memo[load]

    def unique(self, base: str, scope: _Scope | None = None, kind: object = None) -> str:
        """Return a name that is free in `scope`, around it and in the loops open inside it; None is the whole kernel.

        A name of a loop that is closed may serve again, for a tile of the same `kind`: a variable keeps its type.
        """
        around = scope
        taken = set(self.names)
        while around is not None:
            taken |= around.names
            around = around.parent
        for inner in self.open:
            taken |= inner.inside
        name, number = base, 1
        while name in taken or self.kinds.get(name, kind) != kind:
            number += 1
            name = f"{base}_{number}"
        self.kinds[name] = kind
        (scope.names if scope is not None else self.names).add(name)
        if scope is not None:
            scope.inside.add(name)
        return name

    def block_of(self, axis: AxisAtom) -> str:
        name = self.plan.plan(axis).block
        self.blocks[name] = None
        return name

    def size(self, expr: Expr) -> Text:
        """Write an expression over dim symbols; the symbols become integer arguments."""

        def name(atom_: Atom) -> str:
            if isinstance(atom_, SymbolAtom):
                self.sizes[atom_.name] = None
            return atom_.name  # type: ignore[union-attr]

        code = expr.text(name)
        return Text(code, 100 if re.fullmatch(r"\w+", code) else 0)

    # places

    def home(self, node: Node, scope: _Scope) -> _Scope:
        needed = self.looped(node.free)
        while scope.parent is not None and needed <= scope.parent.loops:
            scope = scope.parent
        return scope

    def shape(self, axes: frozenset[AxisAtom], frame: Frame) -> tuple[str, ...]:
        return tuple(self.block_of(axis) if axis in axes else "1" for axis in frame)

    def tuple(self, items: Sequence[str]) -> str:
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"

    # values

    def value(self, node: Node, frame: Frame, scope: _Scope) -> Text:
        home = self.home(node, scope)
        key = (node, frame)
        if key not in home.memo:
            text = self.convert(node, frame, home) or self.emit(node, frame, home)
            if self.worth_a_name(node, text):
                self.comment(node, home)
                name = self.unique(self.hint(node), home, (node.dtype, self.shape(node.free, frame)))
                home.block.line(f"{name} = {text.code}")
                text = atom(name)
            home.memo[key] = text
        return home.memo[key]

    def convert(self, node: Node, frame: Frame, home: _Scope) -> Text | None:
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
            code = f"ct.permute({code}, {self.tuple([str(place) for place in order])})"
        return atom(f"{code}.reshape({self.tuple(after)})") if after else atom(code)

    def worth_a_name(self, node: Node, text: Text) -> bool:
        if isinstance(node, Const | Parameter) or re.fullmatch(r"-?[\w.]+", text.code):
            return False
        if isinstance(node, Load | Reduce | Contract | Scan):
            return True
        return node in self.assigned or self.users.get(node, 1) > 1 or len(text.code) > _WIDE

    def line_of(self, node: Node) -> int | None:
        """Return the spec line that a node comes from."""
        span = getattr(node, "span", None)
        return None if span is None or self.source is None else self.source.position(span.start)[0]

    def outermost(self) -> dict[Node, str]:
        """Return the variable of the reference that each node is the value of: the last of its line, if that assigns."""
        inner: set[Node] = set()
        for node in self.nodes:
            line = self.line_of(node)
            inner.update(item for item in node.operands if line is not None and self.line_of(item) == line)
        names: dict[Node, str] = {}
        for node in self.nodes:
            line = self.line_of(node)
            if line is None or node in inner or isinstance(node, Load) or self.source is None:
                continue
            found = _ASSIGNED.match(self.source.line(line))
            if found:
                names[node] = found.group(1)
        return names

    def hint(self, node: Node) -> str:
        """Return a name for a value: the reference's own where it has one, else what the node does."""
        if node in self.assigned:
            return self.assigned[node]
        if isinstance(node, Load):
            return f"{node.tensor.name}_tile"
        if isinstance(node, Contract):
            return "product"
        if isinstance(node, Reduce):
            return {"sum": "total", "max": "highest", "min": "lowest"}.get(node.op, node.op)
        if isinstance(node, Compute) and node.op == "cast":
            base = node.args[0]
            if isinstance(base, Load):
                return f"{base.tensor.name}_wide"
            if isinstance(base, Index):
                return f"{base.expr.symbol}_wide" if base.expr.symbol else "count"
        return "value"

    def comment(self, node: Node, scope: _Scope) -> None:
        line = self.line_of(node)
        if line is not None and self.source is not None and line not in scope.commented:
            scope.commented.add(line)
            scope.block.line(f"# {line}: {self.source.line(line).strip()}")

    def emit(self, node: Node, frame: Frame, scope: _Scope) -> Text:
        if isinstance(node, Const):
            return constant(node.value, node.dtype)
        if isinstance(node, Parameter):
            self.used_parameters.add(node.name)
            text = atom(node.name)
            return atom(f"{node.name}.astype(ct.float64)") if node.dtype == "float64" else text
        if isinstance(node, Index):
            return self.index(node.expr, frame, scope)
        if isinstance(node, Load):
            return self.load(node, frame, scope)
        if isinstance(node, Compute):
            if node.op == "div" and self.divides_lanes(node, frame):
                return self.scaled(node, frame, scope)
            args = [self.value(item, frame, scope) for item in node.args]
            if node.op == "cast" and isinstance(node.args[0], Index) and args[0].precedence != ATOM_LITERAL:
                args = [self.as_value(args[0])]
            if any(isinstance(item, Const) and not -(2**31) <= item.value < 2**31 for item in node.args if item.dtype == "int64"):
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

    def scaled(self, node: Compute, frame: Frame, scope: _Scope) -> Text:
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
        return text if text.precedence == ATOM_LITERAL else atom(f"({text.code})")

    def index(self, expr: Expr, frame: Frame, scope: _Scope) -> Text:
        """Write an index expression as an int32 scalar, or as a tile along the frame's axes."""

        def name(item: Atom) -> str:
            if isinstance(item, SymbolAtom):
                self.sizes[item.name] = None
                return item.name
            if isinstance(item, AxisAtom) and self.tiled(item):
                return self.positions(item, frame, scope).code
            return item.name  # type: ignore[union-attr]

        code = expr.text(name)
        return Text(code, 100 if re.fullmatch(r"\w+", code) else 0)

    def positions(self, axis: AxisAtom, frame: Frame, scope: _Scope) -> Text:
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

    # memory

    def array(
        self, tensor: Tensor, access: TileAccess | Gather, *, written: bool
    ) -> str:
        shape = access.shape if isinstance(access, TileAccess) else None
        cuts = tuple(dim.cut for dim in access.dims) if isinstance(access, TileAccess) else ()
        cuts = cuts if any(cuts) else ()
        for item in self.arrays:
            if (item.tensor, item.shape, item.cuts, item.written) == (tensor, shape, cuts, written):
                return item.name
        name = tensor.name if all(item.name != tensor.name for item in self.arrays) else self.unique(tensor.name)
        self.arrays.append(ArrayParameter(name, tensor, shape, cuts, written))
        return name

    def tile_place(
        self, access: TileAccess, frame: Frame, scope: _Scope
    ) -> tuple[list[str], list[str], str, bool]:
        """Return index, tile shape and `order` argument of a tile access, and whether the tile has the frame's shape."""
        rank = len(access.dims)
        spots = {dim.axis: place for place, dim in enumerate(access.dims) if dim.axis is not None}
        order = [place for place, dim in enumerate(access.dims) if dim.axis is None]
        tiles = [spots[axis] for axis in frame if axis in spots]
        if [place for place in range(rank) if place not in order] == tiles:
            order = list(range(rank))
        else:
            order = order + tiles
        index: list[str] = []
        shape: list[str] = []
        for place in order:
            dim = access.dims[place]
            if dim.axis is None:
                index.append(self.index(dim.index, frame, scope).code)
                shape.append("1")
            else:
                index.append("0" if self.plan.role(dim.axis) is Role.FULL else dim.axis.name)
                shape.append(self.block_of(dim.axis))
        wanted = list(self.shape(frozenset(spots), frame))
        argument = "" if order == list(range(rank)) else f", order={self.tuple([str(item) for item in order])}"
        return index, shape, argument, shape == wanted

    def load(self, node: Load, frame: Frame, scope: _Scope) -> Text:
        access = self.access(node)
        name = self.array(node.tensor, access, written=False)
        if isinstance(access, Gather):
            index = [
                self.value(item, frame, scope) if isinstance(item, Node) else self.index(item, frame, scope)
                for item in node.index
            ]
            fill = node.fill if node.fill is not None else self.padding[node]
            padding = "" if fill == 0 else f", padding_value={constant(fill, node.dtype).code}"
            return atom(f"ct.gather({name}, {self.tuple([item.code for item in index])}{padding})")
        index_, shape, order, fits = self.tile_place(access, frame, scope)
        padding = ""
        if any(self.ragged(dim.axis) for dim in access.dims if dim.axis is not None):
            mode = {0.0: "ZERO", float("-inf"): "NEG_INF", float("inf"): "POS_INF"}[self.padding[node]]
            padding = f", padding_mode=ct.PaddingMode.{mode}"
        code = f"ct.load({name}, {self.tuple(index_)}, {self.tuple(shape)}{order}{padding})"
        if not fits:
            code += f".reshape({self.tuple(self.shape(node.free, frame))})"
        return atom(code)

    def ragged(self, axis: AxisAtom) -> bool:
        """Whether the last tile along `axis` may reach past its end."""
        extent, rule = axis.extent.value, self.plan.plan(axis).rule
        if extent is None:
            return True
        if isinstance(rule, Cover) and not rule.cap:
            return extent & (extent - 1) != 0
        if isinstance(rule, Fixed) and not rule.by_target:
            return extent % rule.value != 0
        return True

    def store(self, store: Store, scope: _Scope) -> None:
        frame = self.frame_of(frozenset(axis for axis in store.axes if self.tiled(axis)))
        value = self.value(store.value, frame, scope)
        access = find_access(store.index, store.tensor.shape, self.tiled, guarded=False)
        name = self.array(store.tensor, access, written=True)
        axes = frozenset(axis for axis in store.axes if self.tiled(axis))
        code = value.at_least(100)
        if not isinstance(store.value, Const) and not isinstance(store.value, Parameter):
            full = self.shape(axes, frame)
            if axes - store.value.free:
                code = f"ct.broadcast_to({value.code}, {self.tuple(full)})"
        else:
            shape = self.tuple(self.shape(axes, frame)) if frame else "(1,)"
            code = f"ct.full({shape}, {value.code}, dtype={name}.dtype)"
        if store.value.dtype != store.tensor.dtype and not isinstance(store.value, Const | Parameter):
            code += f".astype({name}.dtype)"
        if isinstance(access, Gather):
            index = [self.index(item, frame, scope).code for item in store.index]
            masks = [
                binary("<", self.positions(axis, frame, scope), self.size(axis.extent)).code
                for axis in frame
                if axis in axes and self.ragged(axis) and not self._skips(store, axis)
            ]
            mask = f", mask={' & '.join(f'({item})' for item in masks)}" if masks else ""
            scope.block.line(f"ct.scatter({name}, {self.tuple(index)}, {code}{mask})")
            return
        index_, shape_, order, fits = self.tile_place(access, frame, scope)
        if not fits:
            code = f"{code}.reshape({self.tuple(shape_)})"
        self.tile_stores += 1
        scope.block.line(f"ct.store({name}, {self.tuple(index_)}, {code}{order}, allow_tma=TMA_STORE)")

    def _skips(self, store: Store, axis: AxisAtom) -> bool:
        return any(
            item.axis == axis and extent == axis.extent
            for item, extent in zip(store.index, store.tensor.shape, strict=True)
        )

    def frame_of(self, axes: frozenset[AxisAtom]) -> Frame:
        for frame in self.plan.frames:
            if axes <= frozenset(frame):
                return frame
        message = f"no frame holds {sorted(axis.name for axis in axes)}"
        raise LookupError(message)

    # reductions and contractions

    def fold_frame(self, node: Reduce | Contract) -> Frame:
        tiles = frozenset(axis for axis in node.free | node.bound if self.tiled(axis))
        if node in self.tensor_core:
            tiles = frozenset(axis for axis in node.free if self.tiled(axis))
        return self.frame_of(tiles)

    def fold(self, node: Reduce | Contract, scope: _Scope) -> Text:
        """Write a reduction in its own frame: at once where its tiles cover its axes, else by the loop it shares."""
        loops, _ = self._loop_key(node)
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

    def run_loop(self, node: Reduce | Contract, scope: _Scope) -> None:
        key = self._loop_key(node)
        group = [
            item
            for item in self.folds
            if self._loop_key(item) == key
            and self.stages[item] == self.stages[node]
            and (item, self.fold_frame(item)) not in scope.memo
        ]
        lanes: dict[Node, str] = {}
        for item in group:
            frame = self.fold_frame(item)
            spans = item.free | (frozenset() if item in self.tensor_core else item.bound)
            shape = self.tuple(self.shape(frozenset(axis for axis in spans if self.tiled(axis)), frame))
            base = "acc" if isinstance(item, Contract) else f"{self.hint(item)}_lanes"
            lanes[item] = self.unique(base, scope, (item.dtype, shape))
            dtype = cutile_dtype(item.dtype)
            identity = 0.0 if isinstance(item, Contract) else IDENTITY[item.op]
            if identity == 0:
                scope.block.line(f"{lanes[item]} = ct.zeros({shape}, dtype={dtype})")
            else:
                scope.block.line(f"{lanes[item]} = ct.full({shape}, {self.identity(item).code}, dtype={dtype})")
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

    def run_online(self, highest: Node, scope: _Scope) -> None:
        """Write a maximum and the sums of exponentials that subtract it as one loop, see `schedule.online`."""
        assert isinstance(highest, Reduce)  # noqa: S101 - find_online pairs sums with a maximum
        sums = [node for node, other in self.online.items() if other is highest]
        frame = self.fold_frame(highest)
        by_lane = all(isinstance(node, Reduce) and self.fold_frame(node) == frame for node in sums)
        spans = highest.free | (highest.bound if by_lane else frozenset())
        tiles = frozenset(axis for axis in spans if self.tiled(axis))
        shape = self.tuple(self.shape(tiles, frame))
        kind = (highest.dtype, shape)
        dtype = cutile_dtype(highest.dtype)
        running = self.unique("highest", scope, kind)
        scope.block.line(f'{running} = ct.full({shape}, -float("inf"), dtype={dtype})')
        totals: dict[Node, str] = {}
        for node in sums:
            assert isinstance(node, Reduce | Contract)  # noqa: S101 - as find_online gives them
            own = self.fold_frame(node)
            extent = node.free | (node.bound if by_lane else frozenset())
            size = self.tuple(self.shape(frozenset(axis for axis in extent if self.tiled(axis)), own))
            totals[node] = self.unique("acc" if isinstance(node, Contract) else "total", scope, (node.dtype, size))
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

    def loop_order(self, axes: frozenset[AxisAtom] | Sequence[AxisAtom]) -> list[AxisAtom]:
        """Return the looped axes as the plan orders them: outermost first."""
        return [item.axis for item in self.plan.axes if item.axis in axes and item.role.in_loop]

    def open_loops(self, axes: Sequence[AxisAtom], scope: _Scope) -> tuple[_Scope, list[tuple[_Scope, str, Block]]]:
        pending: list[tuple[_Scope, str, Block]] = []
        for axis in axes:
            count = self.size(axis.extent).code
            until = self.plan.plan(axis).until
            if until is not None:
                row, offset = until
                end = f"({row.name} + 1) * {self.block_of(row)}"
                end = end if not offset.terms else f"{end} + {self.size(offset).at_least(41)}"
                count = f"max(min({count}, {end}), 0)" if offset.terms else f"min({count}, {end})"
            if self.plan.role(axis) is Role.LOOP:
                count = f"ct.cdiv({count}, {self.block_of(axis)})"
            dealt = self.plan.plan(axis).dealt
            if dealt is not None:
                count = f"{dealt.name}, {count}, {self.size(dealt.extent).code}"
            block = Block()
            if self.plan.plan(axis).backward:
                step = self.unique("step", scope)
                header = f"for {step} in range({count}):"
                block.line(f"{axis.name} = {count} - 1 - {step}")
            else:
                header = f"for {axis.name} in range({count}):"
            pending.append((scope, header, block))
            scope = _Scope(block, scope.loops | {axis}, scope)
            self.open.append(scope)
        return scope, pending

    def close_loops(self, pending: list[tuple[_Scope, str, Block]]) -> None:
        # A body is appended only now: what it needs from outside stands before it.
        for outer, header, block in reversed(pending):
            closed = self.open.pop()
            outer.inside |= closed.inside
            outer.block.entries.extend([header, block])

    def identity(self, node: Reduce | Contract | Scan) -> Text:
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

    def operand(self, node: Reduce | Contract, frame: Frame, scope: _Scope) -> Text:
        """Write what a reduction adds up, with the identity in lanes past the end of its axes."""
        if isinstance(node, Contract):
            left = self.value(self.widened(node.left, node.dtype), frame, scope)
            right = self.value(self.widened(node.right, node.dtype), frame, scope)
            text = binary("*", left, right)
            padded = [
                (axis, self._known_zero(node, axis)) for axis in node.axes if self.tiled(axis) and self.ragged(axis)
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
                text = call("ct.broadcast_to", text, self.tuple(self.shape(spans, frame)))
        if axes:
            mask = " & ".join(
                f"({binary('<', self.positions(axis, frame, scope), self.size(axis.extent)).code})" for axis in axes
            )
            mask = mask[1:-1] if len(axes) == 1 else mask
            text = call("ct.where", mask, text, self.identity(node))
        return text

    def widened(self, node: Node, dtype: str) -> Node:
        return node if node.dtype == dtype else Compute(dtype, "cast", (node,))

    def _known_zero(self, node: Contract, axis: AxisAtom) -> bool:
        return all(
            padded_value(side, axis, self.access, self.padding, self.known) == 0 for side in (node.left, node.right)
        )

    def scan(self, node: Scan, frame: Frame, scope: _Scope) -> Text:
        """Write the running value along a looped axis: that of the tile, on top of what the tiles before carry over."""
        axis, place = node.axis, frame.index(node.axis)
        operand = self.value(node.arg, frame, scope)
        if node.reverse and self.ragged(axis) and padded_value(node.arg, axis, self.access, self.padding, self.known) != IDENTITY[node.op]:
            mask = binary("<", self.positions(axis, frame, scope), self.size(axis.extent))
            operand = call("ct.where", mask, operand, self.identity(node))
        if axis not in node.arg.free:
            operand = call("ct.broadcast_to", operand, self.tuple(self.shape(node.arg.free | {axis}, frame)))
        direction = ", reverse=True" if node.reverse else ""
        if node.op in {"sum", "prod"}:
            within = atom(f"ct.cum{node.op}({operand.code}, axis={place}{direction})")
        else:
            self.helpers[f"running_{node.op}"] = None
            within = atom(f"ct.scan({operand.code}, {place}, running_{node.op}, {self.identity(node).code}{direction})")
        if not self.plan.role(axis).in_loop:
            return within
        while scope.parent is not None and axis in scope.parent.loops:
            scope = scope.parent
        outer = scope.parent
        assert outer is not None  # noqa: S101 - a looped axis has a loop
        shape = self.tuple(self.shape(node.arg.free - {axis}, frame))
        carry = self.unique("carry", outer, (node.dtype, shape))
        outer.block.line(f"{carry} = ct.full({shape}, {self.identity(node).code}, dtype={cutile_dtype(node.dtype)})")
        name = self.unique(self.hint(node), scope, (node.dtype, self.shape(node.free, frame)))
        self.comment(node, scope)
        scope.block.line(f"{name} = {self.combine(node, atom(carry), within).code}")
        last = ["0"] * len(frame)
        last[place] = "0" if node.reverse else f"{self.block_of(axis)} - 1"
        scope.block.line(f"{carry} = ct.extract({name}, {self.tuple(last)}, {shape})")
        return atom(name)

    def combine(self, node: Reduce | Contract | Scan, lanes: Text, operand: Text) -> Text:
        if isinstance(node, Contract) or node.op == "sum":
            return binary("+", lanes, operand)
        if node.op == "prod":
            return binary("*", lanes, operand)
        return expression(node.op, node.dtype, node.dtype, [lanes, operand])[0]

    def reduce_lanes(self, node: Reduce | Contract, text: Text, frame: Frame) -> Text:
        places = [str(frame.index(axis)) for axis in frame if axis in node.bound]
        if not places:
            return text
        op = "sum" if isinstance(node, Contract) else node.op
        nan = ", propagate_nan=True" if op in {"max", "min"} and node.dtype.startswith("float") else ""
        axis = places[0] if len(places) == 1 else self.tuple(places)
        return atom(f"ct.{op}({text.code}, axis={axis}, keepdims=True{nan})")

    def product(self, node: Reduce | Contract, scope: _Scope, into: str | None) -> Text:
        """Write one tensor-core step of a contraction, added to `into`."""
        assert isinstance(node, Contract)  # noqa: S101 - tensor_core holds contractions only
        rows, columns, depth = self.tensor_core[node]
        left = self.mma_operand(node, node.left, (rows, depth), scope)
        right = self.mma_operand(node, node.right, (depth, columns), scope)
        shape = self.tuple([self.block_of(rows), self.block_of(columns)])
        dtype = cutile_dtype(node.dtype)
        if node.operand != "float32":
            start = into or f"ct.zeros({shape}, dtype={dtype})"
            return atom(f"ct.mma({left.code}, {right.code}, {start})")
        self.helpers["mma_float32"] = None
        step = call("mma_float32", left, right)
        return step if into is None else binary("+", atom(into), step)

    def mma_operand(self, node: Contract, side: Node, frame: Frame, scope: _Scope) -> Text:
        inner = side
        while isinstance(inner, Compute) and inner.op == "cast" and inner.args[0].dtype == node.operand:
            inner = inner.args[0]
        text = self.value(inner, frame, scope)
        if inner.dtype != node.operand:
            text = atom(f"{text.at_least(100)}.astype({cutile_dtype(node.operand)})")
        for axis in frame:
            if axis in node.bound and self.ragged(axis) and padded_value(side, axis, self.access, self.padding, self.known) != 0:
                mask = binary("<", self.positions(axis, frame, scope), self.size(axis.extent))
                text = call("ct.where", mask, text, constant(0, node.operand))
        missing = frozenset(axis for axis in frame if axis not in side.free)
        if missing:
            text = call("ct.broadcast_to", text, self.tuple(self.shape(frozenset(frame), frame)))
        return text

    # the whole

    def write(self) -> KernelText:
        block = Block()
        scope = _Scope(block, frozenset())
        self.decode_grid(block)
        done: set[int] = set()
        stores = self.program.stores
        for place, store in enumerate(stores):
            if place in done:
                continue
            loops = self.looped(frozenset(store.axes))
            inner, pending = self.open_loops(self.loop_order(loops), scope)
            for other, candidate in enumerate(stores):
                if other >= place and self.looped(frozenset(candidate.axes)) == loops:
                    done.add(other)
                    self.store(candidate, inner)
            self.close_loops(pending)
        parameters = tuple(item for item in self.program.parameters if item[0] in self.used_parameters)
        return KernelText(
            plan=self.plan,
            arrays=tuple(self.arrays),
            scalars=parameters,
            sizes=tuple(self.sizes),
            blocks=tuple(item.block for item in self.plan.axes if item.block in self.blocks),
            tma_store=self.tile_stores > 0,
            body=tuple(block.lines()),
            helpers=tuple(self.helpers),
        )

    def decode_grid(self, block: Block) -> None:
        grid = list(self.plan.grid)
        if not grid:
            return
        if len(grid) == 1:
            block.line(f"{grid[0].name} = ct.bid(0)")
            return
        tiled_only = self.plan.swizzle is not None and len(grid) == len(self.plan.swizzle) - 1
        block.line("tile = ct.bid(0)" if tiled_only else "block = ct.bid(0)")
        counts: dict[AxisAtom, str] = {}
        for axis in grid:
            if self.plan.role(axis) is Role.SCALAR:
                counts[axis] = self.size(axis.extent).at_least(100)
            else:
                counts[axis] = self.unique(f"{axis.name}_tiles")
                block.line(f"{counts[axis]} = ct.cdiv({self.size(axis.extent).code}, {self.block_of(axis)})")
        if self.plan.swizzle is not None:
            rows, columns, group = self.plan.swizzle
            grid = [axis for axis in grid if axis not in {rows, columns}]
            if grid:
                block.line(f"tile = block % ({counts[rows]} * {counts[columns]})")
                block.line(f"block = block // ({counts[rows]} * {counts[columns]})")
            block.line(f"# Blocks walk {group} rows of tiles at a time: those that run together share operands in L2.")
            block.line(f"first = tile // ({group} * {counts[columns]}) * {group}")
            block.line(f"rows = min({counts[rows]} - first, {group})")
            block.line(f"{rows.name} = first + tile % ({group} * {counts[columns]}) % rows")
            block.line(f"{columns.name} = tile % ({group} * {counts[columns]}) // rows")
        for place, axis in enumerate(reversed(grid)):
            if place == len(grid) - 1:
                block.line(f"{axis.name} = block")
                continue
            block.line(f"{axis.name} = block % {counts[axis]}")
            block.line(f"block = block // {counts[axis]}")


ATOM_LITERAL = 100
