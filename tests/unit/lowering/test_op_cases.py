"""Every op case: the lowered program computes what torch computes, and the verifier has no complaint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from tests.unit.lowering.graphs import record
from tests.unit.lowering.op_cases import FAMILIES, cases
from tilespec.ir.evaluate import evaluate_program
from tilespec.ir.verify import verify
from tilespec.lowering import lower

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = cases()
LIMITS = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float64: 1e-10}


def test_cases_cover_every_family_once():
    names = [name for name, _, _ in CASES]
    assert len(names) == len(set(names))
    assert {name.partition("/")[0] for name in names} == set(FAMILIES)
    assert len(names) > 500


@pytest.mark.parametrize(("make", "inputs"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_lowered_program_computes_what_torch_does(
    make: Callable[..., object], inputs: tuple[torch.Tensor, ...]
):
    graph = record(make, *inputs)
    program, findings = lower(graph)
    assert findings == []
    assert program is not None
    assert verify(program) == ()
    tensors = {name: tensor for (name, _), tensor in zip(graph.inputs, inputs, strict=True)}
    expected = make(*inputs)
    wanted = expected if isinstance(expected, list | tuple) else (expected,)
    found = evaluate_program(program, tensors, {}, {})
    assert len(found) == len(wanted)
    for result, one in zip(found, wanted, strict=True):
        limit = LIMITS.get(one.dtype, 1e-4)
        torch.testing.assert_close(result, one.contiguous(), rtol=limit, atol=limit / 10, equal_nan=True)


def test_lowering_twice_gives_the_same_text():
    from tilespec.ir.print import print_program

    for name, make, inputs in CASES[::25]:
        first, second = (lower(record(make, *inputs))[0] for _ in range(2))
        assert first is not None, name
        assert second is not None, name
        assert print_program(first) == print_program(second)
