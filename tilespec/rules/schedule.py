"""TS6xx: schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule

__all__ = ["NoSchedule", "UndeterminedSize"]


@dataclass(frozen=True)
class NoSchedule(Rule):
    """A kernel that no family can schedule.

    Every family looks at the program and declines with a reason; the notes list them. `tilespec show` prints the program
    that they looked at.
    """

    code: ClassVar[str] = "TS601"
    name: ClassVar[str] = "no-schedule"
    kernel: str

    def message(self) -> str:
        return f"no kernel family takes `{self.kernel}`"

    def help(self) -> str | None:
        return "split it at the operation that the reasons name, so that each part is one kernel"


@dataclass(frozen=True)
class UndeterminedSize(Rule):
    """A dim symbol whose value no call can know.

    A launcher reads dim symbols off the shapes of its arguments. A symbol that stands alone in some dim is known at once; one
    in `8*Cg` or `D + 1` is solved for; `H*Dh` serves as one size as long as neither factor is used alone. Where the reference
    splits such a product, the factors have to be known.

    This fails, since many values of `D` give the same `D // 2`:

    ```tilespec
    KERNEL SPEC: double_half
    Description: Doubles a row.
    Operations: [mul]
    Inputs:
      - x: shape=(B, D // 2), dtype=float32
    Outputs:
      - y: shape=(B, D // 2), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double_half(x):
        return x * 2
    ```

    This passes:

    ```tilespec
    KERNEL SPEC: double_half
    Description: Doubles a row.
    Operations: [mul]
    Inputs:
      - x: shape=(B, E), dtype=float32
    Outputs:
      - y: shape=(B, E), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double_half(x):
        return x * 2
    ```
    """

    code: ClassVar[str] = "TS602"
    name: ClassVar[str] = "undetermined-size"
    symbol: str

    def message(self) -> str:
        return f"`{self.symbol}` does not follow from the shapes of the inputs"

    def help(self) -> str | None:
        return (
            f"give one input a dim of `{self.symbol}` alone, or say under `Dims` how it follows from others"
        )
