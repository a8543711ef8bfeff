"""`tilespec fmt`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tilespec.diagnostics import Diagnostic

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
        before, after, found = _format(path, shown)
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


def _format(path: Path, shown: str) -> tuple[bytes, str | None, list[Diagnostic]]:
    """Return the bytes of a file, its canonical text (None if it can't be formatted), and findings.

    Bytes, since a byte order mark and CRLF line ends are differences too.
    """
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
    return before, after, findings + found


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
