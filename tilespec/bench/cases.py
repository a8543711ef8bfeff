"""Runs spec files of real problems: verifies them at small sizes, then proves and times them at the sizes under `Bench`.

    python -m tilespec.bench.cases tests/cases --raw cases.jsonl --phase verify --jobs 8 --time-limit 500
    python -m tilespec.bench.cases tests/cases --raw cases.jsonl --phase bench --time-limit 500
    python -m tilespec.bench.cases tests/cases --raw cases.jsonl --page docs/benchmarks/open-cases.md

Phases: `build`, `compile` (for `--target`), `interpreter`, `verify` and `bench` (both need a GPU). What was found is appended to
the raw file, a line for each file and phase, as soon as it is known; what is there already isn't done again. A file that ends
its process is recorded as such, and the next one gets a fresh process.
"""

from __future__ import annotations

import argparse
import fcntl
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tilespec.bench.cases_page import page
from tilespec.bench.measure import gpu_times
from tilespec.bench.run import BenchOptions, bench_sizes, reference_function
from tilespec.build.digest import is_fresh, source_digest
from tilespec.child import Child
from tilespec.model.types import ScalarSpec, TensorSpec
from tilespec.syntax import read_source
from tilespec.verify.check import call_arguments, exact_float32
from tilespec.verify.load import Runner, load_runner
from tilespec.verify.package import Package, load_package
from tilespec.verify.report import VerifyOptions
from tilespec.verify.run import verify_packages
from tilespec.verify.subject import Subject

__all__ = ["CaseOptions", "benchmark_inputs", "build", "main", "read_raw", "run_phase", "turn", "worst_error"]

Record = dict[str, Any]
_CHUNK = 1 << 26
_TOLERANCE = 1e-4
"""The benchmark that the problems come from asks for |out - ref| <= t + t * |ref|."""


@dataclass(frozen=True)
class CaseOptions:
    """What each file may cost: `cases` of a kernel, `share` seconds of verification, `seconds` of timing.

    Processes that bench at a time take turns at the GPU through the file `lock`; only compilers run beside each other.
    """

    build_dir: Path = Path("build")
    cases: int = 4
    share: float = 30.0
    seconds: float = 0.5
    compiled: bool = True
    target: str = "sm_90"
    lock: Path | None = None


def read_raw(paths: Sequence[Path]) -> dict[tuple[str, str], Record]:
    """Return the last record of every file and phase; a line that was cut off is left out."""
    found: dict[tuple[str, str], Record] = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            try:
                record: Record = json.loads(line)
            except json.JSONDecodeError:
                continue
            found[record["case"], record["phase"]] = record
    return found


def build(file: Path, options: CaseOptions, targets: str = "") -> Record:
    """Build one file, and compile it for `targets`, in a process of its own; the findings say what is wrong."""
    command = [
        sys.executable,
        "-m",
        "tilespec",
        "build",
        "--json",
        "--out",
        str(options.build_dir),
        str(file),
    ]
    command += ["--compile", targets] if targets else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"status": "failed", "findings": [done.stderr[-500:]]}
    findings = [item for item in report["findings"] if targets or item["severity"] == "error"]
    failed = not _is_built(file, options) or any(item["severity"] == "error" for item in findings)
    return {
        "status": "failed" if failed else "passed",
        "findings": list(dict.fromkeys(f"{item['code']}: {item['message']}" for item in findings)),
        **({"target": targets} if targets else {}),
    }


def _is_built(file: Path, options: CaseOptions) -> bool:
    return (options.build_dir / file.stem / "manifest.json").is_file()


def _is_current(file: Path, options: CaseOptions) -> bool:
    source, _ = read_source(file)
    return source is not None and is_fresh(options.build_dir / file.stem, source_digest(source))


def verify_case(file: Path, options: CaseOptions, *, device: str) -> Record:
    """Verify the kernels of one package, and their composition, at small sizes."""
    report = verify_packages(
        [(file, options.build_dir / file.stem)],
        VerifyOptions(
            device="cuda" if device == "cuda" else "interpreter",
            cases=options.cases,
            time_limit=options.share,
            build_dir=options.build_dir,
        ),
    )
    failed = not report.kernels or any(item.status == "failed" for item in report.kernels)
    # Of what the time didn't suffice for, nothing is known.
    missed = [item.kernel for item in report.kernels if item.cases == 0]
    return {
        "status": "failed" if failed else "partial" if missed else "passed",
        "missed": missed,
        "cases": sum(item.cases for item in report.kernels),
        "ratio": max((item.ratio for item in report.kernels), default=0.0),
        "kernels": {item.kernel: [item.status, item.cases, round(item.ratio, 3)] for item in report.kernels},
        "findings": [
            f"{found.code}: {found.message}"
            for item in report.kernels
            if item.status == "failed"
            for found in item.findings
        ],
    }


