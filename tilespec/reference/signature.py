"""What a reference is traced against, and small words about it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from tilespec.diagnostics import Span
from tilespec.model.dims import Expr
from tilespec.model.types import ScalarSpec, TensorSpec

__all__ = ["Signature", "last_return", "shape_text"]


@dataclass(frozen=True)
class Signature:
    """What a reference is traced against. `outputs` is None when nothing is declared about them."""

    entry: str
    inputs: tuple[TensorSpec | ScalarSpec, ...]
    outputs: tuple[TensorSpec, ...] | None
    span: Span

    @property
    def tensors(self) -> tuple[TensorSpec, ...]:
        """Tensor inputs in order."""
        return tuple(item for item in self.inputs if isinstance(item, TensorSpec))


def shape_text(shape: Sequence[Expr | int]) -> str:
    """Return `(B, D)`, and `(D,)` for one dim."""
    inner = ", ".join(str(dim) for dim in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def last_return(function: ast.FunctionDef) -> ast.AST:
    """Return the last `return` of a function, or the function without one."""
    found: ast.AST = function
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and (not isinstance(found, ast.Return) or node.lineno > found.lineno):
            found = node
    return found
