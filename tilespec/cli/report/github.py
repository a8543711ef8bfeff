"""Findings as workflow commands, which GitHub shows beside the changed lines."""

from __future__ import annotations

from collections.abc import Sequence

from tilespec.diagnostics import Diagnostic, Severity

__all__ = ["render"]

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(findings: Sequence[Diagnostic]) -> str:
    """Render one workflow command a finding."""
    return "".join(_command(finding) + "\n" for finding in findings)


def _command(finding: Diagnostic) -> str:
    properties = {"file": finding.source.path}
    if finding.span:
        line, column = finding.source.position(finding.span.start)
        end_line, end_column = finding.source.position(finding.span.end)
        properties |= {"line": str(line), "col": str(column), "endLine": str(end_line)}
        if end_line == line:
            # GitHub drops columns of an annotation over several lines, and the end column is the last one shown.
            properties["endColumn"] = str(max(column, end_column - 1))
    properties["title"] = f"{finding.code} {finding.name}"
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    text = "\n".join(part for part in (finding.message, *finding.notes, finding.help) if part)
    return f"::{_LEVELS[finding.severity]} {listed}::{_text(text)}"


def _text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _text(text).replace(":", "%3A").replace(",", "%2C")
