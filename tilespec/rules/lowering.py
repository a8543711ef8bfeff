"""Findings of lowering, from ATen calls to the tile program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule

__all__ = ["KernelTooLarge", "UnsupportedArgument", "UnsupportedOp"]


@dataclass(frozen=True)
class UnsupportedOp(Rule):
    """An operation for which no kernel can be made.

    A kernel computes every element of its outputs from elements of its inputs at positions that are known from the
    shapes, or that are read from an integer tensor, with the functions that a GPU has. Random numbers, matrix
    factorisations, rare special functions and results whose size depends on values don't fit that. Such an operation is
    refused by name; it is never left to PyTorch without a word.

    This fails, since no target has the logarithm of the gamma function:

    ```tilespec
    KERNEL SPEC: log_gamma
    Description: Computes the logarithm of the gamma function.
    Operations: [log_gamma]
    Inputs:
      - x: shape=(B, D), dtype=float32
    Outputs:
      - y: shape=(B, D), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def log_gamma(x):
        return torch.lgamma(x)
    def reference_log_gamma(x):
        return log_gamma(x)
    ```

    This passes: Stirling's series, written out.

    ```tilespec
    KERNEL SPEC: log_gamma
    Description: Approximates the logarithm of the gamma function for large arguments.
    Operations: [log_gamma]
    Inputs:
      - x: shape=(B, D), dtype=float32
    Outputs:
      - y: shape=(B, D), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def log_gamma(x):
        return (x - 0.5) * torch.log(x) - x + 0.9189385332046727 + 1 / (12 * x)
    def reference_log_gamma(x):
        return log_gamma(x)
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

    This fails, since sorting compares all pairs of a row, and nothing bounds the length of a row here:

    ```tilespec
    KERNEL SPEC: ranked
    Description: Sorts each row.
    Operations: [ranked]
    Inputs:
      - x: shape=(B, D), dtype=float32
    Outputs:
      - y: shape=(B, D), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def ranked(x):
        return torch.sort(x, dim=-1).values
    def reference_ranked(x):
        return ranked(x)
    ```

    This passes: rows of 64 elements.

    ```tilespec
    KERNEL SPEC: ranked
    Description: Sorts each row.
    Operations: [ranked]
    Inputs:
      - x: shape=(B, 64), dtype=float32
    Outputs:
      - y: shape=(B, 64), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def ranked(x):
        return torch.sort(x, dim=-1).values
    def reference_ranked(x):
        return ranked(x)
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
class KernelTooLarge(Rule):
    """A kernel of more steps than one kernel can be.

    A spec is one fusion group: what shares a pass over memory. Dozens of reductions that wait for each other share none,
    and a program of thousands of steps would neither be scheduled nor assembled in reasonable time.

    This fails: 20 softmaxes are 40 reductions.

    ```tilespec
    KERNEL SPEC: again
    Description: Takes the softmax many times.
    Operations: [again]
    Inputs:
      - x: shape=(B, D), dtype=float32
    Outputs:
      - y: shape=(B, D), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def again(x):
        for step in range(20):
            x = torch.softmax(x, dim=-1)
        return x
    def reference_again(x):
        return again(x)
    ```

    This passes.

    ```tilespec
    KERNEL SPEC: again
    Description: Takes the softmax many times.
    Operations: [again]
    Inputs:
      - x: shape=(B, D), dtype=float32
    Outputs:
      - y: shape=(B, D), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def again(x):
        for step in range(2):
            x = torch.softmax(x, dim=-1)
        return x
    def reference_again(x):
        return again(x)
    ```
    """

    code: ClassVar[str] = "TS503"
    name: ClassVar[str] = "kernel-too-large"
    count: int
    what: str
    most: int

    def message(self) -> str:
        return f"the kernel would have {self.count} {self.what}, of {self.most} at most"

    def help(self) -> str | None:
        return "split it into kernels of a few reductions or contractions each"
