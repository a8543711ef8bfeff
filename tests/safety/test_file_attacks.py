"""Hostile files end in findings or in nothing at all, soon: parsed, checked with all stages, formatted and printed."""

from __future__ import annotations

import pytest

from tests.safety.file_attacks import FILES, spec
from tests.safety.guard import check_findings, guarded
from tilespec.cli.report import Format, render_findings
from tilespec.diagnostics import SourceText
from tilespec.pipeline import check_source
from tilespec.syntax import decode_source, format_source


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """Let the stages import what they import on first use."""
    source = SourceText("a.tilespec", spec())
    assert check_source(source).plans
    format_source(source)
    render_findings(check_source(SourceText("a.tilespec", "")).findings, Format.TEXT, files=1)


def test_there_are_many():
    assert len({text for _, text in FILES}) >= 100


@pytest.mark.parametrize("text", [text for _, text in FILES], ids=[name for name, _ in FILES])
def test_a_hostile_file_is_refused_or_harmless(text: str):
    data = text.encode()
    with guarded():
        source, findings = decode_source("a.tilespec", data)
        if source is not None:
            findings = check_source(source).findings
    check_findings(findings, ("TS1", "TS2", "TS3", "TS4", "TS5", "TS6"))
    if source is not None:
        with guarded():
            format_source(source)
    with guarded():
        render_findings(sorted(findings, key=lambda item: item.sort_key), Format.TEXT, files=1)
