"""Findings in the formats that `lint --format` offers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from tilespec.diagnostics import Diagnostic

__all__ = ["Format", "render_findings"]


class Format(StrEnum):
    """A way to print findings."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


def render_findings(findings: Sequence[Diagnostic], form: Format, *, files: int, colour: bool = False) -> str:
    """Render findings, which the caller has sorted, about `files` files."""
    if form is Format.JSON:
        from tilespec.cli.report import data

        return data.render(findings, files)
    if form is Format.SARIF:
        from tilespec.cli.report import sarif

        return sarif.render(findings)
    if form is Format.GITHUB:
        from tilespec.cli.report import github

        return github.render(findings)
    from tilespec.cli.report import text

    return text.render_all(findings, colour=colour) + text.summary(findings, files) + "\n"
