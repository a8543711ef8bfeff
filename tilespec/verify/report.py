"""What a verification is asked for, and what it found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from tilespec.diagnostics import Diagnostic, Severity
from tilespec.verify.load import Device

__all__ = ["KernelReport", "VerifyOptions", "VerifyReport"]


@dataclass(frozen=True)
class VerifyOptions:
    """How much to check and where.

    `kernels` names the kernels to check, all when empty. `profiles` bounds the compilations of one kernel on a GPU;
    `time_limit` the whole run in seconds, building included: kernels that it cuts short say so. `jobs` checks that many
    kernels at a time, each in a process of its own, so that they also compile at a time; one that hasn't come back some
    seconds after the time is up is ended.
    """

    device: Device = "auto"
    cases: int = 50
    seed: int = 0
    kernels: tuple[str, ...] = ()
    build_dir: Path = Path("build")
    profiles: int | None = None
    time_limit: float | None = None
    jobs: int = 1
    composed: bool = True


@dataclass(frozen=True)
class KernelReport:
    """What is known of one kernel. `ratio` is the largest error as a share of its limit.

    `status` is `passed`, `failed`, or `partial` when fewer cases ran than were asked for: the time limit came
    first, or the reference or the interpreter took too few of those that were drawn.
    """

    file: str
    kernel: str
    device: str
    seed: int
    status: str
    cases: int
    refused: int
    ratio: float
    seconds: float
    findings: tuple[Diagnostic, ...] = ()
    case: str | None = None
    script: str | None = None
    tolerance: tuple[float, float] | None = None

    def as_json(self) -> dict[str, object]:
        """Return what a script would want; findings as code, name and message."""
        plain = asdict(self)
        plain["findings"] = [
            {"code": item.code, "name": item.name, "severity": item.severity.value, "message": item.message}
            for item in self.findings
        ]
        plain["ratio"] = self.ratio if self.ratio == self.ratio and self.ratio < float("inf") else None
        return plain


@dataclass(frozen=True)
class VerifyReport:
    """The whole run. `diagnostics` are those of building and of every kernel, in order."""

    device: str
    seed: int
    kernels: tuple[KernelReport, ...]
    build_diagnostics: tuple[Diagnostic, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All findings."""
        return (*self.build_diagnostics, *(item for kernel in self.kernels for item in kernel.findings))

    @property
    def ok(self) -> bool:
        """Whether nothing failed, something ran, and every kernel met as many cases as were asked for."""
        return (
            bool(self.kernels)
            and all(kernel.status == "passed" for kernel in self.kernels)
            and not any(item.severity is Severity.ERROR for item in self.diagnostics)
        )

    def as_json(self) -> dict[str, object]:
        """Return the report for `--json`."""
        return {
            "device": self.device,
            "seed": self.seed,
            "ok": self.ok,
            "environment": self.environment,
            "kernels": [kernel.as_json() for kernel in self.kernels],
        }

    def table(self) -> str:
        """Return the report as lines of text."""
        header = ("file", "kernel", "cases", "refused", "worst error / limit", "seconds", "status")
        rows = [
            (
                Path(item.file).stem,
                item.kernel,
                str(item.cases),
                str(item.refused),
                f"{item.ratio:.3g}" + (" (own tolerance)" if item.tolerance else ""),
                f"{item.seconds:.1f}",
                item.status,
            )
            for item in self.kernels
        ]
        widths = [max(len(row[at]) for row in (header, *rows)) for at in range(len(header))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (header, *rows)
        ]
        return "\n".join([f"device: {self.device}, seed {self.seed}", *lines])
