"""Findings of lowering, from ATen calls to the tile program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule

__all__ = ["ReferenceTooDeep", "UnsupportedArgument", "UnsupportedDtype", "UnsupportedOp"]


@dataclass(frozen=True)
class UnsupportedOp(Rule):
    """An operation for which no kernel can be made.

    A kernel computes every element of its outputs from elements of its inputs at positions that are known from the
    shapes, or that are read from an integer tensor. Sorting, random numbers, matrix factorisations and results whose
    size depends on values don't fit that. Such an operation is refused by name; it is never left to PyTorch without a
    word.

    This fails, since a sort is no function of fixed positions:

    ```tilespec
    KERNEL SPEC: ranked
    Description: Sorts each row.
    Operations: [sort]
    Inputs:
      - x: shape=(B, D), dtype=float32
    Outputs:
      - y: shape=(B, D), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_ranked(x):
        return torch.sort(x, dim=-1).values
    ```

    This passes: the largest element of each row is a reduction.

    ```tilespec
    KERNEL SPEC: largest
    Description: Takes the largest element of each row.
    Operations: [max]
    Inputs:
      - x: shape=(B, D), dtype=float32
    Outputs:
      - y: shape=(B,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_largest(x):
        return x.amax(dim=-1)
    ```
    """

    code: ClassVar[str] = "TS501"
    name: ClassVar[str] = "unsupported-op"
    op: str
    why: str
    remedy: str

    def message(self) -> str:
        return f"`{self.op}` has no kernel: {self.why}"

    def help(self) -> str | None:
        return self.remedy


@dataclass(frozen=True)
class UnsupportedArgument(Rule):
    """An operation that has kernels, called in a way that has none.

    Most operations are supported with all of their arguments. Where one value of an argument would need another kind
    of kernel, that value is refused and the others work.

    This fails, since the places of the running maximum are not computed:

    ```tilespec
    KERNEL SPEC: running
    Description: Finds where the running maximum stands.
    Operations: [cummax]
    Inputs:
      - x: shape=(B, D), dtype=float32
    Outputs:
      - y: shape=(B, D), dtype=int64
    Dependencies: none
    PyTorch Reference:
    def reference_running(x):
        return torch.cummax(x, dim=-1).indices
    ```

    This passes: the running maximum itself is a scan.

    ```tilespec
    KERNEL SPEC: running
    Description: Computes the running maximum.
    Operations: [cummax]
    Inputs:
      - x: shape=(B, D), dtype=float32
    Outputs:
      - y: shape=(B, D), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_running(x):
        return torch.cummax(x, dim=-1).values
    ```
    """

    code: ClassVar[str] = "TS502"
    name: ClassVar[str] = "unsupported-argument"
    op: str
    why: str
    remedy: str

    def message(self) -> str:
        return f"this call of `{self.op}` has no kernel: {self.why}"

    def help(self) -> str | None:
        return self.remedy


@dataclass(frozen=True)
class UnsupportedDtype(Rule):
    """A value of a dtype that kernels don't compute with.

    Kernels compute in real floating dtypes, integers and bool. A complex number is two reals: write it as two tensors,
    or as one with a last dim of 2.

    This fails, since the rotation goes through complex numbers:

    ```tilespec
    KERNEL SPEC: rotate
    Description: Rotates pairs by complex multiplication.
    Operations: [mul]
    Inputs:
      - x: shape=(S, D, 2), dtype=float32
      - r: shape=(S, D, 2), dtype=float32
    Outputs:
      - y: shape=(S, D, 2), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_rotate(x, r):
        return torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(r))
    ```

    This passes: the same with real numbers.

    ```tilespec
    KERNEL SPEC: rotate
    Description: Rotates pairs.
    Operations: [mul, sub, add, stack]
    Inputs:
      - x: shape=(S, D, 2), dtype=float32
      - r: shape=(S, D, 2), dtype=float32
    Outputs:
      - y: shape=(S, D, 2), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_rotate(x, r):
        real = x[..., 0] * r[..., 0] - x[..., 1] * r[..., 1]
        imaginary = x[..., 0] * r[..., 1] + x[..., 1] * r[..., 0]
        return torch.stack([real, imaginary], dim=-1)
    ```
    """

    code: ClassVar[str] = "TS503"
    name: ClassVar[str] = "unsupported-dtype"
    op: str
    dtype: str

    def message(self) -> str:
        return f"`{self.op}` gives `{self.dtype}`, which kernels don't compute with"

    def help(self) -> str | None:
        if self.dtype.startswith("complex"):
            return "keep the real and the imaginary part as two real tensors"
        return "cast to a floating, integer or bool dtype first"


@dataclass(frozen=True)
class ReferenceTooDeep(Rule):
    """A reference that chains more operations than one kernel can hold.

    A kernel computes each output element as one expression. Some hundreds of dependent operations (a long loop over
    layers, say) make an expression that no compiler takes in reasonable time; a file of several kernels does the same
    work with the values between them in memory.

    This fails, since the loop makes three thousand operations in a row:

    ```tilespec
    KERNEL SPEC: iterate
    Description: Applies a map many times.
    Operations: [mul, add]
    Inputs:
      - x: shape=(B, D), dtype=float32
    Outputs:
      - y: shape=(B, D), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_iterate(x):
        for step in range(1000):
            x = x * x * 0.5 + x
        return x
    ```

    This passes:

    ```tilespec
    KERNEL SPEC: iterate
    Description: Applies a map a few times.
    Operations: [mul, add]
    Inputs:
      - x: shape=(B, D), dtype=float32
    Outputs:
      - y: shape=(B, D), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_iterate(x):
        for step in range(4):
            x = x * x * 0.5 + x
        return x
    ```
    """

    code: ClassVar[str] = "TS504"
    name: ClassVar[str] = "reference-too-deep"
    kernel: str
    count: int

    def message(self) -> str:
        return f"`{self.kernel}` makes {self.count} calls, more than one kernel can chain"

    def help(self) -> str | None:
        return "split it into several kernels, each with the values that the next one needs as outputs"
