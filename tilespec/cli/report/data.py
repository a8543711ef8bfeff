"""Findings as plain objects, for `--format json` and whatever else a script reads."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tilespec.diagnostics import Diagnostic, Severity, SourceText, Span

__all__ = ["as_object", "render"]


def render(findings: Sequence[Diagnostic], files: int) -> str:
    """Render a JSON document: `findings` in their order, and how many of each severity in how many files."""
    counts = {
        severity.value: sum(1 for item in findings if item.severity is severity) for severity in Severity
    }
    document = {"findings": [as_object(item) for item in findings], "summary": {"files": files, **counts}}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_object(finding: Diagnostic) -> dict[str, object]:
    """Return every field of a finding; `span` is null when the whole file is meant."""
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "path": finding.source.path,
        "span": _span(finding.source, finding.span) if finding.span else None,
        "label": finding.label,
        "labels": [
            {"span": _span(finding.source, label.span), "text": label.text} for label in finding.labels
        ],
        "help": finding.help,
        "notes": list(finding.notes),
        "replacement": finding.replacement,
    }


def _span(source: SourceText, span: Span) -> dict[str, int]:
    line, column = source.position(span.start)
    end_line, end_column = source.position(span.end)
    return {"line": line, "column": column, "end_line": end_line, "end_column": end_column}
