"""Findings of files that were checked before, by the hash of what they depend on.

A cache is never needed: whatever is wrong with it, a file is checked again. Nothing in it is executed.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

from tilespec.diagnostics import Diagnostic, Label, Severity, SourceText, Span

__all__ = ["Cache"]

FOLDER = ".tilespec_cache"
LARGEST = 64 * 1024 * 1024
"""Bytes from which on the file is started anew: entries of texts that nobody has any more are in it, too."""
_KEEP_SECONDS = 7 * 24 * 3600
_WRITE_EVERY = 1.0


class Cache:
    """Entries in one file below a folder, a line each; `None` as folder keeps nothing.

    Lines are only ever appended, so that runs at the same time do no harm. The file is named after the state of the tool,
    and those of other states go once they are a week old.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._tool = _tool_stamp() if folder is not None else ""
        self._known: dict[bytes, bytes] | None = None
        self._waiting: list[bytes] = []
        self._written = time.monotonic()

    def key(self, source: SourceText, mode: str) -> str:
        """Return the hash of everything that the findings of a file depend on."""
        whole = f"{self._tool}\0{mode}\0{source.path}\0{source.text}"
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()

    def get(self, key: str, source: SourceText) -> tuple[list[Diagnostic], Any] | None:
        """Return findings and what was kept beside them; None when there is no usable entry."""
        if self.folder is None:
            return None
        if self._known is None:
            self._known = _read(self.folder / self._name)
        try:
            entry = json.loads(self._known[key.encode()])
            return [_finding(row, source) for row in entry["findings"]], entry["beside"]
        except (ValueError, KeyError, TypeError, IndexError):
            return None

    def put(self, key: str, source: SourceText, findings: list[Diagnostic], beside: object) -> None:
        """Keep findings, unless one of them is about another text."""
        if self.folder is None or any(item.source.path != source.path for item in findings):
            return
        entry = json.dumps({"findings": [_row(item) for item in findings], "beside": beside})
        # The line end stands first: a line that another run didn't get to end spoils only itself.
        self._waiting.append(f"\n{key} {entry}".encode())
        if time.monotonic() - self._written > _WRITE_EVERY:
            self.write()

    def write(self) -> None:
        """Append what was put since the last time."""
        waiting, self._waiting = self._waiting, []
        self._written = time.monotonic()
        if self.folder is None or not waiting:
            return
        path = self.folder / self._name
        try:
            if not path.exists():
                self.folder.mkdir(parents=True, exist_ok=True)
                (self.folder / ".gitignore").write_text("*\n")
                _remove_old(self.folder)
            elif path.stat().st_size > LARGEST:
                path.unlink()
            # One call without a buffer: lines of runs at the same time don't mix.
            with path.open("ab", buffering=0) as stream:
                stream.write(b"".join(waiting))
        except OSError:
            # A folder that can't be written costs time, not findings.
            self.folder = None

    @property
    def _name(self) -> str:
        return f"findings-{self._tool[:16]}"


def _read(path: Path) -> dict[bytes, bytes]:
    try:
        with path.open("rb") as stream:
            lines = stream.read(LARGEST).split(b"\n")
    except OSError:
        return {}
    known = {}
    for line in lines:
        key, _, entry = line.partition(b" ")
        known[key] = entry
    return known


def _remove_old(folder: Path) -> None:
    oldest = time.time() - _KEEP_SECONDS
    for path in folder.glob("findings-*"):
        if path.stat().st_mtime < oldest:
            path.unlink()


def _tool_stamp() -> str:
    """Return a hash that changes with every change of the tool: sizes and times of its files."""
    digest = hashlib.sha256()
    package = Path(__file__).resolve().parents[2]
    for root, folders, names in os.walk(package):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".py", ".lark", ".json")):
                status = (Path(root) / name).stat()
                digest.update(f"{root}/{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _row(item: Diagnostic) -> list[object]:
    return [
        item.code,
        item.name,
        item.severity.value,
        item.message,
        None if item.span is None else [item.span.start, item.span.end],
        item.label,
        [[label.span.start, label.span.end, label.text] for label in item.labels],
        item.help,
        list(item.notes),
        item.replacement,
        item.guessed,
    ]


def _finding(row: list[Any], source: SourceText) -> Diagnostic:
    return Diagnostic(
        code=row[0],
        name=row[1],
        severity=Severity(row[2]),
        message=row[3],
        source=source,
        span=None if row[4] is None else Span(*row[4]),
        label=row[5],
        labels=tuple(Label(Span(start, end), text) for start, end, text in row[6]),
        help=row[7],
        notes=tuple(row[8]),
        replacement=row[9],
        guessed=row[10],
    )
