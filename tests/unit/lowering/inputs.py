"""Inputs of op cases: drawn from one seed, so that every run sees the same."""

from __future__ import annotations

from collections.abc import Callable

import torch

__all__ = ["Case", "positive", "real", "unit", "whole"]

Case = tuple[str, Callable[..., object], tuple[torch.Tensor, ...]]
_GENERATOR = torch.Generator().manual_seed(7)


def real(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=_GENERATOR).to(dtype)


def positive(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=_GENERATOR) + 0.1


def unit(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=_GENERATOR) * 1.8 - 0.9


def whole(low: int, high: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=_GENERATOR).to(dtype)
