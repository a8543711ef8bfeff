"""Assembles every kernel of built packages for real targets and turns what the compiler says into findings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tilespec.assemble import Assembler, Assembly, Job
from tilespec.diagnostics import Diagnostic, SourceText, Span
from tilespec.progress import Progress
from tilespec.rules import target as rules
from tilespec.syntax import read_source

__all__ = ["compile_packages"]

_SPEC_LINE = re.compile(r"^\s*# (\d+): ")


def compile_packages(
    packages: Sequence[tuple[Path, Path]], targets: Sequence[str], jobs: int, progress: Progress
) -> list[Diagnostic]:
    """Compile the kernels of packages, given as (spec file, package folder), aligned and ragged, for every target."""
    work: list[tuple[Job, Path, str]] = []
    for spec, folder in packages:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        for kernel_id, kernel in manifest["kernels"].items():
            for target in targets:
                launches = kernel["targets"].get(target) or next(iter(kernel["targets"].values()))
                work += [
                    (_job(folder, kernel_id, launch, target, aligned=aligned), spec, kernel_id)
                    for launch in launches
                    for aligned in (True, False)
                ]
    progress.begin("compile", len(work))
    findings: list[Diagnostic] = []
    try:
        with Assembler(jobs) as assembler:
            results = assembler.compile_all(
                [job for job, _, _ in work],
                lambda _done, _total, job, result: progress.advance(f"{job.label}, {result.seconds:.1f} s"),
            )
    finally:
        progress.end()
    for (job, spec, kernel_id), result in zip(work, results, strict=True):
        findings += _findings(job, spec, kernel_id, result)
    return findings


def _job(folder: Path, kernel_id: str, launch: Mapping[str, Any], target: str, *, aligned: bool) -> Job:
    return Job(
        module_path=folder / "kernels" / f"{kernel_id}.py",
        function=launch["function"],
        arguments=launch["arguments"],
        target=target,
        hints=launch["hints"],
        aligned=aligned,
    )


def _findings(job: Job, spec: Path, kernel_id: str, result: Assembly) -> list[Diagnostic]:
    error = result.error
    if error is None:
        return []
    source, _ = read_source(spec)
    if source is None:
        source = SourceText(spec.as_posix(), "")
    target = job.target or "this GPU"
    made = {
        "refused": rules.KernelRefused(kernel_id, target, error.message),
        "unsupported": rules.UnsupportedOnTarget(kernel_id, target, error.message),
    }
    rule = made.get(error.kind) or rules.KernelRefused(kernel_id, target, f"{error.kind}: {error.message}")
    place = f"{job.module_path.as_posix()}:{error.line}" if error.line else job.module_path.as_posix()
    return [
        rule.at(source, _spec_span(job.module_path, error.line, source), notes=(f"generated at {place}",))
    ]


def _spec_span(module: Path, line: int | None, source: SourceText) -> Span | None:
    """Return the spec line named by the last comment at or above a generated line."""
    if line is None:
        return None
    for text in reversed(module.read_text(encoding="utf-8").splitlines()[:line]):
        found = _SPEC_LINE.match(text)
        if found and int(found[1]) <= source.line_count:
            start = source.line_start(int(found[1]))
            content = source.line(int(found[1]))
            return Span(start + len(content) - len(content.lstrip()), start + len(content.rstrip()))
    return None
