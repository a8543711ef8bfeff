"""Findings of files that were checked before, by the hash of what they depend on.

A cache is never needed: whatever is wrong with it, a file is checked again. Nothing in it is executed.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from tilespec.diagnostics import Diagnostic, Label, Severity, SourceText, Span

__all__ = ["Cache"]

FOLDER = ".tilespec_cache"


class Cache:
    """Entries below a folder, one file each; `None` as folder keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._tool = _tool_stamp() if folder is not None else ""
        self._ready = False

    def key(self, source: SourceText, mode: str) -> str:
        """Return the hash of everything that the findings of a file depend on."""
        whole = f"{self._tool}\0{mode}\0{source.path}\0{source.text}"
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()

    def get(self, key: str, source: SourceText) -> tuple[list[Diagnostic], Any] | None:
        """Return findings and what was kept beside them; None when there is no usable entry."""
        if self.folder is None:
            return None
        try:
            entry = json.loads((self.folder / key[:2] / key[2:]).read_bytes())
            return [_finding(row, source) for row in entry["findings"]], entry["beside"]
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return None

    def put(self, key: str, source: SourceText, findings: list[Diagnostic], beside: object) -> None:
        """Keep findings, unless one of them is about another text."""
        if self.folder is None or any(item.source.path != source.path for item in findings):
            return
        entry = json.dumps({"findings": [_row(item) for item in findings], "beside": beside})
        target = self.folder / key[:2] / key[2:]
        temporary = target.with_name(f"{target.name}.{os.getpid()}")
        try:
            if not self._ready:
                self.folder.mkdir(parents=True, exist_ok=True)
                (self.folder / ".gitignore").write_text("*\n")
                self._ready = True
            target.parent.mkdir(exist_ok=True)
            temporary.write_text(entry, encoding="utf-8")
            temporary.replace(target)
        except OSError:
            # A folder that can't be written costs time, not findings.
            self.folder = None


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
