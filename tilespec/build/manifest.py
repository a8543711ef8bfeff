"""What a package says about itself: hashes, wiring, schedules and the launches that can be compiled."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from tilespec import __version__
from tilespec.build.digest import text_digest
from tilespec.coverage import Coverage, CoveredOp, WiringProof
from tilespec.model.dims import Expr
from tilespec.model.types import DimRange, SpecFile
from tilespec.render.kernel import KernelText
from tilespec.render.module import KernelModule, constant_values
from tilespec.schedule.plan import ModulePlan

__all__ = ["TARGETS", "manifest_text", "sizes_for"]

TARGETS = ("sm_80", "sm_90", "sm_100", "sm_120")
_USUAL = 1024
_LARGE = 65536
_SMALLER = (512, 256, 128, 64, 32, 24, 16, 12, 8, 4, 2, 1)
_MIXED = (1024, 65536, 128, 16, 4, 1)
_TRIALS = 6**4


def manifest_text(
    spec: SpecFile,
    digest: str,
    proof: WiringProof,
    coverage: Coverage | None,
    plans: Mapping[str, Mapping[tuple[str, ...], ModulePlan]],
    modules: Mapping[str, Mapping[str, KernelModule]],
    files: Mapping[str, str],
) -> str:
    """Return `manifest.json`."""
    document: dict[str, Any] = {
        "format": 1,
        "tilespec": __version__,
        "digest": digest,
        "name": spec.name,
        "order": list(spec.order),
        "parallel": [list(level) for level in spec.levels],
        "dims": {name: _range(item) for name, item in sorted(spec.dims.items())},
        "wiring": [
            {
                name: getattr(edge, name)
                for name in ("consumer", "input", "producer", "output", "inferred", "why")
            }
            for edge in proof.edges
        ],
        "outputs": [list(item) for item in proof.outputs],
        "coverage": [] if coverage is None else [_covered(item) for item in coverage.ops],
        "kernels": {
            kernel_id: _kernel(spec, list(plans[kernel_id].values()), modules[kernel_id])
            for kernel_id in spec.order
        },
        "files": {name: text_digest(text) for name, text in sorted(files.items())},
    }
    return json.dumps(document, indent=1) + "\n"


def _covered(item: CoveredOp) -> dict[str, Any]:
    return {"op": item.operation, "kernels": list(item.kernels), "kept": item.kept}


def _range(item: DimRange) -> dict[str, Any]:
    values: dict[str, Any] = {"low": item.low, "high": item.high, "step": item.step}
    if item.choices is not None:
        values["choices"] = list(item.choices)
    if item.equals is not None:
        values["equals"] = str(item.equals)
    return values


def _kernel(
    spec: SpecFile, plans: Sequence[ModulePlan], modules: Mapping[str, KernelModule]
) -> dict[str, Any]:
    texts: dict[str, KernelText] = {}
    launches: dict[str, list[dict[str, Any]]] = {target: [] for target in TARGETS}
    for stem, module in modules.items():
        texts |= dict(module.functions)
        for name, text in module.functions:
            sizes = sizes_for(text, module, spec)
            # A variant that no size takes is never launched, so there is nothing to compile.
            if sizes is not None:
                for target, made in launches.items():
                    made.append({"module": stem, **_launch(name, text, sizes, target)})
    return {
        "schedule": [
            {
                "function": name,
                "family": text.plan.family,
                "axes": {item.axis.name: f"{item.axis.extent}: {item.role.value}" for item in text.plan.axes},
                "hints": dict(text.plan.hints),
            }
            for name, text in texts.items()
        ],
        "declined": {item.family: item.reason for plan in plans for item in plan.declined},
        "targets": launches,
    }


def _launch(name: str, text: KernelText, sizes: Mapping[str, int], target: str) -> dict[str, Any]:
    arguments: list[dict[str, Any]] = []
    for array in text.arrays:
        rank = len(array.shape) if array.shape is not None else len(array.tensor.shape)
        entry: dict[str, Any] = {
            "kind": "array",
            "name": array.name,
            "dtype": array.tensor.dtype,
            "rank": rank,
        }
        if array.strides:
            entry["overlaps"] = True
        arguments.append(entry)
    kinds = {"float": "float32", "int": "int32", "bool": "bool"}
    arguments += [{"kind": "scalar", "name": item, "dtype": kinds[kind]} for item, kind in text.scalars]
    arguments += [{"kind": "scalar", "name": item, "dtype": "int32"} for item in text.sizes]
    constants = constant_values(text, sizes, target)
    arguments += [{"kind": "constant", "name": item, "value": constants[item]} for item in text.blocks]
    arguments += [{"kind": "constant", "name": "TMA_STORE", "value": True}] if text.tma_store else []
    return {"function": name, "arguments": arguments, "hints": dict(text.plan.hints)}


def sizes_for(text: KernelText, module: KernelModule, spec: SpecFile) -> dict[str, int] | None:
    """Return sizes for which the launcher takes this variant, usual ones if it can be; None where none were found."""
    siblings = [other for _, other in module.functions if other.plan.program.name == text.plan.program.name]
    before = siblings[: siblings.index(text)]
    counts = dict(module.counts)
    symbols = sorted(_dims(_symbols(siblings), counts))
    deciding = sorted({name for other in siblings for name in _deciding(other, counts, spec)} & set(symbols))
    for tried in _trials(deciding):
        sizes = {name: _fit(tried.get(name, _USUAL), spec.dims.get(name)) for name in symbols}
        for name, item in spec.dims.items():
            if item.equals is not None and item.equals.symbols <= set(sizes):
                sizes[name] = item.equals.evaluate(sizes)
        for name, count in counts.items():
            if count.symbols <= set(sizes):
                sizes[name] = count.evaluate(sizes)
        taken = all(
            item is None or item.evaluate(sizes) >= 0 for item in (text.plan.condition, text.plan.needs)
        )
        earlier = any(
            other.plan.condition is not None and other.plan.condition.evaluate(sizes) >= 0 for other in before
        )
        if taken and not earlier:
            return sizes
    return None


def _dims(symbols: Iterable[str], counts: Mapping[str, Expr]) -> frozenset[str]:
    """Return symbols with those of the dims that counts are made of in the places of counts."""
    return frozenset[str]().union(
        *(counts[name].symbols if name in counts else {name} for name in symbols)
    )


def _deciding(text: KernelText, counts: Mapping[str, Expr], spec: SpecFile) -> frozenset[str]:
    """Return the symbols that decide whether the launcher takes this variant."""
    conditions = [item for item in (text.plan.condition, text.plan.needs) if item is not None]
    names = _dims({name for item in conditions for name in item.symbols}, counts)
    equations = [item.equals for name, item in spec.dims.items() if name in names and item.equals is not None]
    return names.union(*(equation.symbols for equation in equations))


def _trials(symbols: Sequence[str]) -> Iterator[dict[str, int]]:
    """Yield sizes of these symbols: equal ones first, then each choice of a few."""
    for size in (_USUAL, _LARGE, *_SMALLER):
        yield dict.fromkeys(symbols, size)
    for mixed in islice(product(_MIXED, repeat=len(symbols)), _TRIALS):
        yield dict(zip(symbols, mixed, strict=True))


def _fit(size: int, limits: DimRange | None) -> int:
    if limits is None:
        return size
    if limits.choices:
        return min(limits.choices, key=lambda item: abs(item - size))
    low = limits.low
    high = limits.high if limits.high is not None else max(size, low)
    fitted = min(max(size, low), high)
    return low + (fitted - low) // limits.step * limits.step


def _symbols(texts: Iterable[KernelText]) -> set[str]:
    found: set[str] = set()
    for text in texts:
        exprs: list[Expr] = [item.axis.extent for item in text.plan.axes]
        exprs += [item for item in (text.plan.condition, text.plan.needs) if item is not None]
        for expr in exprs:
            found |= expr.symbols
    return found
