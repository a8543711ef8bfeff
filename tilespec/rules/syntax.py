"""TS1xx: what can't be read: files, fields, values, names, suppressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule, Severity

__all__ = [
    "DuplicateAttribute",
    "DuplicateField",
    "EmptyField",
    "FileTooLarge",
    "InvalidName",
    "MalformedSuppression",
    "MalformedValue",
    "MissingAttribute",
    "MissingDescription",
    "MissingField",
    "MissingReason",
    "NoKernelSpec",
    "NotText",
    "Rule",
    "ScalarOutput",
    "StrayText",
    "SuppressionWithoutReason",
    "UnclosedBracket",
    "UnclosedFence",
    "UnknownAttribute",
    "UnknownField",
    "UnreadableFile",
    "UnusedSuppression",
]


def _meant(close: str | None) -> str | None:
    return f"did you mean `{close}`?" if close else None


@dataclass(frozen=True)
class UnreadableFile(Rule):
    """A path that can't be read.

    The file doesn't exist, is a folder, or may not be opened by this user. Nothing else is known about it.
    """

    code: ClassVar[str] = "TS101"
    name: ClassVar[str] = "unreadable-file"
    path: str
    reason: str

    def message(self) -> str:
        return f"`{self.path}` {self.reason}"

    def help(self) -> str | None:
        return "give a file" if self.reason == "is a folder" else "check the path"


@dataclass(frozen=True)
class NotText(Rule):
    """A file that isn't UTF-8 text.

    Spec files are UTF-8, with or without a byte order mark. A NUL byte means a binary file, or text in UTF-16.
    """

    code: ClassVar[str] = "TS102"
    name: ClassVar[str] = "not-text"
    found: str

    def message(self) -> str:
        return f"the file isn't text: {self.found}"

    def help(self) -> str | None:
        return "save it as UTF-8"


@dataclass(frozen=True)
class FileTooLarge(Rule):
    """A file larger than any spec needs to be.

    The limit keeps a stray archive or log from being read line by line.
    """

    code: ClassVar[str] = "TS103"
    name: ClassVar[str] = "file-too-large"
    limit: int

    def message(self) -> str:
        return f"the file is larger than {self.limit} MiB"

    def help(self) -> str | None:
        return "split it into files of related kernels"


@dataclass(frozen=True)
class NoKernelSpec(Rule):
    """A file without a `KERNEL SPEC` block.

    A spec file states at least one kernel; without one there is nothing to check or to build.

    ```tilespec
    ## Decomposition Summary
    Total kernels: 0
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    PyTorch Reference:
    def reference_double(x):
        return x * 2
    ```
    """

    code: ClassVar[str] = "TS104"
    name: ClassVar[str] = "no-kernel-spec"
    empty: bool

    def message(self) -> str:
        return "the file is empty" if self.empty else "the file has no `KERNEL SPEC` block"

    def help(self) -> str | None:
        return "start one with a line `KERNEL SPEC: <id>`"


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
        return _FORMS.get(self.field)


_FORMS = {
    "Total kernels": "write the number of kernels, as in `Total kernels: 3`",
    "PyTorch Reference": "write `def reference_<id>(...)` below the field name, or leave the field out",
    "Inputs": "write `name: shape=(B, D), dtype=float16` or `name: scalar float = 1e-5`",
    "Outputs": "write `name: shape=(B, D), dtype=float16`",
    "Operations": "write `[matmul, bias_add, gelu]`",
    "Dependencies": "write `none` or `[first_kernel, second_kernel]`",
    "Shared with": "write the id of a kernel, or a list of ids",
    "Execution order": "write ids joined by `->` (after) and `||` (side by side), as in `a -> b || c`",
    "Dims": "write `B: 1..64`, `D: 64..8192 step 64`, `D_ff: = 4*D` or `H: in {8, 16}`",
    "Types": "write `T in {float16, bfloat16}`",
    "Numerics": "write `accumulate=float32, tf32=never, approximate=[gelu: tanh], tolerance=(1e-2, 1e-2)`",
    "Bench": "write `B=8, S=2048`",
    "Source": "write `model.py:FFN`",
    "Keep in PyTorch": 'write `[dropout] because "inference only"`',
}


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
        return (
            f"add `{self.field}:`; {_FORMS[self.field]}" if self.field in _FORMS else f"add `{self.field}:`"
        )


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
        return _meant(self.close) or "if it is a remark, make it a bullet under `Notes:`"

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
            _meant(self.close) or "a tensor takes `shape`, `dtype`, `from`, `inplace`, `layout` and `values`"
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
        return _FORMS.get(self.field)


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
class StrayText(Rule):
    """Text in a kernel that belongs to no field.

    ```tilespec
    KERNEL SPEC: double
    this one doubles
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    # this one doubles
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS117"
    name: ClassVar[str] = "stray-text"

    def message(self) -> str:
        return "text belongs to no field"

    def help(self) -> str | None:
        return "make it a comment with `#`, or a bullet under `Notes:`"


@dataclass(frozen=True)
class UnclosedFence(Rule):
    """A code fence that is never closed before its kernel or the file ends.

    ````tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    PyTorch Reference:
    ```python
    def reference_double(x):
        return x * 2
    ````

    ````tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    PyTorch Reference:
    ```python
    def reference_double(x):
        return x * 2
    ```
    ````
    """

    code: ClassVar[str] = "TS118"
    name: ClassVar[str] = "unclosed-fence"

    def message(self) -> str:
        return "code fence is never closed"

    def help(self) -> str | None:
        return "close it on a line of its own"

    def label(self) -> str | None:
        return "opened here"


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
