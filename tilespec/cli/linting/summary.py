"""The result of a lint run as a table in Markdown, for the summary of a CI job."""

from __future__ import annotations

from collections.abc import Sequence

from tilespec.cli.linting.run import Linted
from tilespec.diagnostics import Diagnostic, Severity

__all__ = ["markdown"]

_MOST_ROWS = 500
_MOST_FINDINGS = 100


def markdown(files: Sequence[Linted], findings: Sequence[Diagnostic]) -> str:
    """Return a table of files, what stays in PyTorch, and the findings."""
    by_path: dict[str, list[Diagnostic]] = {}
    for item in findings:
        by_path.setdefault(item.source.path, []).append(item)
    lines = [
        "## tilespec lint",
        "",
        "| file | kernels | operations | gaps | in PyTorch | errors | warnings |",
    ]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    for entry in files[:_MOST_ROWS]:
        path = entry.path.as_posix()
        counts = [
            str(sum(item.severity is severity for item in by_path.get(path, ())))
            for severity in (Severity.ERROR, Severity.WARNING)
        ]
        summary = entry.summary
        if summary is None:
            cells = ["", "", "", ""]
        else:
            cells = [
                str(len(summary.kernels)),
                str(len(summary.covered)),
                ", ".join(summary.gaps) or "none",
                ", ".join(name for name, _ in summary.kept) or "none",
            ]
        lines.append("| " + " | ".join(_cell(cell) for cell in (path, *cells, *counts)) + " |")
    if len(files) > _MOST_ROWS:
        lines.append(f"\n{len(files) - _MOST_ROWS} more files")
    kept = [(entry, name, why) for entry in files if entry.summary for name, why in entry.summary.kept]
    if kept:
        lines += ["", "Stays in PyTorch:", ""]
        lines += [
            f"- {_cell(entry.path.as_posix())}: {_cell(name)}, {_cell(why)}" for entry, name, why in kept
        ]
    shown = [item for item in findings if item.severity is not Severity.NOTE]
    if shown:
        lines += ["", "| finding | place | message |", "| --- | --- | --- |"]
        lines += [
            f"| {item.code} | {_cell(_place(item))} | {_cell(item.message)} |"
            for item in shown[:_MOST_FINDINGS]
        ]
        if len(shown) > _MOST_FINDINGS:
            lines.append(f"\n{len(shown) - _MOST_FINDINGS} more findings")
    return "\n".join(lines) + "\n"


def _place(item: Diagnostic) -> str:
    if item.span is None:
        return item.source.path
    return f"{item.source.path}:{item.source.position(item.span.start)[0]}"


def _cell(text: str) -> str:
    """Return text that stays inside its cell and is no markup: a file can't write into the summary of a job."""
    plain = " ".join(text.split())
    for char in "\\`*_[]<>|#!&@":
        plain = plain.replace(char, f"&#{ord(char)};" if char in "<>&@" else f"\\{char}")
    return plain
