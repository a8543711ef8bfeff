"""The decomposition summary against what is derived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule, Severity
from tilespec.rules.words import meant

__all__ = ["IncompleteOrder", "OrderContradiction", "TotalMismatch", "UnknownGroupMember"]


@dataclass(frozen=True)
class OrderContradiction(Rule):
    """An `Execution order` in which a kernel doesn't come after what it depends on.

    Any order that the dependencies allow is right. One that contradicts them means that either the order or a
    dependency is wrong.

    ```tilespec
    ## Decomposition Summary
    Execution order: second -> first
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

    ```tilespec
    ## Decomposition Summary
    Execution order: first -> second
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

    code: ClassVar[str] = "TS208"
    name: ClassVar[str] = "order-contradiction"
    kernel: str
    dependency: str
    derived: str
    parallel: bool = False
    """Whether `Parallel groups` says so."""

    def message(self) -> str:
        if self.parallel:
            return f"`{self.kernel}` depends on `{self.dependency}`, and can't run at the same time"
        return f"`{self.kernel}` depends on `{self.dependency}`, but doesn't come after it"

    def help(self) -> str | None:
        return f"the dependencies allow `{self.derived}`"


@dataclass(frozen=True)
class IncompleteOrder(Rule):
    """An `Execution order` that leaves kernels out or names one twice.

    An execution order names every kernel of the file once.

    ```tilespec
    ## Decomposition Summary
    Execution order: second
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

    ```tilespec
    ## Decomposition Summary
    Execution order: first -> second
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

    code: ClassVar[str] = "TS209"
    name: ClassVar[str] = "incomplete-order"
    kernel: str
    derived: str
    twice: bool = False

    def message(self) -> str:
        what = "twice in" if self.twice else "missing from"
        return f"kernel `{self.kernel}` is {what} the execution order"

    def help(self) -> str | None:
        return f"the dependencies allow `{self.derived}`"


@dataclass(frozen=True)
class TotalMismatch(Rule):
    """A `Total kernels` that isn't the number of kernels in the file.

    The number is derived; a written one that differs usually means that a kernel was forgotten.

    ```tilespec
    ## Decomposition Summary
    Total kernels: 3
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

    ```tilespec
    ## Decomposition Summary
    Total kernels: 2
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

    code: ClassVar[str] = "TS210"
    name: ClassVar[str] = "total-mismatch"
    written: int
    counted: int

    def message(self) -> str:
        return f"`Total kernels` says {self.written}, the file has {self.counted}"

    def help(self) -> str | None:
        return f"write {self.counted}"

    def replacement(self) -> str | None:
        return str(self.counted)


@dataclass(frozen=True)
class UnknownGroupMember(Rule):
    """A word in `Parallel groups` that is nearly a kernel id.

    `Parallel groups` is prose, but a word in it that is nearly the id of a kernel is taken for one.

    ```tilespec
    ## Decomposition Summary
    Parallel groups: frist_step runs alone
    KERNEL SPEC: first_step
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
    Dependencies: [first_step]
    ```

    ```tilespec
    ## Decomposition Summary
    Parallel groups: first_step runs alone
    KERNEL SPEC: first_step
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
    Dependencies: [first_step]
    ```
    """

    code: ClassVar[str] = "TS217"
    name: ClassVar[str] = "unknown-group-member"
    severity: ClassVar[Severity] = Severity.WARNING
    guesses: ClassVar[bool] = True
    written: str
    close: str

    def message(self) -> str:
        return f"`Parallel groups` names `{self.written}`, which is no kernel"

    def help(self) -> str | None:
        return meant(self.close)

    def replacement(self) -> str | None:
        return self.close
