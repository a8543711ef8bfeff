"""The one table of codes: sorted, written by hand, never reusing a code."""

from __future__ import annotations

from collections.abc import Mapping

from tilespec.diagnostics import Rule
from tilespec.rules import environment

__all__ = ["CODES"]

CODES: Mapping[str, type[Rule]] = {
    # TS9xx: environment
    "TS901": environment.NoGpu,
    "TS902": environment.GpuTooOld,
    "TS903": environment.DriverTooOld,
    "TS904": environment.CompilerMissing,
    "TS905": environment.MismatchedCompilerPackages,
    "TS906": environment.OlderCudaHome,
    "TS907": environment.TorchWithoutCuda,
    "TS908": environment.UnsupportedTarget,
    "TS909": environment.UnsupportedPython,
    "TS910": environment.UnsupportedPackage,
    "TS911": environment.CompilerTooOld,
    "TS912": environment.CompilerFails,
    "TS921": environment.UnwritablePath,
    "TS922": environment.DiskFull,
    "TS999": environment.InternalError,
}
