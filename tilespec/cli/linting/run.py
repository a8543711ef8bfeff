"""Check many files: cached, in several processes, with a summary of what each covers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilespec.cli.linting.cache import Cache
from tilespec.diagnostics import Diagnostic, SourceText

if TYPE_CHECKING:
    from tilespec.coverage.completeness import Summary
    from tilespec.progress import Progress

__all__ = ["Linted", "Summarised", "lint_sources", "lint_text"]


@dataclass(frozen=True, slots=True)
class Summarised:
    """`coverage.Summary` as plain data: it comes out of the cache without loading that stage."""

    kernels: tuple[str, ...]
    covered: tuple[tuple[str, tuple[str, ...]], ...]
    gaps: tuple[str, ...]
    kept: tuple[tuple[str, str], ...]
    block: str

    @staticmethod
    def of(summary: Summary) -> Summarised:
        """Return the plain form of a summary."""
        return Summarised(summary.kernels, summary.covered, summary.gaps, summary.kept, summary.block)

    def as_row(self) -> list[object]:
        """Return what `from_row` reads."""
        return [self.kernels, self.covered, self.gaps, self.kept, self.block]

    @staticmethod
    def from_row(row: list[Any] | None) -> Summarised | None:
        """Return the summary in a row of the cache."""
        if row is None:
            return None
        kernels, covered, gaps, kept, block = row
        return Summarised(
            tuple(kernels),
            tuple((name, tuple(by)) for name, by in covered),
            tuple(gaps),
            tuple((name, reason) for name, reason in kept),
            block,
        )


@dataclass(slots=True)
class Linted:
    """One file: its findings, and what performs its forward pass, where that could be found out."""

    path: Path
    findings: list[Diagnostic] = field(default_factory=list)
    summary: Summarised | None = None
    source: SourceText | None = None


def lint_text(source: SourceText, mode: str) -> tuple[list[Diagnostic], Summarised | None]:
    """Check one text; `mode` is `syntax`, `names` (no tracing), `full` or `trusted` (`Source` too)."""
    if mode == "syntax":
        from tilespec.syntax import apply_suppressions, parse

        tree, found = parse(source)
        return apply_suppressions(tree, found, complete=False), None
    from tilespec.pipeline import check_source

    checked = check_source(source, trace=mode != "names", trust_source=mode == "trusted")
    if checked.spec is None or len(checked.graphs) < len(checked.spec.kernels):
        return checked.findings, None
    from tilespec.coverage.completeness import summarise

    summary = summarise(checked.spec, checked.graphs, checked.coverage)
    return checked.findings, Summarised.of(summary)


def lint_sources(
    sources: Sequence[SourceText],
    mode: str,
    cache: Cache,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[tuple[list[Diagnostic], Summarised | None]]:
    """Check texts, in their order; those that the cache knows cost no more than reading it."""
    results: dict[int, tuple[list[Diagnostic], Summarised | None]] = {}
    keys = (
        [cache.key(source, mode) for source in sources] if cache.folder is not None else [""] * len(sources)
    )
    for index, source in enumerate(sources):
        known = cache.get(keys[index], source)
        if known is not None:
            results[index] = known[0], Summarised.from_row(known[1])
    missing = [index for index in range(len(sources)) if index not in results]
    if progress is not None:
        progress.begin("check", len(sources))
        for _ in results:
            progress.advance()

    def done(index: int, result: tuple[list[Diagnostic], Summarised | None]) -> None:
        results[index] = result
        findings, summary = result
        cache.put(keys[index], sources[index], findings, None if summary is None else summary.as_row())
        if progress is not None:
            progress.advance(sources[index].path)

    try:
        _run([(index, sources[index]) for index in missing], mode, jobs, done)
    finally:
        cache.write()
        if progress is not None:
            progress.end()
    return [results[index] for index in range(len(sources))]


def _run(
    work: list[tuple[int, SourceText]],
    mode: str,
    jobs: int,
    done: Callable[[int, tuple[list[Diagnostic], Summarised | None]], None],
) -> None:
    if jobs > 1 and len(work) > 1:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        with ProcessPoolExecutor(min(jobs, len(work)), get_context("spawn")) as pool:
            futures = [(index, pool.submit(lint_text, source, mode)) for index, source in work]
            for index, future in futures:
                done(index, future.result())
        return
    for index, source in work:
        done(index, lint_text(source, mode))
