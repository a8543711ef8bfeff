"""What a kernel reads, and from which one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule
from tilespec.rules.words import meant

__all__ = [
    "DependencyCycle",
    "NothingShared",
    "SelfDependency",
    "UnconsumedDependency",
    "UndeclaredDependency",
    "UndefinedSource",
]


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
            meant(self.close)
            or "write `from=<kernel>.<output>`, or the name of an input of the whole composition"
        )

    def replacement(self) -> str | None:
        return self.close
