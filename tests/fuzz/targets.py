"""What is fuzzed: any bytes end in findings. A failure is an exception, nothing else is looked at."""

from __future__ import annotations

from tests.fuzz.meaning import meaning
from tilespec.cli.report import Format, render_findings
from tilespec.diagnostics import Diagnostic, Severity, SourceText
from tilespec.model import build_model
from tilespec.pipeline import check_source
from tilespec.syntax import apply_suppressions, decode_source, format_source, parse


def parse_bytes(data: bytes) -> None:
    """Decode, parse, model, format and print; what formats has to mean the same and to format to itself."""
    source, findings = decode_source("fuzz.tilespec", data)
    if source is None:
        assert findings
        return
    tree, found = parse(source)
    _, more = build_model(tree)
    printed(apply_suppressions(tree, [*found, *more]))
    text, found = format_source(source)
    if text is None:
        assert any(item.severity is Severity.ERROR for item in found)
        return
    formatted = SourceText("fuzz.tilespec", text)
    again, found = format_source(formatted)
    assert again == text, found
    assert meaning(parse(formatted)[0]) == meaning(tree)


def lint_bytes(data: bytes) -> None:
    """Run every stage up to the schedules."""
    source, _ = decode_source("fuzz.tilespec", data)
    if source is not None:
        printed(check_source(source).findings)


def printed(findings: list[Diagnostic]) -> None:
    """Render findings, where places outside the text would fail: as text, and one in eight times in every format."""
    ordered = sorted(findings, key=lambda item: item.sort_key)
    text = render_findings(ordered, Format.TEXT, files=1)
    if len(text) % 8 == 0:
        for form in Format:
            render_findings(ordered, form, files=1)
