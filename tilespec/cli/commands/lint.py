"""`tilespec lint`."""

from __future__ import annotations

from typing import Annotated

import typer

from tilespec.cli.options import Jobs, Paths
from tilespec.cli.report import Format

__all__ = ["lint"]


def lint(
    paths: Paths,
    form: Annotated[Format, typer.Option("--format", help="How to print findings.")] = Format.TEXT,
    syntax: Annotated[
        bool, typer.Option("--syntax", help="Only parse: names, shapes and references are not checked.")
    ] = False,
    jobs: Jobs = 1,
) -> None:
    """Check spec files: all that can be known without a GPU."""
    from tilespec.cli.console import exit_with, print_findings, progress
    from tilespec.cli.files import collect

    files, findings = collect(paths)
    if syntax:
        from tilespec.syntax import apply_suppressions, parse, read_source

        for path in files:
            source, found = read_source(path)
            findings += found
            if source is not None:
                tree, found = parse(source)
                findings += apply_suppressions(tree, found)
    else:
        from tilespec.pipeline import check_paths

        with progress(quiet=form is not Format.TEXT) as display:
            findings += check_paths(files, jobs=jobs, progress=display)
    print_findings(findings, form, files=len(files))
    exit_with(findings)
