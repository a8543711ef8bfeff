"""Findings about reference code (TS4xx): the safe language, tracing it, and what the kernels cover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule, Severity

__all__ = [
    "BroadcastMismatch",
    "ContractionMismatch",
    "CoverageUndecided",
    "DataDependentControl",
    "DefaultDiffers",
    "ForbiddenConstruct",
    "IncompleteCoverage",
    "OperationNotListed",
    "OperationNotPerformed",
    "OutputCountMismatch",
    "OutputDtypeMismatch",
    "OutputShapeMismatch",
    "ParameterMismatch",
    "RandomOperation",
    "ReferenceLimit",
    "ReferenceMissing",
    "ReferenceNameMismatch",
    "ReferenceRaises",
    "ReferenceSyntax",
    "ScalarFixed",
    "SizeRestriction",
    "UndeclaredParameter",
    "UndefinedVariable",
    "UnknownFunction",
    "UnusedInput",
    "WiringDisproved",
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
class ReferenceNameMismatch(Rule):
    """A reference block without the function that the kernel's id asks for.

    The entry of the block of kernel `scale` is `reference_scale`. Other functions may stand beside it as helpers.

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
    def reference_double(x):
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

    code: ClassVar[str] = "TS405"
    name: ClassVar[str] = "reference-name-mismatch"
    expected: str
    found: str | None

    def message(self) -> str:
        """State the fault."""
        found = f", it defines `{self.found}`" if self.found else ""
        return f"the reference does not define `{self.expected}`{found}"

    def help(self) -> str | None:
        """Say what to rename."""
        return f"name it `{self.expected}`"

    def replacement(self) -> str | None:
        """Return the name that belongs here."""
        return self.expected if self.found else None


