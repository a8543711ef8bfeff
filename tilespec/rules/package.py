"""TS72x: built packages. TS73x: what a change takes away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule, Severity

__all__ = ["CoverageRemoved", "KernelRemoved", "SourceUnusable", "StalePackage"]


@dataclass(frozen=True)
class StalePackage(Rule):
    """A built package that is missing, was edited, or was made from another text or by another tilespec.

    A package records the hash of what it was made from and of every file in it. `tilespec build --check` compares them and
    writes nothing.
    """

    code: ClassVar[str] = "TS721"
    name: ClassVar[str] = "stale-package"
    folder: str

    def message(self) -> str:
        return f"`{self.folder}` is not what this spec builds"

    def help(self) -> str | None:
        return "run `tilespec build` and commit what it writes"


@dataclass(frozen=True)
class CoverageRemoved(Rule):
    """A change that takes an operation of the forward pass out of the kernels.

    `tilespec lint --against REV` compares with the file as it is at the revision. An operation that a kernel performed
    there, and that is a gap or stays in PyTorch now, is reported even where the file says so openly.
    """

    code: ClassVar[str] = "TS731"
    name: ClassVar[str] = "coverage-removed"
    severity: ClassVar[Severity] = Severity.WARNING
    operation: str
    kernel: str
    now: str
    revision: str

    def message(self) -> str:
        return f"`{self.kernel}` performed `{self.operation}` at `{self.revision}`, which now {self.now}"

    def help(self) -> str | None:
        return "give the operation back to a kernel, or say in the pull request why it leaves"


@dataclass(frozen=True)
class KernelRemoved(Rule):
    """A kernel that the revision has and the change has not.

    A kernel may go when the forward pass changes or another kernel takes its work; `tilespec lint --against REV` says so,
    so that it isn't missed in a review.
    """

    code: ClassVar[str] = "TS732"
    name: ClassVar[str] = "kernel-removed"
    severity: ClassVar[Severity] = Severity.NOTE
    kernel: str
    operations: tuple[str, ...]
    revision: str

    def message(self) -> str:
        did = (
            f", which performed {', '.join(f'`{name}`' for name in self.operations)}"
            if self.operations
            else ""
        )
        return f"`{self.kernel}` of `{self.revision}` is gone{did}"


@dataclass(frozen=True)
class SourceUnusable(Rule):
    """A `Source` that can't be imported or traced.

    With `--trust-source`, `tilespec lint` imports the file beside the spec that `Source` names, and traces the function or
    module. A module has to be made without arguments; parameters of the function, and parameters and buffers of the module, are
    inputs of kernels by name (`fc.weight` is `fc_weight` or `weight`).
    """

    code: ClassVar[str] = "TS733"
    name: ClassVar[str] = "source-unusable"
    place: str
    reason: str

    def message(self) -> str:
        return f"the forward pass of `{self.place}` can't be traced: {self.reason}"
