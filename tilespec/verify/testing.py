"""What the generated `test_<file>.py` calls.

from pathlib import Path

from tilespec.verify.testing import check_composed, check_kernel

PACKAGE = Path(__file__).parent


def test_ffn_linear2():
    check_kernel(PACKAGE, "ffn_linear2", spec="../../specs/ffn.tilespec")
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from tilespec.verify.fuzz import fuzz_subject
from tilespec.verify.load import Device, pick_device
from tilespec.verify.package import Package, load_package
from tilespec.verify.report import KernelReport, VerifyOptions
from tilespec.verify.subject import Subject

__all__ = ["check_composed", "check_kernel"]


@lru_cache(maxsize=8)
def _package(spec: Path, directory: Path) -> Package:
    package, findings = load_package(spec, directory)
    if package is None:
        raise AssertionError("\n".join(f"{item.code}: {item.message}" for item in findings))
    return package


def check_kernel(
    package: Path, kernel: str, *, spec: str | Path, device: Device = "auto", cases: int = 20, seed: int = 0
) -> KernelReport:
    """Fuzz one kernel of a built package against the golden; `spec` is relative to `package`.

    Raises:
        AssertionError: a case fails; the message holds the finding and a script that shows it.
    """
    loaded = _package((package / spec).resolve(), package.resolve())
    subject = next((item for item in loaded.kernels if item.name == kernel), None)
    if subject is None:
        message = f"{spec} has no kernel `{kernel}`"
        raise AssertionError(message)
    return _check(subject, device, cases, seed)


def check_composed(
    package: Path, *, spec: str | Path, device: Device = "auto", cases: int = 10, seed: int = 0
) -> KernelReport:
    """Fuzz the composed function of a built package against the end-to-end reference.

    Raises:
        AssertionError: a case fails; the message holds the finding and a script that shows it.
    """
    loaded = _package((package / spec).resolve(), package.resolve())
    if loaded.composed is None:
        message = f"{package} has no composed function"
        raise AssertionError(message)
    return _check(loaded.composed, device, cases, seed)


def _check(subject: Subject, device: Device, cases: int, seed: int) -> KernelReport:
    report = fuzz_subject(subject, pick_device(device), VerifyOptions(cases=cases, seed=seed))
    if report.status != "passed":
        lines = [f"{item.code}: {item.message}" for item in report.findings]
        raise AssertionError("\n".join([*lines, *(() if report.script is None else ("", report.script))]))
    return report
