"""Operands of convolutions are packed so that the product reads tiles of views, and computes the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own abbreviation

from tests.unit.render.kernels import families_of, planned, rendered, run

Make = Callable[..., torch.Tensor]


def real(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))


def body(text: str, kernel: str = "probe_kernel") -> str:
    """Return the text of one kernel of a file."""
    return text.partition(f"def {kernel}(")[2].partition("\n\n\n")[0]


@pytest.mark.parametrize(
    ("make", "inputs"),
    [
        (F.conv_transpose1d, (real(2, 5, 9), real(5, 7, 3), real(7))),
        (lambda x, w: F.conv_transpose1d(x, w, dilation=3, padding=2), (real(2, 5, 9), real(5, 7, 3))),
        (lambda x, w: F.conv_transpose2d(x, w, padding=(1, 2)), (real(2, 5, 9, 6), real(5, 7, 3, 4))),
        (lambda x, w: F.conv_transpose2d(x, w, groups=2), (real(2, 6, 9, 6), real(6, 4, 3, 4))),
        (F.conv_transpose3d, (real(2, 5, 4, 6, 3), real(5, 7, 3, 2, 3))),
    ],
)
def test_a_transposed_convolution_of_stride_1_is_a_convolution(
    make: Make, inputs: tuple[torch.Tensor, ...], tmp_path: Path
):
    plan = planned(make, *inputs)
    assert families_of(plan) == ["pointwise", "pointwise", "contraction"]
    assert "ct.gather" not in body(rendered(plan))
    torch.testing.assert_close(run(plan, tmp_path, inputs)[0], make(*inputs), atol=1e-4, rtol=1e-4)


def test_views_of_packed_inputs_have_at_most_5_dims():
    plan = planned(F.conv3d, real(2, 5, 4, 6, 8), real(7, 5, 3, 2, 3))
    arrays = [array for array in plan.workspaces if array.name == "x0_packed"]
    assert [[dim.value for dim in array.shape] for array in arrays] == [[2 * 4, 6, 8, 5]]


STRIDED = [
    (lambda x, w: F.conv_transpose1d(x, w, stride=2), (real(2, 5, 9), real(5, 7, 3))),
    (lambda x, w: F.conv_transpose1d(x, w, stride=2, padding=1), (real(2, 5, 9), real(5, 7, 3))),
    (
        lambda x, w, b: F.conv_transpose1d(x, w, b, stride=2, padding=1, output_padding=1),
        (real(2, 5, 9), real(5, 7, 3), real(7)),
    ),
    # A stride that divides the output is split before; the phases are no tiles.
    (lambda x, w: F.conv_transpose2d(x, w, stride=2), (real(2, 5, 9, 6), real(5, 7, 4, 4))),
    # Fewer taps than the stride: some phases have none.
    (lambda x, w: F.conv_transpose2d(x, w, stride=3, padding=1), (real(2, 5, 9, 6), real(5, 7, 2, 2))),
    # Strides and dilations with common factors, and without.
    (lambda x, w: F.conv_transpose1d(x, w, stride=3, padding=1, dilation=2), (real(2, 5, 9), real(5, 7, 4))),
    (lambda x, w: F.conv_transpose1d(x, w, stride=4, padding=2, dilation=6), (real(2, 5, 9), real(5, 7, 3))),
    (
        lambda x, w, b: F.conv_transpose3d(x, w, b, stride=2, padding=1, dilation=2),
        (real(2, 5, 4, 6, 3), real(5, 7, 3, 2, 3), real(7)),
    ),
    (
        lambda x, w: F.conv_transpose2d(x, w, stride=(2, 3), padding=(1, 2), dilation=(2, 1), groups=2),
        (real(2, 6, 9, 6), real(6, 7, 3, 5)),
    ),
    (
        lambda x, w, r: F.gelu(F.conv_transpose1d(x, w, stride=2, padding=1)) + r,
        (real(2, 5, 9), real(5, 7, 3), real(2, 7, 17)),
    ),
]


@pytest.mark.parametrize(("make", "inputs"), STRIDED)
def test_the_phases_of_a_transposed_convolution_read_tiles(
    make: Make, inputs: tuple[torch.Tensor, ...], tmp_path: Path
):
    plan = planned(make, *inputs)
    assert families_of(plan) == ["pointwise", "pointwise", "contraction"]
    kernel = body(rendered(plan))
    assert kernel.count("_packed_tile = ct.load") == 2
    assert "ct.where" not in kernel
    torch.testing.assert_close(run(plan, tmp_path, inputs)[0], make(*inputs), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("dilation", "count"),
    [(1, "(4 - (i2_phase + 1) % 2) // 2"), (2, "3 - 3*((i2_phase + 1) % 2)")],
)
def test_a_phase_takes_the_steps_that_meet_its_taps(dilation: int, count: str):
    def make(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.conv_transpose1d(x, w, stride=2, padding=1, dilation=dilation)

    (plan,) = planned(make, real(2, 5, 9), real(5, 7, 3)).launches[-1].variants
    assert [str(item.count) for item in plan.axes if item.count is not None] == [count]


def test_a_place_past_the_end_is_not_stored():
    odd = planned(lambda x, w: F.conv_transpose1d(x, w, stride=2), real(2, 5, 9), real(5, 7, 3))
    even = planned(lambda x, w: F.conv_transpose1d(x, w, stride=2), real(2, 5, 9), real(5, 7, 4))
    assert "ct.scatter(" in body(rendered(odd))
    assert "ct.store(" in body(rendered(even))