@dataclass(frozen=True)
class ParameterMismatch(Rule):
    """Parameters of the reference that differ from the declared inputs.

    The reference takes the kernel's inputs by name, every one of them, in the order of `Inputs`.

    Fails: the file declares `bias`, the function takes `b`.

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
    def reference_shift(x, b):
        return x + b
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

    code: ClassVar[str] = "TS406"
    name: ClassVar[str] = "parameter-mismatch"
    function: str
    declared: tuple[str, ...]
    written: tuple[str, ...]

    def message(self) -> str:
        """State the fault."""
        missing = [name for name in self.declared if name not in self.written]
        extra = [name for name in self.written if name not in self.declared]
        parts = []
        if missing:
            parts.append(f"lacks {', '.join(f'`{name}`' for name in missing)}")
        if extra:
            parts.append(f"has {', '.join(f'`{name}`' for name in extra)}, which no input declares")
        if not parts:
            parts.append("takes the inputs in another order than they are declared")
        return f"`{self.function}` {' and '.join(parts)}"

    def help(self) -> str | None:
        """Give the signature."""
        return f"write `def {self.function}({', '.join(self.declared)})`"


@dataclass(frozen=True)
class DefaultDiffers(Rule):
    """A scalar whose declared value is not the default in the reference's signature.

    Fails: the file says `1e-5`, the function `1e-6`.

    ```tilespec
    KERNEL SPEC: shift
    Description: Adds a small number.
    Operations: [add]
    Inputs:
      - x: shape=(N,), dtype=float32
      - eps: scalar float = 1e-5
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_shift(x, eps=1e-6):
        return x + eps
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: shift
    Description: Adds a small number.
    Operations: [add]
    Inputs:
      - x: shape=(N,), dtype=float32
      - eps: scalar float = 1e-5
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_shift(x, eps=1e-5):
        return x + eps
    ```
    """

    code: ClassVar[str] = "TS407"
    name: ClassVar[str] = "default-differs"
    scalar: str
    declared: str
    written: str

    def message(self) -> str:
        """State the fault."""
        return (
            f"`{self.scalar}` is declared as {self.declared} but defaults to {self.written} in the reference"
        )

    def help(self) -> str | None:
        """Say what to do."""
        return f"write {self.declared} or {self.written} in both places"


@dataclass(frozen=True)
class ReferenceRaises(Rule):
    """A reference that fails when it is evaluated on the declared shapes and dtypes.

    The reference runs on tensors that have shape and dtype but no data. Whatever torch rejects there, it would reject at
    run time too.

    Fails: a tensor of two axes has no axis 5.

    ```tilespec
    KERNEL SPEC: total
    Description: Sums the rows.
    Operations: [sum]
    Inputs:
      - x: shape=(N, D), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_total(x):
        return x.sum(dim=5)
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: total
    Description: Sums the rows.
    Operations: [sum]
    Inputs:
      - x: shape=(N, D), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_total(x):
        return x.sum(dim=1)
    ```
    """

    code: ClassVar[str] = "TS408"
    name: ClassVar[str] = "reference-raises"
    expression: str
    reason: str

    def message(self) -> str:
        """State the fault."""
        return f"`{self.expression}` fails: {self.reason}"

    def help(self) -> str | None:
        """Say what to do."""
        return "make the call fit the declared shapes and dtypes, or the declarations fit the call"


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
class SizeRestriction(Rule):
    """A reference that is right for some sizes only, while the file allows others.

    State the restriction under `Dims`, so that launches are checked and fuzzing stays inside it.

    Fails: `D // 8` rows of 8 need a `D` that 8 divides.

    ```tilespec
    KERNEL SPEC: group_sum
    Description: Sums groups of eight.
    Operations: [sum]
    Inputs:
      - x: shape=(D,), dtype=float32
    Outputs:
      - y: shape=(D // 8,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_group_sum(x):
        return x.view(x.shape[0] // 8, 8).sum(1)
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: group_sum
    Description: Sums groups of eight.
    Operations: [sum]
    Inputs:
      - x: shape=(8*G,), dtype=float32
    Outputs:
      - y: shape=(G,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_group_sum(x):
        return x.view(x.shape[0] // 8, 8).sum(1)
    ```
    """

    code: ClassVar[str] = "TS410"
    name: ClassVar[str] = "size-restriction"
    condition: str
    counterexample: str

    def message(self) -> str:
        """State the fault."""
        return f"this holds only when `{self.condition}`, which {self.counterexample} breaks"

    def help(self) -> str | None:
        """Say where to state it."""
        return "restrict the sizes under `Dims`, or write the shape so that it always holds (`shape=(8*G,)`)"


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
class OutputCountMismatch(Rule):
    """A reference that returns another number of tensors than `Outputs` declares.

    Fails: one output is declared, two are returned.

    ```tilespec
    KERNEL SPEC: stats
    Description: Row sums.
    Operations: [sum]
    Inputs:
      - x: shape=(N, D), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_stats(x):
        return x.sum(1), x
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: stats
    Description: Row sums.
    Operations: [sum]
    Inputs:
      - x: shape=(N, D), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_stats(x):
        return x.sum(1)
    ```
    """

    code: ClassVar[str] = "TS412"
    name: ClassVar[str] = "output-count-mismatch"
    function: str
    declared: int
    returned: str

    def message(self) -> str:
        """State the fault."""
        plural = "" if self.declared == 1 else "s"
        return f"`{self.function}` returns {self.returned}, but {self.declared} output{plural} declared"

    def help(self) -> str | None:
        """Say what to do."""
        return "return one tensor for each entry of `Outputs`, in that order"


@dataclass(frozen=True)
class OutputShapeMismatch(Rule):
    """An output whose declared shape is not the shape that the reference gives.

    Fails: the sum over the last axis leaves one axis.

    ```tilespec
    KERNEL SPEC: total
    Description: Row sums.
    Operations: [sum]
    Inputs:
      - x: shape=(N, D), dtype=float32
    Outputs:
      - y: shape=(N, D), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_total(x):
        return x.sum(dim=-1)
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: total
    Description: Row sums.
    Operations: [sum]
    Inputs:
      - x: shape=(N, D), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_total(x):
        return x.sum(dim=-1)
    ```
    """

    code: ClassVar[str] = "TS413"
    name: ClassVar[str] = "output-shape-mismatch"
    output: str
    declared: str
    given: str
    sizes: str | None = None

    def message(self) -> str:
        """State the fault."""
        where = f" at {self.sizes}" if self.sizes else ""
        return f"`{self.output}` is declared as {self.declared}, the reference gives {self.given}{where}"

    def help(self) -> str | None:
        """Give the shape."""
        if self.sizes:
            return "restrict the sizes under `Dims`, or declare a shape that holds for all of them"
        return f"declare shape={self.given}, or change what the reference returns"


@dataclass(frozen=True)
class OutputDtypeMismatch(Rule):
    """An output whose declared dtype is not the dtype that the reference gives.

    Fails: the product of two float16 tensors is float16.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float16
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
      - x: shape=(N,), dtype=float16
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return x.float() * 2
    ```
    """

    code: ClassVar[str] = "TS414"
    name: ClassVar[str] = "output-dtype-mismatch"
    output: str
    declared: str
    given: str

    def message(self) -> str:
        """State the fault."""
        return f"`{self.output}` is declared as {self.declared}, the reference gives {self.given}"

    def help(self) -> str | None:
        """Give the cast."""
        return f"declare dtype={self.given}, or end the reference with `.to(torch.{self.declared})`"


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


@dataclass(frozen=True)
class UnusedInput(Rule):
    """An input that the reference takes and never uses.

    Fails:

    ```tilespec
    KERNEL SPEC: scale
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
      - bias: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_scale(x, bias):
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

    code: ClassVar[str] = "TS416"
    name: ClassVar[str] = "unused-input"
    severity: ClassVar[Severity] = Severity.WARNING
    input: str

    def message(self) -> str:
        """State the fault."""
        return f"no output of the reference depends on `{self.input}`"

    def help(self) -> str | None:
        """Say what to do."""
        return "use it in the reference, or take it off `Inputs` and the parameters"


