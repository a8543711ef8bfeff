"""What is compiled, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

__all__ = ["SMALL_FRAME", "Assembly", "AssemblyError", "Job", "Remark"]

SMALL_FRAME: Final = 128
"""Bytes of a stack frame that nobody needs to hear of: a few spilled words outside the hot loop."""


@dataclass(frozen=True)
class Job:
    """One kernel to compile for one target.

    `arguments` are the entries of a launch in `manifest.json`: `{"kind": "array", "name", "dtype", "rank"}`,
    `{"kind": "scalar", "name", "dtype"}` or `{"kind": "constant", "name", "value"}`. An array may also have
    `"unit_axis"` (the axis whose stride is 1, the last by default, `None` for no axis), `"ones"` (axes of extent 1)
    and `"overlaps"` (an expanded tensor). `aligned` chooses the variant whose extents are all multiples of 16,
    else the ragged one.
    """

    module_path: Path
    function: str
    arguments: Sequence[Mapping[str, Any]]
    target: str | None
    """Such as `sm_90`; `None` runs the front end of the compiler only."""
    hints: Mapping[str, Any] = field(default_factory=dict)
    aligned: bool = True
    keep: Path | None = None
    """Where to write the cubin, if it is wanted."""

    @property
    def label(self) -> str:
        """A short name for progress lines."""
        variant = "aligned" if self.aligned else "ragged"
        return f"{self.module_path.stem}.{self.function} {self.target or 'front end'} {variant}"


@dataclass(frozen=True)
class Remark:
    """What the target compiler says about one source line."""

    category: str
    message: str
    line: int | None
    passed: bool


@dataclass(frozen=True)
class AssemblyError:
    """Why there is no cubin.

    `kind` is `refused` (the compiler rejects the kernel), `unsupported` (the target lacks a feature), `timeout`,
    `crash` (the compiler or the process around it died) or `toolchain` (there is no working compiler).
    `file` and `line` point into the generated module where that is known.
    """

    kind: str
    exception: str
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True)
class Assembly:
    """One compiled kernel: sizes in bytes, registers a thread, seconds from request to answer."""

    kernel: str
    target: str
    aligned: bool
    seconds: float
    cubin_size: int = 0
    registers: int = 0
    shared: int = 0
    frame: int = 0
    threads: int = 0
    remarks: tuple[Remark, ...] = ()
    error: AssemblyError | None = None

    @property
    def spills(self) -> bool:
        """Whether registers spill to local memory, by more than costs nothing."""
        return self.frame > SMALL_FRAME

    @property
    def scalar_contractions(self) -> tuple[Remark, ...]:
        """Contractions that don't run on tensor cores."""
        return tuple(
            remark for remark in self.remarks if remark.category == "tensor-core" and not remark.passed
        )
