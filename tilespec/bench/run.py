"""Benchmarks built packages at the sizes that `Bench` names."""

from __future__ import annotations

import datetime as dt
import inspect
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from importlib import metadata
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import cuda.tile as ct
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from tilespec.bench.measure import Timing, captured_launches, gpu_times, host_times
from tilespec.bench.report import BenchReport, HostRow, Row
from tilespec.diagnostics import Diagnostic
from tilespec.model.types import SpecFile
from tilespec.progress import Progress, Silent
from tilespec.reference import allow
from tilespec.verify.check import arguments, call_arguments, exact_float32
from tilespec.verify.load import import_generated, load_runner
from tilespec.verify.package import Package, load_package
from tilespec.verify.run import Build
from tilespec.verify.subject import Case, Subject, TensorCase

__all__ = [
    "BenchOptions",
    "bench_packages",
    "bench_paths",
    "bench_sizes",
    "composed_module",
    "reference_function",
]


@dataclass(frozen=True)
class BenchOptions:
    """What to time and how long. `sizes` replaces what the specs name under `Bench`."""

    build_dir: Path = Path("build")
    kernels: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 1.0
    rounds: int = 200
    compiled: bool = True
    commit: str | None = None


def bench_paths(
    paths: Sequence[Path], options: BenchOptions, progress: Progress | None = None, *, build: Build
) -> tuple[BenchReport, list[Diagnostic]]:
    """Build `paths` into `options.build_dir` with `build`, then time what came out."""
    built, findings = build(paths, options.build_dir, progress or Silent())
    return bench_packages(built, options, progress), findings


def bench_packages(
    packages: Sequence[tuple[Path, Path]], options: BenchOptions, progress: Progress | None = None
) -> BenchReport:
    """Time built packages, given as pairs of spec file and package folder. Needs a GPU."""
    rows: list[Row] = []
    host: list[HostRow] = []
    shown = progress or Silent()
    loaded = [
        package for spec, directory in packages if (package := load_package(spec, directory)[0]) is not None
    ]
    shown.begin("bench", sum(len(_subjects(package, options)) for package in loaded))
    left_out: list[str] = []
    # Eager as users have it, but for tf32: a float32 product that isn't one is no baseline.
    with exact_float32(sums=False), torch.no_grad():
        for package in loaded:
            for subject in _subjects(package, options):
                named = bench_sizes(package.spec, subject, options)
                if not named:
                    left_out.append(subject.name)
                for sizes in named:
                    rows.append(_row(package, subject, sizes, options))
                    torch.cuda.empty_cache()
                shown.advance(subject.name)
            if package.composed is not None and package.composed in _subjects(package, options):
                host += [
                    _host(package, package.composed, sizes)
                    for sizes in bench_sizes(package.spec, package.composed, options)[:1]
                ]
    shown.end()
    place = _environment(options)
    if left_out:
        place["not timed, no sizes under Bench"] = ", ".join(left_out)
    return BenchReport(place, tuple(rows), tuple(host))


def _subjects(package: Package, options: BenchOptions) -> list[Subject]:
    found = [*package.kernels, *([] if package.composed is None else [package.composed])]
    return [subject for subject in found if not options.kernels or subject.name in options.kernels]


def bench_sizes(spec: SpecFile, subject: Subject, options: BenchOptions) -> list[dict[str, int]]:
    """Return the sizes to time a subject at: complete ones only."""
    if options.sizes:
        named: list[dict[str, int]] = [dict(options.sizes)]
    else:
        own = [kernel.bench for kernel in spec.kernels if kernel.id == subject.name]
        named = [dict(sizes) for sizes in own[0]] if own and own[0] else _common(spec)
    full = [
        subject.sizes({name: sizes[name] for name in subject.free_symbols})
        for sizes in named
        if sizes.keys() >= set(subject.free_symbols)
    ]
    return [sizes for sizes in full if sizes is not None] or ([{}] if not subject.symbols else [])


def _common(spec: SpecFile) -> list[dict[str, int]]:
    """Return the sizes of the whole file: the entries of its kernels at the same position, put together."""
    found: list[dict[str, int]] = []
    for position in range(max((len(kernel.bench) for kernel in spec.kernels), default=0)):
        merged: dict[str, int] = {}
        for kernel in spec.kernels:
            if position < len(kernel.bench):
                for name, size in kernel.bench[position].items():
                    merged.setdefault(name, size)
        found.append(merged)
    return found


def _case(subject: Subject, sizes: Mapping[str, int]) -> Case:
    tensors: list[TensorCase] = []
    for position, tensor in enumerate(subject.tensors):
        bounds = subject.bounds.get(tensor.name)
        low = high = None
        if tensor.values is not None:
            low, high = tensor.values.low, tensor.values.high
        elif bounds is not None:
            low, high = bounds.low, bounds.high
            if bounds.extent is not None:
                low, high = 0, bounds.extent.evaluate(sizes) - 1
        dtype = subject.types.get(tensor.dtype, (tensor.dtype,))[0]
        shape = tuple(size.evaluate(sizes) for size in tensor.shape)
        tensors.append(TensorCase(tensor.name, shape, dtype, "normal", position, None, low, high))
    scalars = tuple((item.name, item.default if item.default is not None else 1) for item in subject.scalars)
    return Case(tuple(sizes.items()), tuple(tensors), scalars)


