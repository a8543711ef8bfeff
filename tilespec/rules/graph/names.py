"""Names of kernels, tensors and operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule, Severity
from tilespec.rules.words import listed, meant

__all__ = [
    "ConflictingDefault",
    "DuplicateKernel",
    "DuplicateName",
    "RepeatedEntry",
    "UndefinedInplace",
    "UndefinedKernel",
    "UnknownOperation",
]


@dataclass(frozen=True)
class UndefinedKernel(Rule):
    """Use of a kernel id that no `KERNEL SPEC` of the file has.

    Dependencies, the execution order and `Shared with` name kernels of the same file. A name that is nearly right
    is suggested.

    ```tilespec
    KERNEL SPEC: first
    Description: First step.
    Operations: [exp]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - e: shape=(N,), dtype=float32
    ---
    KERNEL SPEC: second
    Description: Second step.
    Operations: [log]
    Inputs:
      - e: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: [frist]
    ```

    ```tilespec
    KERNEL SPEC: first
    Description: First step.
    Operations: [exp]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - e: shape=(N,), dtype=float32
    ---
    KERNEL SPEC: second
    Description: Second step.
    Operations: [log]
    Inputs:
      - e: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: [first]
    ```
    """

    code: ClassVar[str] = "TS201"
    name: ClassVar[str] = "undefined-kernel"
    guesses: ClassVar[bool] = True
    kernel: str
    close: str | None = None
    known: tuple[str, ...] = ()

    def message(self) -> str:
        return f"kernel `{self.kernel}` is not defined"

    def help(self) -> str | None:
        return meant(self.close) or (f"the file has {listed(self.known)}" if self.known else None)

    def replacement(self) -> str | None:
        return self.close


@dataclass(frozen=True)
class DuplicateKernel(Rule):
    """Two kernels of one id.

    Ids name functions and files, and dependencies refer to them, so each stands for one kernel.

    ```tilespec
    KERNEL SPEC: step
    Description: First step.
    Operations: [exp]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - e: shape=(N,), dtype=float32
    ---
    KERNEL SPEC: step
    Description: Second step.
    Operations: [log]
    Inputs:
      - e: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: first
    Description: First step.
    Operations: [exp]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - e: shape=(N,), dtype=float32
    ---
    KERNEL SPEC: second
    Description: Second step.
    Operations: [log]
    Inputs:
      - e: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: [first]
    ```
    """

    code: ClassVar[str] = "TS202"
    name: ClassVar[str] = "duplicate-kernel"
    kernel: str

    def message(self) -> str:
        return f"kernel `{self.kernel}` is defined twice"

    def help(self) -> str | None:
        return "give one of them another id"


@dataclass(frozen=True)
class DuplicateName(Rule):
    """Two inputs or outputs of one kernel with one name.

    Inputs and outputs are parameters and variables of one function. An output that overwrites an input says so with
    `inplace`.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [add]
    Inputs:
      - x: shape=(N,), dtype=float32
      - z: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS205"
    name: ClassVar[str] = "duplicate-name"
    written: str
    kernel: str
    across: bool = False

    def message(self) -> str:
        what = "both an input and an output" if self.across else "defined twice"
        return f"`{self.written}` is {what} in kernel `{self.kernel}`"

    def help(self) -> str | None:
        if self.across:
            return f"name the output otherwise; if it overwrites the input, add `inplace={self.written}`"
        return "give one of them another name"


@dataclass(frozen=True)
class RepeatedEntry(Rule):
    """A list of kernel ids that names one twice.

    A repeated id does no harm, but it is often a typo for another one.

    ```tilespec
    KERNEL SPEC: first
    Description: First step.
    Operations: [exp]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - e: shape=(N,), dtype=float32
    ---
    KERNEL SPEC: second
    Description: Second step.
    Operations: [log]
    Inputs:
      - e: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: [first, first]
    ```

    ```tilespec
    KERNEL SPEC: first
    Description: First step.
    Operations: [exp]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - e: shape=(N,), dtype=float32
    ---
    KERNEL SPEC: second
    Description: Second step.
    Operations: [log]
    Inputs:
      - e: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: [first]
    ```
    """

    code: ClassVar[str] = "TS212"
    name: ClassVar[str] = "repeated-entry"
    severity: ClassVar[Severity] = Severity.WARNING
    entry: str
    field: str

    def message(self) -> str:
        return f"`{self.field}` names `{self.entry}` twice"

    def help(self) -> str | None:
        return "remove one of them"


@dataclass(frozen=True)
class UnknownOperation(Rule):
    """An operation that is neither in the registry nor a function of the reference.

    `Operations` is what a reviewer compares with the reference, so its names come from one registry, which
    `tilespec ops` lists. A function that the reference block defines may be named too.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [layrnorm]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [layer_norm]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS214"
    name: ClassVar[str] = "unknown-operation"
    guesses: ClassVar[bool] = True
    operation: str
    close: str | None = None

    def message(self) -> str:
        return f"operation `{self.operation}` is not known"

    def help(self) -> str | None:
        return (
            meant(self.close)
            or "use a name that `tilespec ops` lists, or define a function of that name in the reference"
        )

    def replacement(self) -> str | None:
        return self.close


@dataclass(frozen=True)
class UndefinedInplace(Rule):
    """`inplace=` of something that is no input tensor of the kernel.

    `inplace` stands at an output and names the input tensor of the same kernel whose memory it takes.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32, inplace=z
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32, inplace=x
    ```
    """

    code: ClassVar[str] = "TS215"
    name: ClassVar[str] = "undefined-inplace"
    guesses: ClassVar[bool] = True
    target: str
    kernel: str
    close: str | None = None

    def message(self) -> str:
        return f"`{self.target}` is no input tensor of kernel `{self.kernel}`"

    def help(self) -> str | None:
        return meant(self.close) or "`inplace` stands at an output and names the input that it overwrites"

    def replacement(self) -> str | None:
        return self.close


@dataclass(frozen=True)
class ConflictingDefault(Rule):
    """One scalar of a composition with two defaults.

    The composed function has one argument for all scalars of one name, and an argument has one default.

    ```tilespec
    KERNEL SPEC: first
    Description: First step.
    Operations: [exp]
    Inputs:
      - x: shape=(N,), dtype=float32
      - eps: scalar float = 1e-5
    Outputs:
      - e: shape=(N,), dtype=float32
    ---
    KERNEL SPEC: second
    Description: Second step.
    Operations: [log]
    Inputs:
      - e: shape=(N,), dtype=float32
      - eps: scalar float = 1e-6
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: [first]
    ```

    ```tilespec
    KERNEL SPEC: first
    Description: First step.
    Operations: [exp]
    Inputs:
      - x: shape=(N,), dtype=float32
      - eps: scalar float = 1e-5
    Outputs:
      - e: shape=(N,), dtype=float32
    ---
    KERNEL SPEC: second
    Description: Second step.
    Operations: [log]
    Inputs:
      - e: shape=(N,), dtype=float32
      - eps: scalar float = 1e-5
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: [first]
    ```
    """

    code: ClassVar[str] = "TS216"
    name: ClassVar[str] = "conflicting-default"
    scalar: str
    here: str
    there: str

    def message(self) -> str:
        return f"scalar `{self.scalar}` is {self.here} here and {self.there} in another kernel"

    def help(self) -> str | None:
        return "scalars of one name are one argument of the composition: use one default, or two names"
