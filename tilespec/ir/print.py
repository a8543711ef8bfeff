"""The readable text of a tile program: one line a value that is used twice or reduces, operands inline.

program rms(x: float16[B, D]; eps: float)
v0 = reduce sum over d<D: square...
y[b, d] over b<B, d<D = cast<float32>(x[b, d]) * v0
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tilespec.ir.nodes import (
    Compute,
    Const,
    Contract,
    Index,
    Load,
    Node,
    Parameter,
    Program,
    Reduce,
    Scan,
    Tensor,
    postorder,
)
from tilespec.model.dims import AxisAtom, Expr

__all__ = ["print_node", "print_program"]

_DEEPEST = 12
"""Expressions nested deeper than this are cut in two lines."""

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip


def print_program(program: Program) -> str:
    """Return the text of a program; equal programs give equal text."""
    return _Printer(program).text()


def print_node(node: Node) -> str:
    """Return the text of one expression on one line, with nothing shared."""
    return _Text({}).expression(node)


def _tensor(tensor: Tensor) -> str:
    return f"{tensor.name}: {tensor.dtype}[{', '.join(map(str, tensor.shape))}]"


def _axes(axes: Iterable[AxisAtom]) -> str:
    return ", ".join(f"{atom.name}<{atom.extent}" for atom in axes)


class _Text:
    def __init__(self, names: dict[Node, str]) -> None:
        self.names = names

    def use(self, node: Node) -> str:
        return self.names.get(node) or self.expression(node)

    def expression(self, node: Node) -> str:
        if isinstance(node, Const):
            return (
                f"{node.value}"
                if node.dtype in {"bool", "int64", "float32"}
                else f"{node.value}:{node.dtype}"
            )
        if isinstance(node, Parameter):
            return node.name
        if isinstance(node, Index):
            return f"index({node.expr})"
        if isinstance(node, Load):
            return self._load(node)
        if isinstance(node, Compute):
            return self._compute(node)
        if isinstance(node, Reduce):
            return f"reduce {node.op} over {_axes(node.axes)}: {self.use(node.arg)}"
        if isinstance(node, Contract):
            kind = node.operand if node.operand == node.dtype else f"{node.operand}->{node.dtype}"
            return f"contract<{kind}> over {_axes(node.axes)}: {self.use(node.left)} @ {self.use(node.right)}"
        if isinstance(node, Scan):
            way = "reverse scan" if node.reverse else "scan"
            return f"{way} {node.op} over {_axes((node.axis,))} at {node.at}: {self.use(node.arg)}"
        message = f"{type(node).__name__} has no text"
        raise TypeError(message)

    def _load(self, node: Load) -> str:
        index = ", ".join(str(item) if isinstance(item, Expr) else self.use(item) for item in node.index)
        fill = "" if node.fill is None else f" else {node.fill}"
        return f"{node.tensor.name}[{index}{fill}]"

    def _compute(self, node: Compute) -> str:
        args = [self.use(item) for item in node.args]
        if node.op == "cast":
            return f"{node.dtype}({args[0]})"
        if node.op in _INFIX:
            return f"({args[0]} {_INFIX[node.op]} {args[1]})"
        return f"{node.op}({', '.join(args)})"


class _Printer:
    def __init__(self, program: Program) -> None:
        self.program = program

    def text(self) -> str:
        program = self.program
        parts = [", ".join(_tensor(item) for item in program.inputs)]
        if program.parameters:
            parts.append(", ".join(f"{name}: {kind}" for name, kind in program.parameters))
        lines = [f"program {program.name}({'; '.join(parts)})"]
        writer = _Text({})
        roots = [store.value for store in program.stores]
        uses: Counter[Node] = Counter(roots)
        order = list(postorder(roots))
        for node in order:
            uses.update(node.operands)
        depth: dict[Node, int] = {}
        for node in order:
            depth[node] = 1 + max((depth[item] for item in node.operands), default=0)
            named = isinstance(node, Reduce | Contract | Scan) or (
                isinstance(node, Compute) and uses[node] > 1
            )
            if named or depth[node] > _DEEPEST:
                depth[node] = 0
                text = writer.expression(node)
                writer.names[node] = f"v{len(writer.names)}"
                lines.append(f"  {writer.names[node]} = {text}")
        for store in program.stores:
            index = ", ".join(map(str, store.index))
            over = f" over {_axes(store.axes)}" if store.axes else ""
            lines.append(f"  {_tensor(store.tensor)}")
            lines.append(f"    [{index}]{over} = {writer.use(store.value)}")
        return "\n".join(lines) + "\n"
