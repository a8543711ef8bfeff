"""`tilespec verify`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tilespec.cli.options import AsJson, Jobs, Kernels, Out, Paths

__all__ = ["Device", "verify"]


class Device(StrEnum):
    """Where kernels run."""

    AUTO = "auto"
    CUDA = "cuda"
    INTERPRETER = "interpreter"


def verify(
    paths: Paths,
    device: Annotated[
        Device, typer.Option("--device", help="auto takes the GPU if there is one, else the interpreter.")
    ] = Device.AUTO,
    cases: Annotated[int, typer.Option("--cases", min=1, help="Cases a kernel.")] = 50,
    seed: Annotated[int, typer.Option("--seed", help="Equal seeds give equal cases.")] = 0,
    kernel: Kernels = None,
    profiles: Annotated[
        int | None,
        typer.Option("--profiles", min=1, help="At most this many compilations of a kernel on a GPU."),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", help="Stop in time, and say what was cut short."),
    ] = None,
    out: Out = Path("build"),
    jobs: Jobs = 1,
    as_json: AsJson = False,
) -> None:
    """Prove kernels equal to their float64 golden, by fuzzing.

    Sizes, dtypes, strides and values vary; a failing case is shrunk and printed as a script.
    """
    import json

    from tilespec.cli.console import exit_with, print_findings, progress
    from tilespec.cli.files import collect
    from tilespec.cli.packages import build_packages, missing_gpu
    from tilespec.cli.report import Format, data
    from tilespec.verify import VerifyOptions, verify_paths

    files, findings = collect(paths)
    if device is Device.CUDA and (missing := missing_gpu()):
        print_findings(missing, Format.JSON if as_json else Format.TEXT, files=len(files))
        exit_with(missing)
    options = VerifyOptions(
        device=device.value,
        cases=cases,
        seed=seed,
        kernels=tuple(kernel or ()),
        build_dir=out,
        profiles=profiles,
        time_limit=time_limit,
        jobs=jobs,
    )
    with progress(quiet=as_json) as display:
        report = verify_paths(files, options, display, build=build_packages)
    findings += report.diagnostics
    known = {result.kernel for result in report.kernels}
    if not findings and (unknown := [name for name in options.kernels if name not in known]):
        message = f"no file has a kernel `{unknown[0]}`"
        raise typer.BadParameter(message)
    if as_json:
        document = report.as_json() | {"findings": [data.as_object(item) for item in findings]}
        typer.echo(json.dumps(document, indent=2))
    else:
        for result in report.kernels:
            if result.script:
                typer.echo(f"# {result.kernel}: the smallest failing case, as a script\n{result.script}")
        print_findings(findings, Format.TEXT, files=len(files))
        typer.echo(report.table())
    exit_with(findings)
    if not report.ok:
        raise typer.Exit(1)
