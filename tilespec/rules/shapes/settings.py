"""`Numerics` and `Bench`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule
from tilespec.rules.words import meant

__all__ = ["BenchMismatch", "InvalidSetting"]


@dataclass(frozen=True)
class InvalidSetting(Rule):
    """An entry of `Numerics` that isn't one.

    `Numerics` has the entries `accumulate`, `tf32`, `approximate` and `tolerance`; each has a safe default.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Numerics: acumulate=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Numerics: accumulate=float32
    ```
    """

    code: ClassVar[str] = "TS314"
    name: ClassVar[str] = "invalid-setting"
    key: str
    reason: str
    advice: str

    def message(self) -> str:
        return f"`{self.key}` {self.reason}"

    def help(self) -> str | None:
        return self.advice


@dataclass(frozen=True)
class BenchMismatch(Rule):
    """A `Bench` shape that the file rules out.

    `Bench` names real sizes for timing. Each is a size of a symbol that the kernel uses, and `Dims` allows it.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Bench: M=1024
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Bench: N=1024
    ```
    """

    code: ClassVar[str] = "TS315"
    name: ClassVar[str] = "bench-mismatch"
    symbol: str
    reason: str
    close: str | None = None

    def message(self) -> str:
        return f"`Bench` sets `{self.symbol}`{self.reason}"

    def help(self) -> str | None:
        return meant(self.close) or "use symbols of the kernel's shapes and sizes that `Dims` allows"
