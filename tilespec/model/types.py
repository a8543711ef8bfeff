"""The validated model of a spec file: what every later stage reads.

Built by `model.build` from the syntax tree. Pydantic validates at this border; later stages trust it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tilespec.diagnostics import SourceText, Span
from tilespec.model.dims import Expr

__all__ = [
    "Claim",
    "Completeness",
    "DimRange",
    "Edge",
    "FloatRange",
    "KeptOp",
    "Kernel",
    "Mapping",
    "Numerics",
    "Operation",
    "ReferenceText",
    "ScalarSpec",
    "SpecFile",
    "TensorSpec",
]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True, extra="forbid")


class ReferenceText(_Model):
    """Reference code as it stands in the file, dedented.

    Line `n` of `text` (from 1) is line `first_line + n - 1` of the file, shifted right by `indent` columns. Of a text
    that was generated, `generated` has the place in the file that each line comes from.
    """

    source: SourceText
    text: str
    first_line: int
    indent: int = 0
    generated: tuple[Span, ...] = ()

    def span(self, line: int, column: int, end_line: int, end_column: int) -> Span:
        """Map an `ast` position (lines from 1, columns from 0) to the file."""
        if self.generated:
            last = len(self.generated)
            return self.generated[min(line, last) - 1].to(self.generated[min(end_line, last) - 1])

        def offset(at_line: int, at_column: int) -> int:
            return self.source.line_start(self.first_line + at_line - 1) + self.indent + at_column

        return Span(offset(line, column), offset(end_line, end_column))


class FloatRange(_Model):
    """`values=low..high` of a tensor: the closed range that fuzzing draws from."""

    low: float
    high: float


class TensorSpec(_Model):
    """One tensor of a kernel. `dtype` is a torch name, or the name of a type variable of the file."""

    name: str
    shape: tuple[Expr, ...]
    dtype: str
    span: Span
    shape_span: Span
    dtype_span: Span
    remark: str | None = None
    origin: str | None = None
    """The `from=` text: `kernel.output`, or a composition input by its name."""
    inplace: str | None = None
    layout: str | None = None
    values: FloatRange | None = None


class ScalarSpec(_Model):
    """One scalar launch argument; `default` is None when the file gives no value."""

    name: str
    kind: Literal["float", "int", "bool"]
    default: float | int | bool | None
    span: Span


class Operation(_Model):
    """One entry of `Operations`; `name` is canonical, `written` is as in the file."""

    name: str
    written: str
    label: str | None
    span: Span


class Numerics(_Model):
    """The `Numerics` field: every entry has the safe default."""

    accumulate: str = "float32"
    tf32: Literal["never", "allow"] = "never"
    approximate: dict[str, str] = Field(default_factory=dict)
    tolerance: tuple[float, float] | None = None


class KeptOp(_Model):
    """One op left to PyTorch, with the reason given."""

    op: str
    reason: str
    span: Span


class Kernel(_Model):
    """One KERNEL SPEC block."""

    id: str
    span: Span
    description: str
    operations: tuple[Operation, ...]
    inputs: tuple[TensorSpec | ScalarSpec, ...]
    outputs: tuple[TensorSpec, ...]
    dependencies: tuple[str, ...]
    shared_with: tuple[str, ...] = ()
    reference: ReferenceText | None
    notes: tuple[str, ...] = ()
    note_spans: tuple[Span, ...] = ()
    numerics: Numerics = Numerics()
    kept: tuple[KeptOp, ...] = ()
    bench: tuple[dict[str, int], ...] = ()

    @property
    def tensors(self) -> tuple[TensorSpec, ...]:
        """Input tensors in order."""
        return tuple(item for item in self.inputs if isinstance(item, TensorSpec))

    @property
    def scalars(self) -> tuple[ScalarSpec, ...]:
        """Scalar inputs in order."""
        return tuple(item for item in self.inputs if isinstance(item, ScalarSpec))


class DimRange(_Model):
    """What `Dims` says of a symbol: bounds, step, an explicit set, or an equation (`D_ff: = 4 * D`)."""

    low: int = 1
    high: int | None = None
    step: int = 1
    choices: tuple[int, ...] | None = None
    equals: Expr | None = None


class Edge(_Model):
    """Where one kernel input comes from.

    `producer` is a kernel id and `output` its output's name; `producer` None means the composition input `output`.
    """

    consumer: str
    input: str
    producer: str | None
    output: str
    inferred: bool
    why: str


class Claim(_Model):
    """A name in a hand-written completeness check, and where it stands."""

    text: str
    span: Span


class Mapping(_Model):
    """One line of a hand-written completeness check: ops on one side, kernel ids on the other."""

    left: tuple[Claim, ...]
    right: tuple[Claim, ...]
    span: Span


class Completeness(_Model):
    """A hand-written `## Completeness Check`. `gaps` is None where the file has no `Gaps:` line."""

    operations: tuple[Claim, ...]
    mapping: tuple[Mapping, ...]
    gaps: tuple[Claim, ...] | None
    span: Span


class SpecFile(_Model):
    """A whole file. `order` lists kernel ids so that producers stand first; `levels` groups what may run together."""

    source: SourceText
    name: str
    kernels: tuple[Kernel, ...]
    dims: dict[str, DimRange] = Field(default_factory=dict)
    types: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    end_to_end: ReferenceText | None = None
    source_path: str | None = None
    """The `Source` field as written: `model.py:FFN`."""
    source_span: Span | None = None
    completeness: Completeness | None = None
    order: tuple[str, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()

    def kernel(self, kernel_id: str) -> Kernel:
        """Return the kernel with this id.

        Raises:
            KeyError: no such kernel.
        """
        for kernel in self.kernels:
            if kernel.id == kernel_id:
                return kernel
        raise KeyError(kernel_id)
