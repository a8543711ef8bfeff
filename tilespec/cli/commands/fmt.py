"""`tilespec fmt`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tilespec.diagnostics import Diagnostic, SourceText

__all__ = ["fmt"]

_STDIN = "<stdin>"


def fmt(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="Spec files, and folders of *.tilespec files; - for stdin to stdout.",
            allow_dash=True,
        ),
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if a file would change.")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Write nothing; print what would change.")] = False,
    completeness: Annotated[
        bool,
        typer.Option("--completeness", help="Also write the completeness check; this traces references."),
    ] = False,
) -> None:
    """Rewrite spec files in the one canonical form."""
    from tilespec.cli.console import exit_with, print_findings
    from tilespec.cli.files import collect, write_text
    from tilespec.cli.report import Format

    streaming = [str(path) for path in paths] == ["-"]
    files, findings = ([Path("-")], []) if streaming else collect(paths)
    changed = 0
    for path in files:
        shown = _STDIN if streaming else path.as_posix()
        before, after, found = _format(path, shown, completeness=completeness)
        findings += found
        if after is None:
            continue
        changed += before != after.encode()
        if diff:
            sys.stdout.write(_difference(shown, before.decode("utf-8"), after))
        elif streaming:
            sys.stdout.write("" if check else after)
        elif before != after.encode():
            if not check:
                write_text(path, after)
            typer.echo(f"{shown} {'would change' if check else 'rewritten'}", err=True)
    if findings:
        sys.stdout.flush()
        print_findings(findings, Format.TEXT, files=len(files), stream=sys.stderr)
    elif not streaming:
        verb = "would change" if check or diff else "changed"
        typer.echo(f"{changed} of {len(files)} file{'' if len(files) == 1 else 's'} {verb}", err=True)
    exit_with(findings)
    if changed and (check or diff):
        raise typer.Exit(1)


def _format(path: Path, shown: str, *, completeness: bool) -> tuple[bytes, str | None, list[Diagnostic]]:
    """Return the bytes of a file, its canonical text (None if it can't be formatted), and findings.

    Bytes, since a byte order mark and CRLF line ends are differences too.
    """
    from tilespec.diagnostics import SourceText
    from tilespec.syntax import decode_source, format_source, read_source

    if shown == _STDIN:
        before = sys.stdin.buffer.read()
        source, findings = decode_source(shown, before)
    else:
        source, findings = read_source(path)
        before = b"" if source is None else path.read_bytes()
    if source is None:
        return before, None, findings
    after, found = format_source(source)
    if after is not None and format_source(SourceText(source.path, after))[0] != after:
        from tilespec.rules.environment import InternalError

        # The canonical form has to be its own: one that isn't lost something, and must not replace what a person wrote.
        fault = InternalError("the canonical form of this file would be read as something else", "fmt")
        return before, None, [*findings, fault.at(source, None)]
    if after is not None and completeness:
        after, found = _with_completeness(SourceText(source.path, after), found)
    return before, after, findings + found


def _with_completeness(source: SourceText, found: list[Diagnostic]) -> tuple[str | None, list[Diagnostic]]:
    """Return canonical text with the derived completeness check; None with findings where it can't be derived."""
    from tilespec.coverage.completeness import summarise
    from tilespec.diagnostics import Severity, SourceText
    from tilespec.pipeline import check_source
    from tilespec.rules.reference import IncompleteCoverage, WrongCompleteness
    from tilespec.syntax import format_source, replace_completeness

    checked = check_source(source)
    spec = checked.spec
    # A wrong check is what is being replaced, and gaps are what the new one states.
    errors = [item for item in checked.findings if item.severity is Severity.ERROR]
    errors = [item for item in errors if item.code not in {WrongCompleteness.code, IncompleteCoverage.code}]
    if spec is None or errors or len(checked.graphs) < len(spec.kernels):
        return None, errors or checked.findings
    block = summarise(spec, checked.graphs, checked.coverage).block
    written, _ = format_source(SourceText(source.path, replace_completeness(source, block)))
    return written, found


def _difference(path: str, before: str, after: str) -> str:
    import difflib

    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        f"{path} (as it is)",
        f"{path} (formatted)",
    )
    # CRLF is shown, since it would be invisible; and every line of the diff ends.
    return "".join(line.rstrip("\r\n") + ("\\r\n" if line.endswith("\r\n") else "\n") for line in lines)
