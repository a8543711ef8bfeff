"""The syntax tree of a spec file: frozen, every node with its span.

Nodes say what is written, not what it means: `dtype=fp16` is a `Name` here and `float16` in the model. A field that
is missing or broken is `None` or left out; the finding that says so was made by the parser.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tilespec.diagnostics import SourceText, Span

__all__ = [
    "BenchRow",
    "Binary",
    "Call",
    "CompletenessNode",
    "DimLine",
    "DimNode",
    "ExactSize",
    "FileNode",
    "InputNode",
    "Keep",
    "KernelNode",
    "MappingLine",
    "Name",
    "Negate",
    "Note",
    "Number",
    "OperationNode",
    "OrderNode",
    "Parallel",
    "RangeNode",
    "ReferenceNode",
    "ScalarNode",
    "Sequence",
    "SetNode",
    "Setting",
    "ShapeNode",
    "SourceNode",
    "SummaryNode",
    "Suppression",
    "Symbol",
    "TensorNode",
    "TypeLine",
    "names_in_order",
    "symbols_in",
]


@dataclass(frozen=True, slots=True)
class Name:
    """A word, a dotted name or a piece of free text."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Number:
    """A number; `text` is as written, `value` an int where the text is one."""

    value: int | float
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name inside an expression."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Negate:
    """`-operand`."""

    operand: DimNode
    span: Span


@dataclass(frozen=True, slots=True)
class Binary:
    """`left op right`, `op` one of `+ - * // / % **`."""

    op: str
    left: DimNode
    right: DimNode
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """`min(...)`, `max(...)` or `ceildiv(...)`."""

    function: str
    arguments: tuple[DimNode, ...]
    span: Span


DimNode = Number | Symbol | Negate | Binary | Call


