"""Dtypes, type variables and scalars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule
from tilespec.rules.words import meant

__all__ = ["InvalidDefault", "TooManyTypes", "UnknownDtype", "UnknownScalarKind"]


@dataclass(frozen=True)
class UnknownDtype(Rule):
    """A dtype that is none.

    Dtypes have the names of torch. Other spellings that mean exactly one of them (`fp16`, `half`) are accepted, and
    written out by the formatter.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=flaot32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=fp32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS301"
    name: ClassVar[str] = "unknown-dtype"
    guesses: ClassVar[bool] = True
    dtype: str
    close: str | None = None

    def message(self) -> str:
        return f"`{self.dtype}` is no dtype"

    def help(self) -> str | None:
        known = "float16, bfloat16, float32, float64, float8_e4m3fn, float8_e5m2, int8, uint8, int32, int64 and bool"
        return meant(self.close) or f"the dtypes are {known}"

    def replacement(self) -> str | None:
        return self.close


@dataclass(frozen=True)
class UnknownScalarKind(Rule):
    """A scalar that is neither `float` nor `int` nor `bool`.

    Scalars are arguments of the launcher: Python's `float`, `int` or `bool`. They have no width.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
      - s: scalar float32 = 2.0
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
      - s: scalar float = 2.0
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS310"
    name: ClassVar[str] = "unknown-scalar-kind"
    kind: str
    close: str | None = None

    def message(self) -> str:
        return f"`{self.kind}` is no kind of scalar"

    def help(self) -> str | None:
        return meant(self.close) or "write `scalar float`, `scalar int` or `scalar bool`"

    def replacement(self) -> str | None:
        return self.close


@dataclass(frozen=True)
class InvalidDefault(Rule):
    """A default that isn't of the scalar's kind.

    A default is a value of the scalar's kind.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
      - n: scalar int = 0.5
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
      - n: scalar int = 2
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS311"
    name: ClassVar[str] = "invalid-default"
    scalar: str
    kind: str
    written: str

    def message(self) -> str:
        return f"default `{self.written}` of scalar `{self.scalar}` is no {self.kind}"

    def help(self) -> str | None:
        return {"bool": "write `True` or `False`", "int": "write a whole number"}.get(
            self.kind, "write a number"
        )


@dataclass(frozen=True)
class TooManyTypes(Rule):
    """A kernel whose type variables have more choices than can be built.

    Every choice of dtypes is traced, scheduled and written as a kernel of its own, so that two variables of eight dtypes
    are 64 kernels.

    ```tilespec
    Types:
      T in {float16, bfloat16, float32, float64, int8, int32, int64}
      U in {float16, bfloat16, float32, float64, int8, int32, int64}
      V in {float16, bfloat16}
    ---
    KERNEL SPEC: add
    Description: Adds three vectors.
    Operations: [add, add]
    Inputs:
      - a: shape=(N,), dtype=T
      - b: shape=(N,), dtype=U
      - c: shape=(N,), dtype=V
    Outputs:
      - y: shape=(N,), dtype=float64
    ```

    ```tilespec
    Types: T in {float16, bfloat16, float32}
    ---
    KERNEL SPEC: add
    Description: Adds three vectors.
    Operations: [add, add]
    Inputs:
      - a: shape=(N,), dtype=T
      - b: shape=(N,), dtype=T
      - c: shape=(N,), dtype=T
    Outputs:
      - y: shape=(N,), dtype=T
    ```
    """

    code: ClassVar[str] = "TS318"
    name: ClassVar[str] = "too-many-types"
    kernel: str
    count: int
    most: int

    def message(self) -> str:
        return f"`{self.kernel}` would be {self.count} kernels, one for each choice of dtypes, of {self.most} at most"

    def help(self) -> str | None:
        return "let tensors share a type variable, or list fewer dtypes"
