"""Reads a built package and the spec it was built from back into subjects."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from tilespec.diagnostics import Diagnostic
from tilespec.model import build_model
from tilespec.model.types import Edge, Kernel, ReferenceText, ScalarSpec, SpecFile, TensorSpec
from tilespec.model.wiring import assignments, composition_inputs, final_outputs
from tilespec.reference.check import check
from tilespec.reference.compose import entry_of
from tilespec.reference.evaluate import evaluate
from tilespec.reference.trace import trace_kernel
from tilespec.syntax import parse, read_source
from tilespec.verify.domain import input_bounds
from tilespec.verify.subject import Arguments, Bounds, Move, Reference, Subject

__all__ = ["Package", "load_package"]


@dataclass(frozen=True)
class Package:
    """One built spec file: its kernels, and the composed function when there is more to check than one kernel."""

    spec: SpecFile
    directory: Path
    kernels: tuple[Subject, ...]
    composed: Subject | None


def load_package(spec_path: Path, directory: Path) -> tuple[Package | None, list[Diagnostic]]:
    """Return the subjects of a package; the findings say why there are none."""
    source, findings = read_source(spec_path)
    if source is None:
        return None, findings
    tree, more = parse(source)
    findings += more
    spec, more = build_model(tree)
    findings += more
    if spec is None:
        return None, findings
    manifest = _manifest(directory)
    bounds: dict[str, dict[str, Bounds]] = {}
    fixed: dict[str, frozenset[str]] = {}
    for kernel in spec.kernels:
        graph, more = trace_kernel(spec, kernel)
        fixed[kernel.id] = frozenset() if graph is None else frozenset(name for name, _ in graph.fixed)
        findings += more
        bounds[kernel.id] = {} if graph is None else input_bounds(graph)
    kernels = tuple(
        replace(_kernel(spec, kernel, directory, bounds[kernel.id], manifest), fixed=fixed[kernel.id])
        for kernel in spec.kernels
    )
    edges = _edges(spec, manifest)
    return Package(spec, directory, kernels, _composed(spec, directory, edges, bounds, kernels)), findings


def _manifest(directory: Path) -> Mapping[str, Any]:
    path = directory / "manifest.json"
    if not path.is_file():
        return {}
    loaded: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def _tiles(manifest: Mapping[str, Any], kernel_id: str) -> tuple[int, ...]:
    """Return the tile sizes among the constants of a kernel's launches."""
    found: set[int] = set()
    targets = manifest.get("kernels", {}).get(kernel_id, {}).get("targets", {})
    for launches in targets.values():
        for launch in launches:
            for argument in launch.get("arguments", ()):
                value = argument.get("value")
                if (
                    argument.get("kind") == "constant"
                    and isinstance(value, int)
                    and not isinstance(value, bool)
                ):
                    found.add(value)
    return tuple(sorted(value for value in found if 4 <= value <= 4096))


def _kernel(
    spec: SpecFile, kernel: Kernel, directory: Path, bounds: Mapping[str, Bounds], manifest: Mapping[str, Any]
) -> Subject:
    def reference(values: Arguments, widen: bool) -> tuple[Tensor, ...]:  # noqa: FBT001 - see `Reference`
        return evaluate(kernel, values, widen=widen)

    return Subject(
        name=kernel.id,
        module=directory / "kernels" / f"{kernel.id}.py",
        function="launch",
        source=spec.source,
        span=kernel.span,
        inputs=kernel.inputs,
        outputs=kernel.outputs,
        reference=reference,
        dims=spec.dims,
        types=spec.types,
        numerics=kernel.numerics,
        bounds=bounds,
        tiles=_tiles(manifest, kernel.id),
        reference_name=f"reference_{kernel.id}",
    )


def _edges(spec: SpecFile, manifest: Mapping[str, Any]) -> tuple[Edge, ...]:
    """Return the wiring that the package was built with: the proved one is in the manifest."""
    recorded = manifest.get("wiring")
    if isinstance(recorded, list):
        fields = ("consumer", "input", "producer", "output")
        return tuple(
            Edge(
                **{name: item[name] for name in fields},
                inferred=bool(item.get("inferred", False)),
                why=str(item.get("why", "")),
            )
            for item in recorded
        )
    return next(iter(assignments(spec)), ())


