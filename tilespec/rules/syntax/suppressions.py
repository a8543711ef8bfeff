"""Comments that suppress findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule, Severity

__all__ = ["MalformedSuppression", "SuppressionWithoutReason", "UnusedSuppression"]


@dataclass(frozen=True)
class SuppressionWithoutReason(Rule):
    """A suppression that doesn't say why.

    The reason is for the reviewer. A suppression without one is an error itself.

    ```tilespec
    # tilespec: ignore[TS114]
    KERNEL SPEC: double
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    # tilespec: ignore[TS114] the name says it all
    KERNEL SPEC: double
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS120"
    name: ClassVar[str] = "suppression-without-reason"
    suppressed: str

    def message(self) -> str:
        return f"`{self.suppressed}` is suppressed without a reason"

    def help(self) -> str | None:
        return f"write `# tilespec: ignore[{self.suppressed}] why it is right here`"


@dataclass(frozen=True)
class MalformedSuppression(Rule):
    """A suppression that doesn't name codes.

    ```tilespec
    # tilespec: ignore[missing-description] the name says it all
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    # tilespec: ignore[TS114] the name says it all
    KERNEL SPEC: double
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS121"
    name: ClassVar[str] = "malformed-suppression"
    written: str

    def message(self) -> str:
        return (
            f"`{self.written}` is no code of a finding" if self.written else "the suppression names no code"
        )

    def help(self) -> str | None:
        return "write `# tilespec: ignore[TS402] reason`, with the code that the finding shows"


@dataclass(frozen=True)
class UnusedSuppression(Rule):
    """A suppression of a finding that isn't there.

    The fault was mended, or the comment stands at the wrong place. Left alone it would hide the next one.

    ```tilespec
    # tilespec: ignore[TS114] the name says it all
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS122"
    name: ClassVar[str] = "unused-suppression"
    severity: ClassVar[Severity] = Severity.WARNING
    suppressed: str

    def message(self) -> str:
        return f"nothing here raises `{self.suppressed}`"

    def help(self) -> str | None:
        return "remove the comment, or put it on the line before the field that it means"
