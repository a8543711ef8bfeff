"""Kernels of small functions: recorded, lowered, scheduled, rendered and run by the tile interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from tests.unit.lowering.graphs import record
from tilespec.diagnostics import SourceText
from tilespec.interpret import load_module
from tilespec.ir.nodes import Program
from tilespec.lowering import lower
from tilespec.render.launcher import bind_symbols
from tilespec.render.module import render_module
from tilespec.schedule.choose import schedule_program
from tilespec.schedule.plan import ModulePlan

__all__ = ["families_of", "lowered", "planned", "rendered", "run"]


def lowered(function: Callable[..., object], *inputs: torch.Tensor) -> Program:
    """Return the program of a function at the sizes of its inputs."""
    program, findings = lower(record(function, *inputs))
    assert program is not None, findings
    return program


def planned(function: Callable[..., object], *inputs: torch.Tensor) -> ModulePlan:
    """Return the schedule of a function at the sizes of its inputs."""
    plan = schedule_program(lowered(function, *inputs))
    assert isinstance(plan, ModulePlan), plan
    return plan


def rendered(plan: ModulePlan) -> str:
    """Return the text of the kernel file."""
    inputs = plan.program.inputs
    symbols = bind_symbols(inputs, {})
    assert not isinstance(symbols, str)
    module = render_module(
        plan,
        source=SourceText("probe.tilespec", "\n"),
        description="A probe.",
        defaults={},
        signature=[tensor.name for tensor in inputs],
        symbols=symbols,
        line=1,
    )
    return module.text


def run(plan: ModulePlan, folder: Path, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Run the kernel file of a plan."""
    path = folder / "probe.py"
    path.write_text(rendered(plan))
    result = load_module(path).launch(*inputs)
    return result if isinstance(result, tuple) else (result,)


def families_of(plan: ModulePlan) -> list[str]:
    """Return the family of each launch."""
    return [launch.variants[0].family for launch in plan.launches]
