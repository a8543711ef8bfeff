"""TS1xx: what can't be read: files, fields, values, names, suppressions."""

from __future__ import annotations

from tilespec.diagnostics import Rule
from tilespec.rules.syntax.fields import (
    DuplicateField,
    EmptyField,
    InvalidName,
    MissingDescription,
    MissingField,
    UnknownField,
)
from tilespec.rules.syntax.files import (
    FileTooLarge,
    NoKernelSpec,
    NotText,
    StrayText,
    UnclosedFence,
    UnreadableFile,
)
from tilespec.rules.syntax.suppressions import (
    MalformedSuppression,
    SuppressionWithoutReason,
    UnusedSuppression,
)
from tilespec.rules.syntax.values import (
    DuplicateAttribute,
    MalformedValue,
    MissingAttribute,
    MissingReason,
    ScalarOutput,
    UnclosedBracket,
    UnknownAttribute,
)

__all__ = [
    "DuplicateAttribute",
    "DuplicateField",
    "EmptyField",
    "FileTooLarge",
    "InvalidName",
    "MalformedSuppression",
    "MalformedValue",
    "MissingAttribute",
    "MissingDescription",
    "MissingField",
    "MissingReason",
    "NoKernelSpec",
    "NotText",
    "Rule",
    "ScalarOutput",
    "StrayText",
    "SuppressionWithoutReason",
    "UnclosedBracket",
    "UnclosedFence",
    "UnknownAttribute",
    "UnknownField",
    "UnreadableFile",
    "UnusedSuppression",
]