@dataclass(frozen=True)
class ScalarFixed(Rule):
    """A scalar that decides the program, so that its declared value is built into the kernel.

    An axis number, a group count or a flag cannot change from launch to launch. The launcher rejects other values.

    Fails: `dim` chooses which loop the kernel runs.

    ```tilespec
    KERNEL SPEC: total
    Description: Sums one axis.
    Operations: [sum]
    Inputs:
      - x: shape=(N, D), dtype=float32
      - dim: scalar int = 1
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_total(x, dim=1):
        return x.sum(dim=dim)
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: total
    Description: Sums one axis.
    Operations: [sum]
    Inputs:
      - x: shape=(N, D), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_total(x):
        return x.sum(dim=1)
    ```
    """

    code: ClassVar[str] = "TS417"
    name: ClassVar[str] = "scalar-fixed"
    severity: ClassVar[Severity] = Severity.NOTE
    scalar: str
    value: str

    def message(self) -> str:
        """State the fault."""
        return f"`{self.scalar}` decides the program, so the kernel is built for {self.value} only"

    def help(self) -> str | None:
        """Say what to do."""
        return "choose with `torch.where` in the reference, to have one kernel for every value"


@dataclass(frozen=True)
class ContractionMismatch(Rule):
    """A matrix product whose inner dims differ.

    Fails: `D` columns meet `N` rows.

    ```tilespec
    KERNEL SPEC: scores
    Description: Scores of queries against keys.
    Operations: [matmul]
    Inputs:
      - q: shape=(N, D), dtype=float32
      - k: shape=(N, D), dtype=float32
    Outputs:
      - y: shape=(N, N), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_scores(q, k):
        return q @ k
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: scores
    Description: Scores of queries against keys.
    Operations: [matmul]
    Inputs:
      - q: shape=(N, D), dtype=float32
      - k: shape=(N, D), dtype=float32
    Outputs:
      - y: shape=(N, N), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_scores(q, k):
        return q @ k.T
    ```
    """

    code: ClassVar[str] = "TS418"
    name: ClassVar[str] = "contraction-mismatch"
    expression: str
    left: str
    left_dim: str
    right: str
    right_dim: str
    transposes: bool = False

    def message(self) -> str:
        """State the fault."""
        return f"`{self.expression}` contracts `{self.left_dim}` of `{self.left}` with `{self.right_dim}` of `{self.right}`"

    def label(self) -> str | None:
        """Say what is missing."""
        return f"needs {self.left_dim} rows, has {self.right_dim}"

    def help(self) -> str | None:
        """Suggest the transpose where it fits."""
        if self.transposes:
            return f"transpose it: `{self.right}.transpose(-2, -1)`"
        return "make the two sizes one symbol, or correct the shape that is wrong"


