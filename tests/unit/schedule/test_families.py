"""Which family takes which program, why the others don't, and when a kernel needs several launches."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own abbreviation

from tests.unit.render.kernels import families_of, lowered, planned
from tilespec.ir.nodes import Load, Reduce, postorder
from tilespec.schedule.choose import FAMILIES
from tilespec.schedule.common import merged
from tilespec.schedule.online import find_online
from tilespec.schedule.plan import Cover, Decline, Fill, Role
from tilespec.schedule.prepare import prepare

X, W, V = torch.ones(33, 65), torch.ones(65, 48), torch.ones(65)
Q = torch.ones(2, 3, 17, 16)
LONG = torch.ones(3, 20000)


def mean_square(x: torch.Tensor) -> torch.Tensor:
    return (x * x).mean()


@pytest.mark.parametrize(
    ("make", "inputs", "families"),
    [
        (lambda x: x + 1, (X,), ["pointwise"]),
        (lambda x: x.t() * 2, (X,), ["pointwise"]),
        (lambda x: x.sum(1), (X,), ["reduction"]),
        (lambda x: x.sum(0), (X,), ["reduction"]),
        (lambda x: F.layer_norm(x, (65,)), (X,), ["reduction"]),
        (lambda x: torch.softmax(x, -1), (LONG,), ["reduction"]),
        (lambda x, w: F.gelu(x @ w), (X, W), ["contraction"]),
        (lambda x, w: F.silu(x @ w) * (x @ w.flip(0)), (X, W), ["contraction"]),
        (lambda x, v: x @ v, (X, V), ["reduction"]),
        (lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2), -1) @ v, (Q, Q, Q), ["attention"]),
        (F.scaled_dot_product_attention, (Q, Q, Q), ["attention"]),
        (lambda x: x.cumsum(1), (X,), ["scan"]),
        (lambda x: x.flip(1).cumsum(1).flip(1), (X,), ["scan"]),
        # A value of everything: blocks add up shares, a second launch joins them, once for all that read it.
        (mean_square, (X,), ["reduction", "reduction"]),
        (lambda x: x - x.max(), (X,), ["reduction", "reduction", "pointwise"]),
        # A scan whose result is read elsewhere goes to memory first.
        (lambda x: x.cumsum(1).sum(1), (X,), ["scan", "reduction"]),
        # Outputs of different axes are written by launches of their own.
        (lambda x: (x * 2, x.sum(1)), (X,), ["pointwise", "reduction"]),
    ],
)
def test_families(make: Callable[..., object], inputs: tuple[torch.Tensor, ...], families: list[str]):
    assert families_of(planned(make, *inputs)) == families


@pytest.mark.parametrize(
    ("family", "make", "inputs", "reason"),
    [
        ("pointwise", lambda x: x.sum(1), (X,), "it reduces or scans"),
        ("pointwise", lambda x: x.cumsum(1), (X,), "it reduces or scans"),
        ("contraction", lambda x: x.sum(1), (X,), "it has no contraction"),
        ("contraction", lambda x, w: torch.softmax(x @ w, -1), (X, W), "it reduces over an axis"),
        ("attention", lambda x, w: x @ w, (X, W), "it is not a product of a product"),
        ("attention", lambda x, w: x @ w @ w.t(), (X, W), "exponentials"),
        ("scan", lambda x: x + 1, (X,), "it does not scan"),
        ("reduction", lambda x: x.cumsum(1), (X,), "it scans"),
    ],
)
def test_reasons(family: str, make: Callable[..., object], inputs: tuple[torch.Tensor, ...], reason: str):
    found = FAMILIES[family](prepare(lowered(make, *inputs)))
    assert isinstance(found, Decline)
    assert found.family == family
    assert reason in found.reason


def test_rows_of_several_axes_are_packed_sparingly():
    # A tile of (groups, channels, pixels) reduced to its groups: the time to compile explodes with its size.
    scale = torch.ones(96)
    plan = planned(lambda x, g: F.group_norm(x, 32, g, g), torch.ones(2, 96, 5, 7), scale)
    (row,) = plan.launches[0].variants
    assert [item.rule for item in row.axes if isinstance(item.rule, Fill)] == [
        Fill(2048, ("BLOCK_I2", "BLOCK_I3I4"))
    ]


@pytest.mark.parametrize(
    ("make", "names"),
    [
        # The channel of a group is a quotient of its position: groups don't overlap.
        (lambda x: F.group_norm(x, 32), ["row"]),
        (lambda x: F.max_pool2d(x, 3, 2), ["window"]),
        (lambda x: F.avg_pool2d(x, 2), ["window"]),
    ],
)
def test_what_slides_is_a_window(make: Callable[..., object], names: list[str]):
    plan = planned(make, torch.ones(2, 96, 8, 8))
    assert [item.name for launch in plan.launches for item in launch.variants] == names


def test_the_last_family_takes_all_but_scans():
    assert list(FAMILIES)[-1] == "reduction"
    for make, inputs in (((lambda x: x + 1), (X,)), ((lambda x, w: x @ w), (X, W))):
        assert not isinstance(FAMILIES["reduction"](prepare(lowered(make, *inputs))), Decline)


def test_the_reasons_are_kept_for_the_reader():
    plan = planned(lambda x: x.sum(1), X)
    assert [item.family for item in plan.declined] == [name for name in FAMILIES if name != "reduction"]


def test_every_axis_has_a_role_and_every_tile_is_in_a_frame():
    for make, inputs in (
        (lambda x: x + 1, (X,)),
        (lambda x: F.layer_norm(x, (65,)), (X,)),
        (lambda x, w: x @ w, (X, W)),
        (lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2), -1) @ v, (Q, Q, Q)),
        (mean_square, (X,)),
    ):
        for launch in planned(make, *inputs).launches:
            for variant in launch.variants:
                framed = {axis for frame in variant.frames for axis in frame}
                for node in postorder(store.value for store in variant.program.stores):
                    for axis in node.free | node.bound:
                        assert variant.role(axis).has_tile <= (axis in framed)
                assert {item.axis for item in variant.axes if item.role.in_grid} == set(variant.grid)


def test_only_the_last_variant_has_no_condition():
    for make, inputs in (
        (lambda x: F.layer_norm(x, (65,)), (X,)),
        (lambda x, w: x @ w, (X.half(), W.half())),
    ):
        for launch in planned(make, *inputs).launches:
            assert [variant.condition is None for variant in launch.variants][-1]
            assert all(variant.condition is not None for variant in launch.variants[:-1])


def test_rows_that_fit_are_one_tile_and_long_ones_a_loop():
    (short,) = planned(lambda x: torch.softmax(x, -1), X).launches
    assert Role.LOOP not in {item.role for item in short.variants[0].axes}
    (long,) = planned(lambda x: torch.softmax(x, -1), LONG).launches
    assert Role.LOOP in {item.role for item in long.variants[-1].axes}


@pytest.mark.parametrize(
    ("make", "widest"),
    [
        (lambda x: x.transpose(1, 2) + 1, 64),
        # A bias of each channel: everything else runs along the pixels.
        (lambda x: x + torch.arange(40.0)[:, None], 1024),
    ],
)
def test_a_tile_is_square_where_two_axes_are_walked(make: Callable[..., object], widest: int):
    ((variant,),) = [launch.variants for launch in planned(make, torch.ones(3, 40, 3000)).launches]
    assert max(item.rule.cap for item in variant.axes if isinstance(item.rule, Cover)) == widest


def test_many_blocks_read_a_value_and_not_its_shares():
    plan = planned(lambda x: torch.softmax(x.flatten(), 0), X)
    shared = {tensor for tensor in plan.workspaces if tensor.shape}
    values = [store.value for store in plan.launches[-1].program.stores]
    read = {node.tensor for node in postorder(values) if isinstance(node, Load)}
    assert len(shared) == 2
    assert not shared & read


LONG_ROWS, LONG_COLUMNS = torch.ones(20, 4500), torch.ones(4500, 24)


@pytest.mark.parametrize(
    ("make", "inputs", "families"),
    [
        (lambda a, b: F.relu(a @ b), (LONG_ROWS, LONG_COLUMNS), ["contraction", "reduction"]),
        (
            lambda a, b: F.silu(a @ b) * (a @ b.flip(0)),
            (LONG_ROWS, LONG_COLUMNS),
            ["contraction", "reduction"],
        ),
        (lambda x: x.sum(0), (LONG_COLUMNS,), ["reduction", "reduction"]),
        (lambda x: (x.sum(0), x.amax(0)), (LONG_COLUMNS,), ["reduction", "reduction"]),
        # The sum, what joins it, the sum of squares, what joins that, and the normalisation.
        (
            lambda x: F.batch_norm(x, None, None, training=True),
            (LONG_COLUMNS,),
            ["reduction", "reduction", "reduction", "reduction", "pointwise"],
        ),
        # Enough blocks, short loops, or rows that are read again.
        (lambda a, b: a @ b, (torch.ones(2048, 4500), torch.ones(4500, 2048)), ["contraction"]),
        (lambda a, b: a @ b, (LONG_ROWS[:, :2000], LONG_COLUMNS[:2000]), ["contraction"]),
        (lambda x: x.sum(0), (LONG_COLUMNS[:500],), ["reduction"]),
        (lambda x: torch.softmax(x, 1), (torch.ones(3, 300000),), ["reduction"]),
    ],
)
def test_few_blocks_with_many_steps_work_in_shares(
    make: Callable[..., object], inputs: tuple[torch.Tensor, ...], families: list[str]
):
    assert families_of(planned(make, *inputs)) == families


def test_shares_are_read_along_what_is_long():
    # Two groups of channels: the store of a share runs along the groups, and the pixels are what is read.
    scale = torch.ones(32)
    plan = planned(lambda x, g: F.group_norm(x, 2, g, g), torch.ones(1, 32, 256, 256), scale)
    shares = [launch.variants[0] for launch in plan.launches if "_shares" in launch.program.name]
    assert [item.name for item in shares] == ["long_row", "long_row"]


def test_a_workspace_lies_between_launches():
    plan = planned(mean_square, X)
    (workspace,) = plan.workspaces
    first, second = plan.launches
    assert [store.tensor for store in first.program.stores] == [workspace]
    assert workspace in second.program.inputs
    assert workspace not in plan.program.inputs


def test_a_scan_before_a_reduction_is_stored():
    plan = planned(lambda x: x.cumsum(1).sum(1), X)
    assert [item.name for item in plan.workspaces] == ["scan_1"]
    assert [dim.value for dim in plan.workspaces[0].shape] == [33, 65]


@pytest.mark.parametrize(
    ("make", "inputs", "count"),
    [
        (lambda x: torch.softmax(x, -1), (X,), 1),
        (lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2), -1) @ v, (Q, Q, Q), 2),
        (lambda x: (x - x.mean(1, keepdim=True)).square().sum(1), (X,), 0),
        (lambda x: torch.exp(x).sum(1), (X,), 0),
        (lambda x: (x - x.amax(1, keepdim=True)).sum(1), (X,), 0),
    ],
)
def test_which_sums_run_beside_their_maximum(
    make: Callable[..., object], inputs: tuple[torch.Tensor, ...], count: int
):
    program = merged(prepare(lowered(make, *inputs)))
    found = find_online([store.value for store in program.stores])
    assert len(found) == count
    assert all(highest.op == "max" for highest in found.values())


@pytest.mark.parametrize("make", [lambda x: x.argmax(1), lambda x: (x > 2).any(1), lambda x: (x > 2).all(0)])
def test_preparing_leaves_plain_reductions_only(make: Callable[..., object]):
    program = prepare(lowered(make, X))
    found = {
        node.op for node in postorder(store.value for store in program.stores) if isinstance(node, Reduce)
    }
    assert found
    assert found <= {"sum", "prod", "max", "min"}


def test_stores_of_equal_shape_share_their_axes():
    program = prepare(lowered(lambda x: (x + 1, x * 2), X))
    first, second = program.stores
    assert first.axes == second.axes
