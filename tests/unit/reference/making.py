"""Spec files made by hand, for tests of the stages behind the model."""

from __future__ import annotations

import ast

from tilespec.diagnostics import SourceText, Span
from tilespec.model.dims import Expr, const, sym
from tilespec.model.types import DimRange, Kernel, Operation, ReferenceText, ScalarSpec, SpecFile, TensorSpec

ORIGIN = Span(0, 1)


def dim(text: str) -> Expr:
    """Return a dim expression from Python text."""

    def walk(node: ast.AST) -> Expr:
        if isinstance(node, ast.Name):
            return sym(node.id)
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return const(node.value)
        assert isinstance(node, ast.BinOp)
        left, right = walk(node.left), walk(node.right)
        operations = {
            ast.Add: lambda: left + right,
            ast.Sub: lambda: left - right,
            ast.Mult: lambda: left * right,
            ast.FloorDiv: lambda: left // right,
            ast.Mod: lambda: left % right,
        }
        return operations[type(node.op)]()

    return walk(ast.parse(text, mode="eval").body)


def tensor(text: str) -> TensorSpec:
    """Return a tensor from `name: D, 4 float16`."""
    name, _, rest = text.partition(":")
    shape, _, dtype = rest.strip().rpartition(" ")
    dims = tuple(dim(part.strip()) for part in shape.split(",") if part.strip())
    return TensorSpec(
        name=name.strip(), shape=dims, dtype=dtype, span=ORIGIN, shape_span=ORIGIN, dtype_span=ORIGIN
    )


def scalar(text: str) -> ScalarSpec:
    """Return a scalar from `eps: float = 1e-5`."""
    name, _, rest = text.partition(":")
    kind, _, default = rest.partition("=")
    value = ast.literal_eval(default.strip()) if default.strip() else None
    return ScalarSpec(name=name.strip(), kind=kind.strip(), default=value, span=ORIGIN)  # type: ignore[arg-type]


def item(text: str) -> TensorSpec | ScalarSpec:
    """Return a tensor or scalar, by what follows the colon."""
    kind = text.partition(":")[2].split("=")[0].strip()
    return scalar(text) if kind in {"float", "int", "bool"} else tensor(text)


def kernel(
    kernel_id: str,
    inputs: list[str],
    outputs: list[str],
    code: str,
    *,
    operations: tuple[str, ...] = (),
    dependencies: tuple[str, ...] = (),
) -> Kernel:
    """Return a kernel whose reference is `code`."""
    return Kernel(
        id=kernel_id,
        span=ORIGIN,
        description="",
        operations=tuple(Operation(name=name, written=name, label=None, span=ORIGIN) for name in operations),
        inputs=tuple(item(text) for text in inputs),
        outputs=tuple(tensor(text) for text in outputs),
        dependencies=dependencies,
        reference=reference(code),
    )


def reference(code: str) -> ReferenceText:
    """Return `code` as a reference that is the whole file."""
    return ReferenceText(source=SourceText("test.tilespec", code), text=code, first_line=1)


def spec(
    *kernels: Kernel, end_to_end: str | None = None, dims: dict[str, DimRange] | None = None
) -> SpecFile:
    """Return a file of these kernels."""
    return SpecFile(
        source=SourceText("test.tilespec", ""),
        name="test",
        kernels=kernels,
        dims=dims or {},
        end_to_end=None if end_to_end is None else reference(end_to_end),
        order=tuple(entry.id for entry in kernels),
        levels=tuple((entry.id,) for entry in kernels),
    )
