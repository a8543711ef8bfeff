"""Fields of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule, Severity
from tilespec.rules.syntax.forms import FORMS
from tilespec.rules.words import meant

__all__ = [
    "DuplicateField",
    "EmptyField",
    "InvalidName",
    "MissingDescription",
    "MissingField",
    "UnknownField",
]


@dataclass(frozen=True)
class MissingField(Rule):
    """A kernel without a field that every kernel needs.

    `Operations`, `Inputs` and `Outputs` are required; all other fields have a default.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
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

    code: ClassVar[str] = "TS107"
    name: ClassVar[str] = "missing-field"
    field: str
    kernel: str

    def message(self) -> str:
        return f"kernel `{self.kernel}` has no `{self.field}`"

    def help(self) -> str | None:
        return f"add `{self.field}:`; {FORMS[self.field]}" if self.field in FORMS else f"add `{self.field}:`"


@dataclass(frozen=True)
class UnknownField(Rule):
    """A line `Word: ...` in a kernel that is no field of the format.

    A misspelt field would otherwise be left out without a word. Prose belongs under `Notes`, as a bullet.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Input:
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

    code: ClassVar[str] = "TS108"
    name: ClassVar[str] = "unknown-field"
    field: str
    close: str | None = None

    def message(self) -> str:
        return f"`{self.field}` is no field of a kernel"

    def help(self) -> str | None:
        return meant(self.close) or "if it is a remark, make it a bullet under `Notes:`"

    def replacement(self) -> str | None:
        return self.close


@dataclass(frozen=True)
class DuplicateField(Rule):
    """A field that is written twice.

    Only the first one is read, so the second would silently have no effect.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Operations: [mul]
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

    code: ClassVar[str] = "TS109"
    name: ClassVar[str] = "duplicate-field"
    field: str

    def message(self) -> str:
        return f"`{self.field}` is written twice"

    def help(self) -> str | None:
        return "keep one of them"


@dataclass(frozen=True)
class InvalidName(Rule):
    """A name that can't stand in generated code.

    Kernel ids, tensors and scalars become names of functions, files and variables. So they are ASCII letters, digits and
    single underscores, start with a letter, have at most 80 characters, and are neither a Python keyword nor a name that
    generated code needs itself (`torch`, `F`, `math`, `ct`).

    ```tilespec
    KERNEL SPEC: my-kernel
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: my_kernel
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS110"
    name: ClassVar[str] = "invalid-name"
    kind: str
    written: str

    def message(self) -> str:
        if not self.written:
            return "`KERNEL SPEC:` has no id"
        return f"`{self.written[:60]}` can't be the name of a {self.kind}"

    def help(self) -> str | None:
        if not self.written:
            return "write `KERNEL SPEC: <id>`"
        fixed = "".join(char if char.isascii() and char.isalnum() else "_" for char in self.written).strip(
            "_"
        )
        while "__" in fixed:
            fixed = fixed.replace("__", "_")
        if fixed[:1].isalpha() and fixed != self.written and len(fixed) <= 80:
            return f"write `{fixed}`"
        return (
            "use ASCII letters, digits and single underscores, a letter first, at most 80, no Python keyword"
        )


@dataclass(frozen=True)
class MissingDescription(Rule):
    """A kernel without a `Description`.

    Nothing is generated differently without one, but it is the first thing a reviewer reads, and it becomes the docstring
    of the generated kernel.

    ```tilespec
    KERNEL SPEC: double
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

    code: ClassVar[str] = "TS114"
    name: ClassVar[str] = "missing-description"
    severity: ClassVar[Severity] = Severity.WARNING
    kernel: str

    def message(self) -> str:
        return f"kernel `{self.kernel}` has no `Description`"

    def help(self) -> str | None:
        return "say in one or two sentences what it computes"


@dataclass(frozen=True)
class EmptyField(Rule):
    """A field with nothing in it.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: []
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

    code: ClassVar[str] = "TS115"
    name: ClassVar[str] = "empty-field"
    field: str

    def message(self) -> str:
        return f"`{self.field}` is empty"

    def help(self) -> str | None:
        if self.field == "Inputs":
            return "list the inputs, or write `Inputs: none`"
        return FORMS.get(self.field)
