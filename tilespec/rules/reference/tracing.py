"""Shapes, dtypes and outputs that a trace finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule

__all__ = [
    "BroadcastMismatch",
    "ContractionMismatch",
    "OutputCountMismatch",
    "OutputDtypeMismatch",
    "OutputShapeMismatch",
    "ReferenceRaises",
    "SizeRestriction",
]


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
