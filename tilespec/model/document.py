"""The model as a plain document, for other programs: sizes as text, places left out.

`docs/reference/model.schema.json` is the JSON Schema of it, generated from these classes.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from tilespec.model.types import DimRange, FloatRange, Kernel, Numerics, ScalarSpec, SpecFile, TensorSpec

__all__ = ["SpecDocument", "document", "schema"]


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TensorDocument(_Document):
    """A tensor; `dtype` is a torch name or a type variable of the file."""

    name: str
    shape: tuple[str, ...] = Field(description="Sizes, each an expression over dim symbols")
    dtype: str
    origin: str | None = Field(None, description="`from=`: kernel.output, or a composition input")
    remark: str | None = None
    inplace: str | None = None
    layout: str | None = None
    values: tuple[float | None, float | None] | None = Field(
        None, description="Least and greatest; null is open"
    )


class ScalarDocument(_Document):
    """A scalar launch argument; `default` is null when the file gives no value."""

    name: str
    kind: str
    default: bool | int | float | None


class OperationDocument(_Document):
    """An entry of `Operations`, under its canonical name."""

    name: str
    written: str
    label: str | None


class NumericsDocument(_Document):
    """The `Numerics` field with its defaults."""

    accumulate: str
    tf32: str
    approximate: dict[str, str]
    tolerance: tuple[float, float] | None


class KernelDocument(_Document):
    """One KERNEL SPEC block."""

    id: str
    description: str
    operations: tuple[OperationDocument, ...]
    inputs: tuple[TensorDocument | ScalarDocument, ...]
    outputs: tuple[TensorDocument, ...]
    dependencies: tuple[str, ...]
    shared_with: tuple[str, ...]
    reference: str | None
    reference_generated: bool
    notes: tuple[str, ...]
    numerics: NumericsDocument
    keep_in_pytorch: dict[str, str] = Field(description="Reasons by operation")
    bench: tuple[dict[str, int], ...]


class DimDocument(_Document):
    """What `Dims` says of a symbol."""

    low: int
    high: int | None
    step: int
    choices: tuple[int, ...] | None
    equals: str | None


class SpecDocument(_Document):
    """A spec file as tilespec understands it."""

    name: str
    kernels: tuple[KernelDocument, ...]
    dims: dict[str, DimDocument]
    types: dict[str, tuple[str, ...]]
    end_to_end: str | None
    source: str | None
    order: tuple[str, ...] = Field(description="Kernel ids, producers first")
    levels: tuple[tuple[str, ...], ...] = Field(description="Kernel ids that may run together")


def schema() -> dict[str, object]:
    """Return the JSON Schema of the document."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **SpecDocument.model_json_schema()}


def document(spec: SpecFile) -> SpecDocument:
    """Return the document of a file."""
    return SpecDocument(
        name=spec.name,
        kernels=tuple(_kernel(kernel) for kernel in spec.kernels),
        dims={name: _dim(limits) for name, limits in spec.dims.items()},
        types=spec.types,
        end_to_end=spec.end_to_end.text if spec.end_to_end is not None else None,
        source=spec.source_path,
        order=spec.order,
        levels=spec.levels,
    )


def _kernel(kernel: Kernel) -> KernelDocument:
    return KernelDocument(
        id=kernel.id,
        description=kernel.description,
        operations=tuple(
            OperationDocument(name=item.name, written=item.written, label=item.label)
            for item in kernel.operations
        ),
        inputs=tuple(
            _scalar(item) if isinstance(item, ScalarSpec) else _tensor(item) for item in kernel.inputs
        ),
        outputs=tuple(_tensor(item) for item in kernel.outputs),
        dependencies=kernel.dependencies,
        shared_with=kernel.shared_with,
        reference=kernel.reference.text if kernel.reference is not None else None,
        reference_generated=kernel.reference is not None and bool(kernel.reference.generated),
        notes=kernel.notes,
        numerics=_numerics(kernel.numerics),
        keep_in_pytorch={item.op: item.reason for item in kernel.kept},
        bench=kernel.bench,
    )


def _tensor(item: TensorSpec) -> TensorDocument:
    return TensorDocument(
        name=item.name,
        shape=tuple(str(dim) for dim in item.shape),
        dtype=item.dtype,
        origin=item.origin,
        remark=item.remark,
        inplace=item.inplace,
        layout=item.layout,
        values=_ends(item.values) if item.values is not None else None,
    )


def _ends(values: FloatRange) -> tuple[float | None, float | None]:
    """Return the ends of a range; JSON has no infinity."""
    low = None if values.low == float("-inf") else values.low
    high = None if values.high == float("inf") else values.high
    return low, high


def _scalar(item: ScalarSpec) -> ScalarDocument:
    return ScalarDocument(name=item.name, kind=item.kind, default=item.default)


def _numerics(numerics: Numerics) -> NumericsDocument:
    return NumericsDocument(
        accumulate=numerics.accumulate,
        tf32=numerics.tf32,
        approximate=numerics.approximate,
        tolerance=numerics.tolerance,
    )


def _dim(limits: DimRange) -> DimDocument:
    return DimDocument(
        low=limits.low,
        high=limits.high,
        step=limits.step,
        choices=limits.choices,
        equals=None if limits.equals is None else str(limits.equals),
    )
