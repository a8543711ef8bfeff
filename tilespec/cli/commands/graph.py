"""`tilespec graph`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from tilespec.cli.options import SpecPath

if TYPE_CHECKING:
    from tilespec.model.types import Edge, SpecFile

__all__ = ["graph", "mermaid"]


def graph(
    path: SpecPath,
) -> None:
    """Draw how the kernels of a file feed each other.

    The drawing is a Mermaid flow chart.
    """
    from tilespec.cli.console import exit_with, print_findings
    from tilespec.cli.report import Format
    from tilespec.model import build_model
    from tilespec.model.wiring import assignments
    from tilespec.syntax import parse, read_source

    source, findings = read_source(path)
    spec = None
    if source is not None:
        tree, found = parse(source)
        findings += found
        spec, found = build_model(tree)
        findings += found
    edges = next(iter(assignments(spec)), None) if spec is not None else None
    if spec is None or edges is None:
        print_findings(findings, Format.TEXT, files=1)
        exit_with(findings)
        raise typer.Exit(1)
    typer.echo(mermaid(spec, edges), nl=False)


def mermaid(spec: SpecFile, edges: tuple[Edge, ...]) -> str:
    """Return the flow chart of a file: inputs and results rounded, kernels square, tensors on the arrows.

    Names are identifiers, so they need no escaping; a prefix keeps a kernel, an input and a Mermaid keyword apart.
    """
    lines = ["flowchart TD"]
    inputs = dict.fromkeys(edge.output for edge in edges if edge.producer is None)
    lines += [f'  in_{name}(["{name}"])' for name in inputs]
    for kernel in spec.kernels:
        performed = ", ".join(operation.name for operation in kernel.operations)
        lines.append(f'  kernel_{kernel.id}["{kernel.id}<br/>{performed}"]')
    for edge in edges:
        start = f"in_{edge.output}" if edge.producer is None else f"kernel_{edge.producer}"
        name = (
            edge.input
            if edge.producer is None or edge.input == edge.output
            else f"{edge.output} as {edge.input}"
        )
        lines.append(f'  {start} -->|"{name}"| kernel_{edge.consumer}')
    consumed = {(edge.producer, edge.output) for edge in edges}
    for kernel in spec.kernels:
        for output in kernel.outputs:
            if (kernel.id, output.name) not in consumed:
                lines.append(f'  kernel_{kernel.id} --> out_{kernel.id}_{output.name}(["{output.name}"])')
    return "\n".join(lines) + "\n"
