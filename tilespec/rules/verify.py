"""TS8xx: what running a generated kernel shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule, Severity

__all__ = [
    "ArgumentAccepted",
    "ComputeLeftToTorch",
    "FewCases",
    "InputModified",
    "LaunchFailed",
    "MisplacedNonFinite",
    "NoCaseRan",
    "OutOfBoundsWrite",
    "OutputNotFresh",
    "ToleranceDeclared",
    "UnstableResult",
    "UnwrittenOutput",
    "WrongOutputForm",
    "WrongResult",
]


@dataclass(frozen=True)
class WrongResult(Rule):
    """A kernel whose result is further from the float64 golden than the limit.

    The golden is the reference in float64. The limit is the larger of twice the error that PyTorch makes at the kernel's
    own dtype and the floor of that dtype, or the spec's `tolerance`. The finding carries the smallest case that still
    fails and a script that shows it without this tool's test machinery.

    This spec asks for more than float16 can hold, so every correct kernel fails it:

    ```tilespec
    KERNEL SPEC: third
    Description: A third of x.
    Operations: [div]
    Numerics: tolerance=(1e-9, 1e-9)
    Inputs:
      - x: shape=(N,), dtype=float16
    Outputs:
      - y: shape=(N,), dtype=float16
    Dependencies: none
    PyTorch Reference:
    def reference_third(x):
        return x / 3
    ```

    Without `tolerance` the limit follows the dtype:

    ```tilespec
    KERNEL SPEC: third
    Description: A third of x.
    Operations: [div]
    Inputs:
      - x: shape=(N,), dtype=float16
    Outputs:
      - y: shape=(N,), dtype=float16
    Dependencies: none
    PyTorch Reference:
    def reference_third(x):
        return x / 3
    ```
    """

    code: ClassVar[str] = "TS801"
    name: ClassVar[str] = "wrong-result"
    output: str
    place: str
    got: str
    expected: str
    ratio: float

    def message(self) -> str:
        return (
            f"`{self.output}{self.place}` is {self.got}, the golden is {self.expected}: "
            f"{self.ratio:.3g} times the limit"
        )

    def help(self) -> str | None:
        return "run the script below; `tilespec show` prints how the kernel was derived"


@dataclass(frozen=True)
class MisplacedNonFinite(Rule):
    """NaN or infinity where the golden has none, or the reverse.

    NaN and infinities are values: a kernel has to put them where the reference does. Usual causes are a tile that lies
    wholly outside the tensor (`-inf - -inf`), a padding value that is not the identity of what consumes it, and a
    maximum that drops NaN.
    """

    code: ClassVar[str] = "TS802"
    name: ClassVar[str] = "misplaced-non-finite"
    output: str
    place: str
    got: str
    expected: str

    def message(self) -> str:
        return f"`{self.output}{self.place}` is {self.got}, the golden is {self.expected}"


@dataclass(frozen=True)
class UnwrittenOutput(Rule):
    """An output element that the kernel never wrote.

    Outputs are filled with a pattern before the launch. What still holds it afterwards was not written: the grid is too
    small, a mask is too wide, or the last tile was skipped.
    """

    code: ClassVar[str] = "TS803"
    name: ClassVar[str] = "unwritten-output"
    output: str
    place: str
    count: int

    def message(self) -> str:
        return f"{self.count} elements of `{self.output}` were never written, the first is `{self.output}{self.place}`"


@dataclass(frozen=True)
class OutOfBoundsWrite(Rule):
    """A write before or after an allocation.

    Every allocation of the launcher lies between two guard bands. A changed band means that a store went outside the
    tensor: on a GPU it would have overwritten somebody else's data without a word.
    """

    code: ClassVar[str] = "TS804"
    name: ClassVar[str] = "out-of-bounds-write"
    allocation: str
    side: str
    distance: int

    def message(self) -> str:
        return f"the kernel wrote {self.distance} bytes {self.side} {self.allocation}"


@dataclass(frozen=True)
class InputModified(Rule):
    """An input that changed during the launch and is not declared `inplace`."""

    code: ClassVar[str] = "TS805"
    name: ClassVar[str] = "input-modified"
    tensor: str

    def message(self) -> str:
        return f"the launch changed its input `{self.tensor}`"

    def help(self) -> str | None:
        return f"if that is meant, declare it on the output: `inplace={self.tensor}`"


@dataclass(frozen=True)
class UnstableResult(Rule):
    """Two launches with the same inputs that gave different bits.

    Generated kernels combine partial results in a fixed order, so a second run gives the same bits. A difference means
    a race, or memory that was read before it was written.
    """

    code: ClassVar[str] = "TS806"
    name: ClassVar[str] = "unstable-result"
    output: str
    place: str

    def message(self) -> str:
        return f"a second launch with the same inputs gave other bits, first at `{self.output}{self.place}`"


@dataclass(frozen=True)
class OutputNotFresh(Rule):
    """An output that shares memory with an input or with the result of an earlier launch.

    The caller owns what a launch returns. An output that is an input in disguise, or a buffer that the next launch
    writes again, changes under the caller's hands.
    """

    code: ClassVar[str] = "TS807"
    name: ClassVar[str] = "output-not-fresh"
    output: str
    other: str

    def message(self) -> str:
        return f"`{self.output}` shares memory with {self.other}"


@dataclass(frozen=True)
class WrongOutputForm(Rule):
    """A launch that returned the wrong number of tensors, or one of the wrong shape or dtype."""

    code: ClassVar[str] = "TS808"
    name: ClassVar[str] = "wrong-output-form"
    what: str
    got: str
    expected: str

    def message(self) -> str:
        return f"{self.what} is {self.got}, the reference gives {self.expected}"


@dataclass(frozen=True)
class ArgumentAccepted(Rule):
    """A wrong argument that the launcher took without complaint, or refused without naming the tensor.

    A launcher checks rank, sizes and dtype against the spec and says which tensor is wrong. One that doesn't reads
    outside its inputs.
    """

    code: ClassVar[str] = "TS809"
    name: ClassVar[str] = "argument-accepted"
    tensor: str
    fault: str
    outcome: str

    def message(self) -> str:
        return f"`{self.tensor}` with {self.fault} was {self.outcome}"


@dataclass(frozen=True)
class ComputeLeftToTorch(Rule):
    """An ATen call in the forward path that computes.

    Between its kernels a generated function may allocate, take views, concatenate and stack. Everything else belongs in
    a kernel.
    """

    code: ClassVar[str] = "TS810"
    name: ClassVar[str] = "compute-left-to-torch"
    op: str
    where: str

    def message(self) -> str:
        return f"the forward path of `{self.where}` calls `{self.op}`"


@dataclass(frozen=True)
class LaunchFailed(Rule):
    """A launch that raised on arguments that follow the spec."""

    code: ClassVar[str] = "TS811"
    name: ClassVar[str] = "launch-failed"
    error: str

    def message(self) -> str:
        return f"the launch raised {self.error}"


@dataclass(frozen=True)
class NoCaseRan(Rule):
    """A kernel that no case could be drawn for, so that nothing is known about it.

    The reference refused all sizes that were tried, or the tile interpreter would take too long for any of them. Usually
    a reference holds for some sizes only, and the spec doesn't say which: state them under `Dims`. A kernel whose sizes
    are fixed and large needs a GPU.
    """

    code: ClassVar[str] = "TS812"
    name: ClassVar[str] = "no-case-ran"
    kernel: str
    why: str

    def message(self) -> str:
        return f"no case of `{self.kernel}` could be run: {self.why}"

    def help(self) -> str | None:
        return "state the sizes that the reference accepts under `Dims`, or verify on a GPU: `--device cuda`"


@dataclass(frozen=True)
class ToleranceDeclared(Rule):
    """A note that a spec's own `tolerance` replaces the limit that follows from the dtype."""

    code: ClassVar[str] = "TS813"
    name: ClassVar[str] = "tolerance-declared"
    severity: ClassVar[Severity] = Severity.NOTE
    kernel: str
    relative: float
    absolute: float

    def message(self) -> str:
        return f"`{self.kernel}` is held to its own tolerance, {self.relative:g} relative and {self.absolute:g} absolute"


@dataclass(frozen=True)
class FewCases(Rule):
    """A kernel that passed, but met fewer cases than were asked for.

    The time limit came first, or most of the sizes that were drawn are no use: the reference refuses them, or the tile
    interpreter would take too long for them. The kernel counts as `partial`, and the command ends with status 1. State the
    sizes that the reference accepts under `Dims`, ask for fewer cases, or verify on a GPU.
    """

    code: ClassVar[str] = "TS814"
    name: ClassVar[str] = "few-cases"
    severity: ClassVar[Severity] = Severity.WARNING
    kernel: str
    ran: int
    wanted: int
    why: str

    def message(self) -> str:
        return f"`{self.kernel}` passed {self.ran} of {self.wanted} cases: {self.why}"

    def help(self) -> str | None:
        return (
            "state the sizes that the reference accepts under `Dims`, ask for fewer `--cases`, or use a GPU"
        )
