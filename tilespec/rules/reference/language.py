"""What the reference language refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule

__all__ = [
    "DataDependentControl",
    "ForbiddenConstruct",
    "RandomOperation",
    "ReferenceLimit",
    "ReferenceSyntax",
    "UndefinedVariable",
    "UnknownFunction",
]


@dataclass(frozen=True)
class ReferenceSyntax(Rule):
    """Reference code that is not Python.

    The reference is read with Python's own parser, and nothing of a block is used when one line of it does not parse.

    Fails: a bracket that nobody closes.

    ```tilespec
    KERNEL SPEC: scale
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_scale(x):
        return (x * 2
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: scale
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_scale(x):
        return x * 2
    ```
    """

    code: ClassVar[str] = "TS401"
    name: ClassVar[str] = "reference-syntax"
    reason: str

    def message(self) -> str:
        """State the fault."""
        return f"the reference is not Python: {self.reason}"

    def help(self) -> str | None:
        """Say what to do."""
        return "write one function `def reference_<id>(...)`, and nothing but functions beside it"


@dataclass(frozen=True)
class ForbiddenConstruct(Rule):
    """A Python construct that the reference language does not have.

    A reference states a computation on tensors. It is evaluated by tilespec, not by Python, and only the constructs that a
    computation needs exist: functions, assignments, arithmetic, comparisons, indexing, calls, `if` and bounded `for`.
    Everything else is refused before anything runs, so that reading a stranger's file is safe.

    Fails: an import. `torch`, `F` and `math` are there already.

    ```tilespec
    KERNEL SPEC: scale
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_scale(x):
        import os
        return x * 2
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: scale
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_scale(x):
        return x * 2
    ```
    """

    code: ClassVar[str] = "TS402"
    name: ClassVar[str] = "forbidden-construct"
    what: str
    advice: str | None = None

    def message(self) -> str:
        """State the fault."""
        return f"{self.what} is not part of the reference language"

    def help(self) -> str | None:
        """Say what to write instead."""
        return self.advice


@dataclass(frozen=True)
class UnknownFunction(Rule):
    """A function, method or attribute that is not on the allow list.

    Reference code reaches torch only through a fixed list of names. What reads or writes files, runs callbacks, changes
    global state or draws random numbers is not on it. The list is printed in the page on the reference language.

    Fails:

    ```tilespec
    KERNEL SPEC: scale
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_scale(x):
        return torch.load(x) * 2
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: scale
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_scale(x):
        return torch.mul(x, 2)
    ```
    """

    code: ClassVar[str] = "TS403"
    name: ClassVar[str] = "unknown-function"
    function: str
    close: str | None = None

    def message(self) -> str:
        """State the fault."""
        return f"`{self.function}` is not in the reference language"

    def help(self) -> str | None:
        """Suggest the nearest name."""
        return (
            f"did you mean `{self.close}`?"
            if self.close
            else "the page on the reference language lists every name"
        )


@dataclass(frozen=True)
class UndefinedVariable(Rule):
    """Use of a name that no parameter, assignment or function of the reference defines.

    Fails: `biass` is not a parameter.

    ```tilespec
    KERNEL SPEC: shift
    Description: Adds a bias.
    Operations: [add]
    Inputs:
      - x: shape=(N,), dtype=float32
      - bias: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_shift(x, bias):
        return x + biass
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: shift
    Description: Adds a bias.
    Operations: [add]
    Inputs:
      - x: shape=(N,), dtype=float32
      - bias: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_shift(x, bias):
        return x + bias
    ```
    """

    code: ClassVar[str] = "TS404"
    name: ClassVar[str] = "undefined-variable"
    variable: str
    close: str | None = None

    def message(self) -> str:
        """State the fault."""
        return f"`{self.variable}` is not defined in the reference"

    def help(self) -> str | None:
        """Suggest the nearest name."""
        if self.close:
            return f"did you mean `{self.close}`?"
        return "declare it under `Inputs` and as a parameter, or assign it before it is used"


@dataclass(frozen=True)
class DataDependentControl(Rule):
    """A branch, a loop or a shape that depends on the values of a tensor.

    A kernel is one program for all values. Choose between values with `torch.where`.

    Fails:

    ```tilespec
    KERNEL SPEC: positive
    Description: Keeps positive sums.
    Operations: [relu]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_positive(x):
        if x.sum() > 0:
            return x
        return F.relu(x)
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: positive
    Description: Keeps positive values.
    Operations: [relu]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_positive(x):
        return F.relu(x)
    ```
    """

    code: ClassVar[str] = "TS409"
    name: ClassVar[str] = "data-dependent-control"
    expression: str

    def message(self) -> str:
        """State the fault."""
        return f"`{self.expression}` depends on the values of a tensor"

    def help(self) -> str | None:
        """Say what to write instead."""
        return "choose between values with `torch.where`; shapes and branches may depend on sizes only"


@dataclass(frozen=True)
class ReferenceLimit(Rule):
    """A reference that is larger than the evaluator's bounds.

    Text, nesting, integers, loop passes and operations are bounded, so that reading any file ends soon.

    Fails:

    ```tilespec
    KERNEL SPEC: scale
    Description: Scales by a number nobody can write down.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_scale(x):
        return x * 9**9**9
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: scale
    Description: Scales by 81.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_scale(x):
        return x * 9**2
    ```
    """

    code: ClassVar[str] = "TS411"
    name: ClassVar[str] = "reference-limit"
    what: str
    limit: int

    def message(self) -> str:
        """State the fault."""
        return f"the reference exceeds {self.limit} {self.what}"

    def help(self) -> str | None:
        """Say what to do."""
        return "write it with fewer or smaller steps: a reference states one kernel"


@dataclass(frozen=True)
class RandomOperation(Rule):
    """A function that draws random numbers.

    A kernel is compared with its reference value by value, which random numbers rule out.

    Fails:

    ```tilespec
    KERNEL SPEC: drop
    Description: Drops elements.
    Operations: [dropout]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_drop(x):
        return F.dropout(x, 0.5)
    ```

    Passes: dropout does nothing outside training.

    ```tilespec
    KERNEL SPEC: scale
    Description: Doubles; dropout is inactive.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_scale(x):
        return F.dropout(x * 2, 0.5, training=False)
    ```
    """

    code: ClassVar[str] = "TS415"
    name: ClassVar[str] = "random-operation"
    function: str

    def message(self) -> str:
        """State the fault."""
        return f"`{self.function}` draws random numbers"

    def help(self) -> str | None:
        """Say how to keep it."""
        return "pass `training=False`, or pass the mask in as an input"
