"""The commands of `tilespec`, in the order in which `--help` lists them."""

from __future__ import annotations

from typing import Annotated

import typer

from tilespec import __version__
from tilespec.cli.commands import bench, build, doctor, explain, fmt, graph, lint, new, ops, show, verify

__all__ = ["app"]

# Plain help: the same text on every terminal and in the reference, and no rich to load for it.
app = typer.Typer(
    name="tilespec",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

COMMANDS = (
    ("new", new.new),
    ("build", build.build),
    ("lint", lint.lint),
    ("fmt", fmt.fmt),
    ("verify", verify.verify),
    ("bench", bench.bench),
    ("show", show.show),
    ("graph", graph.graph),
    ("ops", ops.ops),
    ("explain", explain.explain),
    ("doctor", doctor.doctor),
)

for _name, _command in COMMANDS:
    app.command(_name)(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tilespec {__version__}")
        raise typer.Exit


@app.callback()
def tilespec(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """From a text specification of fused GPU kernels to proven cuTile kernels.

    Exit status: 0 clean, 1 findings, 2 usage, 130 interrupted.
    """
