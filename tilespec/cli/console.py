"""What commands share: findings out, progress shown, paths found."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO

import typer

from tilespec.cli.report import Format, render_findings
from tilespec.diagnostics import Diagnostic, Severity
from tilespec.progress import Progress, Silent

__all__ = ["PlainProgress", "colour_wanted", "exit_with", "print_findings", "progress"]


def colour_wanted(stream: TextIO) -> bool:
    """Whether to colour what goes to `stream`: on a terminal, unless `NO_COLOR` is set or `TERM` is dumb."""
    if os.environ.get("NO_COLOR"):
        return False
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def print_findings(
    findings: Iterable[Diagnostic], form: Format, *, files: int, stream: TextIO | None = None
) -> None:
    """Print findings to `stream`, stdout unless given, sorted by file and place."""
    stream = stream or sys.stdout
    ordered = sorted(findings, key=lambda item: item.sort_key)
    stream.write(render_findings(ordered, form, files=files, colour=colour_wanted(stream)))


def exit_with(findings: Iterable[Diagnostic]) -> None:
    """Leave with status 1 if there is an error or a warning; return otherwise.

    Raises:
        Exit: there is one.
    """
    if any(item.severity is not Severity.NOTE for item in findings):
        raise typer.Exit(1)


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Progress]:
    """Give a progress display on stderr: bars on a terminal, plain lines elsewhere, nothing when quiet."""
    if quiet:
        yield Silent()
    elif colour_wanted(sys.stderr):
        from tilespec.cli.bars import bars

        with bars() as display:
            yield display
    else:
        yield PlainProgress(sys.stderr)


class PlainProgress:
    """Progress as lines: one a unit, so that a log shows where the time went."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._title = ""
        self._total = 0
        self._done = 0

    def begin(self, title: str, total: int) -> None:
        """Start `title`."""
        self._title, self._total, self._done = title, total, 0

    def advance(self, detail: str = "") -> None:
        """Print how far the work is."""
        self._done += 1
        self._print(f"{self._title} {self._done}/{self._total}{': ' + detail if detail else ''}")

    def end(self) -> None:
        """Say so when the work broke off."""
        if self._done < self._total:
            self._print(f"{self._title} {self._done}/{self._total}: stopped")

    def _print(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()
