"""Positions of maxima and minima: the first one on ties, NaN before all, in one loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.unit.render.kernels import planned, rendered, run

NAN, INF = float("nan"), float("inf")
FUNCTIONS: dict[str, Callable[[torch.Tensor], object]] = {
    "argmax": lambda x: x.argmax(0),
    "argmin": lambda x: x.argmin(0),
    "max": lambda x: tuple(torch.max(x, 0)),
    "min": lambda x: tuple(torch.min(x, 0)),
    "argmax and sum": lambda x: (x.argmax(0), x.sum(0)),
    "of two axes": lambda x: x.reshape(4, 25, 7).transpose(0, 2).argmax(1),
}


def columns() -> torch.Tensor:
    x = torch.randn(100, 7, generator=torch.Generator().manual_seed(0))
    x[5, 0] = x[50, 0] = NAN
    x[:, 1] = -INF
    x[:, 2] = -INF
    x[70, 2] = 1.0
    x[:, 3] = 3.0
    x[60, 4] = x[61, 4] = INF
    x[3, 5] = -INF
    return x


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_columns(name: str, dtype: torch.dtype, tmp_path: Path):
    x = columns() if dtype.is_floating_point else (columns().nan_to_num(0.0, 2.0, -2.0)).to(dtype)
    plan = planned(FUNCTIONS[name], x)
    assert rendered(plan).count(" in range(ct.cdiv(") == (name != "of two axes")
    expected = FUNCTIONS[name](x)
    for got, want in zip(
        run(plan, tmp_path, (x,)), expected if isinstance(expected, tuple) else (expected,), strict=True
    ):
        torch.testing.assert_close(got, want, equal_nan=True)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_long_rows(name: str, tmp_path: Path):
    x = torch.randn(20000, 3, generator=torch.Generator().manual_seed(0))
    x[15000, 0] = NAN
    x[9, 1] = x[19999, 1] = 9.0
    turned = x.t().contiguous()
    plan = planned(lambda y: FUNCTIONS[name](y.t()), turned)
    assert rendered(plan).count(" in range(ct.cdiv(") == 1
    (got,) = run(plan, tmp_path, (turned,))
    torch.testing.assert_close(got, FUNCTIONS[name](x))


def test_positions_that_nan_does_not_hold_take_a_loop_of_their_own(tmp_path: Path):
    x = columns()

    def first(y: torch.Tensor) -> torch.Tensor:
        rows = torch.arange(100, dtype=torch.int32)[:, None]
        return torch.where(y == y.amax(0), rows, torch.tensor(100, dtype=torch.int32)).amin(0)

    (got,) = run(planned(first, x), tmp_path, (x,))
    torch.testing.assert_close(got, first(x))
