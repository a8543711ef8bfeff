"""Decides whether a result is right: error against the float64 golden, and the limit that it is held to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from tilespec.diagnostics import Rule
from tilespec.rules.verify import MisplacedNonFinite, WrongResult

__all__ = ["Comparison", "compare", "place"]

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


def _floor(dtype: torch.dtype) -> float:
    """Return the relative error that any correct kernel may make: four units of rounding, eight where it computes in it."""
    unit = torch.finfo(dtype).eps / 2
    return unit * (16 if dtype in {torch.float32, torch.float64} else 4)


def compare(
    name: str,
    result: Tensor,
    golden: Tensor,
    eager: Tensor,
    tolerance: tuple[float, float] | None,
    nudged: Callable[[], list[Tensor]],
) -> Comparison:
    """Compare one output.

    `nudged` gives goldens of inputs that were moved by one rounding of float32: how far these lie apart is what no kernel
    can know. It is asked only when the cheaper limits don't suffice.
    """
    if result.numel() == 0:
        return Comparison(0.0)
    if not result.dtype.is_floating_point:
        return _exact(name, result, golden, eager, nudged)
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
        limit = tolerance[1] + tolerance[0] * expected.abs()
        return _judge(name, result, golden, error, limit, None)
    scale = expected.abs() + expected.square().mean().sqrt()
    smallest = max(torch.finfo(result.dtype).smallest_normal * torch.finfo(result.dtype).eps, 0.0) * 2
    absolute = smallest if result.dtype == torch.float64 else max(smallest, _TINY)
    known = usable & torch.isfinite(eager.double())
    share, norm = _share(torch.where(known, (eager.double() - golden).abs(), zero), scale, expected)
    floor = _floor(result.dtype)

    def limits(factor: float, whole: float) -> tuple[Tensor, Tensor]:
        return (
            max(2 * factor, floor) * scale + absolute,
            max(2 * whole, floor) * expected.square().sum().sqrt() + absolute * expected.numel() ** 0.5,
        )

    found = _judge(name, result, golden, error, *limits(share, norm))
    if found.fault is None:
        return found
    for other in nudged():
        both = usable & torch.isfinite(other)
        apart, whole = _share(torch.where(both, (other - golden).abs(), zero), scale, expected)
        share, norm = max(share, 4 * apart), max(norm, 4 * whole)
    return _judge(name, result, golden, error, *limits(share, norm))


def _share(error: Tensor, scale: Tensor, expected: Tensor) -> tuple[float, float]:
    """Return the largest error relative to `scale`, and the error in norm."""
    relative = torch.where(scale > 0, error / scale, torch.zeros_like(error))
    size = float(expected.square().sum().sqrt())
    return float(relative.max()), (float(error.square().sum().sqrt()) / size if size > 0 else 0.0)


def _judge(
    name: str, result: Tensor, golden: Tensor, error: Tensor, limit: Tensor, whole: Tensor | None
) -> Comparison:
    ratios = error / limit.clamp_min(torch.finfo(torch.float64).tiny)
    at = int(ratios.argmax())
    ratio = float(ratios.reshape(-1)[at])
    if whole is not None:
        ratio = max(ratio, float(error.square().sum().sqrt() / whole.clamp_min(torch.finfo(torch.float64).tiny)))
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
    largest number of the dtype may round up to infinity.
    """
    wide, rounded, near = result.double(), golden.to(result.dtype).double(), eager.double()
    same = (wide == rounded) | (wide.isnan() & rounded.isnan()) | (torch.isfinite(wide) & torch.isfinite(rounded))
    edge = torch.finfo(result.dtype).max
    brink = (golden.abs() >= 0.99 * edge) & (golden.abs() <= 1.01 * edge) & (wide.abs() >= 0.98 * edge)
    like_eager = ~torch.isfinite(near) & ~torch.isfinite(wide) & torch.isfinite(golden)
    agrees = (wide == near) | (wide.isnan() & near.isnan())
    wrong = ~(same | brink | like_eager | agrees)
    if not bool(wrong.any()):
        return None
    at = int(wrong.reshape(-1).to(torch.uint8).argmax())
    return MisplacedNonFinite(name, *_shown(result, golden, at))


def _exact(
    name: str, result: Tensor, golden: Tensor, eager: Tensor, nudged: Callable[[], list[Tensor]]
) -> Comparison:
    """Compare integers and bools: equal to the golden or to eager, except where rounding decides."""
    wrong = (result.to(golden.dtype) != golden) & (result != eager)
    if not bool(wrong.any()):
        return Comparison(0.0)
    for other in nudged():
        wrong &= other == golden
    if not bool(wrong.any()):
        return Comparison(1.0)
    at = int(wrong.reshape(-1).to(torch.uint8).argmax())
    return Comparison(float("inf"), WrongResult(name, *_shown(result, golden, at), float("inf")))
