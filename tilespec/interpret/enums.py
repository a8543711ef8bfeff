"""The enumerations of `cuda.tile`, with the same members."""

from __future__ import annotations

from enum import Enum

__all__ = ["MemoryOrder", "MemoryScope", "PaddingMode", "RoundingMode"]


class RoundingMode(Enum):
    """How a floating-point operation rounds."""

    RN = "nearest_even"
    RZ = "zero"
    RM = "negative_inf"
    RP = "positive_inf"
    RA = "nearest_away"
    FULL = "full"
    APPROX = "approx"
    RZI = "nearest_int_to_zero"


class PaddingMode(Enum):
    """What a load yields for elements outside of the array."""

    UNDETERMINED = "undetermined"
    ZERO = "zero"
    NEG_ZERO = "neg_zero"
    NAN = "nan"
    POS_INF = "pos_inf"
    NEG_INF = "neg_inf"


class MemoryScope(Enum):
    """Who sees a memory operation."""

    NONE = "none"
    BLOCK = "block"
    CLUSTER = "cluster"
    DEVICE = "device"
    SYS = "sys"


class MemoryOrder(Enum):
    """How a memory operation is ordered with others."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
