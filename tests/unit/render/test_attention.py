"""Attention as generated, in the interpreter, against the formula in float64."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own abbreviation

from tests.unit.render.kernels import planned, run


@pytest.mark.parametrize(("width", "name"), [(40, "online"), (272, "wide_head")])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_heads_of_any_width(width: int, name: str, *, causal: bool, dtype: torch.dtype, tmp_path: Path):
    generator = torch.Generator().manual_seed(width)
    q, k, v = (torch.randn(1, 2, 20, width, generator=generator).to(dtype) for _ in range(3))
    attention = partial(F.scaled_dot_product_attention, is_causal=causal)
    plan = planned(attention, q, k, v)
    assert [item.name for launch in plan.launches for item in launch.variants] == [name]
    (result,) = run(plan, tmp_path, (q, k, v))
    wanted = attention(q.double(), k.double(), v.double())
    assert torch.allclose(result.double(), wanted, atol=2e-3 if dtype == torch.float16 else 2e-6, rtol=0)
