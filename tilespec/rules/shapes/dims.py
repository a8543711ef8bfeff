"""Sizes, and what `Dims` says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule, Severity
from tilespec.rules.words import meant

__all__ = [
    "CircularDim",
    "DuplicateDim",
    "EmptyRange",
    "InvalidExpression",
    "NonPositiveDim",
    "UnboundSymbol",
    "UnusedDim",
]


@dataclass(frozen=True)
class NonPositiveDim(Rule):
    """A literal dim of zero or less.

    A size of zero makes a tensor without elements for every call; below zero is no size at all.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N, 0), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N, 1), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS302"
    name: ClassVar[str] = "non-positive-dim"
    dim: str
    value: int

    def message(self) -> str:
        shown = f"`{self.dim}`" if self.dim == str(self.value) else f"`{self.dim}`, which is {self.value}"
        return f"dim {shown}, is less than 1" if "which" in shown else f"dim {shown} is less than 1"

    def help(self) -> str | None:
        return "a size is at least 1; a tensor without dims has `shape=()`"


@dataclass(frozen=True)
class InvalidExpression(Rule):
    """An expression that has no value.

    Dims are whole numbers and symbols joined by `+ - * // % **`, `min`, `max` and `ceildiv`. Defaults and ranges
    are numbers. Both are bounded, so that no text costs more than it says.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N / 2,), dtype=float32
      - n: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N // 2,), dtype=float32
      - n: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS303"
    name: ClassVar[str] = "invalid-expression"
    text: str
    reason: str
    advice: str | None = None

    def message(self) -> str:
        return f"`{self.text}` {self.reason}"

    def help(self) -> str | None:
        return self.advice or "sizes are expressions like `2*D` or `H // heads`, other values are numbers"


@dataclass(frozen=True)
class UnboundSymbol(Rule):
    """A symbol that only an output uses, so that no call could know it.

    The launcher allocates outputs from the sizes of the inputs. A size that no input has must follow from others
    under `Dims`.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(M,), dtype=float32
    ```

    ```tilespec
    Dims:
      M: = 2*N

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(M,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS304"
    name: ClassVar[str] = "unbound-symbol"
    symbol: str
    output: str
    close: str | None = None

    def message(self) -> str:
        return f"no input has the size `{self.symbol}` of output `{self.output}`"

    def help(self) -> str | None:
        return (
            meant(self.close)
            or f"state it under `Dims:`, as in `{self.symbol}: = 4 * D`, or take it from an input's shape"
        )

    def label(self) -> str | None:
        return "only here"


@dataclass(frozen=True)
class EmptyRange(Rule):
    """A range or set that holds no value, or one that isn't a size.

    A range under `Dims` or `values` is where fuzzing draws from and what launches are checked against. It has to
    hold something.

    ```tilespec
    Dims:
      N: 64..1

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    Dims:
      N: 1..64

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS306"
    name: ClassVar[str] = "empty-range"
    text: str
    reason: str

    def message(self) -> str:
        return f"`{self.text}` {self.reason}"

    def help(self) -> str | None:
        return "write the lower end first, sizes of at least 1, a step of at least 1"


@dataclass(frozen=True)
class CircularDim(Rule):
    """Dims that are defined by each other.

    An equation gives one symbol in terms of others; in a circle none of them has a value.

    ```tilespec
    Dims:
      N: = 2*M
      M: = 3*N

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N, M), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    Dims:
      M: = 3*N

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N, M), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS307"
    name: ClassVar[str] = "circular-dim"
    symbols: tuple[str, ...]

    def message(self) -> str:
        return f"dims are defined in a circle: `{' -> '.join((*self.symbols, self.symbols[0]))}`"

    def help(self) -> str | None:
        return "leave one of them free"


@dataclass(frozen=True)
class DuplicateDim(Rule):
    """A dim symbol or type variable that is defined twice in a file.

    A file has one symbol table: `D` is the same size in all kernels.

    ```tilespec
    Dims:
      N: 1..64
      N: 1..128

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    Dims:
      N: 1..128

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS308"
    name: ClassVar[str] = "duplicate-dim"
    symbol: str
    kind: str = "dim"

    def message(self) -> str:
        return f"{self.kind} `{self.symbol}` is defined twice"

    def help(self) -> str | None:
        return "a symbol means the same in the whole file: keep one definition"


@dataclass(frozen=True)
class UnusedDim(Rule):
    """A symbol under `Dims` or `Types` that no tensor uses.

    A symbol that no tensor uses restricts nothing; mostly it is a typo for one that is used.

    ```tilespec
    Dims:
      M: 1..64

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    Dims:
      N: 1..64

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS309"
    name: ClassVar[str] = "unused-dim"
    severity: ClassVar[Severity] = Severity.WARNING
    symbol: str
    close: str | None = None
    kind: str = "dim"

    def message(self) -> str:
        return f"no tensor uses the {self.kind} `{self.symbol}`"

    def help(self) -> str | None:
        return meant(self.close) or "remove the line"
