"""Every op case as a generated kernel: what the interpreter runs agrees with torch in float64."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.unit.lowering.op_cases import cases
from tests.unit.render.kernels import planned, run

CASES = cases()
LIMITS = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float64: 1e-9}

# `nan_to_num` replaces infinities by the limits of its own dtype: float64 is no golden for it.
OWN_LIMITS = {"bits_and_choices/nan-to-num", "bits_and_choices/nan-to-num-half"}
# A float32 product is a sum of three tfloat32 products of high and low parts; an infinite operand has a low part of NaN.
NAN_FOR_INFINITY = {"convolutions/convT1d-infinite"}


def widen(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor


@pytest.mark.parametrize(("name", "make", "inputs"), CASES, ids=[case[0] for case in CASES])
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_kernel_computes_what_torch_does(
    name: str, make: Callable[..., object], inputs: tuple[torch.Tensor, ...], tmp_path: Path
):
    found = run(planned(make, *inputs), tmp_path, inputs)
    typed, exact = (
        result if isinstance(result, list | tuple) else (result,)
        for result in (
            make(*inputs),
            make(*(item if name in OWN_LIMITS else widen(item) for item in inputs)),
        )
    )
    assert len(found) == len(exact)
    for result, like, golden in zip(found, typed, exact, strict=True):
        assert result.dtype == like.dtype
        limit = LIMITS.get(result.dtype, 3e-5)
        wanted = golden.contiguous().double()
        if name in NAN_FOR_INFINITY:
            assert result.isnan().any()
            wanted = wanted.where(wanted.isfinite(), torch.nan)
        torch.testing.assert_close(result.double(), wanted, rtol=limit, atol=limit, equal_nan=True)


def test_the_exceptions_are_cases():
    assert {name for name, _, _ in CASES} >= OWN_LIMITS | NAN_FOR_INFINITY