@dataclass(frozen=True, slots=True)
class ShapeNode:
    """`(B, S, D)`; the span covers the brackets."""

    dims: tuple[DimNode, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class RangeNode:
    """`low..high step n`; an end that is left out is None."""

    low: DimNode | None
    high: DimNode | None
    step: DimNode | None
    span: Span


@dataclass(frozen=True, slots=True)
class SetNode:
    """`in {8, 16, 32}`."""

    members: tuple[DimNode, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class ExactSize:
    """`= 4 * D`, or a bare `4`."""

    size: DimNode
    span: Span


@dataclass(frozen=True, slots=True)
class TensorNode:
    """`x: shape=(B, S), dtype=float16, from=a.y (remark)`."""

    name: Name
    shape: ShapeNode | None
    dtype: Name | None
    span: Span
    origin: Name | None = None
    inplace: Name | None = None
    layout: Name | None = None
    values: RangeNode | None = None
    remark: Name | None = None


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """`eps: scalar float = 1e-5`; `default` is a number expression or the name `True` or `False`."""

    name: Name
    kind: Name
    default: DimNode | None
    span: Span
    remark: Name | None = None


InputNode = TensorNode | ScalarNode


@dataclass(frozen=True, slots=True)
class OperationNode:
    """`matmul (gate)`."""

    name: Name
    label: Name | None
    span: Span


@dataclass(frozen=True, slots=True)
class Sequence:
    """`a -> b`: one after the other."""

    steps: tuple[OrderNode, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Parallel:
    """`a || b`: side by side."""

    steps: tuple[OrderNode, ...]
    span: Span


OrderNode = Name | Sequence | Parallel


@dataclass(frozen=True, slots=True)
class ReferenceNode:
    """Reference code: the lines from `first_line` to `last_line` of the file, `indent` columns to the right."""

    text: str
    first_line: int
    last_line: int
    indent: int
    span: Span


@dataclass(frozen=True, slots=True)
class Note:
    """One bullet of `Notes`, or a line without a bullet."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class DimLine:
    """One line of `Dims`."""

    name: Name
    rule: RangeNode | SetNode | ExactSize
    span: Span


@dataclass(frozen=True, slots=True)
class TypeLine:
    """`T in {float16, bfloat16}`."""

    name: Name
    members: tuple[Name, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Setting:
    """`key=value` of `Numerics` or `Bench`.

    `value` is a name, a number expression, a tuple of expressions, or `(name, name)` pairs.
    """

    key: Name
    value: Name | DimNode | ShapeNode | tuple[tuple[Name, Name], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class BenchRow:
    """`prefill: B=8, S=2048`; the label may be left out."""

    label: Name | None
    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class Keep:
    """`[dropout] because "inference only"`."""

    names: tuple[Name, ...]
    reason: Name | None
    span: Span


@dataclass(frozen=True, slots=True)
class SourceNode:
    """`model.py:FFN`."""

    path: str
    qualifier: str
    span: Span


@dataclass(frozen=True, slots=True)
class Suppression:
    """`# tilespec: ignore[TS402] reason`; `covers` is the text in which the named findings are left out."""

    codes: tuple[Name, ...]
    reason: str
    span: Span
    covers: Span


@dataclass(frozen=True, slots=True)
class SummaryNode:
    """`## Decomposition Summary`."""

    total: Number | None = None
    parallel: Name | None = None
    order: OrderNode | None = None


@dataclass(frozen=True, slots=True)
class MappingLine:
    """One line of a completeness check: `left -> right`, either side a list of ops or of kernel ids."""

    left: tuple[Name, ...]
    right: tuple[Name, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class CompletenessNode:
    """`## Completeness Check`. `gaps` is None without a `Gaps:` line and empty for `Gaps: NONE`."""

    operations: tuple[Name, ...]
    mapping: tuple[MappingLine, ...]
    gaps: tuple[Name, ...] | None
    span: Span


@dataclass(frozen=True, slots=True)
class KernelNode:
    """One KERNEL SPEC block. A field that was not written is None; a written empty list is an empty tuple.

    `complete` is False when the parser reported an error in the block and may have left something out.
    """

    id: Name
    span: Span
    description: Name | None = None
    operations: tuple[OperationNode, ...] | None = None
    inputs: tuple[InputNode, ...] | None = None
    outputs: tuple[TensorNode, ...] | None = None
    dependencies: tuple[Name, ...] | None = None
    shared_with: tuple[Name, ...] = ()
    reference: ReferenceNode | None = None
    notes: tuple[Note, ...] = ()
    dims: tuple[DimLine, ...] = ()
    types: tuple[TypeLine, ...] = ()
    numerics: tuple[Setting, ...] = ()
    bench: tuple[BenchRow, ...] = ()
    kept: tuple[Keep, ...] = ()
    complete: bool = True


@dataclass(frozen=True)
class FileNode:
    """A whole file; `complete` is False when the parser reported an error and left something out."""

    source: SourceText
    kernels: tuple[KernelNode, ...]
    summary: SummaryNode = field(default_factory=SummaryNode)
    dims: tuple[DimLine, ...] = ()
    types: tuple[TypeLine, ...] = ()
    numerics: tuple[Setting, ...] = ()
    bench: tuple[BenchRow, ...] = ()
    kept: tuple[Keep, ...] = ()
    code: SourceNode | None = None
    end_to_end: ReferenceNode | None = None
    completeness: CompletenessNode | None = None
    suppressions: tuple[Suppression, ...] = ()
    complete: bool = True


def names_in_order(order: OrderNode) -> Iterator[Name]:
    """Yield the kernel ids of an execution order, from left to right."""
    stack: list[OrderNode] = [order]
    while stack:
        node = stack.pop()
        if isinstance(node, Name):
            yield node
        else:
            stack.extend(reversed(node.steps))


def symbols_in(dim: DimNode) -> Iterator[Symbol]:
    """Yield the names inside an expression, from left to right."""
    stack: list[DimNode] = [dim]
    while stack:
        node = stack.pop()
        if isinstance(node, Symbol):
            yield node
        elif isinstance(node, Negate):
            stack.append(node.operand)
        elif isinstance(node, Binary):
            stack += (node.right, node.left)
        elif isinstance(node, Call):
            stack.extend(reversed(node.arguments))
