"""The kernels against the forward pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule, Severity

__all__ = [
    "CoverageUndecided",
    "IncompleteCoverage",
    "KeptInPytorch",
    "KernelNotNeeded",
    "NothingKept",
    "SourceNotRead",
    "WiringDisproved",
]


@dataclass(frozen=True)
class IncompleteCoverage(Rule):
    """An operation of the forward pass that no kernel performs.

    The forward pass is what the end-to-end reference computes. Every compute op of it belongs to a kernel; only
    allocation, views and concatenation may stay outside. `Keep in PyTorch: [op] because "..."` leaves one out openly.

    Fails: the end-to-end reference applies a GELU that the kernel lacks.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return x * 2
    ---
    ## Composition Notes
    def reference_end(x):
        return F.gelu(x * 2)
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul, gelu]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return F.gelu(x * 2)
    ---
    ## Composition Notes
    def reference_end(x):
        return F.gelu(x * 2)
    ```
    """

    code: ClassVar[str] = "TS420"
    name: ClassVar[str] = "incomplete-coverage"
    operation: str
    origin: str

    def message(self) -> str:
        """State the fault."""
        return f"no kernel performs `{self.operation}` of the forward pass (`{self.origin}`)"

    def help(self) -> str | None:
        """Say what to add."""
        return (
            f"add a KERNEL SPEC with `Operations: [{self.operation}]`, or fuse it into the kernel before it; "
            f'`Keep in PyTorch: [{self.operation}] because "..."` leaves it out openly'
        )


@dataclass(frozen=True)
class WiringDisproved(Rule):
    """Kernels that, however they are connected, do not compute the end-to-end reference.

    Every wiring that names, shapes and dependencies allow is evaluated on random numbers in float64 and compared.

    Fails: the kernel doubles, the end-to-end reference triples.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return x * 2
    ---
    ## Composition Notes
    def reference_end(x):
        return x * 3
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return x * 2
    ---
    ## Composition Notes
    def reference_end(x):
        return x * 2
    ```
    """

    code: ClassVar[str] = "TS423"
    name: ClassVar[str] = "wiring-disproved"
    tried: int
    difference: str

    def message(self) -> str:
        """State the fault."""
        if self.tried == 1:
            return f"the kernels, as connected, do not compute the end-to-end reference: {self.difference}"
        return f"none of {self.tried} ways to connect the kernels computes the end-to-end reference: {self.difference}"

    def help(self) -> str | None:
        """Say how to settle it."""
        return "state the source of an input with `from=kernel.output`, or mend the reference that differs"


@dataclass(frozen=True)
class CoverageUndecided(Rule):
    """A forward pass whose coverage could not be decided.

    Where kernels and the end-to-end reference write one computation in two ways, they are compared by value on small
    sizes. With literal dims there are no small sizes, and the tensors are too large to compute here. Name the dims
    (`shape=(N, D)`), or write both references with the same calls.

    Fails: the same product written in two ways, at one literal size.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(4096, 4096), dtype=float32
    Outputs:
      - y: shape=(4096, 4096), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return x * 2
    ---
    ## Composition Notes
    def reference_end(x):
        return x + x
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N, D), dtype=float32
    Outputs:
      - y: shape=(N, D), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return x * 2
    ---
    ## Composition Notes
    def reference_end(x):
        return x + x
    ```
    """

    code: ClassVar[str] = "TS426"
    name: ClassVar[str] = "coverage-undecided"
    severity: ClassVar[Severity] = Severity.WARNING

    def message(self) -> str:
        """State the fault."""
        return "the forward pass and the kernels differ in form and are too large to compare by value"

    def help(self) -> str | None:
        """Say what to change."""
        return "name the dims instead of writing sizes, or write both references with the same calls"


@dataclass(frozen=True)
class KeptInPytorch(Rule):
    """An operation of the forward pass that no kernel performs, left to PyTorch openly.

    `Keep in PyTorch: [op] because "..."` is the one way to leave an operation out. It is reported every time, so that
    nobody takes the kernels for the whole forward pass: the composition of the kernels lacks this operation, and is not
    compared with the end-to-end reference.

    With the note:

    ```tilespec
    Keep in PyTorch: [erf] because "the caller applies it"
    ---
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return x * 2
    ---
    ## Composition Notes
    def reference_end(x):
        return torch.erf(x * 2)
    ```

    Without it:

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul, erf]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return torch.erf(x * 2)
    ---
    ## Composition Notes
    def reference_end(x):
        return torch.erf(x * 2)
    ```
    """

    code: ClassVar[str] = "TS429"
    name: ClassVar[str] = "kept-in-pytorch"
    severity: ClassVar[Severity] = Severity.NOTE
    operation: str
    reason: str

    def message(self) -> str:
        """State what is left out."""
        return f"`{self.operation}` of the forward pass stays in PyTorch: {self.reason}"

    def help(self) -> str | None:
        """Say how to bring it into a kernel."""
        return f"a KERNEL SPEC with `Operations: [{self.operation}]` replaces it"


@dataclass(frozen=True)
class SourceNotRead(Rule):
    """A `Source` that was not looked at, because reading it runs code.

    `Source: model.py:FFN` names the forward pass that the kernels have to cover. To trace it, Python has to import the file,
    and importing runs whatever its author wrote, outside the reference language. So it is off unless asked for with
    `tilespec lint --trust-source`, which is for files that you trust, and never for a stranger's pull request.

    With the note:

    ```tilespec
    Source: model.py:Double
    ---
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return x * 2
    ```

    Without it: the forward pass stands in the file, in the reference language.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return x * 2
    ---
    ## Composition Notes
    def reference_end(x):
        return 2 * x
    ```
    """

    code: ClassVar[str] = "TS431"
    name: ClassVar[str] = "source-not-read"
    severity: ClassVar[Severity] = Severity.NOTE
    place: str

    def message(self) -> str:
        """State what was left out."""
        return f"`{self.place}` was not compared with the kernels: importing it would run its code"

    def help(self) -> str | None:
        """Say how to compare it."""
        return "`tilespec lint --trust-source` does, for code that you trust"


@dataclass(frozen=True)
class NothingKept(Rule):
    """An operation under `Keep in PyTorch` that the kernels leave no room for.

    `Keep in PyTorch` leaves an operation of the forward pass out of the kernels. One that a kernel performs, or that the
    forward pass doesn't perform, isn't left out: the entry is misspelt or out of date, and hides the next gap of that name.

    ```tilespec
    Keep in PyTorch: [erf] because "the caller applies it"
    ---
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul, erf]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return torch.erf(x * 2)
    ---
    ## Composition Notes
    def reference_end(x):
        return torch.erf(x * 2)
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul, erf]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return torch.erf(x * 2)
    ---
    ## Composition Notes
    def reference_end(x):
        return torch.erf(x * 2)
    ```
    """

    code: ClassVar[str] = "TS432"
    name: ClassVar[str] = "nothing-kept"
    severity: ClassVar[Severity] = Severity.WARNING
    operation: str
    performer: str | None = None
    close: str | None = None

    def message(self) -> str:
        """State the fault."""
        if self.performer is not None:
            return f"`{self.operation}` is kept in PyTorch, but `{self.performer}` performs it"
        return f"`{self.operation}` is kept in PyTorch, but the forward pass doesn't perform it"

    def help(self) -> str | None:
        """Say what to do."""
        return f"did you mean `{self.close}`?" if self.close else "take it off the list"


@dataclass(frozen=True)
class KernelNotNeeded(Rule):
    """A kernel whose outputs no result of the forward pass depends on.

    The end-to-end reference says what a file computes. A kernel that it doesn't need runs for nothing: a step of the
    forward pass is missing from the end-to-end reference, an input is wired past the kernel, or the kernel is left over.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return x * 2
    ---
    KERNEL SPEC: grow
    Description: Takes the exponential of every element.
    Operations: [exp]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - z: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_grow(x):
        return x.exp()
    ---
    ## Composition Notes
    def reference_end(x):
        return x * 2
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return x * 2
    ---
    KERNEL SPEC: grow
    Description: Takes the exponential of every element.
    Operations: [exp]
    Inputs:
      - y: shape=(N,), dtype=float32
    Outputs:
      - z: shape=(N,), dtype=float32
    Dependencies: [double]
    PyTorch Reference:
    def reference_grow(y):
        return y.exp()
    ---
    ## Composition Notes
    def reference_end(x):
        return (x * 2).exp()
    ```
    """

    code: ClassVar[str] = "TS433"
    name: ClassVar[str] = "kernel-not-needed"
    severity: ClassVar[Severity] = Severity.WARNING
    kernel: str

    def message(self) -> str:
        """State the fault."""
        return f"no result of the end-to-end reference depends on `{self.kernel}`"

    def help(self) -> str | None:
        """Say what to do."""
        return "return its output from the end-to-end reference, wire it with `from=`, or remove the kernel"
