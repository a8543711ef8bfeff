"""`tilespec ops`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tilespec.cli.options import AsJson

if TYPE_CHECKING:
    from tilespec.model.operations import OperationEntry

__all__ = ["ops"]


def ops(
    name: Annotated[str | None, typer.Argument(help="Only this operation, by any of its names.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the operations that a spec can name.

    With NAME, also its aliases and the ATen calls that perform it.
    """
    import json

    from tilespec.model.operations import OPERATIONS, find_operation, suggest_operation

    entries = list(OPERATIONS.values())
    if name is not None:
        entry = find_operation(name)
        if entry is None:
            close = suggest_operation(name)
            hint = f", did you mean `{close}`?" if close else ""
            message = f"`{name}` is not an operation{hint}"
            raise typer.BadParameter(message)
        entries = [entry]
    if as_json:
        rows = [
            {
                "name": entry.name,
                "aliases": entry.aliases,
                "formula": entry.formula,
                "patterns": entry.patterns,
            }
            for entry in entries
        ]
        typer.echo(json.dumps(rows, indent=2))
        return
    for entry in entries:
        typer.echo(f"{entry.name:<24} {entry.formula}")
        if name is not None:
            typer.echo(f"{'aliases':<24} {', '.join(entry.aliases) or 'none'}")
            typer.echo(f"{'performed by':<24} {_patterns(entry)}")


def _patterns(entry: OperationEntry) -> str:
    return "; or ".join(" and ".join(" or ".join(choice) for choice in pattern) for pattern in entry.patterns)
