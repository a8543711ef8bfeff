"""Guarded allocations: bands, pattern, and who is watched."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tilespec.verify.guard import Guard, unwritten

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    "dtype",
    [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.int64, torch.bool],
)
@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (0, 4)])
def test_allocation_is_unwritten_until_written(dtype: torch.dtype, shape: tuple[int, ...]):
    with Guard(HERE) as guard:
        made = torch.empty(shape, dtype=dtype)
    assert made.shape == shape
    allocation = guard.find(made) if made.numel() else guard.allocations[0]
    assert allocation is not None
    assert unwritten(made, allocation).all()
    made.copy_(torch.ones(shape, dtype=dtype))
    assert not unwritten(made, allocation).any()
    assert allocation.overrun() is None


@pytest.mark.parametrize(("step", "side"), [(-1, "before"), (8, "after")])
def test_write_out_of_bounds_shows(step: int, side: str):
    with Guard(HERE) as guard:
        made = torch.empty(8)
    made.as_strided((1,), (1,), made.storage_offset() + step).fill_(0.0)
    assert guard.allocations[0].overrun() == (side, 4)


def test_zeros_stay_zeros_and_are_guarded():
    with Guard(HERE) as guard:
        made = torch.zeros(4, dtype=torch.int32)
    assert made.tolist() == [0, 0, 0, 0]
    allocation = guard.find(made)
    assert allocation is not None
    assert not unwritten(made, allocation).any()


def test_strides_and_alignment_are_kept():
    with Guard(HERE):
        made = torch.empty_strided((3, 4), (1, 3), dtype=torch.float16)
    assert made.stride() == (1, 3)
    assert made.data_ptr() % 16 == 0


def test_methods_of_tensors_are_watched_too():
    with Guard(HERE) as guard:
        torch.ones(3).new_empty(5)
    assert len(guard.allocations) == 2


def test_other_code_allocates_as_before():
    with Guard(HERE / "elsewhere") as guard:
        torch.empty(3)
    assert guard.allocations == []
