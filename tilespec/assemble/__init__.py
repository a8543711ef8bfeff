"""Compiles generated kernels for real targets, without a GPU."""

from __future__ import annotations

from tilespec.assemble.findings import findings
from tilespec.assemble.pool import Assembler, compile_kernel
from tilespec.assemble.types import Assembly, AssemblyError, Job, Remark

__all__ = ["Assembler", "Assembly", "AssemblyError", "Job", "Remark", "compile_kernel", "findings"]
