"""Decides whether a result is right: error against the float64 golden, and the limit that it is held to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from tilespec.diagnostics import Rule
from tilespec.rules.verify import MisplacedNonFinite, WrongResult
from tilespec.verify.nudge import Nudge

__all__ = ["Comparison", "compare", "place"]

_SMALLEST = torch.finfo(torch.float64).tiny
_TINY = 2.0**-126
"""Kernels compute in float32 and may flush what is smaller than its smallest normal number to zero."""


@dataclass(frozen=True)
class Comparison:
    """`ratio` is the largest error as a share of its limit, at most 1 when `fault` is None."""

    ratio: float
    fault: Rule | None = None


def place(shape: tuple[int, ...], flat: int) -> str:
    """Return `[i, j]` for a flat position."""
    index: list[int] = []
    for size in reversed(shape):
        index.append(flat % size)
        flat //= size
    return f"[{', '.join(map(str, reversed(index)))}]" if shape else ""


def _floors(dtype: torch.dtype) -> tuple[float, float]:
    """Return the relative error that any right kernel may make in one element, and in norm.

    A 16-bit result is a float32 one rounded once: one unit of rounding at most. What is computed and stored in the same
    dtype has the order of its sums and the last bits of its functions to add.
    """
    unit = torch.finfo(dtype).eps / 2
    return (16 * unit, 8 * unit) if dtype in {torch.float32, torch.float64} else (2 * unit, 1.25 * unit)


def compare(
    name: str,
    result: Tensor,
    golden: Tensor,
    eager: Tensor,
    tolerance: tuple[float, float] | None,
    nudge: Nudge,
    position: int,
) -> Comparison:
    """Compare output `position`; `nudge` is asked only when the limits at hand don't suffice."""
    if result.numel() == 0:
        return Comparison(0.0)
    if not result.dtype.is_floating_point:
        return _exact(name, result, golden, eager, nudge.hull, position)
    fault = _non_finite(name, result, golden, eager)
    if fault is not None:
        return Comparison(float("inf"), fault)
    wide = result.double()
    usable = torch.isfinite(wide) & torch.isfinite(golden)
    if not bool(usable.any()):
        return Comparison(0.0)
    zero = torch.zeros((), dtype=torch.float64, device=golden.device)
    expected, error = torch.where(usable, golden, zero), torch.where(usable, (wide - golden).abs(), zero)
    if tolerance is not None:
        return _judge(name, result, golden, error, tolerance[1] + tolerance[0] * expected.abs(), None)
    limits = _Limits(result.dtype, expected)
    limits.learn(eager, golden)
    found = _judge(name, result, golden, error, *limits.both())
    if found.fault is None:
        return found
    for other_eager, other_golden in nudge.samples(position, result.numel()):
        limits.learn(other_eager, other_golden)
    found = _judge(name, result, golden, error, *limits.both())
    if found.fault is None:
        return found
    low, high = golden.clone(), golden.clone()
    for other in nudge.hull(position):
        low, high = torch.fmin(low, other), torch.fmax(high, other)
    error = torch.where(usable, torch.maximum(low - wide, wide - high).clamp_min(0.0), zero)
    return _judge(name, result, golden, error, *limits.both())


