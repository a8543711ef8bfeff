"""TS72x: built packages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule

__all__ = ["StalePackage"]


@dataclass(frozen=True)
class StalePackage(Rule):
    """A built package that is missing, was edited, or was made from another text or by another tilespec.

    A package records the hash of what it was made from and of every file in it. `tilespec build --check` compares them and
    writes nothing.
    """

    code: ClassVar[str] = "TS721"
    name: ClassVar[str] = "stale-package"
    folder: str

    def message(self) -> str:
        return f"`{self.folder}` is not what this spec builds"

    def help(self) -> str | None:
        return "run `tilespec build` and commit what it writes"