def benchmark_inputs(
    inputs: Sequence[TensorSpec | ScalarSpec], sizes: Mapping[str, int], device: str, seed: int = 0
) -> dict[str, Tensor | float | int | bool]:
    """Make inputs as the problems have them: values from 0 to 1, parameters as layers start with.

    Weights of layers keep the size of what goes through, or a deep network ends in infinities.
    """
    generator = torch.Generator(device).manual_seed(seed)
    made: dict[str, Tensor | float | int | bool] = {}
    for item in inputs:
        if isinstance(item, ScalarSpec):
            made[item.name] = 1 if item.default is None else item.default
            continue
        shape = [dim.evaluate(sizes) for dim in item.shape]
        dtype: torch.dtype = getattr(torch, item.dtype)
        values = torch.rand(shape, generator=generator, device=device, dtype=torch.float32)
        low, high = 0.0, 1.0
        if item.values is not None:
            low, high = float(item.values.low), float(item.values.high)
        elif "weight" in item.name and len(shape) > 1:
            bound = max(values[0].numel(), 1) ** -0.5
            low, high = -bound, bound
        elif item.name.endswith(("gamma", "weight")):
            low, high = 0.5, 1.5
        elif item.name.endswith(("beta", "bias", "shift")):
            low, high = -0.5, 0.5
        made[item.name] = values.mul_(high - low).add_(low).to(dtype)
    return made


def worst_error(result: Tensor, expected: Tensor) -> tuple[float, float]:
    """Return the largest error as a share of the benchmark's bound, and the error in norm; both without a second copy."""
    if result.shape != expected.shape:
        return float("inf"), float("inf")
    left, right = result.reshape(-1), expected.reshape(-1)
    worst, error, size = 0.0, 0.0, 0.0
    for start in range(0, left.numel(), _CHUNK):
        near, far = left[start : start + _CHUNK].double(), right[start : start + _CHUNK].double()
        off = torch.where(near == far, torch.zeros_like(near), (near - far).abs())
        off = torch.where(near.isnan() & far.isnan(), torch.zeros_like(off), off).nan_to_num(
            nan=float("inf"), posinf=float("inf")
        )
        worst = max(
            worst,
            float(
                (off / (_TOLERANCE + _TOLERANCE * far.abs()))
                .nan_to_num(nan=float("inf"), posinf=float("inf"))
                .max()
            ),
        )
        error += float(off.square().sum())
        size += float(far.nan_to_num().square().sum())
    return worst, (error / size) ** 0.5 if size else error**0.5


def _tuple(value: Any) -> tuple[Tensor, ...]:  # noqa: ANN401 - what a reference or a launcher returns
    return value if isinstance(value, tuple) else (value,)


def _errors(results: Sequence[Tensor], expected: Sequence[Tensor]) -> list[float]:
    pairs = [worst_error(left, right) for left, right in zip(results, expected, strict=True)]
    return [max(item[0] for item in pairs), max(item[1] for item in pairs)]


def bench_case(file: Path, options: CaseOptions) -> Record:
    """Prove and time the whole of one file at the sizes under `Bench`. Needs a GPU."""
    package, findings = load_package(file, options.build_dir / file.stem)
    if package is None:
        return {"status": "failed", "findings": [f"{item.code}: {item.message}" for item in findings]}
    # A composition without a reference of its own is one kernel.
    whole = package.composed if package.spec.end_to_end is not None else None
    subject = whole or package.kernels[0]
    named = bench_sizes(package.spec, subject, BenchOptions())
    if not named:
        return {"status": "failed", "findings": ["no complete sizes under Bench"]}
    with exact_float32(sums=False), torch.no_grad():
        return _bench(package, subject, named[0], options)


def _bench(package: Package, subject: Subject, sizes: Mapping[str, int], options: CaseOptions) -> Record:
    record: Record = {"status": "passed", "sizes": dict(sizes), "findings": []}
    runner = load_runner(subject, "cuda")
    reference = reference_function(package, subject)
    if reference is None:
        return record | {"status": "failed", "findings": ["no reference to compare with"]}
    compiled = _compile(runner, reference, sizes, options, record["findings"])
    with turn(options.lock):
        return record | _measure(runner, reference, compiled, sizes, options)


