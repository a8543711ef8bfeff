"""Say why torch refuses a call: name both operands and the dims that do not fit."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from torch import Tensor

from tilespec.diagnostics import Rule
from tilespec.model.dims import Expr
from tilespec.reference.check import Program
from tilespec.reference.evaluator import Value
from tilespec.rules import reference as rules

__all__ = ["explain", "operand_nodes"]

_PRODUCTS = frozenset({"matmul", "mm", "bmm", "mv", "dot", "linear"})
_ELEMENTWISE = frozenset(
    {
        "add",
        "sub",
        "mul",
        "div",
        "where",
        "maximum",
        "minimum",
        "pow",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "lerp",
    }
)


def explain(
    program: Program,
    node: ast.AST,
    operands: Sequence[Value],
    shape: Callable[[Tensor], tuple[Expr, ...]],
    reason: str,
) -> Rule:
    """Return the rule that fits a failed call best; `reason` is torch's own first line."""
    written = operand_nodes(node)
    tensors = [value for value in operands if isinstance(value, Tensor)]
    name = _called(node)
    if len(tensors) == _PAIR and written is not None:
        shapes = [shape(tensor) for tensor in tensors]
        texts = [program.text(part) for part in written]
        if name in _PRODUCTS:
            found = _contraction(program.text(node), name, texts, shapes)
            if found is not None:
                return found
        elif name in _ELEMENTWISE and not _broadcasts(*shapes):
            left, right = (_shape(item) for item in shapes)
            return rules.BroadcastMismatch(program.text(node), texts[0], left, texts[1], right)
    return rules.ReferenceRaises(program.text(node), reason)


_PAIR = 2
_OPERATORS: dict[type[ast.operator], str] = {
    ast.MatMult: "matmul", ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow",
    ast.FloorDiv: "div", ast.Mod: "div", ast.BitAnd: "mul", ast.BitOr: "mul", ast.BitXor: "mul",
}  # fmt: skip


def _called(node: ast.AST) -> str:
    if isinstance(node, ast.BinOp):
        return _OPERATORS.get(type(node.op), "")
    if isinstance(node, ast.Compare):
        return "eq"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr
    return ""


def operand_nodes(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return the two expressions that a call or operator combines, where it has two."""
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    if isinstance(node, ast.Compare):
        return node.left, node.comparators[0]
    if isinstance(node, ast.Call):
        values = list(node.args)
        if len(values) == 1 and isinstance(node.func, ast.Attribute):
            return node.func.value, values[0]
        if len(values) >= _PAIR:
            return values[0], values[1]
    return None


def _contraction(
    text: str, name: str, texts: Sequence[str], shapes: Sequence[tuple[Expr, ...]]
) -> Rule | None:
    left, right = shapes
    if not left or not right:
        return None
    # A linear layer holds its weight as outputs by inputs.
    place = -1 if name == "linear" or len(right) == 1 else -2
    left_dim, right_dim = left[-1], right[place]
    if left_dim == right_dim:
        return None
    other = right[-1] if place == -2 else right[0]
    return rules.ContractionMismatch(
        text,
        texts[0],
        str(left_dim),
        texts[1],
        str(right_dim),
        transposes=other == left_dim and len(right) > 1,
    )


def _broadcasts(left: Sequence[Expr], right: Sequence[Expr]) -> bool:
    pairs = zip(reversed(left), reversed(right), strict=False)
    return all(one == other or one.value == 1 or other.value == 1 for one, other in pairs)


def _shape(dims: Sequence[Expr]) -> str:
    inner = ", ".join(str(dim) for dim in dims)
    return f"({inner},)" if len(dims) == 1 else f"({inner})"
