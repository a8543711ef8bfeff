"""`tilespec build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilespec.cli.options import AsJson, Jobs, Out, Paths, Targets, parse_targets

__all__ = ["build"]


def build(
    paths: Paths,
    out: Out = Path("build"),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if a package is stale.")
    ] = False,
    targets: Targets = "",
    jobs: Jobs = 1,
    as_json: AsJson = False,
) -> None:
    """Write the kernels, references and tests of spec files."""
    import json

    from tilespec.cli.console import exit_with, print_findings, progress
    from tilespec.cli.files import collect
    from tilespec.cli.report import Format, data
    from tilespec.pipeline import BuildOptions, build_paths

    files, findings = collect(paths)
    options = BuildOptions(out=out, check=check, targets=parse_targets(targets), jobs=jobs)
    with progress(quiet=as_json) as display:
        report = build_paths(files, options, display)
    findings += report.findings
    if as_json:
        built = [
            {"spec": str(item.spec), "folder": str(item.folder), "status": item.status}
            for item in report.files
        ]
        document = {"files": built, "findings": [data.as_object(item) for item in findings]}
        typer.echo(json.dumps(document, indent=2))
    else:
        for item in report.files:
            typer.echo(f"{item.spec}: {item.status}, {item.folder}")
        print_findings(findings, Format.TEXT, files=len(files))
    exit_with(findings)
