"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilespec.cli.doctor.targets import TARGETS

__all__ = ["AsJson", "Jobs", "Out", "Paths", "SpecPath", "parse_targets"]

Paths = Annotated[
    list[Path], typer.Argument(metavar="PATH", help="Spec files, and folders of *.tilespec files.")
]
SpecPath = Annotated[Path, typer.Argument(metavar="FILE", help="A spec file.")]
Jobs = Annotated[int, typer.Option("-j", "--jobs", min=1, help="How many to work on at a time.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Out = Annotated[
    Path, typer.Option("--out", metavar="FOLDER", help="Where packages are written, one folder a file.")
]


def parse_targets(text: str) -> tuple[str, ...]:
    """Read `sm_80,sm_90`; the order stays, duplicates go.

    Raises:
        BadParameter: one of them is not a target of the compiler.
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in TARGETS:
            message = f"`{name}` is not a target, take one of {', '.join(TARGETS)}"
            raise typer.BadParameter(message)
    return names
