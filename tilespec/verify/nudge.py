"""A second opinion on a limit: how eager errs, and where the golden jumps, beside the inputs of a case.

Eager's error at one point may be small by luck, most of all when an output has few elements. Before a case fails, eager
is sampled at inputs one rounding away. And where rounding decides (a comparison, `floor`, the position of a maximum),
the golden itself is not one number: it is sampled too, at inputs moved by no more than a float32 kernel rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from tilespec.reference.evaluate import EvaluationError
from tilespec.verify.subject import Arguments, Chain, Reference

__all__ = ["REFUSALS", "Nudge"]

REFUSALS = (EvaluationError, RuntimeError, ValueError, IndexError, TypeError, ArithmeticError)
"""What is raised when a reference can't take its arguments."""

_SAMPLES = 400
_HULL = 8
_CHAINS = 12
"""Of a chain at least: where a rounding decides (which score is the largest), one sample in several shows it."""


@dataclass
class Nudge:
    """Evaluates a reference beside `values`, once, and only when asked."""

    reference: Reference
    values: Arguments
    chain: Chain | None = None
    _samples: list[tuple[tuple[Tensor, ...], tuple[Tensor, ...]]] = field(default_factory=list)
    _hull: list[tuple[Tensor, ...]] = field(default_factory=list)

    def samples(self, position: int, elements: int) -> list[tuple[Tensor, Tensor]]:
        """Return pairs of eager and golden of one output: more of them, the fewer elements it has.

        Of a composed function every second eager is its chain, whose tensors between kernels move as well.
        """
        wanted = min(max(_SAMPLES // max(elements, 1), 3 if self.chain is None else _CHAINS), 32)
        for attempt in range(len(self._samples), wanted):
            moved = _moved(self.values, attempt, None)
            try:
                golden = self.reference(moved, True)  # noqa: FBT003 - the flag asks for float64
                self._samples.append((self.reference(moved, False), golden))  # noqa: FBT003
                if self.chain is not None:
                    self._samples.append(
                        (self.chain(moved, partial(_moved, attempt=attempt, step=None)), golden)
                    )
            except REFUSALS:
                break
        return [(eager[position], golden[position]) for eager, golden in self._samples]

    def hull(self, position: int) -> list[Tensor]:
        """Return goldens of one output at inputs moved by a rounding of float32."""
        for attempt in range(len(self._hull), _HULL):
            try:
                self._hull.append(self.reference(_moved(self.values, attempt, 2.0**-22), True))  # noqa: FBT003
            except REFUSALS:
                break
        return [golden[position] for golden in self._hull]


def _moved(values: Arguments, attempt: int, step: float | None) -> dict[str, Tensor | float | int | bool]:
    """Move every float up or down by `step` of itself in float64, or by one rounding of its own dtype."""
    moved: dict[str, Tensor | float | int | bool] = {}
    for name, value in values.items():
        if not isinstance(value, Tensor) or not value.dtype.is_floating_point:
            moved[name] = value
            continue
        generator = torch.Generator(value.device).manual_seed(attempt)
        up = torch.rand(value.shape, generator=generator, device=value.device) < 0.5
        size = torch.finfo(value.dtype).eps if step is None else step
        if value.dtype == torch.float64 and step is not None:
            size = torch.finfo(torch.float64).eps
        wide = value.double()
        other = torch.where(up, wide * (1 + size), wide * (1 - size))
        moved[name] = other.to(value.dtype) if step is None else other
    return moved