def reference_function(package: Package, subject: Subject) -> Callable[..., Any] | None:
    """Return the function of the generated `reference.py`; for the composed function the one that is no kernel's.

    Where the module makes tensors, they are made on the GPU.
    """
    module = import_generated(package.directory / "reference.py", package.directory)
    found = _function(module, package, subject)
    if found is None or not _makes_tensors(module):
        return found

    @wraps(found)
    def on_gpu(*args: object, **kwargs: object) -> object:
        # It costs every call of torch a little, so others go without.
        with torch.device("cuda"):
            return found(*args, **kwargs)

    return on_gpu


def _makes_tensors(module: ModuleType) -> bool:
    return any(
        not allow.FACTORIES.isdisjoint(item.__code__.co_names)
        for item in vars(module).values()
        if isinstance(item, FunctionType)
    )


def _function(module: ModuleType, package: Package, subject: Subject) -> Callable[..., Any] | None:
    kernels = {f"reference_{kernel.id}" for kernel in package.spec.kernels}
    if subject.reference_name:
        named: Callable[..., Any] | None = getattr(module, subject.reference_name, None)
        return named
    others = [name for name in vars(module) if name.startswith("reference_") and name not in kernels]
    return getattr(module, others[-1]) if others else None


def _row(package: Package, subject: Subject, sizes: Mapping[str, int], options: BenchOptions) -> Row:
    runner = load_runner(subject, "cuda")
    case = _case(subject, sizes)
    values = arguments(case, "cuda")
    tensors, named = call_arguments(runner, values)
    candidates: dict[str, Callable[[], object]] = {"tilespec": lambda: runner.call(*tensors, **named)}
    operations, note = 0, None
    reference = reference_function(package, subject)
    if reference is not None:
        eager = reference
        candidates["eager"] = lambda: eager(**values)
        with FlopCounterMode(display=False) as counter:
            eager(**values)
        operations = int(counter.get_total_flops())
        if options.compiled:
            torch.compiler.reset()
            compiled = torch.compile(eager, dynamic=False)
            try:
                compiled(**values)
                candidates["compile"] = lambda: compiled(**values)
            except Exception as error:  # noqa: BLE001 - whatever torch's compiler raises is no fault of ours
                note = f"torch.compile: {type(error).__name__}"
    times = gpu_times(candidates, seconds=options.seconds, rounds=options.rounds)
    results = runner.call(*tensors, **named)
    outputs = results if isinstance(results, tuple) else (results,)
    moved = sum(
        item.numel() * item.element_size()
        for item in (*values.values(), *outputs)
        if isinstance(item, Tensor)
    )
    dtypes = tuple(item.dtype for item in case.tensors)
    return Row(subject.source.path, subject.name, dict(sizes), dtypes, times, moved, operations, note)


def _host(package: Package, subject: Subject, sizes: Mapping[str, int]) -> HostRow:
    """Compare a call of the composed module, as a model makes it again and again, with its launches alone."""
    runner = load_runner(subject, "cuda")
    tensors, named = call_arguments(runner, arguments(_case(subject, sizes), "cuda"))
    module, first = composed_module(runner.module, subject.function, tensors, named)
    with captured_launches() as records:
        # Imported afresh, so that a launcher that keeps `ct.launch` in a variable is seen as well.
        fresh: ModuleType = import_generated(subject.module, package.directory, fresh=True)
        getattr(fresh, subject.function)(*tensors, **named)
    ready = tuple(records)
    launch = ct.launch

    def raw() -> None:
        for record in ready:
            launch(*record)

    times: Mapping[str, Timing] = host_times({"composed": lambda: module(first), "raw": raw})
    return HostRow(subject.source.path, dict(sizes), len(ready), times["composed"], times["raw"])


def composed_module(
    module: ModuleType, function: str, tensors: Sequence[Tensor], named: Mapping[str, Any]
) -> tuple[torch.nn.Module, Tensor]:
    """Return the module of a generated `composed.py` that holds all these arguments but the first tensor, and that tensor."""
    (kind,) = [
        item
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, torch.nn.Module) and item.__module__ == module.__name__
    ]
    held = dict(inspect.signature(getattr(module, function)).bind(*tensors, **named).arguments)
    name, first = next((name, value) for name, value in held.items() if isinstance(value, Tensor))
    del held[name]
    made: torch.nn.Module = kind(**held)
    return made, first


def _environment(options: BenchOptions) -> dict[str, str]:
    return {
        "card": torch.cuda.get_device_name(),
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "commit": options.commit or _commit(),
        "torch": torch.__version__,
        "cuda": str(torch.version.cuda),
        "cuda-tile": metadata.version("cuda-tile"),
        "python": platform.python_version(),
    }


def _commit() -> str:
    try:
        done = subprocess.run(
            ("git", "describe", "--always", "--dirty"),  # noqa: S607 - whichever git the user has
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()
