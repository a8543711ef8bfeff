"""Asks the real compiler about kernels that were launched in the interpreter.

The interpreter runs Python, so syntax that device code can't have, and types that depend on the path taken, are
found by the front end of the compiler alone. It takes a tenth of a second a kernel and needs no target and no GPU.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import torch

from tilespec.assemble import Assembler, AssemblyError, Job
from tilespec.interpret.dtypes import BY_TORCH
from tilespec.interpret.errors import NotSupportedError
from tilespec.interpret.kernel import (
    ByTarget,
    ConstantAnnotation,
    LaunchRecord,
    ScalarAnnotation,
    annotation_of,
    metadata,
)

__all__ = ["arguments_of", "frontend_check", "job_of"]

_SCALARS: Final = {bool: "bool", int: "int32", float: "float32"}


def _entry(name: str, annotation: object, value: Any) -> dict[str, Any]:  # noqa: ANN401 - a kernel argument
    if metadata(annotation, ConstantAnnotation) is not None:
        return {"kind": "constant", "name": name, "value": value}
    if isinstance(value, torch.Tensor):
        unit = [axis for axis, step in enumerate(value.stride()) if step == 1]
        return {
            "kind": "array",
            "name": name,
            "dtype": BY_TORCH[value.dtype].name.removesuffix("_"),
            "rank": value.ndim,
            "unit_axis": unit[-1] if unit else None,
            "overlaps": any(step == 0 for step in value.stride()),
        }
    stated = metadata(annotation, ScalarAnnotation)
    if type(value) not in _SCALARS:
        what = f"compiling a kernel with an argument of type {type(value).__name__}"
        raise NotSupportedError(what)
    dtype = _SCALARS[type(value)] if stated is None else stated.dtype.name
    return {"kind": "scalar", "name": name, "dtype": dtype}


def arguments_of(record: LaunchRecord) -> list[dict[str, Any]]:
    """Describe the arguments of a launch as `manifest.json` does."""
    return [
        _entry(name, annotation_of(record.kernel, name), value) for name, value in record.arguments.items()
    ]


def job_of(record: LaunchRecord, target: str | None, *, aligned: bool = False) -> Job:
    """Return what to compile so that the launch would run on `target`."""
    path = Path(record.kernel.function.__code__.co_filename)
    hints = {
        name: value.by_target.get(target or "", value.default) if isinstance(value, ByTarget) else value
        for name, value in record.kernel.hints.items()
    }
    return Job(path, record.kernel.name, arguments_of(record), target, hints, aligned)


def frontend_check(
    records: Iterable[LaunchRecord], *, assembler: Assembler | None = None
) -> list[tuple[LaunchRecord, AssemblyError]]:
    """Return the launches whose kernels the compiler refuses, and why.

    Launches of one kernel with arguments of the same kind are asked about once. `assembler` is used when given, which
    saves starting a process.
    """
    distinct = {repr((record.kernel.name, arguments_of(record))): record for record in records}
    listed = list(distinct.values())
    jobs = [job_of(record, None) for record in listed]
    if assembler is not None:
        answers = assembler.compile_all(jobs)
    else:
        with Assembler(1) as own:
            answers = own.compile_all(jobs)
    return [
        (record, answer.error)
        for record, answer in zip(listed, answers, strict=True)
        if answer.error is not None
    ]
