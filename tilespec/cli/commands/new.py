"""`tilespec new`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["new"]


def new(
    name: Annotated[str, typer.Argument(help="The id of the kernel; the file is NAME.tilespec.")],
    like: Annotated[
        str, typer.Option(metavar="OPERATIONS", help="What it performs, as in matmul+bias+gelu.")
    ] = "matmul+bias+gelu",
    dtype: Annotated[str, typer.Option(help="The dtype of its tensors.")] = "float16",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write; - for stdout. Never overwrites.")
    ] = None,
) -> None:
    """Write a spec file to start from: it lints clean and builds."""
    from tilespec.cli.files import write_text
    from tilespec.cli.starter import StarterError, starter
    from tilespec.model.dtypes import DTYPES

    if dtype not in DTYPES:
        message = f"`{dtype}` is no dtype, take one of {', '.join(DTYPES)}"
        raise typer.BadParameter(message)
    try:
        text = starter(name, like, dtype)
    except StarterError as error:
        raise typer.BadParameter(str(error)) from error
    if str(out) == "-":
        typer.echo(text, nl=False)
        return
    path = out or Path(f"{name}.tilespec")
    if path.exists():
        message = f"{path} exists"
        raise typer.BadParameter(message)
    write_text(path, text)
    typer.echo(f"{path} written; `tilespec lint {path}` checks it, `tilespec build {path}` builds it")
