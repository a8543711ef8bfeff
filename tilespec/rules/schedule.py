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

    This fails, since `H*Dh` can be split in many ways:

    ```tilespec
    KERNEL SPEC: split_heads
    Description: Scales every head.
    Operations: [mul]
    Inputs:
      - x: shape=(B, H*Dh), dtype=float32
    Outputs:
      - y: shape=(B, H, Dh), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_split_heads(x):
        return x.reshape(x.shape[0], 8, -1) * 2
    ```

    This passes, since `w` has a dim of each:

    ```tilespec
    KERNEL SPEC: split_heads
    Description: Scales every head.
    Operations: [mul]
    Inputs:
      - x: shape=(B, H*Dh), dtype=float32
      - w: shape=(H, Dh), dtype=float32
    Outputs:
      - y: shape=(B, H, Dh), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_split_heads(x, w):
        return x.reshape(x.shape[0], w.shape[0], w.shape[1]) * w
    ```
    """

    code: ClassVar[str] = "TS602"
    name: ClassVar[str] = "undetermined-size"
    symbol: str

    def message(self) -> str:
        return f"`{self.symbol}` does not follow from the shapes of the inputs"

    def help(self) -> str | None:
        return f"give one input a dim of `{self.symbol}` alone, or say under `Dims` how it follows from others"