class _Limits:
    """The limits of one output: what eager needs, twice, and at least the floor of the dtype.

    An element is held to its own size and the root mean square of the tensor: what cancels to nearly nothing is as
    uncertain as what it was made of.
    """

    def __init__(self, dtype: torch.dtype, expected: Tensor) -> None:
        info = torch.finfo(dtype)
        smallest = info.smallest_normal * info.eps * 2
        self._absolute = smallest if dtype == torch.float64 else max(smallest, _TINY)
        self._floor, self._norm_floor = _floors(dtype)
        self._expected = expected
        self._scale = expected.abs() + expected.square().mean().sqrt()
        self._worst = torch.zeros_like(expected)
        self._norm = 0.0

    def learn(self, eager: Tensor, golden: Tensor) -> None:
        """Take another sample of eager's error into account."""
        near = eager.double()
        known = torch.isfinite(near) & torch.isfinite(golden)
        error = torch.where(known, (near - golden).abs(), torch.zeros_like(golden))
        self._worst = torch.maximum(self._worst, error)
        self._norm = max(self._norm, float(error.square().sum().sqrt()))

    def both(self) -> tuple[Tensor, float]:
        """Return the limit of every element and that of the norm of all."""
        # Where the golden is nothing but cancellation, what eager errs by is the only size there is.
        scale = self._scale + self._worst.max()
        share = float((self._worst / scale.clamp_min(_SMALLEST)).max())
        size = float(self._expected.square().sum().sqrt())
        return (
            max(2 * share, self._floor) * scale + self._absolute,
            max(2 * self._norm, self._norm_floor * size) + self._absolute * self._expected.numel() ** 0.5,
        )


def _judge(
    name: str, result: Tensor, golden: Tensor, error: Tensor, limit: Tensor, whole: float | None
) -> Comparison:
    ratios = error / limit.clamp_min(_SMALLEST)
    at = int(ratios.argmax())
    ratio = float(ratios.reshape(-1)[at])
    if whole is not None:
        ratio = max(ratio, float(error.square().sum().sqrt()) / max(whole, _SMALLEST))
    if ratio <= 1:
        return Comparison(ratio)
    return Comparison(ratio, WrongResult(name, *_shown(result, golden, at), ratio))


def _shown(result: Tensor, golden: Tensor, at: int) -> tuple[str, str, str]:
    return (
        place(tuple(result.shape), at),
        _number(result.reshape(-1)[at]),
        _number(golden.reshape(-1)[at]),
    )


def _number(value: Tensor) -> str:
    return f"{float(value):.8g}" if value.dtype.is_floating_point else str(value.item())


def _non_finite(name: str, result: Tensor, golden: Tensor, eager: Tensor) -> Rule | None:
    """Find NaN or infinity in another place than in the golden.

    Where eager overflows on the way and the golden doesn't, a kernel may do either. Values within a hundredth of the
    largest number of the dtype may round up to infinity. Where the golden is NaN any non-finite result will do: which
    one comes out of infinite inputs depends on how a formula is written (`(x - m) * g` or `x * g - m * g`).
    """
    wide, rounded, near = result.double(), golden.to(result.dtype).double(), eager.double()
    same = (
        (wide == rounded)
        | (wide.isnan() & rounded.isnan())
        | (torch.isfinite(wide) & torch.isfinite(rounded))
    )
    edge = torch.finfo(result.dtype).max
    brink = (golden.abs() >= 0.99 * edge) & (golden.abs() <= 1.01 * edge) & (wide.abs() >= 0.98 * edge)
    like_eager = ~torch.isfinite(near) & ~torch.isfinite(wide) & torch.isfinite(golden)
    agrees = (wide == near) | (wide.isnan() & near.isnan())
    undefined = golden.isnan() & ~torch.isfinite(wide)
    wrong = ~(same | brink | like_eager | agrees | undefined)
    if not bool(wrong.any()):
        return None
    at = int(wrong.reshape(-1).to(torch.uint8).argmax())
    return MisplacedNonFinite(name, *_shown(result, golden, at))


def _exact(
    name: str,
    result: Tensor,
    golden: Tensor,
    eager: Tensor,
    hull: Callable[[int], list[Tensor]],
    position: int,
) -> Comparison:
    """Compare integers and bools: equal to the golden or to eager, or to a golden no further away than rounding."""
    wrong = (result.to(golden.dtype) != golden) & (result != eager)
    if not bool(wrong.any()):
        return Comparison(0.0)
    for other in hull(position):
        wrong &= result != other.to(result.dtype)
    if not bool(wrong.any()):
        return Comparison(1.0)
    at = int(wrong.reshape(-1).to(torch.uint8).argmax())
    return Comparison(float("inf"), WrongResult(name, *_shown(result, golden, at), float("inf")))
