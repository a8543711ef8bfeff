"""TS2xx: names and the graph of kernels."""

from __future__ import annotations

from tilespec.rules.graph.names import (
    ConflictingDefault,
    DuplicateKernel,
    DuplicateName,
    RepeatedEntry,
    UndefinedInplace,
    UndefinedKernel,
    UnknownOperation,
)
from tilespec.rules.graph.summary import (
    IncompleteOrder,
    OrderContradiction,
    TotalMismatch,
    UnknownGroupMember,
)
from tilespec.rules.graph.wiring import (
    DependencyCycle,
    NothingShared,
    SelfDependency,
    UnconsumedDependency,
    UndeclaredDependency,
    UndefinedSource,
)

__all__ = [
    "ConflictingDefault",
    "DependencyCycle",
    "DuplicateKernel",
    "DuplicateName",
    "IncompleteOrder",
    "NothingShared",
    "OrderContradiction",
    "RepeatedEntry",
    "SelfDependency",
    "TotalMismatch",
    "UnconsumedDependency",
    "UndeclaredDependency",
    "UndefinedInplace",
    "UndefinedKernel",
    "UndefinedSource",
    "UnknownGroupMember",
    "UnknownOperation",
]