@dataclass(frozen=True)
class BroadcastMismatch(Rule):
    """Shapes that do not broadcast.

    Aligned at the last axis, two dims must be equal, or one of them 1.

    Fails: `D` against `N`.

    ```tilespec
    KERNEL SPEC: shift
    Description: Adds a bias.
    Operations: [add]
    Inputs:
      - x: shape=(N, D), dtype=float32
      - bias: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N, D), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_shift(x, bias):
        return x + bias
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: shift
    Description: Adds a bias.
    Operations: [add]
    Inputs:
      - x: shape=(N, D), dtype=float32
      - bias: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N, D), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_shift(x, bias):
        return x + bias[:, None]
    ```
    """

    code: ClassVar[str] = "TS419"
    name: ClassVar[str] = "broadcast-mismatch"
    expression: str
    left: str
    left_shape: str
    right: str
    right_shape: str

    def message(self) -> str:
        """State the fault."""
        return (
            f"`{self.expression}`: {self.left_shape} of `{self.left}` "
            f"does not broadcast with {self.right_shape} of `{self.right}`"
        )

    def help(self) -> str | None:
        """Say what to do."""
        return "sizes are compared from the right: insert a dimension of 1, as in `w[:, None]`, or correct a shape"


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
class ReferenceMissing(Rule):
    """A kernel without reference code whose operations leave a choice.

    `Operations` names what a kernel does, not on which operands. Where shapes, names and order leave one answer, the
    reference is generated and shown (`TS427`); here they leave none or several. Every other claim of the file is checked
    against the reference, so it has to be written.

    Fails:

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
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

    code: ClassVar[str] = "TS424"
    name: ClassVar[str] = "reference-missing"
    kernel: str
    reason: str = ""

    def message(self) -> str:
        """State the fault."""
        why = f", and its operations don't determine one: {self.reason}" if self.reason else ""
        return f"`{self.kernel}` has no reference{why}"

    def help(self) -> str | None:
        """Say what to write."""
        return f"write `def reference_{self.kernel}(...)` under `PyTorch Reference:`"


@dataclass(frozen=True)
class ReferenceGenerated(Rule):
    """A reference that was generated from the operations of a kernel.

    A kernel without a reference gets the one that its operations, shapes and names determine: operations in order, each
    on the result of the one before and on the next inputs that fit. The text is shown with this note and is what the
    kernel is proved equal to. Read it: if it isn't what was meant, write the reference.

    With the note:

    ```tilespec
    KERNEL SPEC: project
    Description: A product with a weight, plus a bias, through GELU.
    Operations: [matmul, bias_add, gelu]
    Inputs:
      - x: shape=(B, D), dtype=float16
      - weight: shape=(D, N), dtype=float16
      - bias: shape=(N,), dtype=float16
    Outputs:
      - y: shape=(B, N), dtype=float16
    Dependencies: none
    ```

    Without the note:

    ```tilespec
    KERNEL SPEC: project
    Description: A product with a weight, plus a bias, through GELU.
    Operations: [matmul, bias_add, gelu]
    Inputs:
      - x: shape=(B, D), dtype=float16
      - weight: shape=(D, N), dtype=float16
      - bias: shape=(N,), dtype=float16
    Outputs:
      - y: shape=(B, N), dtype=float16
    Dependencies: none
    PyTorch Reference:
    def reference_project(x, weight, bias):
        return F.gelu(x @ weight + bias)
    ```
    """

    code: ClassVar[str] = "TS427"
    name: ClassVar[str] = "reference-generated"
    severity: ClassVar[Severity] = Severity.NOTE
    kernel: str

    def message(self) -> str:
        """State what was done."""
        return f"the reference of `{self.kernel}` was generated from its operations"

    def help(self) -> str | None:
        """Say what to do if it is wrong."""
        return "write it under `PyTorch Reference:` if this is not what was meant"


@dataclass(frozen=True)
class UndeclaredParameter(Rule):
    """A parameter of the end-to-end reference that no kernel takes.

    The composition's inputs are the kernels' inputs, by name. A parameter that none of them declares has no shape.

    Fails: no kernel has an input `z`.

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
    def reference_end(z):
        return z * 2
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

    code: ClassVar[str] = "TS425"
    name: ClassVar[str] = "undeclared-parameter"
    function: str
    parameter: str

    def message(self) -> str:
        """State the fault."""
        return f"`{self.parameter}` of `{self.function}` is an input of no kernel"

    def help(self) -> str | None:
        """Say what to do."""
        return "give it the name of the kernel input that it feeds, or add the KERNEL SPEC that reads it"


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
