"""TS4xx: reference code, tracing it, and what the kernels cover."""

from __future__ import annotations

from tilespec.rules.reference.claims import (
    NoteContradicts,
    OperationNotListed,
    OperationNotPerformed,
    WrongCompleteness,
)
from tilespec.rules.reference.coverage import (
    CoverageUndecided,
    IncompleteCoverage,
    KeptInPytorch,
    KernelNotNeeded,
    NothingKept,
    SourceNotRead,
    WiringDisproved,
)
from tilespec.rules.reference.language import (
    DataDependentControl,
    ForbiddenConstruct,
    RandomOperation,
    ReferenceLimit,
    ReferenceSyntax,
    UndefinedVariable,
    UnknownFunction,
)
from tilespec.rules.reference.signature import (
    DefaultDiffers,
    ParameterMismatch,
    ReferenceGenerated,
    ReferenceMissing,
    ReferenceNameMismatch,
    ScalarFixed,
    UndeclaredParameter,
    UnusedInput,
)
from tilespec.rules.reference.tracing import (
    BroadcastMismatch,
    ContractionMismatch,
    OutputCountMismatch,
    OutputDtypeMismatch,
    OutputShapeMismatch,
    ReferenceRaises,
    SizeRestriction,
)

__all__ = [
    "BroadcastMismatch",
    "ContractionMismatch",
    "CoverageUndecided",
    "DataDependentControl",
    "DefaultDiffers",
    "ForbiddenConstruct",
    "IncompleteCoverage",
    "KeptInPytorch",
    "KernelNotNeeded",
    "NoteContradicts",
    "NothingKept",
    "OperationNotListed",
    "OperationNotPerformed",
    "OutputCountMismatch",
    "OutputDtypeMismatch",
    "OutputShapeMismatch",
    "ParameterMismatch",
    "RandomOperation",
    "ReferenceGenerated",
    "ReferenceLimit",
    "ReferenceMissing",
    "ReferenceNameMismatch",
    "ReferenceRaises",
    "ReferenceSyntax",
    "ScalarFixed",
    "SizeRestriction",
    "SourceNotRead",
    "UndeclaredParameter",
    "UndefinedVariable",
    "UnknownFunction",
    "UnusedInput",
    "WiringDisproved",
    "WrongCompleteness",
]
