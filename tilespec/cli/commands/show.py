"""`tilespec show`."""

from __future__ import annotations

from typing import Annotated

import typer

from tilespec.cli.options import SpecPath

__all__ = ["show"]


def show(
    path: SpecPath,
    kernel: Annotated[str | None, typer.Option("--kernel", metavar="ID", help="Only this kernel.")] = None,
) -> None:
    """Print every stage of a file's kernels, with reasons."""
    from tilespec.cli.console import exit_with, print_findings
    from tilespec.cli.report import Format
    from tilespec.pipeline import show as stages

    text, findings = stages(path, kernel=kernel)
    if kernel is not None and not text and not findings:
        message = f"`{kernel}` is not a kernel of {path}"
        raise typer.BadParameter(message)
    typer.echo(text, nl=False)
    if findings:
        print_findings(findings, Format.TEXT, files=1)
    exit_with(findings)
