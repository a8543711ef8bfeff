"""Functions that `cuda.tile` lacks: what the generated helpers compute, against torch in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.unit.render.kernels import planned, rendered, run

SPECIAL = [0.0, -0.0, -1.0, math.inf, -math.inf, math.nan]
WIDE = torch.cat([torch.logspace(-30, 30, 121), -torch.logspace(-30, 30, 121), torch.tensor(SPECIAL)])
NEAR = torch.cat([torch.linspace(-8, 8, 1001), torch.linspace(-1e-3, 1e-3, 101), torch.tensor(SPECIAL)])
UNIT = torch.cat(
    [torch.linspace(-1, 1, 1001), torch.linspace(-1e-3, 1e-3, 101), torch.tensor([2.0, -2.0, math.nan])]
)
HALVES = torch.cat(
    [torch.arange(-20.0, 20.0) / 2, torch.tensor([0.4999999, 4194303.5, 8388607.0, 1e20, *SPECIAL])]
)

Unary = Callable[[torch.Tensor], torch.Tensor]


def check(function: Unary, values: torch.Tensor, folder: Path, *, ulps: float, tiny: float = 0.0) -> str:
    """Compare a kernel of `function` with float64; returns its text."""
    plan = planned(function, values)
    (found,) = run(plan, folder, [values])
    golden = function(values.double())
    assert found.dtype == values.dtype
    assert torch.equal(found.isnan(), golden.isnan())
    rounded = golden.to(values.dtype).double()
    infinite = rounded.isinf()
    assert torch.equal(found.double()[infinite], rounded[infinite])
    exact = ~(infinite | golden.isnan())
    error = (found.double() - golden).abs()[exact]
    bound = ulps * torch.finfo(values.dtype).eps * golden.abs()[exact] + tiny
    worst = (error - bound).argmax()
    assert bool((error <= bound).all()), (
        f"f({values[exact][worst]}) = {found[exact][worst]}, not {golden[exact][worst]}"
    )
    return rendered(plan)


@pytest.mark.parametrize(
    ("name", "function", "values", "ulps", "tiny"),
    [
        ("erf", torch.erf, NEAR, 3, 0),
        ("erf", torch.erf, WIDE, 3, 1e-44),
        ("erfc", torch.erfc, NEAR, 6, 1e-38),
        ("erfc", torch.erfc, WIDE, 6, 1e-38),
        ("log1p_float32", torch.log1p, NEAR, 2, 0),
        ("log1p_float32", torch.log1p, WIDE, 2, 1e-44),
        ("expm1_float32", torch.expm1, NEAR, 4, 0),
        ("expm1_float32", torch.expm1, WIDE, 4, 1e-44),
        ("asinh", torch.asinh, NEAR, 4, 0),
        ("asinh", torch.asinh, WIDE, 4, 1e-44),
        ("acosh", torch.acosh, NEAR, 8, 0),
        ("acosh", torch.acosh, WIDE, 4, 1e-44),
        ("atanh", torch.atanh, UNIT, 4, 0),
        ("asin", torch.asin, UNIT, 4, 0),
        ("acos", torch.acos, UNIT, 4, 2e-7),
        ("sigmoid", torch.sigmoid, NEAR, 4, 0),
        ("sign", torch.sign, WIDE[:-1], 0, 0),
        ("trunc", torch.trunc, HALVES, 0, 0),
        ("round_half_even", torch.round, HALVES, 0, 0),
    ],
)
def test_float32(name: str, function: Unary, values: torch.Tensor, ulps: float, tiny: float, tmp_path: Path):
    text = check(function, values, tmp_path, ulps=ulps, tiny=tiny)
    assert f"def {name}(" in text


@pytest.mark.parametrize(
    ("function", "values", "ulps"),
    [
        (torch.erf, NEAR.double(), 40),
        (torch.erf, WIDE.double(), 40),
        (torch.erfc, NEAR.double(), 20),
        (torch.log1p, NEAR.double(), 4),
        (torch.expm1, NEAR.double(), 4),
        (torch.asinh, WIDE.double(), 4),
        (torch.atanh, UNIT.double(), 4),
        (
            torch.round,
            torch.cat([HALVES.double(), torch.tensor([2.0**51 + 0.5, 2.0**52 + 1, -(2.0**51) - 0.5])]),
            0,
        ),
    ],
)
def test_float64(function: Unary, values: torch.Tensor, ulps: float, tmp_path: Path):
    check(function, values, tmp_path, ulps=ulps)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_integer_division_by_each_rounding(dtype: torch.dtype, tmp_path: Path):
    left = torch.arange(-12, 13, dtype=dtype).repeat_interleave(6)
    right = torch.tensor([1, 2, 5, -1, -2, -5], dtype=dtype).repeat(25)
    plan = planned(
        lambda x, y: (
            torch.div(x, y, rounding_mode="trunc"),
            torch.div(x, y, rounding_mode="floor"),
            torch.fmod(x, y),
            torch.remainder(x, y),
        ),
        left,
        right,
    )
    for found, exact in zip(
        run(plan, tmp_path, [left, right]),
        (
            torch.div(left, right, rounding_mode="trunc"),
            torch.div(left, right, rounding_mode="floor"),
            torch.fmod(left, right),
            torch.remainder(left, right),
        ),
        strict=True,
    ):
        torch.testing.assert_close(found, exact)


def test_a_product_of_three_terms_keeps_float32_accuracy(tmp_path: Path):
    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(size, generator=generator) for size in ((48, 512), (512, 40)))
    plan = planned(lambda x, y: x @ y, left, right)
    (found,) = run(plan, tmp_path, [left, right])
    golden = left.double() @ right.double()
    error = (found.double() - golden).abs().max()
    eager = ((left @ right).double() - golden).abs().max()
    # One tfloat32 product alone would be a thousand times off.
    assert error <= 4 * eager
