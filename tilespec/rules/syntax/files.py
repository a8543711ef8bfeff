"""Files that hold no spec, and text that belongs to none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule

__all__ = ["FileTooLarge", "NoKernelSpec", "NotText", "StrayText", "UnclosedFence", "UnreadableFile"]


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
