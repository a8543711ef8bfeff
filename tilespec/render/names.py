"""Names in a kernel: axes, tile extents, arrays and values, the last as the reference calls them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tilespec.diagnostics import SourceText
from tilespec.ir.nodes import Compute, Const, Contract, Index, Load, Node, Parameter, Reduce, Scan, postorder
from tilespec.model.dims import Atom, AxisAtom, Expr, SymbolAtom
from tilespec.render.ops import HELPERS
from tilespec.render.padding import choose_padding
from tilespec.render.scope import ArrayParameter, Frame, Scope
from tilespec.render.text import Text
from tilespec.schedule.access import Gather, TileAccess, find_access
from tilespec.schedule.online import find_online
from tilespec.schedule.plan import Cover, Fixed, KernelPlan
from tilespec.schedule.positions import find_positions

__all__ = ["Names"]

_WIDE = 64
_HINTS = {
    **dict.fromkeys(("exp", "exp2"), "weights"),
    **dict.fromkeys(("sqrt", "rsqrt"), "root"),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "isnan", "isinf"), "test"),
    **dict.fromkeys(("sigmoid", "tanh", "erf"), "activated"),
    **dict.fromkeys(("max", "min"), "clamped"),
    "add": "shifted",
    "div": "quotient",
    "mul": "scaled",
    "sub": "difference",
    "where": "selected",
}
"""What to call the value of an operation that the reference gives no name."""
_RESERVED = frozenset(
    {"ct", "torch", "math", "block", "tile", "first", "rows", "TMA_STORE", "min", "max", "range", *HELPERS}
)
"""Names that every kernel may use for something of its own."""
_ASSIGNED = re.compile(r"^\s*([A-Za-z_]\w*)\s*[-+*/@]?=[^=]")


class Names:
    """What is known of a kernel before it is written, and the names of what has been."""

    def __init__(self, plan: KernelPlan, source: SourceText | None) -> None:
        self.plan = plan
        self.source = source
        self.program = plan.program
        self.roots = [store.value for store in self.program.stores]
        self.nodes = list(postorder(self.roots))
        self.tensor_core = {node: axes for node, *axes in plan.tensor_core}
        self.own = {item.axis.name for item in plan.axes} | {item.block for item in plan.axes} | _RESERVED
        self.names: set[str] = set(self.own)
        self.given: dict[str, str] = {}
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
        self.inverses: dict[tuple[Node, Frame], tuple[Scope, Text]] = {}
        self.tile_stores = 0
        self.kinds: dict[str, object] = {}
        self.open: list[Scope] = []
        self.counts: dict[AxisAtom, str] = {}
        for name in (
            *(item.name for item in (*self.program.inputs, *self.program.outputs)),
            *(name for name, _ in self.program.parameters),
        ):
            self.argument(name)
        self.access_memo: dict[Load, TileAccess | Gather] = {}
        self.padding = choose_padding(self.roots, self.access)
        self.folds = [node for node in self.nodes if isinstance(node, Reduce | Contract)]
        self.online = find_online(self.roots)
        self.firsts = find_positions(self.roots)
        self.full: set[AxisAtom] = set()
        self.known: dict[tuple[Node, AxisAtom], float] = {}
        self.stages: dict[Node, int] = {}
        for node in self.folds:
            same = [
                self.stages[below]
                for below in postorder(node.operands)
                if below in self.stages and self.loop_key(below) == self.loop_key(node)
            ]
            self.stages[node] = 1 + max(same, default=-1)

    def argument(self, name: str) -> str:
        """Return the name in the kernel of a tensor, a scalar or a dim symbol: its own unless the kernel has that."""
        if name not in self.given:
            self.given[name] = name if name not in self.own else self.unique(f"{name}_in")
            self.names.add(self.given[name])
        return self.given[name]

    def count_users(self, roots: Iterable[Node]) -> None:
        """Count the users of nodes made while writing."""
        for below in postorder(roots):
            for operand in below.operands:
                self.users[operand] = self.users.get(operand, 0) + 1

    def tiled(self, axis: AxisAtom) -> bool:
        """Whether values have a tile dim along an axis."""
        return self.plan.role(axis).has_tile

    def looped(self, axes: frozenset[AxisAtom]) -> frozenset[AxisAtom]:
        """Return those of some axes that blocks loop over."""
        return frozenset(axis for axis in axes if self.plan.role(axis).in_loop)

    def loop_key(self, node: Node) -> tuple[frozenset[AxisAtom], frozenset[AxisAtom]]:
        """Return what makes reductions share a loop: the looped axes that they bind and those that they stand in."""
        return self.looped(node.bound), self.looped(node.free)

    def access(self, load: Load) -> TileAccess | Gather:
        """Return how a load reaches memory."""
        if load not in self.access_memo:
            self.access_memo[load] = find_access(
                load.index, load.tensor.shape, self.tiled, guarded=load.fill is not None
            )
        return self.access_memo[load]

    def unique(self, base: str, scope: Scope | None = None, kind: object = None) -> str:
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
        """Return the name of an axis's tile extent, now a parameter of the kernel."""
        name = self.plan.plan(axis).block
        self.blocks[name] = None
        return name

    def size(self, expr: Expr) -> Text:
        """Write an expression over dim symbols; the symbols become integer arguments."""

        def name(atom_: Atom) -> str:
            if isinstance(atom_, SymbolAtom):
                self.sizes[atom_.name] = None
                return self.argument(atom_.name)
            return atom_.name  # type: ignore[union-attr]

        code = expr.text(name)
        return Text(code, 100 if re.fullmatch(r"\w+", code) else 0)

    def home(self, node: Node, scope: Scope) -> Scope:
        """Return the outermost place, from `scope` outwards, where everything that a node reads is there."""
        needed = self.looped(node.free)
        while scope.parent is not None and needed <= scope.parent.loops:
            scope = scope.parent
        return scope

    def shape(self, axes: frozenset[AxisAtom], frame: Frame) -> tuple[str, ...]:
        """Return the tile shape of a value that spans `axes`, in a frame."""
        return tuple(self.block_of(axis) if axis in axes else "1" for axis in frame)

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
        return _HINTS.get(node.op, "value") if isinstance(node, Compute) else "value"

    def comment(self, node: Node, scope: Scope) -> None:
        """Write the spec line that a value comes from, once a block."""
        line = self.line_of(node)
        if line is not None and self.source is not None and line not in scope.commented:
            scope.commented.add(line)
            scope.block.line(f"# {line}: {self.source.line(line).strip()}")

    def worth_a_name(self, node: Node, text: Text) -> bool:
        """Whether a value gets a variable: it is costly, used twice, long, or has a name in the reference."""
        if isinstance(node, Const | Parameter) or re.fullmatch(r"-?[\w.]+", text.code):
            return False
        if isinstance(node, Load | Reduce | Contract | Scan):
            return True
        return node in self.assigned or self.users.get(node, 1) > 1 or len(text.code) > _WIDE

    def frame_of(self, axes: frozenset[AxisAtom]) -> Frame:
        """Return the first frame that spans some axes.

        Raises:
            LookupError: no frame does; the schedule is wrong.
        """
        for frame in self.plan.frames:
            if axes <= frozenset(frame):
                return frame
        message = f"no frame holds {sorted(axis.name for axis in axes)}"
        raise LookupError(message)

    def fold_frame(self, node: Reduce | Contract) -> Frame:
        """Return the frame in which a reduction or contraction is worked out."""
        tiles = frozenset(axis for axis in node.free | node.bound if self.tiled(axis))
        if node in self.tensor_core:
            tiles = frozenset(axis for axis in node.free if self.tiled(axis))
        return self.frame_of(tiles)

    def ragged(self, axis: AxisAtom) -> bool:
        """Whether the last tile along `axis` may reach past its end."""
        if axis in self.full:
            return False
        extent, rule = axis.extent.value, self.plan.plan(axis).rule
        if extent is None:
            return True
        if isinstance(rule, Cover) and not rule.cap:
            return extent & (extent - 1) != 0
        if isinstance(rule, Fixed):
            return extent % rule.value != 0
        return True
