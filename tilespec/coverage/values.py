"""Random values for small sizes, and whether two results are the same numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from tilespec.model.types import ScalarSpec, SpecFile, TensorSpec

__all__ = ["draw", "same", "same_elements"]

_RELATIVE = 1e-6
_ABSOLUTE = 1e-9
_LOW = 0.25


def draw(
    spec: SpecFile, items: Iterable[tuple[str, TensorSpec | ScalarSpec]], sizes: Mapping[str, int], seed: int
) -> dict[str, Tensor | float | int | bool]:
    """Return arguments by name: float64 where the file says a float, small integers that any axis of two can take.

    An even seed draws positive numbers, where roots and logarithms are defined; an odd one both signs.
    """
    source = torch.Generator().manual_seed(seed)
    values: dict[str, Tensor | float | int | bool] = {}
    for name, item in items:
        if isinstance(item, ScalarSpec):
            values[name] = (
                item.default
                if item.default is not None
                else {"float": 0.75, "int": 2, "bool": True}[item.kind]
            )
            continue
        shape = [dim.evaluate(sizes) for dim in item.shape]
        dtype = spec.types[item.dtype][0] if item.dtype in spec.types else item.dtype
        if dtype == "bool":
            values[name] = torch.randint(0, 2, shape, generator=source).bool()
        elif "int" in dtype:
            values[name] = torch.randint(0, 2, shape, generator=source).to(getattr(torch, dtype))
        else:
            uniform = torch.rand(shape, generator=source, dtype=torch.float64)
            values[name] = uniform + _LOW if seed % 2 == 0 else 3.0 * uniform - 1.5
    return values


def same(left: Tensor, right: Tensor) -> bool:
    """Whether two results are equal up to rounding in float64, NaN and infinities in the same places."""
    if left.shape != right.shape:
        return False
    return _close(left, right)


def same_elements(left: Tensor, right: Tensor) -> bool:
    """Whether two results hold the same numbers, in any arrangement."""
    if left.numel() != right.numel() or left.numel() == 0:
        return False
    one, other = left.reshape(-1), right.reshape(-1)
    return _close(one, other) or _close(one.double().sort().values, other.double().sort().values)


def _close(left: Tensor, right: Tensor) -> bool:
    one, other = left.double(), right.double()
    finite = one[one.isfinite()]
    scale = float(finite.abs().max()) if finite.numel() else 0.0
    return torch.allclose(one, other, rtol=_RELATIVE, atol=_ABSOLUTE * max(scale, 1.0), equal_nan=True)
