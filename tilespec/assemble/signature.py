"""Signatures as `launch` would infer them for contiguous torch tensors, made without a GPU.

Runs in the worker process, which is why `cuda.tile` is imported here and nowhere else in `assemble`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import cuda.tile as ct
from cuda.tile.compilation import (
    ArrayConstraint,
    CallingConvention,
    KernelSignature,
    ScalarConstraint,
)

__all__ = ["signature"]

_DTYPES: Final = {"bool": "bool_"}
_MAX_FACTS_RANK: Final = 5


def _dtype(name: str) -> Any:  # noqa: ANN401 - a dtype of cuda.tile
    return getattr(ct, _DTYPES.get(name, name))


def _array(entry: Mapping[str, Any], *, aligned: bool) -> ArrayConstraint:
    dtype = _dtype(entry["dtype"])
    rank = entry["rank"]
    itemsize = max(1, dtype.bitwidth // 8)
    unit = entry.get("unit_axis", rank - 1)
    ones = tuple(entry.get("ones", ()))
    known = rank <= _MAX_FACTS_RANK
    aligned = aligned and known
    stride_steps = [
        16 // itemsize if aligned and itemsize <= 16 and axis != unit else 1 for axis in range(rank)
    ]
    return ArrayConstraint(
        dtype,
        rank,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=bool(entry.get("overlaps", False)),
        stride_constant=[1 if axis == unit and known else None for axis in range(rank)],
        shape_constant=[1 if axis in ones and known else None for axis in range(rank)],
        stride_divisible_by=stride_steps,
        shape_divisible_by=[16 if aligned and axis not in ones else 1 for axis in range(rank)],
        base_addr_divisible_by=16,
    )


def _constant(value: Any) -> Any:  # noqa: ANN401 - from JSON, where tuples are lists and floats may be names
    if isinstance(value, list):
        return tuple(_constant(each) for each in value)
    return float(value) if value in ("inf", "-inf", "nan") else value


def signature(arguments: Sequence[Mapping[str, Any]], symbol: str, *, aligned: bool) -> KernelSignature:
    """Describe the arguments of one launch."""
    parameters: list[Any] = []
    for entry in arguments:
        if entry["kind"] == "array":
            parameters.append(_array(entry, aligned=aligned))
        elif entry["kind"] == "scalar":
            parameters.append(ScalarConstraint(_dtype(entry["dtype"])))
        else:
            parameters.append(_constant(entry["value"]))
    return KernelSignature(parameters, CallingConvention.cutile_python_v2(), symbol)
