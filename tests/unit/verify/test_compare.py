"""The limit: what passes, what doesn't, and what eager has to say about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
import torch
from torch import Tensor

from tilespec.verify.compare import Comparison, compare, place
from tilespec.verify.nudge import Nudge
from tilespec.verify.subject import Arguments, Chain, Move

Values = Mapping[str, Tensor | float | int | bool]


def _compare(
    function: Callable[[Tensor], Tensor],
    x: Tensor,
    result: Tensor,
    tolerance: tuple[float, float] | None = None,
    chain: Chain | None = None,
) -> Comparison:
    def reference(values: Values, widen: bool) -> tuple[Tensor, ...]:  # noqa: FBT001
        value = values["x"]
        assert isinstance(value, Tensor)
        wide = value.double() if widen and value.is_floating_point() else value
        return (function(wide),)

    (eager,), (golden,) = reference({"x": x}, widen=False), reference({"x": x}, widen=True)
    return compare("y", result, golden, eager, tolerance, Nudge(reference, {"x": x}, chain), 0)


def _random(*shape: int, dtype: torch.dtype = torch.float16) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_eager_itself_passes(dtype: torch.dtype):
    x = _random(7, 33, dtype=dtype)
    found = _compare(_softmax, x, _softmax(x))
    assert found.fault is None
    assert found.ratio <= 0.5


def _softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


def test_one_wrong_element_among_many_is_found():
    x = _random(64, 64)
    result = _softmax(x)
    result[63, 63] *= 1.1
    found = _compare(_softmax, x, result)
    assert found.fault is not None
    assert found.fault.code == "TS801"
    assert "[63, 63]" in found.fault.message()


def test_small_errors_everywhere_exceed_the_norm():
    x = _random(64, 64, dtype=torch.float32)
    right = _softmax(x.double())
    # 3e-6 of every element: below what one element may be off in cancellation, far above it in norm.
    found = _compare(_softmax, x, (right * (1 + 3e-6)).float())
    assert found.fault is not None


def test_ten_bits_of_mantissa_are_not_float32():
    x = _random(32, 48, dtype=torch.float32)
    w = _random(48, 16, dtype=torch.float32)

    def product(value: Tensor) -> Tensor:
        return value @ w.to(value.dtype)

    short = (x.view(torch.int32) & ~0x1FFF).view(torch.float32)
    assert _compare(product, x, product(x)).fault is None
    assert _compare(product, x, product(short)).fault is not None


def test_lucky_eager_does_not_fail_a_right_kernel():
    # One element that nearly cancels: eager may hit it by chance, another order of the same sum need not.
    x = _random(1, 33)
    rounded = (x.float() * 3).half().float()
    forward, backward = rounded.sum(1), torch.zeros(1)
    for column in reversed(range(33)):
        backward = backward + rounded[:, column]
    assert torch.allclose(forward, backward, atol=1e-3)

    def reference(value: Tensor) -> Tensor:
        return (value * 3).sum(1)

    assert _compare(reference, x, backward.half()).fault is None


def test_result_that_is_zero_by_algebra_may_hold_rounding():
    x = _random(1, 64, dtype=torch.float32)

    def centred(value: Tensor) -> Tensor:
        return (value - value.mean(1, keepdim=True)).mean(1)

    other = x - x.sum(1, keepdim=True).mul(1 / 64)
    assert _compare(centred, x, other.flip(1).sum(1).mul(1 / 64)).fault is None
    assert _compare(centred, x, torch.full((1,), 1e-3)).fault is not None


@pytest.mark.parametrize(("value", "code"), [(float("nan"), "TS802"), (float("inf"), "TS802")])
def test_non_finite_out_of_place(value: float, code: str):
    x = _random(4, 4)
    result = x.clone()
    result[2, 1] = value
    found = _compare(lambda item: item * 1, x, result)
    assert found.fault is not None
    assert found.fault.code == code
    assert "[2, 1]" in found.fault.message()


def test_lost_nan_is_out_of_place():
    x = _random(4, 4)
    x[1, 1] = float("nan")
    found = _compare(lambda item: item * 1, x, torch.nan_to_num(x))
    assert found.fault is not None
    assert found.fault.code == "TS802"
    assert _compare(lambda item: item * 1, x, x.clone()).fault is None


def test_sign_of_infinity_counts():
    x = torch.tensor([float("inf"), 1.0])
    assert _compare(lambda item: item * 1, x, torch.tensor([float("-inf"), 1.0])).fault is not None


def test_overflow_at_the_edge_of_float16_may_fall_on_either_side():
    x = torch.tensor([65504.0, 300.0], dtype=torch.float16)
    found = _compare(lambda item: item * 1.0002, x, torch.tensor([float("inf"), 300.0], dtype=torch.float16))
    assert found.fault is None


def test_kernel_that_keeps_what_eager_overflows_passes():
    x = torch.tensor([300.0], dtype=torch.float16)

    def reference(value: Tensor) -> Tensor:
        return (value * value) / 300

    assert torch.isinf(reference(x)).all()
    assert _compare(reference, x, torch.tensor([300.0], dtype=torch.float16)).fault is None


def test_own_tolerance_replaces_the_limit():
    x = _random(8, 8)
    off = (x.float() * 1.01).half()
    assert _compare(lambda item: item * 1, x, off).fault is not None
    assert _compare(lambda item: item * 1, x, off, (2e-2, 1e-2)).fault is None
    assert _compare(lambda item: item / 3, x, (x / 3), (1e-9, 1e-9)).fault is not None


def test_integers_are_exact():
    x = _random(5, 9, dtype=torch.float32)
    right = x.argmax(1)
    assert _compare(lambda item: item.argmax(1), x, right).fault is None
    found = _compare(lambda item: item.argmax(1), x, (right + 1) % 9)
    assert found.fault is not None


def test_tie_within_rounding_excuses_an_integer():
    x = torch.tensor([[1.0, 1.0 + 2**-24, 0.5]], dtype=torch.float64).float()
    near = torch.tensor([[1.0, 1.0 + 2**-23, 0.5]])
    assert x[0, 0] == x[0, 1]
    assert _compare(lambda item: item.argmax(1), near, torch.tensor([0])).fault is None
    assert _compare(lambda item: item.argmax(1), near, torch.tensor([2])).fault is not None


def test_jump_within_rounding_is_no_error():
    x = torch.tensor([2.0, 0.3])

    def stairs(value: Tensor) -> Tensor:
        return torch.floor(value * 1.5 + 1)

    assert _compare(stairs, x, torch.tensor([3.0, 1.0])).fault is None
    assert _compare(stairs, x, torch.tensor([4.0, 2.0])).fault is not None


def test_place():
    assert place((2, 3), 4) == "[1, 1]"
    assert place((), 0) == ""


def test_a_chain_may_round_otherwise_between_its_kernels():
    # A sum is known to a sixteenth after the first kernel, and the exponential in the second makes much of it.
    x = torch.full((1, 4096), 1 / 64, dtype=torch.float16)

    def whole(x: Tensor) -> Tensor:
        return torch.exp(x.sum(-1) - 64)

    def chain(values: Arguments, move: Move) -> tuple[Tensor, ...]:
        value = values["x"]
        assert isinstance(value, Tensor)
        total = move({"total": value.sum(-1)})["total"]
        assert isinstance(total, Tensor)
        return (torch.exp(total - 64),)

    result = torch.exp(x.sum(-1) * (1 + 2**-10) - 64)
    assert _compare(whole, x, result).fault is not None
    assert _compare(whole, x, result, chain=chain).fault is None
    assert _compare(whole, x, result * 2, chain=chain).fault is not None
