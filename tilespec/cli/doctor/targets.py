"""The targets that kernels can be compiled for."""

from __future__ import annotations

__all__ = ["TARGETS"]

TARGETS = (
    "sm_80",
    "sm_86",
    "sm_87",
    "sm_88",
    "sm_89",
    "sm_90",
    "sm_100",
    "sm_103",
    "sm_110",
    "sm_120",
    "sm_121",
)
"""What `tileiras` 13.4 generates code for, apart from targets that no product has yet."""
