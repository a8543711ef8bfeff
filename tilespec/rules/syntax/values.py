"""What stands in a field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule
from tilespec.rules.syntax.forms import FORMS
from tilespec.rules.words import meant

__all__ = [
    "DuplicateAttribute",
    "MalformedValue",
    "MissingAttribute",
    "MissingReason",
    "ScalarOutput",
    "UnclosedBracket",
    "UnknownAttribute",
]


@dataclass(frozen=True)
class UnclosedBracket(Rule):
    """A bracket that is opened and never closed.

    A list or a shape may run over several lines, but it ends with its field; the next field is read as usual.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [
      scale,
    ]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS105"
    name: ClassVar[str] = "unclosed-bracket"
    opener: str
    closer: str

    def message(self) -> str:
        return f"`{self.opener}` is never closed"

    def help(self) -> str | None:
        return f"add the `{self.closer}`"

    def label(self) -> str | None:
        return "opened here"


@dataclass(frozen=True)
class MalformedValue(Rule):
    """A field whose value doesn't follow its form.

    Every field has one form, shown in the language reference. The finding points at the first character that doesn't
    fit and says what could stand there.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x shape=(N,), dtype=float32
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

    code: ClassVar[str] = "TS106"
    name: ClassVar[str] = "malformed-value"
    field: str
    found: str
    expected: tuple[str, ...]

    def message(self) -> str:
        return f"`{self.field}` can't be read: found {self.found}"

    def label(self) -> str | None:
        if not self.expected:
            return None
        *rest, last = self.expected
        return f"expected {', '.join(rest)} or {last}" if rest else f"expected {last}"

    def help(self) -> str | None:
        return FORMS.get(self.field)


@dataclass(frozen=True)
class UnknownAttribute(Rule):
    """An attribute of a tensor that the format doesn't have.

    A tensor takes `shape`, `dtype`, `from`, `inplace`, `layout` and `values`.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dytpe=float32
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

    code: ClassVar[str] = "TS111"
    name: ClassVar[str] = "unknown-attribute"
    attribute: str
    close: str | None = None

    def message(self) -> str:
        return f"a tensor has no attribute `{self.attribute}`"

    def help(self) -> str | None:
        return (
            meant(self.close) or "a tensor takes `shape`, `dtype`, `from`, `inplace`, `layout` and `values`"
        )

    def replacement(self) -> str | None:
        return self.close


@dataclass(frozen=True)
class MissingAttribute(Rule):
    """A tensor without a shape or without a dtype.

    Both are part of what a kernel is; neither is guessed.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,)
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

    code: ClassVar[str] = "TS112"
    name: ClassVar[str] = "missing-attribute"
    tensor: str
    attribute: str

    def message(self) -> str:
        return f"tensor `{self.tensor}` has no `{self.attribute}`"

    def help(self) -> str | None:
        return (
            "add `dtype=float16`"
            if self.attribute == "dtype"
            else "add `shape=(...)`; a 0-d tensor has `shape=()`"
        )


@dataclass(frozen=True)
class DuplicateAttribute(Rule):
    """An attribute of a tensor that is written twice.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32, dtype=float16
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

    code: ClassVar[str] = "TS113"
    name: ClassVar[str] = "duplicate-attribute"
    attribute: str
    tensor: str

    def message(self) -> str:
        return f"tensor `{self.tensor}` has `{self.attribute}` twice"

    def help(self) -> str | None:
        return "keep one of them"


@dataclass(frozen=True)
class ScalarOutput(Rule):
    """A scalar under `Outputs`.

    A kernel writes tensors. A single number is a tensor without dims.

    ```tilespec
    KERNEL SPEC: total
    Description: Sums a vector.
    Operations: [sum]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: scalar float
    ```

    ```tilespec
    KERNEL SPEC: total
    Description: Sums a vector.
    Operations: [sum]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS116"
    name: ClassVar[str] = "scalar-output"
    scalar: str

    def message(self) -> str:
        return f"output `{self.scalar}` is a scalar"

    def help(self) -> str | None:
        return f"write `{self.scalar}: shape=(), dtype=float32`"


@dataclass(frozen=True)
class MissingReason(Rule):
    """`Keep in PyTorch` without a reason.

    It is the only way to leave an operation of the forward pass without a kernel, so it says why, and the reason is
    shown in every report.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Keep in PyTorch: [dropout]
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Keep in PyTorch: [dropout] because "it is the identity at inference"
    ```
    """

    code: ClassVar[str] = "TS119"
    name: ClassVar[str] = "missing-reason"
    op: str

    def message(self) -> str:
        return f"`{self.op}` is kept in PyTorch without a reason"

    def help(self) -> str | None:
        return f'write `[{self.op}] because "..."`'
