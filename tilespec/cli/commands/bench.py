"""`tilespec bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilespec.cli.options import AsJson, Kernels, Out, Paths

__all__ = ["bench"]


def bench(
    paths: Paths,
    kernel: Kernels = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            "--size", metavar="NAME=N", help="Instead of the sizes under Bench; may be given again."
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.0, help="Longest time for one kernel at one size.")
    ] = 1.0,
    compiled: Annotated[
        bool, typer.Option("--torch-compile/--no-torch-compile", help="Time torch.compile too.")
    ] = True,
    out: Out = Path("build"),
    as_json: AsJson = False,
) -> None:
    """Time kernels beside eager and torch.compile on a GPU."""
    import json

    from tilespec.cli.console import exit_with, print_findings, progress
    from tilespec.cli.files import collect
    from tilespec.cli.packages import build_packages, missing_gpu, parse_sizes
    from tilespec.cli.report import Format

    sizes = parse_sizes(size or ())
    files, findings = collect(paths)
    if missing := missing_gpu():
        print_findings(missing, Format.JSON if as_json else Format.TEXT, files=len(files))
        exit_with(missing)
    from tilespec.bench import BenchOptions, bench_paths

    options = BenchOptions(
        build_dir=out, kernels=tuple(kernel or ()), sizes=sizes, seconds=seconds, compiled=compiled
    )
    with progress(quiet=as_json) as display:
        report, found = bench_paths(files, options, display, build=build_packages)
    findings += found
    if as_json:
        typer.echo(json.dumps(report.as_json(), indent=2))
    else:
        typer.echo(report.table())
    if findings:
        import sys

        print_findings(findings, Format.TEXT, files=len(files), stream=sys.stderr)
    exit_with(findings)
