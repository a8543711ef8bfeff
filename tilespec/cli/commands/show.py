"""`tilespec show`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tilespec.cli.options import SpecPath

__all__ = ["show"]


def show(
    path: SpecPath,
    kernel: Annotated[str | None, typer.Option("--kernel", metavar="ID", help="Only this kernel.")] = None,
    model: Annotated[
        bool, typer.Option("--model", help="Print the model of the file as JSON instead; traces nothing.")
    ] = False,
) -> None:
    """Print every stage of a file's kernels, with reasons."""
    if model:
        _show_model(path)
        return
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


def _show_model(path: Path) -> None:
    from tilespec.cli.console import exit_with, print_findings
    from tilespec.cli.report import Format
    from tilespec.model import build_model
    from tilespec.model.document import document
    from tilespec.syntax import parse, read_source

    source, findings = read_source(path)
    spec = None
    if source is not None:
        tree, found = parse(source)
        spec, more = build_model(tree)
        findings += [*found, *more]
    if spec is not None:
        typer.echo(document(spec).model_dump_json(indent=2))
    if findings:
        print_findings(findings, Format.TEXT, files=1, stream=sys.stderr)
    exit_with(findings)
