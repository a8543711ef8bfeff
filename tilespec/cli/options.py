"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilespec.cli.doctor.targets import TARGETS

__all__ = ["AsJson", "Jobs", "Kernels", "Out", "Paths", "SpecPath", "Targets", "parse_targets"]


def parse_targets(text: str) -> tuple[str, ...]:
    """Read `sm_80,sm_90`; the order stays, duplicates go."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _known_targets(text: str) -> str:
    for name in parse_targets(text):
        if name not in TARGETS:
            message = f"`{name}` is not a target, take one of {', '.join(TARGETS)}"
            raise typer.BadParameter(message)
    return text


Paths = Annotated[
    list[Path], typer.Argument(metavar="PATH", help="Spec files, and folders of *.tilespec files.")
]
SpecPath = Annotated[Path, typer.Argument(metavar="FILE", help="A spec file.")]
Jobs = Annotated[int, typer.Option("-j", "--jobs", min=1, help="How many to work on at a time.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Kernels = Annotated[
    list[str] | None, typer.Option("--kernel", metavar="ID", help="Only this kernel; may be given again.")
]
Out = Annotated[
    Path, typer.Option("--out", metavar="FOLDER", help="Where packages are written, one folder a file.")
]
Targets = Annotated[
    str,
    typer.Option(
        "--compile",
        metavar="TARGETS",
        callback=_known_targets,
        help="Assemble every kernel for these, as in sm_80,sm_90.",
    ),
]
