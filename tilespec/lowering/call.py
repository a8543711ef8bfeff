"""One ATen call as a lowering rule sees it: its operands as values, its arguments with defaults, its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, overload

from tilespec.diagnostics import Rule as Finding
from tilespec.diagnostics import Span
from tilespec.ir.axes import UnscannableError
from tilespec.ir.build import axis_expr, cast, compute, index_node, literal
from tilespec.ir.nodes import Compute, Const, Contract, Node, Parameter, Reduce
from tilespec.ir.nodes import Index as Position
from tilespec.lowering.values import Index, Value, broadcast_index, compute_dtype, read_at
from tilespec.model.dims import ONE, ZERO, AxisAtom, Expr, const
from tilespec.reference.graph import Argument, Ref, TensorMeta
from tilespec.reference.graph import Node as GraphNode
from tilespec.rules.lowering import UnsupportedArgument

__all__ = ["Call", "CannotLowerError", "Result", "Rule"]


class CannotLowerError(Exception):
    """Carries the finding of a call that can't be lowered up to `lower`."""

    def __init__(self, finding: Finding, span: Span | None) -> None:
        super().__init__(finding.message())
        self.finding = finding
        self.span = span


@dataclass(frozen=True, eq=False)
class Call:
    """One call. `values` holds what earlier calls made, by name; `parameters` the scalar arguments with their kind."""

    node: GraphNode
    values: Mapping[str, Result]
    parameters: Mapping[str, str]
    approximate: Mapping[str, str] = field(default_factory=dict[str, str])

    # arguments

    @property
    def op(self) -> str:
        """The op without its namespace and overload: `mm`."""
        return self.node.op.split(".")[1]

    @property
    def span(self) -> Span | None:
        """Where in the spec the call stands."""
        return self.node.span

    @property
    def meta(self) -> TensorMeta:
        """Shape and dtype of the first result."""
        return self.node.results[0]

    @property
    def kind(self) -> str:
        """The dtype that the first result is computed in."""
        return compute_dtype(self.meta.dtype)

    def raw(self, position: int, name: str, default: Argument = None) -> Argument:
        """Return an argument as traced, by position or keyword."""
        if position < len(self.node.args):
            return self.node.args[position]
        return dict(self.node.kwargs).get(name, default)

    def value(self, position: int, name: str = "") -> Value:
        """Return an argument as a value; numbers become 0-d values that don't promote."""
        return self.as_value(self.raw(position, name))

    def optional(self, position: int, name: str) -> Value | None:
        """Return an argument as a value, None when it is absent or None."""
        raw = self.raw(position, name)
        return None if raw is None else self.as_value(raw)

    def value_list(self, position: int, name: str) -> list[Value]:
        """Return an argument that is a list of tensors."""
        raw = self.raw(position, name)
        if not isinstance(raw, tuple):
            self.refuse(f"`{name}` is no list of tensors", "pass a list or tuple of tensors")
        return [self.as_value(item) for item in raw]

    def as_value(self, raw: Argument) -> Value:
        """Return a traced argument as a value."""
        if isinstance(raw, Ref):
            if raw.name in self.parameters:
                dtype = {"float": "float32", "int": "int64", "bool": "bool"}[self.parameters[raw.name]]
                return Value((), dtype, lambda _: Parameter(dtype, raw.name), weak=True)
            found = self.values[raw.name]
            return found[raw.index or 0] if isinstance(found, tuple) else found
        if isinstance(raw, Expr):
            return Value((), "int64", lambda _: index_node(raw), weak=True)
        if isinstance(raw, bool):
            return Value((), "bool", lambda _: literal("bool", raw), weak=True)
        if isinstance(raw, int):
            return Value((), "int64", lambda _: literal("int64", raw), weak=True)
        if isinstance(raw, float):
            return Value((), "float32", lambda _: literal("float64", raw), weak=True)
        return self.refuse(f"`{raw}` is no tensor or number", "pass a tensor or a number")

    def scalar(self, position: int, name: str, default: float | None, dtype: str) -> Node:
        """Return a number argument as a node of `dtype`: a literal, a size or a launch argument."""
        raw = self.raw(position, name, default)
        value = self.as_value(default if raw is None else raw)
        if value.rank:
            self.refuse(f"`{name}` is a tensor", "pass a number")
        return convert(value.at(()), dtype, self.span)

    def number(self, position: int, name: str, default: float) -> float:
        """Return an argument that must be a number known while building."""
        raw = self.raw(position, name, default)
        if raw is None:
            return default
        if isinstance(raw, Expr) and raw.value is not None:
            return raw.value
        if isinstance(raw, bool | int | float):
            return raw
        return self.refuse(f"`{name}` is not a literal", f"write `{name}` as a literal number")

    def flag(self, position: int, name: str, *, default: bool = False) -> bool:
        """Return a bool argument."""
        return bool(self.number(position, name, default))

    def size(self, position: int, name: str, default: int | None = None) -> Expr:
        """Return an integer argument that may be symbolic."""
        raw = self.raw(position, name, default)
        return self._size(raw, name)

    def _size(self, raw: Argument, name: str) -> Expr:
        if isinstance(raw, Expr):
            return raw
        if isinstance(raw, int):
            return const(int(raw))
        return self.refuse(
            f"`{name}` is neither a number nor a size", f"write `{name}` with literals and shapes"
        )

    def sizes(self, position: int, name: str, default: Argument = ()) -> tuple[Expr, ...]:
        """Return a list of integers; one integer counts as a list of one."""
        raw = self.raw(position, name, default)
        items = raw if isinstance(raw, tuple) else (raw,)
        return tuple(self._size(item, name) for item in items)

    def dim(self, position: int, name: str, rank: int, default: int = 0) -> int:
        """Return a dim number counted from 0."""
        if rank == 0:
            return 0
        number = int(self.number(position, name, default))
        return number + rank if number < 0 else number

    def dims(self, position: int, name: str, rank: int) -> tuple[int, ...]:
        """Return dim numbers counted from 0, in order; all of them when the argument is absent, None or empty.

        A 0-d tensor takes dim 0 or -1 and has none.
        """
        if rank == 0:
            return ()
        raw = self.raw(position, name)
        if raw is None or raw == ():
            return tuple(range(rank))
        items = raw if isinstance(raw, tuple) else (raw,)
        numbers = [self._size(item, name).value for item in items]
        known = [number for number in numbers if number is not None]
        if len(known) != len(numbers):
            self.refuse(f"`{name}` depends on sizes", f"write `{name}` as literals")
        return tuple(sorted(number + rank if number < 0 else number for number in known))

    # results

    def refuse(self, why: str, remedy: str) -> NoReturn:
        """Give up on this call, saying why it has no kernel and what would work.

        Raises:
            CannotLowerError: always.
        """
        raise CannotLowerError(UnsupportedArgument(self.op, why, remedy), self.span)

    def result(self, fetch: Callable[[Index], Node], *, number: int = 0) -> Value:
        """Return result `number` with its traced shape and dtype; `fetch` may give any dtype, it is converted."""
        meta = self.node.results[number]
        kind = compute_dtype(meta.dtype)
        return Value(meta.shape, meta.dtype, lambda index: convert(fetch(index), kind, self.span))

    @overload
    def pointwise(self, make: Callable[[Node], Node], x: Value, /, *, dtype: str | None = None) -> Value: ...

    @overload
    def pointwise(
        self, make: Callable[[Node, Node], Node], x: Value, y: Value, /, *, dtype: str | None = None
    ) -> Value: ...

    @overload
    def pointwise(
        self,
        make: Callable[[Node, Node, Node], Node],
        x: Value,
        y: Value,
        z: Value,
        /,
        *,
        dtype: str | None = None,
    ) -> Value: ...

    def pointwise(self, make: Callable[..., Node], *operands: Value, dtype: str | None = None) -> Value:
        """Return `make` of the broadcast operands, each converted to `dtype` (that of the result if None)."""
        kind = compute_dtype(dtype or self.meta.dtype)
        return self.result(
            lambda index: make(
                *(convert(item.at(broadcast_index(item.shape, index)), kind, self.span) for item in operands)
            )
        )

    def do(self, op: str, *args: Node) -> Node:
        """Return a table operation on nodes, with this call as its origin."""
        return compute(op, *args, span=self.span)

    def axis(self, tag: str, extent: Expr) -> Expr:
        """Return the axis `tag` of this call, or 0 when it has one element.

        Asking again for the same tag gives the same axis: the scopes of one call never nest over one tag.
        """
        if extent == ONE:
            return ZERO
        return axis_expr(AxisAtom(f"@{self.node.name}.{tag}", extent))

    def reduce(self, op: str, arg: Node, over: Sequence[Expr]) -> Node:
        """Return `op` of `arg` over the axes in `over`; entries that are 0 have one element and fall away."""
        axes = tuple(item.axis for item in over if item.axis is not None)
        if op in {"argmax", "argmin"}:
            return Reduce("int64", op, arg, axes, span=self.span) if axes else literal("int64", 0)
        return Reduce(arg.dtype, op, arg, axes, span=self.span) if axes else arg

    def contract(self, left: Node, right: Node, over: Sequence[Expr], operand: str) -> Node:
        """Return the sum of `left * right` over the axes in `over`, computed in their dtype."""
        axes = tuple(item.axis for item in over if item.axis is not None)
        if not axes:
            return self.do("mul", left, right)
        return Contract(left.dtype, left, right, axes, operand, span=self.span)

    def read(self, value: Value, index: Sequence[Expr | Node]) -> Node:
        """Return an element of `value` at an index that may hold data."""
        try:
            return read_at(value, index, self.node.name)
        except UnscannableError:
            self.refuse(
                "it picks from a running sum at positions that are data", "write the scan to an output first"
            )


def convert(node: Node, dtype: str, span: Span | None = None) -> Node:
    """Return `node` in a compute dtype.

    A float becomes an integer by truncation, as in torch. A number made of launch arguments and sizes alone is computed
    anew in float64 rather than widened, as Python's floats are.
    """
    if dtype == "float64" and node.dtype == "float32":
        wide = _widened(node)
        if wide is not None:
            return wide
    return cast(node, dtype, span)


def _widened(node: Node) -> Node | None:
    if isinstance(node, Parameter):
        return Parameter("float64", node.name)
    if isinstance(node, Const):
        return literal("float64", node.value)
    if not isinstance(node, Compute) or node.free:
        return None
    if node.op == "cast":
        return cast(node.args[0], "float64", node.span) if _is_count(node.args[0]) else None
    parts = [_widened(item) if item.dtype == "float32" else item for item in node.args]
    known = [item for item in parts if item is not None]
    if len(known) != len(parts) or not all(item.dtype == "float64" or _is_count(item) for item in known):
        return None
    return compute(node.op, *known, span=node.span)


def _is_count(node: Node) -> bool:
    return isinstance(node, Parameter | Position | Const) and node.dtype != "float32"


Result = Value | tuple[Value, ...]
Rule = Callable[[Call], Result]
