"""The one table of codes: sorted, written by hand, never reusing a code."""

from __future__ import annotations

from collections.abc import Mapping

from tilespec.diagnostics import Rule
from tilespec.rules import environment, lowering, verify

__all__ = ["CODES"]

CODES: Mapping[str, type[Rule]] = {
    "TS501": lowering.UnsupportedOp,
    "TS502": lowering.UnsupportedArgument,
    "TS503": lowering.UnsupportedDtype,
    "TS504": lowering.ReferenceTooDeep,
    "TS801": verify.WrongResult,
    "TS802": verify.MisplacedNonFinite,
    "TS803": verify.UnwrittenOutput,
    "TS804": verify.OutOfBoundsWrite,
    "TS805": verify.InputModified,
    "TS806": verify.UnstableResult,
    "TS807": verify.OutputNotFresh,
    "TS808": verify.WrongOutputForm,
    "TS809": verify.ArgumentAccepted,
    "TS810": verify.ComputeLeftToTorch,
    "TS811": verify.LaunchFailed,
    "TS812": verify.NoCaseRan,
    "TS813": verify.ToleranceDeclared,
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
    "TS913": environment.NoUsableGpu,
    "TS921": environment.UnwritablePath,
    "TS922": environment.DiskFull,
    "TS923": environment.NoSpecFiles,
    "TS999": environment.InternalError,
}
