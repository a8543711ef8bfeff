"""Small makers of nodes: literals, casts and table operations with their dtypes filled in."""

from __future__ import annotations

from tilespec.diagnostics import Span
from tilespec.ir.nodes import Compute, Const, Index, Node
from tilespec.ir.ops import OPS
from tilespec.model.dims import AxisAtom, Expr

__all__ = ["axis_expr", "cast", "compute", "index_node", "is_float", "is_integer", "literal"]


def is_float(dtype: str) -> bool:
    """Whether `dtype` is a floating dtype."""
    return dtype.startswith(("float", "bfloat"))


def is_integer(dtype: str) -> bool:
    """Whether `dtype` is an integer dtype; bool is none."""
    return dtype.startswith(("int", "uint"))


def literal(dtype: str, value: float | bool) -> Const:  # noqa: FBT001 - the literal itself
    """Return the literal `value` in `dtype`, as torch would convert it."""
    if is_float(dtype):
        return Const(dtype, float(value))
    if dtype == "bool":
        return Const(dtype, bool(value))
    return Const(dtype, int(value))


def compute(op: str, *args: Node, span: Span | None = None) -> Node:
    """Return `op(*args)` with the dtype that the table of operations gives."""
    rule = OPS[op]
    dtype = "bool" if rule.result == "bool" else args[-1].dtype
    return Compute(dtype, op, args, span=span)


def cast(node: Node, dtype: str, span: Span | None = None) -> Node:
    """Return `node` converted to `dtype`: literals at once, to bool as `!= 0`."""
    if node.dtype == dtype:
        return node
    if isinstance(node, Const) and not dtype.startswith("float8") and dtype not in {"float16", "bfloat16"}:
        if not is_integer(dtype) or node.value == node.value // 1:
            return literal(dtype, node.value)
        return literal(dtype, int(node.value))
    if dtype == "bool":
        return compute("ne", node, literal(node.dtype, 0), span=span)
    return Compute(dtype, "cast", (node,), span=span)


def axis_expr(atom: AxisAtom) -> Expr:
    """Return the expression that is just this axis."""
    return Expr((((atom,), 1),))


def index_node(expr: Expr) -> Node:
    """Return the int64 value of an index expression."""
    value = expr.value
    return Index("int64", expr) if value is None else Const("int64", value)
