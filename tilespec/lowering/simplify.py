"""Rewrites that keep every bit: constants, neutral operands, casts, branches that are decided.

where(0 <= i, x[i], 0)  ->  x[i]            cast<float32>(cast<float32>(x))  ->  cast<float32>(x)
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tilespec.diagnostics import Span
from tilespec.ir.axes import substitute
from tilespec.ir.build import axis_expr, cast, compute, index_node, is_float, is_integer, literal
from tilespec.ir.nodes import (
    Compute,
    Const,
    Contract,
    Index,
    Load,
    Node,
    Program,
    Reduce,
    Scan,
    Store,
    postorder,
    rewrite,
)
from tilespec.lowering.values import inside
from tilespec.model.dims import AxisAtom, Expr, const

__all__ = ["simplify"]


def simplify(program: Program) -> Program:
    """Return the program with every expression simplified; values stay the same to the last bit."""
    memo: dict[Node, Node] = {}
    return replace(
        program,
        stores=tuple(
            Store(store.tensor, store.index, rewrite(store.value, _visit, memo), store.axes)
            for store in program.stores
        ),
    )


def _visit(node: Node) -> Node:
    if isinstance(node, Compute):
        return _compute(node)
    if isinstance(node, Load) and node.fill is not None and _inside(node):
        return replace(node, fill=None)
    if isinstance(node, Index):
        return index_node(node.expr)
    if isinstance(node, Scan):
        return _scan(node)
    if isinstance(node, Contract) and (_is(node.left, 0) or _is(node.right, 0)) and is_integer(node.dtype):
        return literal(node.dtype, 0)
    if isinstance(node, Reduce) and node.op in {"any", "all"} and isinstance(node.arg, Const):
        identity = node.op == "all"
        return node.arg if node.arg.value == identity else node
    return node


def _scan(node: Scan) -> Node:
    """Let a scan that reads its operand backwards run in reverse instead.

    scan r at i: x[n - 1 - r]   ->   reverse scan r at n - 1 - i: x[r]
    """
    read = [
        item
        for inner in postorder([node.arg])
        if isinstance(inner, Load)
        for item in inner.index
        if isinstance(item, Expr) and node.axis in item.axes
    ]
    strides = [_stride(item, node.axis) for item in read]
    if not strides or any(stride is None or stride >= 0 for stride in strides):
        return node
    last = node.axis.extent - 1
    arg = substitute(node.arg, {node.axis: last - axis_expr(node.axis)})
    return replace(node, arg=arg, at=last - node.at, reverse=not node.reverse)


def _stride(expr: Expr, along: AxisAtom) -> int | None:
    linear = expr.linear()
    stride = None if linear is None else linear[0].get(along)
    return None if stride is None else stride.value


def _inside(load: Load) -> bool:
    return all(
        isinstance(item, Expr) and inside(item, size)
        for item, size in zip(load.index, load.tensor.shape, strict=True)
    )


def _is(node: Node, value: float) -> bool:
    return isinstance(node, Const) and not isinstance(node.value, bool) and node.value == value


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def _compute(node: Compute) -> Node:
    if node.op == "cast":
        return _cast(node)
    if node.op == "where":
        return _where(node)
    if node.op in _COMPARE:
        return _comparison(node)
    if node.op in {"and", "or"} and node.dtype == "bool":
        return _logic(node)
    if node.op == "not" and node.dtype == "bool":
        return _negation(node)
    if node.op in _INTEGER and is_integer(node.dtype):
        return _integer(node)
    return _neutral(node)


_WIDER = {
    ("float16", "float32"), ("float16", "float64"), ("bfloat16", "float32"), ("bfloat16", "float64"),
    ("float32", "float64"), ("int8", "int16"), ("int8", "int32"), ("int8", "int64"), ("int16", "int32"),
    ("int16", "int64"), ("int32", "int64"), ("uint8", "int16"), ("uint8", "int32"), ("uint8", "int64"),
}  # fmt: skip


def _cast(node: Compute) -> Node:
    (arg,) = node.args
    if isinstance(arg, Compute) and arg.op == "cast":
        inner = arg.args[0]
        if (inner.dtype, arg.dtype) in _WIDER:
            return cast(inner, node.dtype, node.span)
    if (
        isinstance(arg, Compute)
        and arg.op == "where"
        and all(isinstance(side, Const) for side in arg.args[1:])
    ):
        test, yes, no = arg.args
        return _where(compute("where", test, cast(yes, node.dtype), cast(no, node.dtype), span=arg.span))
    if isinstance(arg, Compute) and arg.op == "cast" and arg.args[0].dtype == "bool" and node.dtype != "bool":
        return cast(arg.args[0], node.dtype, node.span)
    return cast(arg, node.dtype, node.span)


_OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}


def _negation(node: Node) -> Node:
    (arg,) = node.operands
    if isinstance(arg, Const):
        return literal("bool", not arg.value)
    if isinstance(arg, Compute) and arg.op == "not":
        return arg.args[0]
    if (
        isinstance(arg, Compute)
        and arg.op in _OPPOSITE
        and (arg.op in {"eq", "ne"} or not is_float(arg.args[0].dtype))
    ):
        # NaN is neither below nor above: only orders of integers have an opposite.
        return compute(_OPPOSITE[arg.op], *arg.args, span=arg.span)
    return node


def _where(node: Node) -> Node:
    """Decide it, or write it as `where(condition, value, constant)`, the form in which masks are recognised."""
    condition, yes, no = node.operands
    if isinstance(condition, Const):
        return yes if condition.value else no
    if yes is no:
        return yes
    if isinstance(condition, Compute) and condition.op == "not":
        return compute("where", condition.args[0], no, yes, span=_origin(node))
    if yes.dtype == "bool" and isinstance(yes, Const) and isinstance(no, Const):
        return condition if yes.value else _negation(compute("not", condition))
    if isinstance(yes, Compute) and yes.op == "where" and yes.args[2] is no and isinstance(no, Const):
        both = compute("and", condition, yes.args[0], span=_origin(node))
        return compute("where", both, yes.args[1], no, span=_origin(node))
    if isinstance(yes, Const) and not isinstance(no, Const):
        opposite = _negation(compute("not", condition))
        if isinstance(opposite, Compute) and opposite.op != "not":
            return compute("where", opposite, no, yes, span=_origin(node))
    return node


def _origin(node: Node) -> Span | None:
    return node.span if isinstance(node, Compute) else None


def _comparison(node: Node) -> Node:
    if not isinstance(node, Compute):
        return node
    left, right = node.args
    if isinstance(left, Const) and isinstance(right, Const):
        return literal("bool", _COMPARE[node.op](left.value, right.value))
    if isinstance(left, Compute) and left.op == "where" and isinstance(right, Const):
        test, yes, no = left.args
        if isinstance(yes, Const) and isinstance(no, Const):
            # A mask that was made as numbers: `torch.ones(n, n).tril() == 0`.
            sides = [_comparison(compute(node.op, side, right)) for side in (yes, no)]
            return _where(compute("where", test, *sides, span=node.span))
    first, second = _as_expr(left), _as_expr(right)
    if first is None or second is None:
        return node
    known = _decide(node.op, first - second)
    if known is not None:
        return literal("bool", known)
    return node


def _as_expr(node: Node) -> Expr | None:
    if isinstance(node, Index):
        return node.expr
    if isinstance(node, Const) and is_integer(node.dtype):
        return const(int(node.value))
    return None


def _decide(op: str, gap: Expr) -> bool | None:
    low, high = gap.is_nonnegative(), (-gap.upper()).is_nonnegative() or (-gap).is_nonnegative()
    above = (gap - 1).is_nonnegative()
    below = (-gap.upper() - 1).is_nonnegative() or (-gap - 1).is_nonnegative()
    if op == "ge":
        return True if low else False if below else None
    if op == "lt":
        return False if low else True if below else None
    if op == "le":
        return True if high else False if above else None
    if op == "gt":
        return False if high else True if above else None
    if gap.value == 0:
        return op == "eq"
    return (op == "ne") if above or below else None


def _logic(node: Compute) -> Node:
    left, right = node.args
    absorbing = node.op == "or"
    for this, other in ((left, right), (right, left)):
        if isinstance(this, Const):
            return this if bool(this.value) == absorbing else other
    return left if left is right else node


def _integer(node: Compute) -> Node:
    if len(node.args) != 2:
        return node
    left, right = node.args
    if isinstance(left, Const) and isinstance(right, Const) and node.dtype == "int64":
        made = _INTEGER[node.op](const(int(left.value)), const(int(right.value)))
        return literal("int64", made.value) if made is not None and made.value is not None else node
    if node.dtype == "int64":
        first, second = _as_expr(left), _as_expr(right)
        if first is not None and second is not None:
            expr = _INTEGER[node.op](first, second)
            if expr is not None:
                return index_node(expr)
    return _neutral(node)


def _quotient(left: Expr, right: Expr) -> Expr | None:
    return left // right if right.is_positive() else None


def _remainder(left: Expr, right: Expr) -> Expr | None:
    return left % right if right.is_positive() else None


_INTEGER: dict[str, Callable[[Expr, Expr], Expr | None]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": _quotient,
    "mod": _remainder,
}


def _is_negative_zero(node: Node) -> bool:
    return isinstance(node, Const) and str(node.value) == "-0.0"


def _neutral(node: Compute) -> Node:
    if len(node.args) != 2:
        return node
    left, right = node.args
    exact_zero = not is_float(node.dtype)
    if node.op == "mul":
        if _is(right, 1):
            return left
        if _is(left, 1):
            return right
    elif node.op == "div" and _is(right, 1):
        return left
    elif node.op == "add" and exact_zero:
        if _is(right, 0):
            return left
        if _is(left, 0):
            return right
    elif node.op == "sub" and _is(right, 0) and (exact_zero or not _is_negative_zero(right)):
        # x - 0.0 is x for every x; x + 0.0 would turn -0.0 into 0.0.
        return left
    return node
