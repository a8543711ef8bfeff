"""TS3xx: shapes, dtypes, dims, scalars and settings."""

from __future__ import annotations

from tilespec.rules.shapes.dims import (
    CircularDim,
    DuplicateDim,
    EmptyRange,
    InvalidExpression,
    NonPositiveDim,
    UnboundSymbol,
    UnusedDim,
)
from tilespec.rules.shapes.dtypes import (
    InvalidDefault,
    TooManyTypes,
    UnknownDtype,
    UnknownScalarKind,
)
from tilespec.rules.shapes.settings import (
    BenchMismatch,
    InvalidSetting,
)
from tilespec.rules.shapes.tensors import (
    EdgeMismatch,
    InplaceMismatch,
    LayoutRank,
    TooManyDims,
    UnknownLayout,
)

__all__ = [
    "BenchMismatch",
    "CircularDim",
    "DuplicateDim",
    "EdgeMismatch",
    "EmptyRange",
    "InplaceMismatch",
    "InvalidDefault",
    "InvalidExpression",
    "InvalidSetting",
    "LayoutRank",
    "NonPositiveDim",
    "TooManyDims",
    "TooManyTypes",
    "UnboundSymbol",
    "UnknownDtype",
    "UnknownLayout",
    "UnknownScalarKind",
    "UnusedDim",
]
