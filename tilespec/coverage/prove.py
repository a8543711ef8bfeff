"""Prove a wiring: compose the kernels' references in float64 and compare with the end-to-end reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from torch import Tensor

from tilespec.coverage.values import draw, same
from tilespec.diagnostics import Diagnostic
from tilespec.model.types import DimRange, Edge, ScalarSpec, SpecFile, TensorSpec
from tilespec.model.wiring import composition_inputs, final_outputs
from tilespec.reference.check import check
from tilespec.reference.compose import composition_inputs as end_to_end_inputs
from tilespec.reference.compose import entry_of
from tilespec.reference.evaluate import EvaluationError, evaluate
from tilespec.reference.sizes import SizeSpace, symbols_of
from tilespec.rules import reference as rules

__all__ = ["MOST_TRIED", "WiringProof", "compose", "prove_wiring", "sample_sizes"]

MOST_TRIED = 64
"""Wirings that are compared before the search gives up."""

_ELEMENTS = 4_000_000
_SEEDS = (1, 2)


@dataclass(frozen=True)
class WiringProof:
    """The wiring that holds; `outputs` are the final ones as `(kernel, output)`, in the order of the end-to-end reference.

    `proved` is False where there is nothing to compare with, or the sizes are too large to compute here.
    """

    edges: tuple[Edge, ...]
    outputs: tuple[tuple[str, str], ...]
    proved: bool
    tried: int


@dataclass(frozen=True)
class _Case:
    """Inputs at one choice of sizes, and what the end-to-end reference makes of them."""

    sizes: Mapping[str, int]
    seed: int
    expected: tuple[Tensor, ...]


def prove_wiring(
    spec: SpecFile, assignments: Iterable[tuple[Edge, ...]]
) -> tuple[WiringProof | None, list[Diagnostic]]:
    """Return the first assignment whose composition equals the end-to-end reference.

    Without an end-to-end reference the first assignment is taken as it is, with the outputs that nobody consumes.
    """
    candidates = list(islice(assignments, MOST_TRIED))
    if not candidates:
        return None, []
    first = candidates[0]
    unproved = WiringProof(
        first,
        tuple((kernel, output.name) for kernel, output in final_outputs(spec, first)),
        proved=False,
        tried=0,
    )
    if spec.end_to_end is None or any(kernel.reference is None for kernel in spec.kernels):
        return unproved, []
    program, findings = check(spec.end_to_end)
    entry = None if program is None else entry_of(program)
    if program is None or entry is None:
        return None, findings
    inputs, missing = end_to_end_inputs(spec, program, entry)
    if missing:
        return None, missing
    named = {item.name: item for item in inputs}
    cases = _cases(spec, named, entry)
    if isinstance(cases, list) and not cases:
        return unproved, []
    if not isinstance(cases, list):
        return None, cases.diagnostics
    return _search(spec, candidates, named, cases, program.span(program.functions[entry]))


def _search(
    spec: SpecFile,
    candidates: Sequence[tuple[Edge, ...]],
    named: Mapping[str, TensorSpec | ScalarSpec],
    cases: Sequence[_Case],
    span: Any,  # noqa: ANN401 (Span or None)
) -> tuple[WiringProof | None, list[Diagnostic]]:
    difference = ""
    for tried, edges in enumerate(candidates, 1):
        outputs: tuple[tuple[str, str], ...] | None = None
        reason = None
        for case in cases:
            found = _outputs(spec, edges, named, case)
            if isinstance(found, str):
                reason = found
                break
            if outputs is not None and found != outputs:
                reason = "outputs agree for some sizes only"
                break
            outputs = found
        if reason is None and outputs is not None:
            return WiringProof(edges, outputs, proved=True, tried=tried), []
        difference = difference or reason or ""
    return None, [rules.WiringDisproved(len(candidates), difference).at(spec.source, span)]


def sample_sizes(spec: SpecFile, count: int) -> list[dict[str, int]]:
    """Return small sizes, different for different symbols where `Dims` lets them be."""
    shapes = [tensor.shape for kernel in spec.kernels for tensor in (*kernel.tensors, *kernel.outputs)]
    dims = {name: _near(entry) for name, entry in spec.dims.items()}
    space = SizeSpace(symbols_of(shapes), dims, tuple(dim for shape in shapes for dim in shape))
    drawn = space.samples(8 * count, least=2, largest=12)
    ranked = sorted(drawn, key=lambda sizes: (len(sizes) - len(set(sizes.values())), sum(sizes.values())))
    return ranked[: 4 * count]


def _near(entry: DimRange) -> DimRange:
    """Narrow a range to sizes beside its least: the file allows large ones, and none can be computed here."""
    if entry.choices is not None or entry.high is None:
        return entry
    return entry.model_copy(update={"high": min(entry.high, max(12, entry.low + 4 * entry.step))})


def _cases(
    spec: SpecFile, named: Mapping[str, TensorSpec | ScalarSpec], entry: str
) -> list[_Case] | EvaluationError:
    """Return cases that the end-to-end reference can compute; none when every choice is too large."""
    cases: list[_Case] = []
    failure: EvaluationError | None = None
    for sizes in sample_sizes(spec, len(_SEEDS)):
        if _elements(spec, sizes) > _ELEMENTS:
            continue
        seed = _SEEDS[len(cases)]
        try:
            assert spec.end_to_end is not None  # noqa: S101 (the caller looked)
            expected = evaluate(
                spec.end_to_end, draw(spec, named.items(), sizes, seed), widen=True, entry=entry
            )
        except EvaluationError as error:
            failure = error
            continue
        cases.append(_Case(sizes, seed, expected))
        if len(cases) == len(_SEEDS):
            break
    return failure if failure is not None and not cases else cases


def _elements(spec: SpecFile, sizes: Mapping[str, int]) -> int:
    total = 0
    for kernel in spec.kernels:
        for tensor in (*kernel.tensors, *kernel.outputs):
            count = 1
            for dim in tensor.shape:
                count *= dim.evaluate(sizes)
            total += count
    return total


def compose(
    spec: SpecFile, edges: Sequence[Edge], arguments: Mapping[str, Any], *, widen: bool = True
) -> dict[tuple[str, str], Tensor]:
    """Run every kernel's reference along `edges`; return each output by `(kernel, output)`.

    Raises:
        EvaluationError: a reference cannot be evaluated.
    """
    results: dict[tuple[str, str], Tensor] = {}
    for kernel_id in spec.order or tuple(kernel.id for kernel in spec.kernels):
        kernel = spec.kernel(kernel_id)
        given: dict[str, Any] = {}
        for edge in edges:
            if edge.consumer != kernel_id:
                continue
            source = arguments if edge.producer is None else results
            key = edge.output if edge.producer is None else (edge.producer, edge.output)
            given[edge.input] = source[key]  # type: ignore[index]
        values = evaluate(kernel, given, widen=widen)
        results.update(
            {(kernel_id, output.name): value for output, value in zip(kernel.outputs, values, strict=False)}
        )
    return results


def _outputs(
    spec: SpecFile, edges: tuple[Edge, ...], named: Mapping[str, TensorSpec | ScalarSpec], case: _Case
) -> tuple[tuple[str, str], ...] | str:
    """Return which kernel outputs the end-to-end results are, or why there are none."""
    items: dict[str, TensorSpec | ScalarSpec] = {
        entry.name: entry.spec for entry in composition_inputs(spec, edges)
    }
    items.update(named)
    # The end-to-end arguments come first, so that they are drawn as they were for the expected result.
    ordered = [*named.items(), *((name, item) for name, item in items.items() if name not in named)]
    try:
        results = compose(spec, edges, draw(spec, ordered, case.sizes, case.seed))
    except EvaluationError as error:
        return str(error) or "a kernel has no reference"
    unconsumed = [(kernel, output.name) for kernel, output in final_outputs(spec, edges)]
    preferred = [*unconsumed, *(key for key in results if key not in unconsumed)]
    found: list[tuple[str, str]] = []
    for number, expected in enumerate(case.expected):
        match = [key for key in preferred if key not in found and same(results[key], expected)]
        if not match:
            return _difference(
                number, len(case.expected), expected, [(key, results[key]) for key in preferred]
            )
        found.append(match[0])
    return tuple(found)


def _difference(
    number: int, count: int, expected: Tensor, results: Sequence[tuple[tuple[str, str], Tensor]]
) -> str:
    which = "its result" if count == 1 else f"its result {number + 1}"
    shaped = [(key, value) for key, value in results if value.shape == expected.shape]
    if not shaped:
        return f"no kernel output has the shape {tuple(expected.shape)} of {which}"
    (kernel, output), value = shaped[0]
    worst = float((value.double() - expected.double()).abs().max())
    return f"`{kernel}.{output}` is off {which} by {worst:.3g}"