@contextmanager
def turn(lock: Path | None) -> Iterator[None]:
    """Wait until no other process is at the GPU."""
    if lock is None:
        yield
        return
    with lock.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _compile(
    runner: Runner,
    reference: Callable[..., Any],
    sizes: Mapping[str, int],
    options: CaseOptions,
    findings: list[str],
) -> Callable[..., Any] | None:
    """Launch once, so that the kernels are compiled; return the reference through torch's compiler, if it takes it."""
    values = benchmark_inputs(runner.subject.inputs, sizes, "cuda")
    tensors, named = call_arguments(runner, values)
    runner.call(*tensors, **named)
    compiled: Callable[..., Any] | None = None
    if options.compiled:
        torch.compiler.reset()
        compiled = torch.compile(reference, dynamic=False)
        try:
            compiled(**values)
        except Exception as error:  # noqa: BLE001 - whatever torch's compiler raises is no fault of ours
            findings.append(f"torch.compile: {type(error).__name__}")
            compiled = None
    torch.cuda.synchronize()
    del values, tensors, named
    torch.cuda.empty_cache()
    return compiled


def _measure(
    runner: Runner,
    reference: Callable[..., Any],
    compiled: Callable[..., Any] | None,
    sizes: Mapping[str, int],
    options: CaseOptions,
) -> Record:
    """Compare results with eager's and the golden, then time what there is."""
    record: Record = {}
    subject = runner.subject
    values = benchmark_inputs(subject.inputs, sizes, "cuda")
    tensors, named = call_arguments(runner, values)
    results = _tuple(runner.call(*tensors, **named))
    torch.cuda.synchronize()
    eager = _tuple(reference(**values))
    record["error to eager"] = _errors(results, eager)
    record |= _golden(subject, values, results, eager)
    del results, eager
    allowed = max(1.0, 2 * record["eager error"][0]) if "eager error" in record else 1.0
    error: list[float] = record["error"] if "error" in record else record["error to eager"]
    if error[0] > allowed:
        findings = [f"error {error[0]:.3g} of the bound, {allowed:.3g} allowed"]
        record |= {"status": "failed", "findings": findings}
    torch.cuda.empty_cache()
    candidates: dict[str, Callable[[], object]] = {
        "tilespec": lambda: runner.call(*tensors, **named),
        "eager": lambda: reference(**values),
    }
    if compiled is not None:
        candidates["compile"] = lambda: compiled(**values)
    times = gpu_times(candidates, seconds=options.seconds, rounds=100)
    record["microseconds"] = {name: round(timing.median, 2) for name, timing in times.items()}
    return record


def _golden(
    subject: Subject,
    values: Mapping[str, Tensor | float | int | bool],
    results: Sequence[Tensor],
    eager: Sequence[Tensor],
) -> Record:
    """Return the errors of ours and of eager against float64, where the memory suffices."""
    held = sum(item.nbytes for item in (*values.values(), *results) if isinstance(item, Tensor))
    torch.cuda.empty_cache()
    if 6 * held > torch.cuda.mem_get_info()[0]:
        return {"golden": "too large"}
    try:
        golden = subject.reference(values, True)  # noqa: FBT003 - the flag asks for float64
    except torch.OutOfMemoryError:
        return {"golden": "too large"}
    return {"error": _errors(results, golden), "eager error": _errors(eager, golden)}


_PHASES: dict[str, Callable[[Path, CaseOptions], Record]] = {
    "build": build,
    "compile": lambda file, options: build(file, options, options.target),
    "interpreter": lambda file, options: verify_case(file, options, device="interpreter"),
    "verify": lambda file, options: verify_case(file, options, device="cuda"),
    "bench": bench_case,
}


