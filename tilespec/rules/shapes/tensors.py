"""Tensors and the edges between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule
from tilespec.rules.words import meant

__all__ = ["EdgeMismatch", "InplaceMismatch", "LayoutRank", "TooManyDims", "UnknownLayout"]


@dataclass(frozen=True)
class EdgeMismatch(Rule):
    """An output wired to an input of another shape or dtype.

    Wiring that is written down binds: both ends of it have the same shape, up to equations under `Dims`, and the
    same dtype.

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
      - e: shape=(N, 1), dtype=float32, from=first.e
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

    code: ClassVar[str] = "TS305"
    name: ClassVar[str] = "edge-mismatch"
    consumer: str
    producer: str
    wanted: str
    given: str

    def message(self) -> str:
        return f"`{self.consumer}` is `{self.wanted}`, but `{self.producer}` is `{self.given}`"

    def help(self) -> str | None:
        return "make both sides agree, or wire the input to another output"


@dataclass(frozen=True)
class UnknownLayout(Rule):
    """A layout that isn't known.

    A layout says how a tensor lies in memory: `contiguous`, the default, or `channels_last`.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N, 2, 3, 4), dtype=float32, layout=channel_last
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N, 2, 3, 4), dtype=float32, layout=channels_last
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS312"
    name: ClassVar[str] = "unknown-layout"
    guesses: ClassVar[bool] = True
    layout: str
    close: str | None = None

    def message(self) -> str:
        return f"`{self.layout}` is no layout"

    def help(self) -> str | None:
        return meant(self.close) or "the layouts are `contiguous` and `channels_last`"

    def replacement(self) -> str | None:
        return self.close


@dataclass(frozen=True)
class LayoutRank(Rule):
    """`channels_last` of a tensor that has no channel axis to put last.

    `channels_last` puts axis 1 last in memory, behind two or three spatial axes.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N, 2), dtype=float32, layout=channels_last
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N, 2), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS313"
    name: ClassVar[str] = "layout-rank"
    tensor: str
    rank: int

    def message(self) -> str:
        return f"`{self.tensor}` has {self.rank} dims, `channels_last` needs 4 or 5"

    def help(self) -> str | None:
        return "remove `layout=channels_last`"


@dataclass(frozen=True)
class InplaceMismatch(Rule):
    """An in-place output of another shape or dtype than the input that it overwrites.

    An in-place output takes the memory of its input, so both have the same shape and dtype.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float16, inplace=x
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

    code: ClassVar[str] = "TS316"
    name: ClassVar[str] = "inplace-mismatch"
    output: str
    target: str

    def message(self) -> str:
        return f"`{self.output}` overwrites `{self.target}`, but has another shape or dtype"

    def help(self) -> str | None:
        return "give both the same shape and dtype"


@dataclass(frozen=True)
class TooManyDims(Rule):
    """A shape of more dimensions than any tensor has.

    torch gives up at 64 dimensions, and long before that a shape is a mistake: a bracket that was never closed, or sizes
    written where a product was meant.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a tensor.
    Operations: [scale]
    Inputs:
      - x: shape=(A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A), dtype=float32
    Outputs:
      - y: shape=(A,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a tensor.
    Operations: [scale]
    Inputs:
      - x: shape=(A, A), dtype=float32
    Outputs:
      - y: shape=(A, A), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS317"
    name: ClassVar[str] = "too-many-dims"
    count: int
    most: int

    def message(self) -> str:
        return f"the shape has {self.count} dimensions, of {self.most} at most"

    def help(self) -> str | None:
        return "merge dimensions that are never told apart, as in `B*H`"
