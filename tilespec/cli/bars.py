"""Progress bars for a terminal; loads rich, so it is imported only when a bar is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

__all__ = ["Bars", "bars"]


class Bars:
    """One bar for each piece of work; the bar of finished work stays."""

    def __init__(self, display: Progress) -> None:
        self._display = display
        self._task: TaskID | None = None

    def begin(self, title: str, total: int) -> None:
        """Draw a new bar."""
        self._task = self._display.add_task(title, total=total, detail="")

    def advance(self, detail: str = "") -> None:
        """Move the bar on by one."""
        if self._task is not None:
            self._display.update(self._task, advance=1, detail=escape(detail))

    def end(self) -> None:
        """Leave the bar as it is."""
        if self._task is not None:
            self._display.update(self._task, detail="")
            self._display.stop_task(self._task)
            self._task = None


@contextmanager
def bars() -> Iterator[Bars]:
    """Show bars on stderr while the block runs."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as display:
        yield Bars(display)
