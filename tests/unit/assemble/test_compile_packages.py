"""Compiling built packages: one finding for a cause, on the line of the spec."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import pytest

from tilespec.assemble import Assembly, AssemblyError, Job, Remark
from tilespec.build import compile as compiling
from tilespec.diagnostics import Diagnostic
from tilespec.progress import Silent

SPEC = """\
KERNEL SPEC: double
Description: Doubles.
Operations: [mul]
Inputs:
  - x: shape=(N,), dtype=float16
Outputs:
  - y: shape=(N,), dtype=float16
Dependencies: none
PyTorch Reference:
def reference_double(x):
    return x * 2
"""

KERNEL = """\
import cuda.tile as ct


@ct.kernel
def double_kernel(x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    # 11: return x * 2
    ct.store(y, (i,), ct.load(x, (i,), (TILE,)) * 2)
"""


@pytest.fixture
def package(tmp_path: Path) -> tuple[Path, Path]:
    spec = tmp_path / "double.tilespec"
    spec.write_text(SPEC)
    folder = tmp_path / "build" / "double"
    (folder / "kernels").mkdir(parents=True)
    (folder / "kernels" / "double.py").write_text(KERNEL)
    launch = {
        "module": "double",
        "function": "double_kernel",
        "arguments": [
            {"kind": "array", "name": "x", "dtype": "float16", "rank": 1},
            {"kind": "array", "name": "y", "dtype": "float16", "rank": 1},
            {"kind": "constant", "name": "TILE", "value": 100},
        ],
        "hints": {},
    }
    manifest = {"kernels": {"double": {"targets": {"sm_90": [launch, launch | {"hints": {"occupancy": 2}}]}}}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return spec, folder


def found(package: tuple[Path, Path], *targets: str) -> list[Diagnostic]:
    return compiling.compile_packages([package], targets, 1, Silent())


def answer(monkeypatch: pytest.MonkeyPatch, answers: Callable[[Job], Assembly]) -> None:
    """Replace the compiler by canned answers."""

    class Canned:
        def __init__(self, _jobs: int) -> None:
            pass

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def compile_all(self, jobs: Sequence[Job], step: Callable[..., object]) -> list[Assembly]:
            results = [answers(job) for job in jobs]
            for at, (job, result) in enumerate(zip(jobs, results, strict=True), 1):
                step(at, len(jobs), job, result)
            return results

    monkeypatch.setattr(compiling, "Assembler", Canned)


def made(job: Job, **fields: object) -> Assembly:
    assert job.target is not None
    return Assembly(job.function, job.target, job.aligned, 1.0, **fields)  # type: ignore[arg-type]


def test_a_refused_kernel_is_one_finding_on_its_line(package: tuple[Path, Path]):
    (finding,) = found(package, "sm_80", "sm_90")
    assert finding.code == "TS701"
    assert "kernel `double` doesn't compile for sm_80, sm_90" in finding.message
    assert "power of two" in finding.message
    assert finding.span is not None
    assert SPEC[finding.span.start : finding.span.end] == "return x * 2"
    assert any("double.py:8" in note for note in finding.notes)


@pytest.mark.parametrize(
    ("kind", "code"),
    [("timeout", "TS703"), ("crash", "TS704"), ("toolchain", "TS705"), ("unsupported", "TS702")],
)
def test_every_kind_of_failure(
    kind: str, code: str, package: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
):
    answer(monkeypatch, lambda job: made(job, error=AssemblyError(kind, "Error", "it went wrong")))
    (finding,) = found(package, "sm_80", "sm_90")
    assert finding.code == code
    assert "sm_80, sm_90" in finding.message
    assert finding.span is not None
    assert SPEC[finding.span.start :].startswith("double")


def test_only_the_first_complaint_counts(package: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch):
    def refused(job: Job) -> Assembly:
        offset = 264 if job.aligned else 504
        text = f"Return code 3\nerror at offset 37: tile too large\nerror at offset {offset}: failed to get a result"
        return made(job, error=AssemblyError("refused", "Error", text))

    answer(monkeypatch, refused)
    (finding,) = found(package, "sm_80", "sm_90")
    assert finding.message == "kernel `double` doesn't compile for sm_80, sm_90: tile too large"


def test_slow_code_is_warned_of_once(package: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch):
    slow = Remark("tensor-core", "scalar code", 8, passed=False)
    answer(monkeypatch, lambda job: made(job, frame=640 if job.target == "sm_90" else 0, remarks=(slow,)))
    spill, scalar = found(package, "sm_90", "sm_100")
    assert (spill.code, scalar.code) == ("TS706", "TS707")
    assert "spills 640 bytes" in spill.message
    assert spill.message.endswith("on sm_90")
    assert scalar.message.endswith("on sm_90, sm_100")


def test_a_few_spilled_words_are_no_finding(package: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch):
    answer(monkeypatch, lambda job: made(job, frame=48))
    assert found(package, "sm_90") == []


def test_what_compiles_has_no_findings(package: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch):
    answer(monkeypatch, made)
    assert found(package, "sm_90") == []
