"""What commands need that run built packages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from tilespec.diagnostics import Diagnostic
    from tilespec.progress import Progress

__all__ = ["build_packages", "missing_gpu", "parse_sizes"]


def build_packages(
    files: Sequence[Path], folder: Path, progress: Progress
) -> tuple[list[tuple[Path, Path]], list[Diagnostic]]:
    """Build files below a folder; return pairs of spec file and package folder, and the findings."""
    from tilespec.pipeline import BuildOptions, build_paths

    report = build_paths(files, BuildOptions(out=folder), progress)
    built = [(item.spec, item.folder) for item in report.files if item.status in {"built", "unchanged"}]
    return built, list(report.findings)


def missing_gpu() -> list[Diagnostic]:
    """Return a finding unless torch can use a GPU."""
    import torch

    from tilespec.diagnostics import SourceText
    from tilespec.rules.environment import NoUsableGpu

    return [] if torch.cuda.is_available() else [NoUsableGpu().at(SourceText("this machine", ""), None)]


def parse_sizes(texts: Sequence[str]) -> Mapping[str, int]:
    """Read `NAME=N`, several with commas.

    Raises:
        BadParameter: one of them is something else.
    """
    sizes = {}
    for text in (part for item in texts for part in item.split(",") if part.strip()):
        name, _, size = (part.strip() for part in text.partition("="))
        if not name.isidentifier() or not size.isdigit():
            message = f"`{text}` is not a size such as D=4096"
            raise typer.BadParameter(message)
        sizes[name] = int(size)
    return sizes
