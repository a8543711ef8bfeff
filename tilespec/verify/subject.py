"""What is put to the test: a generated function with what its spec says of arguments and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from tilespec.diagnostics import SourceText, Span
from tilespec.model.dims import Expr
from tilespec.model.types import DimRange, Numerics, ScalarSpec, TensorSpec

__all__ = ["Arguments", "Bounds", "Case", "Chain", "Layout", "Move", "Reference", "Subject", "TensorCase"]

Scalar = float | int | bool
Arguments = Mapping[str, Tensor | float | int | bool]
Reference = Callable[[Arguments, bool], tuple[Tensor, ...]]
"""Evaluates the reference; True as second argument asks for the float64 golden."""
Move = Callable[[Arguments], Arguments]
Chain = Callable[[Arguments, Move], tuple[Tensor, ...]]
"""Evaluates the references of the kernels in turn, in their dtypes, and moves what each hands on: what right kernels, which
round in other places than eager, may give."""


@dataclass(frozen=True)
class Bounds:
    """Which values an input may take: `low` and `high` of floats, or `[0, extent)` of an index, and now and then `other`.

    A `finite` input is never infinite; it may be NaN.
    """

    low: float | None = None
    high: float | None = None
    extent: Expr | None = None
    other: int | None = None
    finite: bool = False


@dataclass(frozen=True)
class Subject:
    """One generated function.

    `module` is the generated file, `function` its entry; `inputs` are in spec order. `tiles` are tile sizes that the
    schedule uses: sizes beside them are where masks go wrong. `reference_name` is the function of the generated
    `reference.py` that computes the same, for the script that shows a failure. A launcher `checks_arguments`; a composed
    function leaves that to its launchers, who know the tensors by other names. Without `extreme`, no input is large,
    infinite or NaN.
    """

    name: str
    module: Path
    function: str
    source: SourceText
    span: Span | None
    inputs: tuple[TensorSpec | ScalarSpec, ...]
    outputs: tuple[TensorSpec, ...]
    reference: Reference
    dims: Mapping[str, DimRange] = field(default_factory=dict)
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numerics: Numerics = field(default_factory=Numerics)
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    tiles: tuple[int, ...] = ()
    reference_name: str = ""
    checks_arguments: bool = True
    extreme: bool = True
    chain: Chain | None = None
    """For a composed function: what its kernels give one after the other, see `Chain`."""
    fixed: frozenset[str] = frozenset()
    """Scalars that the kernel was made for one value of."""

    @property
    def tensors(self) -> tuple[TensorSpec, ...]:
        """Input tensors in order."""
        return tuple(item for item in self.inputs if isinstance(item, TensorSpec))

    @property
    def scalars(self) -> tuple[ScalarSpec, ...]:
        """Scalars in order."""
        return tuple(item for item in self.inputs if isinstance(item, ScalarSpec))

    @property
    def inplace(self) -> frozenset[str]:
        """Inputs that the launch may change."""
        return frozenset(item.inplace for item in self.outputs if item.inplace is not None)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Dim symbols of the inputs, in order of first use; those with an equation come last."""
        found: dict[str, None] = {}
        for tensor in (*self.tensors, *self.outputs):
            for size in tensor.shape:
                found.update(dict.fromkeys(sorted(size.symbols)))
        pending = list(found)
        while pending:
            equation = self._equation(pending.pop())
            for name in sorted(equation.symbols) if equation is not None else ():
                if name not in found:
                    found[name] = None
                    pending.append(name)
        return tuple(found)

    def _equation(self, name: str) -> Expr | None:
        return self.dims[name].equals if name in self.dims else None

    @property
    def free_symbols(self) -> tuple[str, ...]:
        """Symbols that are drawn, not computed."""
        return tuple(name for name in self.symbols if self._equation(name) is None)

    def sizes(self, drawn: Mapping[str, int]) -> dict[str, int] | None:
        """Add the symbols that equations give; None when they refer to each other."""
        values = dict(drawn)
        pending = [name for name in self.symbols if name not in values]
        while pending:
            left: list[str] = []
            for name in pending:
                equation = self._equation(name)
                if equation is not None and equation.symbols <= values.keys():
                    values[name] = equation.evaluate(values)
                else:
                    left.append(name)
            if len(left) == len(pending):
                return None
            pending = left
        return values


@dataclass(frozen=True)
class Layout:
    """Where the elements of a tensor lie: strides and offset, both in elements."""

    stride: tuple[int, ...]
    offset: int = 0


@dataclass(frozen=True)
class TensorCase:
    """One input of a case. `layout` None is contiguous; `kind`, `low`, `high`, `other` as in `make_tensor`."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    kind: str
    seed: int
    layout: Layout | None = None
    low: float | None = None
    high: float | None = None
    other: int | None = None


@dataclass(frozen=True)
class Case:
    """One set of arguments, as literals: enough to build it again anywhere."""

    sizes: tuple[tuple[str, int], ...]
    tensors: tuple[TensorCase, ...]
    scalars: tuple[tuple[str, Scalar], ...]

    @property
    def elements(self) -> int:
        """Number of elements over all inputs: what shrinking makes small."""
        total = 0
        for tensor in self.tensors:
            count = 1
            for size in tensor.shape:
                count *= size
            total += count
        return total

    @property
    def form(self) -> tuple[object, ...]:
        """Sizes, dtypes and layouts: what a launch depends on apart from the values."""
        return (self.sizes, tuple((item.dtype, item.layout) for item in self.tensors))

    def describe(self) -> str:
        """Say in one line what is special about this case."""
        sizes = ", ".join(f"{name}={value}" for name, value in self.sizes)
        tensors = ", ".join(
            f"{item.name}: {item.kind} {item.dtype}"
            + ("" if item.layout is None else f" strides {item.layout.stride}")
            for item in self.tensors
        )
        return f"{sizes or 'fixed sizes'}; {tensors or 'no tensors'}"
