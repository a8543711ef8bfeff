"""Compares generated kernels with the float64 golden over fuzzed sizes, dtypes, strides and values."""

from __future__ import annotations

from tilespec.verify.report import KernelReport, VerifyOptions, VerifyReport
from tilespec.verify.run import verify_packages, verify_paths

__all__ = ["KernelReport", "VerifyOptions", "VerifyReport", "verify_packages", "verify_paths"]
