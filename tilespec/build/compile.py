"""Assembles every kernel of built packages for real targets and turns what the compiler says into findings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tilespec.assemble import Assembler, Assembly, Job, findings
from tilespec.diagnostics import Diagnostic, SourceText, Span
from tilespec.model import build_model
from tilespec.progress import Progress
from tilespec.syntax import parse, read_source

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
                    (_job(folder, launch, target, aligned=aligned), spec, kernel_id)
                    for launch in launches
                    for aligned in (True, False)
                ]
    progress.begin("compile", len(work))
    try:
        with Assembler(jobs) as assembler:
            results = assembler.compile_all(
                [job for job, _, _ in work],
                lambda _done, _total, job, result: progress.advance(f"{job.label}, {result.seconds:.1f} s"),
            )
    finally:
        progress.end()
    by_kernel: dict[tuple[Path, Path, str], list[Assembly]] = {}
    for (job, spec, kernel_id), result in zip(work, results, strict=True):
        by_kernel.setdefault((spec, job.module_path, kernel_id), []).append(result)
    found: list[Diagnostic] = []
    for (spec, module, kernel_id), assemblies in by_kernel.items():
        source, span = _declared(spec, kernel_id)
        locate = partial(_spec_span, module.read_text(encoding="utf-8").splitlines(), source)
        found += findings(assemblies, source, span, locate, kernel=kernel_id)
    return found


def _job(folder: Path, launch: Mapping[str, Any], target: str, *, aligned: bool) -> Job:
    return Job(
        module_path=folder / "kernels" / f"{launch['module']}.py",
        function=launch["function"],
        arguments=launch["arguments"],
        target=target,
        hints=launch["hints"],
        aligned=aligned,
    )


def _declared(spec: Path, kernel_id: str) -> tuple[SourceText, Span | None]:
    """Return the text of a spec and the place of one kernel in it."""
    source, _ = read_source(spec)
    if source is None:  # gone since the build read it
        return SourceText(spec.as_posix(), ""), None
    model, _ = build_model(parse(source)[0])
    spans = {} if model is None else {kernel.id: kernel.span for kernel in model.kernels}
    return source, spans.get(kernel_id)


def _spec_span(generated: Sequence[str], source: SourceText, line: int) -> Span | None:
    """Return the spec line that is named by the last comment at or above a generated line of the same function."""
    for text in reversed(generated[:line]):
        found = _SPEC_LINE.match(text)
        if found and int(found[1]) <= source.line_count:
            start = source.line_start(int(found[1]))
            content = source.line(int(found[1]))
            return Span(start + len(content) - len(content.lstrip()), start + len(content.rstrip()))
        if text.startswith("def "):
            return None
    return None
