"""What long work tells whoever is waiting for it.

A stage takes a `Progress` and never prints; the command line draws a bar on a terminal and plain lines elsewhere.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["Progress", "Silent"]


class Progress(Protocol):
    """One piece of work at a time: `begin`, then `advance` once a unit, then `end`."""

    def begin(self, title: str, total: int) -> None:
        """Start `title`, which has `total` units."""

    def advance(self, detail: str = "") -> None:
        """Finish one unit; `detail` names it."""

    def end(self) -> None:
        """Finish the piece of work, also when it broke off."""


class Silent:
    """A `Progress` that says nothing."""

    def begin(self, title: str, total: int) -> None:
        """Do nothing."""

    def advance(self, detail: str = "") -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""
