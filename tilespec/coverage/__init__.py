"""Ops of the forward pass against ops of the kernels: is every one performed, and does the wiring compute the whole?"""

from __future__ import annotations

from tilespec.coverage.examining import Examination, examine
from tilespec.coverage.matching import Coverage, CoveredOp, cover
from tilespec.coverage.operations import canonical, check_operations, performed
from tilespec.coverage.prove import WiringProof, prove_wiring

__all__ = [
    "Coverage",
    "CoveredOp",
    "Examination",
    "WiringProof",
    "canonical",
    "check_operations",
    "cover",
    "examine",
    "performed",
    "prove_wiring",
]
