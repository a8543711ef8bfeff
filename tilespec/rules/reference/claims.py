"""Operations, notes and checks that say something else than the reference does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule, Severity

__all__ = ["NoteContradicts", "OperationNotListed", "OperationNotPerformed", "WrongCompleteness"]


@dataclass(frozen=True)
class OperationNotPerformed(Rule):
    """An entry of `Operations` that the kernel's reference does not perform.

    Fails: there is no softmax in the reference.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul, softmax]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return x * 2
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
    ```
    """

    code: ClassVar[str] = "TS421"
    name: ClassVar[str] = "operation-not-performed"
    operation: str
    performed: tuple[str, ...]

    def message(self) -> str:
        """State the fault."""
        return f"`{self.operation}` is listed, but the reference does not perform it"

    def help(self) -> str | None:
        """List what it performs."""
        return f"the reference performs: {', '.join(self.performed)}" if self.performed else None


@dataclass(frozen=True)
class OperationNotListed(Rule):
    """An operation of the reference that `Operations` leaves out.

    A bias inside a linear layer or a convolution, casts, and rearrangements may be left unlisted.

    Fails: the GELU is not listed.

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
    ```
    """

    code: ClassVar[str] = "TS422"
    name: ClassVar[str] = "operation-not-listed"
    severity: ClassVar[Severity] = Severity.WARNING
    operation: str

    def message(self) -> str:
        """State the fault."""
        return f"the reference performs `{self.operation}`, which `Operations` does not list"

    def help(self) -> str | None:
        """Say what to add."""
        return f"add `{self.operation}` to `Operations`"


@dataclass(frozen=True)
class WrongCompleteness(Rule):
    """A statement of the completeness check that isn't so.

    The check is derived from the traces: `tilespec lint` prints it and `tilespec fmt --completeness` writes it. One that
    is written by hand has to name operations that the forward pass performs, kernels that exist and that perform them,
    and the gaps that there are.

    Fails: there is no softmax.

    ```tilespec
    KERNEL SPEC: activate
    Description: GELU of every element.
    Operations: [gelu]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_activate(x):
        return F.gelu(x)
    ---
    ## Completeness Check
    Original forward-pass ops: [gelu, softmax]
    Covered by kernel specs: gelu -> activate
    Gaps: NONE
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: activate
    Description: GELU of every element.
    Operations: [gelu]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_activate(x):
        return F.gelu(x)
    ---
    ## Completeness Check
    Original forward-pass ops: [gelu]
    Covered by kernel specs: gelu -> activate
    Gaps: NONE
    ```
    """

    code: ClassVar[str] = "TS428"
    name: ClassVar[str] = "wrong-completeness"
    fault: str

    def message(self) -> str:
        """State the fault."""
        return f"the completeness check is wrong: {self.fault}"

    def help(self) -> str | None:
        """Say how to get a right one."""
        return "`tilespec fmt --completeness` writes the derived one"


@dataclass(frozen=True)
class NoteContradicts(Rule):
    """A note that asks for numerics which the kernel doesn't have.

    Notes are for people, and change nothing. What the reference and `Numerics` say is what is generated and proved, so a
    note that demands something else misleads: the tanh form of GELU where the reference computes the erf form, an
    accumulator of another dtype, TF32. A note that allows something (`can use`) demands nothing.

    Fails:

    ```tilespec
    KERNEL SPEC: activate
    Description: GELU of every element.
    Operations: [gelu]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_activate(x):
        return F.gelu(x)

    Notes:
    - Use the tanh approximation of GELU

    ```

    Passes:

    ```tilespec
    KERNEL SPEC: activate
    Description: GELU of every element.
    Operations: [gelu]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    Numerics: approximate=[gelu: tanh]
    PyTorch Reference:
    def reference_activate(x):
        return F.gelu(x)

    Notes:
    - Use the tanh approximation of GELU

    ```
    """

    code: ClassVar[str] = "TS430"
    name: ClassVar[str] = "note-contradicts"
    severity: ClassVar[Severity] = Severity.WARNING
    asked: str
    there: str
    setting: str

    def message(self) -> str:
        """State the fault."""
        return f"this note asks for {self.asked}, but {self.there}"

    def help(self) -> str | None:
        """Say where numerics are said."""
        return f"notes change nothing: write `Numerics: {self.setting}`, or change the note"
