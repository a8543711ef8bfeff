"""The decompositions of a trace: torch's core ATen set, with a few of our own where ours are plainer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import SymInt, Tensor
from torch._decomp import core_aten_decompositions

__all__ = ["decompositions"]

aten = torch.ops.aten
prims = torch.ops.prims


@lru_cache(maxsize=1)
def decompositions() -> Mapping[Any, Callable[..., Any]]:
    """Return what every op outside the core set is replaced with."""
    table: dict[Any, Callable[..., Any]] = dict(core_aten_decompositions().items())
    for name in _WHOLE:
        packet = getattr(aten, name)
        for overload in packet.overloads():
            table.pop(getattr(packet, overload), None)
    table.update(_OURS)
    return table


def _split(tensor: Tensor, size: int | SymInt, dim: int = 0) -> list[Tensor]:
    length = tensor.size(dim)
    # How many parts there are must not depend on the size: asking for the integer puts that down as an assumption.
    count = int(-(-length // size))
    last = (count - 1) * size
    parts = [_slice(tensor, dim, index * size, (index + 1) * size) for index in range(count - 1)]
    return [*parts, _slice(tensor, dim, last, length)]


def _split_with_sizes(tensor: Tensor, sizes: Sequence[int | SymInt], dim: int = 0) -> list[Tensor]:
    start: int | SymInt = 0
    parts = []
    for size in sizes:
        parts.append(_slice(tensor, dim, start, start + size))
        start = start + size
    if bool(start != tensor.size(dim)):
        message = f"parts of {list(sizes)} do not add up to {tensor.size(dim)}"
        raise ValueError(message)
    return parts


def _slice(tensor: Tensor, dim: int, start: int | SymInt, end: int | SymInt) -> Tensor:
    part: Tensor = aten.slice.Tensor(tensor, dim, start, end)
    return part


def _unbind(tensor: Tensor, dim: int = 0) -> list[Tensor]:
    length: int | SymInt = tensor.size(dim)
    if not isinstance(length, int):
        message = f"the number of parts is the size {length}"
        raise TypeError(message)
    return [tensor.select(dim, index) for index in range(length)]


def _to_dtype(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    cast: Tensor = aten._to_copy.default(tensor, dtype=dtype)  # noqa: SLF001 (the ATen op's name)
    return cast


def _copy(target: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:  # noqa: ARG001, FBT001, FBT002 (ATen)
    moved = source if source.dtype == target.dtype else _to_dtype(source, target.dtype)
    return moved.expand(target.shape)


def _same(tensor: Tensor) -> Tensor:
    return tensor


_OURS: dict[Any, Callable[..., Any]] = {
    aten.split.Tensor: _split,
    aten.split_with_sizes.default: _split_with_sizes,
    aten.unbind.int: _unbind,
    aten.copy.default: _copy,
    prims.convert_element_type.default: _to_dtype,
    prims.view_of.default: _same,
}

_WHOLE = (
    "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d", "replication_pad2d",
    "replication_pad3d", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_linear1d",
    "upsample_bilinear2d", "upsample_trilinear3d", "_safe_softmax",
)  # fmt: skip
"""Ops that torch's table would take apart and a lowering wants whole."""
