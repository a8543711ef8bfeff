"""References with symbolic sizes: one program is right for all sizes, and free of division where views allow it."""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING

import pytest
import torch

from tests.unit.lowering.symbolic_cases import SYMBOLIC, Symbolic
from tests.unit.reference.making import kernel, spec
from tilespec.ir.evaluate import evaluate_program
from tilespec.ir.print import print_program
from tilespec.ir.verify import verify
from tilespec.lowering import lower
from tilespec.model.types import DimRange
from tilespec.reference.evaluate import evaluate
from tilespec.reference.trace import trace_kernel

if TYPE_CHECKING:
    from tilespec.ir.nodes import Program
    from tilespec.model.types import Kernel


@cache
def lowered(name: str) -> tuple[Kernel, Program]:
    (case,) = [case for case in SYMBOLIC if case.name == name]
    made = kernel(case.name, case.inputs, case.outputs, case.code)
    dims = {name: DimRange(low=low) for name, low in case.least.items()}
    graph, findings = trace_kernel(spec(made, dims=dims), made)
    assert graph is not None, [item.message for item in findings]
    program, findings = lower(graph, outputs=[item.name for item in made.outputs])
    assert program is not None, [item.message for item in findings]
    return made, program


def arguments(made: Kernel, sizes: dict[str, int], seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    result = {}
    for item in made.tensors:
        shape = [size.evaluate(sizes) for size in item.shape]
        if item.dtype == "int64":
            result[item.name] = torch.randint(0, sizes["V"], shape, generator=generator)
        else:
            result[item.name] = torch.randn(shape, generator=generator).to(getattr(torch, item.dtype))
    return result


@pytest.mark.parametrize("case", SYMBOLIC, ids=[case.name for case in SYMBOLIC])
def test_one_program_is_right_for_all_sizes(case: Symbolic):
    made, program = lowered(case.name)
    assert verify(program) == ()
    symbols = sorted(
        {name for item in (*made.tensors, *made.outputs) for size in item.shape for name in size.symbols}
    )
    chance = random.Random(case.name)  # noqa: S311 - sizes, no secrets
    for trial in range(4):
        sizes = {name: chance.randint(case.least.get(name, 1), 6) for name in symbols}
        if trial == 0:
            sizes = {name: case.least.get(name, 1) for name in symbols}
        given = arguments(made, sizes, trial)
        scalars = {item.name: item.default for item in made.scalars}
        found = evaluate_program(program, given, scalars, sizes)
        wanted = evaluate(made, given, widen=False)
        for result, one in zip(found, wanted, strict=True):
            limit = 2e-3 if one.dtype == torch.float16 else 1e-4
            torch.testing.assert_close(result, one.contiguous(), rtol=limit, atol=limit / 10, equal_nan=True)


@pytest.mark.parametrize("case", SYMBOLIC, ids=[case.name for case in SYMBOLIC])
def test_widening_gives_the_golden(case: Symbolic):
    made, program = lowered(case.name)
    symbols = {
        name for item in (*made.tensors, *made.outputs) for size in item.shape for name in size.symbols
    }
    sizes = dict.fromkeys(symbols, 5)
    given = arguments(made, sizes, 11)
    scalars = {item.name: item.default for item in made.scalars}
    found = evaluate_program(program, given, scalars, sizes, widen=True)
    for result, one in zip(found, evaluate(made, given, widen=True), strict=True):
        torch.testing.assert_close(result, one.contiguous(), rtol=1e-9, atol=1e-9)


WITHOUT_DIVISION = {
    "attention", "fused_heads", "group_norm", "grouped_heads", "interleaved", "flattened_mean", "conv", "rope", "pool",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(WITHOUT_DIVISION))
def test_views_leave_no_division(name: str):
    text = print_program(lowered(name)[1])
    assert "//" not in text
    assert "%" not in text