def _composed(
    spec: SpecFile,
    directory: Path,
    edges: tuple[Edge, ...],
    bounds: Mapping[str, Mapping[str, Bounds]],
    kernels: tuple[Subject, ...],
) -> Subject | None:
    """Return the composed function as a subject; None for a package without one."""
    module = directory / "composed.py"
    if not module.is_file() or not edges:
        return None
    inputs: dict[str, TensorSpec | ScalarSpec] = {}
    found: dict[str, Bounds] = {}
    by_place = {(edge.consumer, edge.input): edge for edge in edges}
    for item in composition_inputs(spec, edges):
        inputs[item.name] = item.spec.model_copy(update={"name": item.name})
        for kernel_id, name in item.consumers:
            if name in bounds[kernel_id]:
                found[item.name] = bounds[kernel_id][name]
    last = final_outputs(spec, edges)
    chain = _chain(spec, by_place, last)

    def in_turn(values: Arguments, widen: bool) -> tuple[Tensor, ...]:  # noqa: FBT001 - see `Reference`
        return chain(values, None, widen)

    tolerances = [
        kernel.numerics.tolerance for kernel in spec.kernels if kernel.numerics.tolerance is not None
    ]
    numerics = spec.kernels[-1].numerics.model_copy(
        update={"tolerance": max(tolerances) if tolerances else None}
    )
    return Subject(
        name=f"{spec.name}.forward",
        module=module,
        function="forward",
        source=spec.source,
        span=None,
        inputs=tuple(inputs.values()),
        outputs=tuple(item for _, item in last) if spec.end_to_end is None else (),
        reference=_end_to_end(spec.end_to_end, inputs) if spec.end_to_end is not None else in_turn,
        dims=spec.dims,
        types=spec.types,
        numerics=numerics,
        bounds=found,
        tiles=tuple(sorted({tile for kernel in kernels for tile in kernel.tiles})),
        reference_name=_entry_name(spec.end_to_end),
        checks_arguments=False,
        # Between kernels values are rounded to the declared dtypes: which entry a softmax of large scores picks, whether a
        # large sum overflows and what `inf * (x - mean)` is then depend on how. Each kernel meets such inputs by itself.
        extreme=False,
        chain=lambda values, move: chain(values, move, False),  # noqa: FBT003 - see `Reference`
        fixed=frozenset().union(*(kernel.fixed for kernel in kernels)),
    )


def _entry_name(text: ReferenceText | None) -> str:
    program = None if text is None else check(text)[0]
    return "" if program is None else entry_of(program) or ""


def _end_to_end(text: ReferenceText, inputs: Mapping[str, TensorSpec | ScalarSpec]) -> Reference:
    def reference(values: Arguments, widen: bool) -> tuple[Tensor, ...]:  # noqa: FBT001 - see `Reference`
        return evaluate(text, {name: values[name] for name in inputs}, widen=widen)

    return reference


def _chain(
    spec: SpecFile, by_place: Mapping[tuple[str, str], Edge], last: tuple[tuple[str, TensorSpec], ...]
) -> Callable[[Arguments, Move | None, bool], tuple[Tensor, ...]]:
    """Return the references of the kernels one after the other, with what each hands on moved if that is asked for."""

    def chain(values: Arguments, move: Move | None, widen: bool) -> tuple[Tensor, ...]:  # noqa: FBT001 - see `Reference`
        made: dict[tuple[str | None, str], Tensor] = {}
        for kernel_id in spec.order or tuple(kernel.id for kernel in spec.kernels):
            kernel = spec.kernel(kernel_id)
            arguments: dict[str, Tensor | float | int | bool] = {}
            handed: dict[str, Tensor | float | int | bool] = {}
            for item in kernel.inputs:
                edge = by_place.get((kernel_id, item.name))
                if edge is not None and edge.producer is not None:
                    handed[item.name] = made[edge.producer, edge.output]
                else:
                    arguments[item.name] = values[edge.output if edge else item.name]
            arguments.update(handed if move is None else move(handed))
            results = evaluate(kernel, arguments, widen=widen)
            made.update(
                {
                    (kernel_id, output.name): result
                    for output, result in zip(kernel.outputs, results, strict=True)
                }
            )
        return tuple(made[kernel_id, output.name] for kernel_id, output in last)

    return chain
