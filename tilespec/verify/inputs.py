"""Makes the tensors of a case.

The script that reports a failure repeats the two functions here word for word, so a case needs nothing but its own
literals: keep them free of anything but torch.
"""

from __future__ import annotations

import torch

__all__ = ["KINDS", "make_tensor", "strided"]

KINDS = ("normal", "uniform", "tiny", "large", "mixed", "special", "nan")
"""How floats are drawn, plainest first: a failure shrinks towards the start."""


def make_tensor(
    shape: tuple[int, ...],
    dtype: torch.dtype,
    kind: str,
    seed: int,
    device: str,
    low: float | None = None,
    high: float | None = None,
    other: int | None = None,
) -> torch.Tensor:
    """Return random values: floats of a `kind` of `KINDS`, or uniform in `[low, high]`; integers in that range or `other`."""
    generator = torch.Generator(device).manual_seed(seed)
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator, device=device) < 0.5
    if not dtype.is_floating_point:
        first, last = int(-8 if low is None else low), int(8 if high is None else high)
        info = torch.iinfo(dtype)
        first, last = max(first, info.min), min(last, info.max)
        whole = torch.randint(first, last + 1, shape, generator=generator, device=device).to(dtype)
        if other is not None:
            whole[torch.rand(shape, generator=generator, device=device) < 0.1] = other
        return whole
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    if low is not None and high is not None:
        unit = torch.rand(shape, generator=generator, device=device, dtype=wide)
        return (unit * (high - low) + low).to(dtype)
    if kind == "uniform":
        return torch.rand(shape, generator=generator, device=device, dtype=wide).to(dtype)
    values = torch.randn(shape, generator=generator, device=device, dtype=wide)
    if kind == "tiny":
        values = values * max(torch.finfo(dtype).tiny * 64, 1e-30)
    elif kind == "large":
        values = values * min(torch.finfo(dtype).max ** 0.25, 1e4)
    elif kind == "mixed" and shape:
        powers = torch.randint(-6, 4, shape[:1], generator=generator, device=device).to(wide)
        values = values * torch.exp2(powers).reshape(-1, *[1] * (len(shape) - 1))
    elif kind in {"special", "nan"}:
        dice = torch.rand(shape, generator=generator, device=device)
        infinite = (float("inf"), float("-inf")) if kind == "special" else ()
        for at, value in enumerate((float("nan"), -0.0, 0.0, *infinite)):
            values = torch.where((dice >= at * 0.01) & (dice < at * 0.01 + 0.01), value, values)
    return values.to(dtype)


def strided(values: torch.Tensor, stride: tuple[int, ...], offset: int) -> torch.Tensor:
    """Return `values` in memory of this layout; what lies between its elements is NaN or a large number."""
    if values.numel() == 0:
        return values
    last = offset + sum((size - 1) * step for size, step in zip(values.shape, stride, strict=True))
    # Filled as bytes, because not every dtype can be filled: 0xFF is NaN in every float type, 1 the one byte bool takes.
    filler = 0xFF if values.dtype.is_floating_point else 1 if values.dtype == torch.bool else 0x55
    base = torch.full(((last + 9) * values.element_size(),), filler, dtype=torch.uint8, device=values.device)
    typed = base.view(values.dtype)
    view = typed.as_strided(values.shape, stride, offset)
    kept = tuple(slice(0, 1) if step == 0 else slice(None) for step in stride)
    view[kept].copy_(values[kept])
    return view
