"""Findings as SARIF 2.1.0, which code scanning reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from tilespec import __version__
from tilespec.cli.explain_text import explanation
from tilespec.diagnostics import Diagnostic, Severity, SourceText, Span
from tilespec.rules.codes import CODES

__all__ = ["render"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def render(findings: Sequence[Diagnostic]) -> str:
    """Render one SARIF log with one run; it describes the rules that were broken, and no others."""
    codes = sorted({finding.code for finding in findings})
    run = {
        "tool": {
            "driver": {
                "name": "tilespec",
                "semanticVersion": __version__,
                "version": __version__,
                "rules": [_rule(code) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, codes.index(finding.code)) for finding in findings],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _rule(code: str) -> dict[str, object]:
    rule = CODES[code]
    title, text = explanation(rule)
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": title},
        "fullDescription": {"text": title},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(finding: Diagnostic, index: int) -> dict[str, object]:
    text = "\n".join(part for part in (finding.message, *finding.notes, finding.help) if part)
    result: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": _location(finding.source, finding.span)}],
    }
    if finding.labels:
        result["relatedLocations"] = [
            {"physicalLocation": _location(finding.source, label.span), "message": {"text": label.text}}
            for label in finding.labels
        ]
    if finding.replacement is not None and finding.span:
        change = {
            "artifactLocation": _artifact(finding.source),
            "replacements": [
                {
                    "deletedRegion": _region(finding.source, finding.span),
                    "insertedContent": {"text": finding.replacement},
                }
            ],
        }
        result["fixes"] = [{"description": {"text": finding.help or "mend it"}, "artifactChanges": [change]}]
    return result


def _artifact(source: SourceText) -> dict[str, str]:
    path = Path(source.path)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    return {"uri": uri}


def _location(source: SourceText, span: Span | None) -> dict[str, object]:
    location: dict[str, object] = {"artifactLocation": _artifact(source)}
    if span:
        location["region"] = _region(source, span)
    return location


def _region(source: SourceText, span: Span) -> dict[str, int]:
    line, column = source.position(span.start)
    end_line, end_column = source.position(span.end)
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
