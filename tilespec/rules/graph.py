"""TS2xx: names and the graph of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule, Severity

__all__ = [
    "ConflictingDefault",
    "DependencyCycle",
    "DuplicateKernel",
    "DuplicateName",
    "IncompleteOrder",
    "NothingShared",
    "OrderContradiction",
    "RepeatedEntry",
    "SelfDependency",
    "TotalMismatch",
    "UnconsumedDependency",
    "UndeclaredDependency",
    "UndefinedInplace",
    "UndefinedKernel",
    "UndefinedSource",
    "UnknownGroupMember",
    "UnknownOperation",
]


def _meant(close: str | None) -> str | None:
    return f"did you mean `{close}`?" if close else None


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:8])
    return f"{shown}, and {len(names) - 8} more" if len(names) > 8 else shown


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
        return _meant(self.close) or (f"the file has {_listed(self.known)}" if self.known else None)

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
class SelfDependency(Rule):
    """A kernel that depends on itself.

    A kernel reads its inputs before it writes its outputs; it can't wait for itself.

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
    Dependencies: [first, second]
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

    code: ClassVar[str] = "TS203"
    name: ClassVar[str] = "self-dependency"
    kernel: str

    def message(self) -> str:
        return f"kernel `{self.kernel}` depends on itself"

    def help(self) -> str | None:
        return "remove it from `Dependencies`"


@dataclass(frozen=True)
class DependencyCycle(Rule):
    """Kernels that wait for each other.

    No kernel of a circle could run first. The finding shows the circle and every dependency in it.

    ```tilespec
    KERNEL SPEC: first
    Description: First step.
    Operations: [exp]
    Inputs:
      - y: shape=(N,), dtype=float32
    Outputs:
      - e: shape=(N,), dtype=float32
    Dependencies: [second]
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

    code: ClassVar[str] = "TS204"
    name: ClassVar[str] = "dependency-cycle"
    kernels: tuple[str, ...]

    def message(self) -> str:
        shown = " -> ".join((*self.kernels, self.kernels[0]))
        return f"kernels depend on each other in a circle: `{shown}`"

    def help(self) -> str | None:
        return "remove one of these dependencies; none of the kernels could run first"


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
class UndeclaredDependency(Rule):
    """A kernel reads the output of a kernel that its `Dependencies` don't list.

    Execution order is derived from `Dependencies`. A kernel that reads an output without listing its kernel could
    run too early.

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
      - e: shape=(N,), dtype=float32, from=first.e
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
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
      - e: shape=(N,), dtype=float32, from=first.e
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: [first]
    ```
    """

    code: ClassVar[str] = "TS206"
    name: ClassVar[str] = "undeclared-dependency"
    kernel: str
    tensor: str
    producer: str
    by_name: bool = False
    """Whether nothing but the name says so."""

    def message(self) -> str:
        what = "has the name, shape and dtype of an output of" if self.by_name else "reads"
        return (
            f"`{self.tensor}` of `{self.kernel}` {what} `{self.producer}`, which isn't under `Dependencies`"
        )

    def help(self) -> str | None:
        added = f"add `{self.producer}` to the `Dependencies` of `{self.kernel}`"
        if self.by_name:
            return f"{added}, or write `from={self.tensor}` where it is an input of the whole composition"
        return added


@dataclass(frozen=True)
class UnconsumedDependency(Rule):
    """A dependency whose outputs fit no input of the kernel.

    A dependency means that an output is read. If no input has the shape and dtype of any of its outputs, one of
    them is wrong.

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
      - e: shape=(N,), dtype=float16
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

    code: ClassVar[str] = "TS207"
    name: ClassVar[str] = "unconsumed-dependency"
    kernel: str
    producer: str
    outputs: tuple[str, ...]

    def message(self) -> str:
        return f"no input of `{self.kernel}` can take an output of its dependency `{self.producer}`"

    def help(self) -> str | None:
        shown = "; ".join(f"`{output}`" for output in self.outputs)
        return f"its outputs are {shown}; make a shape and dtype agree, or remove the dependency"


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
class NothingShared(Rule):
    """`Shared with` a kernel that reads nothing that this one reads.

    `Shared with` is right when any input of both kernels comes from the same source: an input of one name, or an
    output of the same dependency.

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
    Shared with: first
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
    Operations: [mul]
    Inputs:
      - e: shape=(N,), dtype=float32
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: [first]
    Shared with: first
    ```
    """

    code: ClassVar[str] = "TS211"
    name: ClassVar[str] = "nothing-shared"
    kernel: str
    other: str

    def message(self) -> str:
        return f"`{self.kernel}` and `{self.other}` share no input"

    def help(self) -> str | None:
        return "remove it, or give the shared input one name in both kernels"


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
class UndefinedSource(Rule):
    """A `from=` that names no output of the file.

    `from=` names an output of another kernel, as in `from=first.e`, or an input of the whole composition.

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
      - e: shape=(N,), dtype=float32, from=first.x
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
    Outputs:
      - e: shape=(N,), dtype=float32
    ---
    KERNEL SPEC: second
    Description: Second step.
    Operations: [log]
    Inputs:
      - e: shape=(N,), dtype=float32, from=first.e
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: [first]
    ```
    """

    code: ClassVar[str] = "TS213"
    name: ClassVar[str] = "undefined-source"
    guesses: ClassVar[bool] = True
    written: str
    reason: str
    close: str | None = None

    def message(self) -> str:
        return f"`from={self.written}` names nothing: {self.reason}"

    def help(self) -> str | None:
        return (
            _meant(self.close)
            or "write `from=<kernel>.<output>`, or the name of an input of the whole composition"
        )

    def replacement(self) -> str | None:
        return self.close


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
            _meant(self.close)
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
        return _meant(self.close) or "`inplace` stands at an output and names the input that it overwrites"

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
        return _meant(self.close)

    def replacement(self) -> str | None:
        return self.close
