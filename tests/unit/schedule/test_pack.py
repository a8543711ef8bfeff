"""Operands of convolutions are packed so that the product reads tiles of views, and computes the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own abbreviation

from tests.unit.reference import making
from tests.unit.render.kernels import families_of, planned, rendered, run
from tilespec.lowering import lower
from tilespec.reference.trace import trace_kernel
from tilespec.schedule.choose import schedule_program
from tilespec.schedule.plan import ModulePlan

Make = Callable[..., torch.Tensor]


def real(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))


def body(text: str, kernel: str = "probe_kernel") -> str:
    """Return the text of one kernel of a file."""
    return text.partition(f"def {kernel}(")[2].partition("\n\n\n")[0]


@pytest.mark.parametrize(
    ("make", "inputs"),
    [
        (F.conv_transpose1d, (real(2, 16, 9), real(16, 7, 3), real(7))),
        (lambda x, w: F.conv_transpose1d(x, w, dilation=3, padding=2), (real(2, 16, 9), real(16, 7, 3))),
        (lambda x, w: F.conv_transpose2d(x, w, padding=(1, 2)), (real(2, 16, 9, 6), real(16, 7, 3, 4))),
        (lambda x, w: F.conv_transpose2d(x, w, groups=2), (real(2, 6, 9, 6), real(6, 4, 3, 4))),
        (F.conv_transpose3d, (real(2, 16, 4, 6, 3), real(16, 7, 3, 2, 3))),
    ],
)
def test_a_transposed_convolution_of_stride_1_is_a_convolution(
    make: Make, inputs: tuple[torch.Tensor, ...], tmp_path: Path
):
    plan = planned(make, *inputs)
    assert families_of(plan) == ["pointwise", "pointwise", "contraction"]
    assert [item.name for item in plan.workspaces] == ["x0_packed", "x1_packed"]
    assert "ct.gather" not in body(rendered(plan))
    torch.testing.assert_close(run(plan, tmp_path, inputs)[0], make(*inputs), atol=1e-4, rtol=1e-4)


def test_views_of_packed_inputs_have_at_most_5_dims():
    plan = planned(F.conv3d, real(2, 16, 4, 6, 8), real(7, 16, 3, 2, 3))
    packed, _ = plan.workspaces
    assert [dim.value for dim in packed.shape] == [2 * 4, 6, 8, 16]


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


FEW = [
    (
        lambda x, w, b: F.conv2d(x, w, b, stride=4, padding=2),
        (real(2, 3, 23, 27), real(7, 3, 11, 11), real(7)),
        [[2, 5, 6, 368], [7, 368]],
    ),
    (F.conv3d, (real(2, 3, 5, 6, 7), real(7, 3, 3, 3, 3)), [[2, 5, 4, 5, 32], [7, 3, 32]]),
    (
        lambda x, w: F.conv1d(x, w, padding=2, dilation=2),
        (real(2, 3, 15), real(7, 3, 5)),
        [[2, 11, 16], [7, 16]],
    ),
    (lambda x, w: F.relu(F.conv1d(x, w, padding="same")), (real(2, 15, 9), real(7, 15, 5)), None),
    (lambda x, w: F.conv_transpose2d(x, w, padding=1), (real(2, 4, 9, 6), real(4, 7, 3, 3)), None),
]


@pytest.mark.parametrize(("make", "inputs", "shapes"), FEW)
def test_few_channels_fill_the_depth_with_taps(
    make: Make, inputs: tuple[torch.Tensor, ...], shapes: list[list[int]] | None, tmp_path: Path
):
    plan = planned(make, *inputs)
    assert families_of(plan) == ["pointwise", "pointwise", "contraction"]
    assert [item.name for item in plan.workspaces] == ["x0_columns", "x1_columns"]
    found = [[dim.value for dim in item.shape] for item in plan.workspaces]
    assert shapes is None or found == shapes
    assert all(shape[-1] is not None and shape[-1] % 16 == 0 for shape in found)
    kernel = body(rendered(plan))
    assert kernel.count("_columns_tile = ct.load") == 2
    torch.testing.assert_close(run(plan, tmp_path, inputs)[0], make(*inputs), atol=1e-4, rtol=1e-4)


def symbolic() -> ModulePlan:
    """Return the plan of a convolution of any number of channels."""
    made = making.kernel(
        "conv",
        ["x: N, C, L float32", "w: K, C, 3 float32", "b: K float32"],
        ["y: N, K, (L - 1)//2 + 1 float32"],
        "def reference_conv(x, w, b):\n    return F.relu(F.conv1d(x, w, b, stride=2, padding=1))\n",
    )
    graph, findings = trace_kernel(making.spec(made), made)
    assert graph is not None, findings
    program, findings = lower(graph, outputs=["y"])
    assert program is not None, findings
    plan = schedule_program(program)
    assert isinstance(plan, ModulePlan)
    return plan


def test_the_number_of_channels_decides_at_run_time(tmp_path: Path):
    plan = symbolic()
    assert [[item.name for item in launch.variants] for launch in plan.launches] == [
        ["few_channels", "elementwise"],
        ["few_channels", "elementwise"],
        ["few_channels", "matmul"],
    ]
    assert {str(launch.variants[0].condition) for launch in plan.launches} == {"15 - C"}
    for channels in (3, 17):
        inputs = (real(2, channels, 9), real(5, channels, 3), real(5))
        expected = F.relu(F.conv1d(*inputs, stride=2, padding=1))
        torch.testing.assert_close(run(plan, tmp_path, inputs)[0], expected, atol=1e-4, rtol=1e-4)


def test_a_way_that_is_not_taken_has_no_workspace():
    text = rendered(symbolic())
    for way, name in (("few_channels", "x_columns"), ("elementwise", "x_packed")):
        assert (
            f"    if kernel_1 is reference_conv_pack_x_{way}_kernel:\n        {name} = torch.empty(" in text
        )
        assert text.count(f" {name} = ") == 1
