"""TS6xx: schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule

__all__ = ["NoSchedule"]


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
