"""`tilespec doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tilespec.cli.doctor.machine import Machine

__all__ = ["doctor", "facts"]


def doctor(
    target: Annotated[
        str, typer.Option(metavar="TARGETS", help="Also ask about these targets, as in sm_80,sm_90.")
    ] = "",
    compiles: Annotated[
        bool, typer.Option("--compile/--no-compile", help="Try the compiler on a small kernel.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what this machine can do, and what is missing."""
    import json
    from dataclasses import replace

    from tilespec.cli.console import colour_wanted, exit_with
    from tilespec.cli.doctor.checks import abilities, check_machine
    from tilespec.cli.doctor.machine import read_machine
    from tilespec.cli.report import data, text

    machine = read_machine()
    if compiles and machine.compiler and "cuda-tile" in machine.packages:
        from tilespec.cli.doctor.probe import compile_complaint

        machine = replace(machine, compile_complaint=compile_complaint())
    findings = check_machine(machine, [name for name in target.split(",") if name])
    able = abilities(check_machine(machine), machine)
    if as_json:
        document = {
            "machine": facts(machine),
            "findings": [data.as_object(item) for item in findings],
            "can": able,
        }
        typer.echo(json.dumps(document, indent=2))
    else:
        import sys

        for name, value in facts(machine).items():
            typer.echo(f"{name:<10} {value}")
        typer.echo("")
        typer.echo(text.render_all(findings, colour=colour_wanted(sys.stdout)), nl=False)
        for name, value in able.items():
            typer.echo(f"{name:<10} {value}")
    exit_with(findings)


def facts(machine: Machine) -> dict[str, str]:
    """Return what was read, as lines to print."""
    torch = machine.packages.get("torch")
    compiler = machine.compiler
    found = {
        "python": ".".join(str(part) for part in machine.python),
        "torch": f"{torch} (CUDA {machine.torch_cuda or 'none'})" if torch else "none",
        "cuda-tile": machine.packages.get("cuda-tile", "none"),
        "tileiras": f"{compiler.version or 'unknown version'} from {compiler.origin}, {compiler.path}"
        if compiler
        else "none",
        "driver": machine.driver or "none",
        "GPU": "; ".join(
            f"{gpu.name} (sm_{gpu.capability[0]}{gpu.capability[1]}, {gpu.memory_mib // 1024} GiB)"
            for gpu in machine.gpus
        )
        or "none",
    }
    for toolkit in machine.toolkits:
        found[toolkit.variable] = f"{toolkit.path} (CUDA {toolkit.version or 'of unknown version'})"
    return found
