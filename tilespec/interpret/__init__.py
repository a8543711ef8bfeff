"""The tile interpreter: runs generated cuTile source, unchanged, on CPU tensors."""

from __future__ import annotations

from tilespec.interpret.errors import InterpreterError
from tilespec.interpret.frontend import arguments_of, frontend_check, job_of
from tilespec.interpret.kernel import LaunchRecord, recording
from tilespec.interpret.loader import load_module, load_package

__all__ = [
    "InterpreterError",
    "LaunchRecord",
    "arguments_of",
    "frontend_check",
    "job_of",
    "load_module",
    "load_package",
    "recording",
]