def run_one(file: Path, phase: str, options: CaseOptions) -> Record:
    """Do one phase of one file; builds first, where there is no package or a stale one."""
    torch.set_num_threads(1)
    started = time.monotonic()
    record: Record = {"case": file.stem, "phase": phase, "commit": _commit()}
    if phase in {"verify", "bench"}:
        record |= {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    if phase != "build" and not _is_current(file, options):
        built = build(file, options)
        if built["status"] == "failed":
            return record | {"status": "failed", "findings": ["not built", *built["findings"]]}
    try:
        record |= _PHASES[phase](file, options)
    except Exception as error:  # noqa: BLE001 - whatever a case raises is its result; the others still run
        record |= {"status": "failed", "findings": [f"{type(error).__name__}: {str(error)[:300]}"]}
    if torch.cuda.is_available():
        gc.collect()
        try:
            torch.cuda.empty_cache()
        except RuntimeError as error:
            # The device refuses this process from now on: the caller takes another one.
            record |= {"status": "failed", "fault": True, "findings": [*record["findings"], str(error)[:200]]}
    return record | {"seconds": round(time.monotonic() - started, 1)}


def _commit() -> str:
    done = subprocess.run(
        ("git", "describe", "--always", "--dirty"),  # noqa: S607 - whichever git the user has
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


def run_phase(
    files: Sequence[Path],
    phase: str,
    raw: Path,
    options: CaseOptions,
    *,
    jobs: int = 1,
    time_limit: float = 86_400.0,
) -> Iterator[Record]:
    """Do one phase of all files that the raw file lacks, in `jobs` processes, until the time is up; yields as it appends."""
    from multiprocessing.connection import wait  # noqa: PLC0415 - only where processes are made

    until = time.monotonic() + time_limit
    done = read_raw([raw])
    waiting = [file for file in reversed(files) if (file.stem, phase) not in done]
    idle: list[Child[Record]] = []
    busy: dict[object, tuple[Child[Record], Path]] = {}
    try:
        while (waiting and time.monotonic() < until) or busy:
            while waiting and len(busy) < jobs and time.monotonic() < until:
                child, file = idle.pop() if idle else Child[Record](), waiting.pop()
                busy[child.ready] = (child, file)
                child.ask(run_one, file, phase, options)
            ready = wait([child.ready for child, _ in busy.values()], max(until - time.monotonic(), 0.0))
            if not ready:
                return
            for item in ready:
                child, file = busy.pop(item)
                try:
                    record = child.answer() or {}
                except Exception as error:  # noqa: BLE001 - one file's process is one file's trouble
                    record = {"fault": True, "findings": [f"{type(error).__name__}: {str(error)[:200]}"]}
                record = {
                    "case": file.stem,
                    "phase": phase,
                    "status": "failed",
                    "findings": ["its process died"],
                    **record,
                }
                (child.kill() if record["status"] == "failed" else idle.append(child))
                with raw.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(record) + "\n")
                yield record
    finally:
        for child in (*idle, *(child for child, _ in busy.values())):
            child.kill()


def collect(places: Sequence[Path]) -> list[Path]:
    """Return the spec files at these places, in order."""
    return [
        file
        for place in places
        for file in ([place] if place.is_file() else sorted(place.rglob("*.tilespec")))
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one phase, or write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m tilespec.bench.cases", description=__doc__.split("\n", 1)[0] if __doc__ else None
    )
    parser.add_argument("places", nargs="+", type=Path, help="spec files, and folders of them")
    parser.add_argument(
        "--raw", action="append", type=Path, required=True, help="JSON lines; may repeat for --page"
    )
    parser.add_argument("--phase", choices=list(_PHASES))
    parser.add_argument("--page", type=Path, help="write the table of what the raw files hold")
    parser.add_argument("--out", type=Path, default=Path("build"), help="where packages are")
    parser.add_argument("--time-limit", type=float, default=86_400.0, metavar="SECONDS")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cases", type=int, default=4)
    parser.add_argument("--share", type=float, default=30.0, help="seconds of verification for a file")
    parser.add_argument("--seconds", type=float, default=0.5, help="seconds of timing for a file")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--lock", type=Path, help="a file through which processes take turns at the GPU")
    given = parser.parse_args(arguments)
    files = collect(given.places)
    options = CaseOptions(
        given.out,
        given.cases,
        given.share,
        given.seconds,
        compiled=not given.no_compile,
        target=given.target,
        lock=given.lock,
    )
    if given.phase:
        for record in run_phase(
            files, given.phase, given.raw[0], options, jobs=given.jobs, time_limit=given.time_limit
        ):
            timing = record.get("microseconds", "")
            sys.stdout.write(
                f"{record['status']:7} {record['case']} {timing} {'; '.join(record['findings'])[:160]}\n"
            )
            sys.stdout.flush()
    if given.page:
        given.page.write_text(page(files, read_raw(given.raw)), encoding="utf-8")


if __name__ == "__main__":
    main()
