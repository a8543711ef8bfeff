"""`tilespec lint`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilespec.cli.options import Jobs, Paths
from tilespec.cli.report import Format

if TYPE_CHECKING:
    from tilespec.cli.linting.cache import Cache
    from tilespec.cli.linting.run import Linted
    from tilespec.diagnostics import Diagnostic
    from tilespec.progress import Progress

__all__ = ["lint"]

_MOST_PASSES = 10


def lint(
    paths: Paths,
    form: Annotated[Format, typer.Option("--format", help="How to print findings.")] = Format.TEXT,
    syntax: Annotated[
        bool, typer.Option("--syntax", help="Only parse: names, shapes and references are not checked.")
    ] = False,
    trace: Annotated[
        bool, typer.Option("--trace/--no-trace", help="Trace references; without, torch isn't loaded.")
    ] = True,
    against: Annotated[
        str | None, typer.Option(metavar="REV", help="Only what changed since this git revision.")
    ] = None,
    built: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Packages in it that are stale are findings.")
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what has one answer, then check again.")] = False,
    unsafe_fixes: Annotated[
        bool, typer.Option("--unsafe-fixes", help="With --fix, also follow guesses at what was meant.")
    ] = False,
    completeness: Annotated[
        bool | None,
        typer.Option(
            "--completeness/--no-completeness",
            help="Print the completeness check of each file; on for a single file.",
        ),
    ] = None,
    summary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append a table in Markdown to this file.")
    ] = None,
    cache_folder: Annotated[
        Path, typer.Option("--cache", metavar="FOLDER", help="Where findings are kept between runs.")
    ] = Path(".tilespec_cache"),
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Check every file anew.")] = False,
    trust_source: Annotated[
        bool,
        typer.Option(
            "--trust-source",
            help="Import what Source names and compare with it. This runs that code: never for a stranger's.",
        ),
    ] = False,
    jobs: Jobs = 1,
) -> None:
    """Check spec files: all that can be known without a GPU."""
    from tilespec.cli.console import exit_with, print_findings, progress
    from tilespec.cli.files import collect
    from tilespec.cli.linting.cache import Cache

    if unsafe_fixes and not fix:
        message = "--unsafe-fixes needs --fix"
        raise typer.BadParameter(message)
    if trust_source and (syntax or not trace):
        message = "--trust-source needs tracing"
        raise typer.BadParameter(message)
    mode = "syntax" if syntax else "names" if not trace else "trusted" if trust_source else "full"
    # `Source` and the file system aside, findings depend on the text alone: that is what the cache goes by.
    cache = Cache(None if no_cache or trust_source else cache_folder)
    files, findings = collect(paths)
    with progress(quiet=form is not Format.TEXT or syntax) as display:
        linted = _lint(files, mode, cache, jobs, display)
        if fix:
            linted = _fix(linted, mode, cache, jobs, unsafe=unsafe_fixes)
    if against is not None:
        findings += _compare(linted, against, paths, mode, cache, jobs)
    findings += [item for entry in linted for item in entry.findings]
    if built is not None:
        findings += _stale(linted, built)
    print_findings(findings, form, files=len(files))
    shown = completeness if completeness is not None else len(linted) == 1
    if shown and form is Format.TEXT:
        for entry in linted:
            if entry.summary is not None:
                sys.stdout.write(f"\n{entry.path.as_posix()}\n{entry.summary.block}")
    if summary is not None:
        from tilespec.cli.linting.summary import markdown

        with summary.open("a", encoding="utf-8") as stream:
            stream.write(markdown(linted, sorted(findings, key=lambda item: item.sort_key)))
    exit_with(findings)


def _lint(
    files: Sequence[Path], mode: str, cache: Cache, jobs: int, display: Progress | None = None
) -> list[Linted]:
    """Read and check files."""
    from tilespec.cli.linting.run import Linted, lint_sources
    from tilespec.syntax.reader import read_source

    linted = []
    for path in files:
        source, found = read_source(path)
        linted.append(Linted(path, list(found), None, source))
    readable = [(entry, entry.source) for entry in linted if entry.source is not None]
    results = lint_sources([source for _, source in readable], mode, cache, jobs=jobs, progress=display)
    for (entry, _), (found, summary) in zip(readable, results, strict=True):
        entry.findings += found
        entry.summary = summary
    return linted


def _fix(linted: list[Linted], mode: str, cache: Cache, jobs: int, *, unsafe: bool) -> list[Linted]:
    """Apply fixes until a pass changes nothing; a fix may uncover another fault."""
    from tilespec.cli.files import write_text
    from tilespec.cli.linting.fixing import apply_fixes

    fixed = 0
    waiting = list(range(len(linted)))
    for _ in range(_MOST_PASSES):
        again = []
        for index in waiting:
            entry = linted[index]
            if entry.source is None:
                continue
            text, count = apply_fixes(entry.source, entry.findings, unsafe=unsafe)
            if count and text != entry.source.text:
                write_text(entry.path, text)
                fixed += count
                again.append(index)
        if not again:
            break
        for index, entry in zip(
            again, _lint([linted[index].path for index in again], mode, cache, jobs), strict=True
        ):
            linted[index] = entry
        waiting = again
    typer.echo(f"{fixed} fixed", err=True)
    return linted


def _compare(
    linted: Sequence[Linted], name: str, paths: Sequence[Path], mode: str, cache: Cache, jobs: int
) -> list[Diagnostic]:
    """Keep of each file what the revision hasn't, and return what the change takes away."""
    from tilespec.cli.linting.revision import Revision, RevisionError, introduced, removed
    from tilespec.cli.linting.run import lint_sources
    from tilespec.diagnostics import SourceText
    from tilespec.syntax.reader import decode_source

    try:
        revision = Revision(name, paths[0] if paths[0].exists() else Path())
    except RevisionError as error:
        message = f"can't compare with `{name}`: {error}"
        raise typer.BadParameter(message) from error
    olds: list[tuple[Linted, SourceText]] = []
    for entry in linted:
        own = revision.name_of(entry.path)
        data = None if own is None else revision.text(own)
        if data is not None:
            old, _ = decode_source(entry.path.as_posix(), data)
            if old is not None:
                olds.append((entry, old))
    gone = []
    for whole, own in revision.deleted_below(paths):
        data = revision.text(own)
        old, _ = decode_source(own, data or b"")
        if old is not None and not whole.exists():
            gone.append(old)
    texts = [old for _, old in olds] + gone
    # The code that `Source` names is that of now: an old file can't be compared with it.
    results = lint_sources(texts, "full" if mode == "trusted" else mode, cache, jobs=jobs)
    findings: list[Diagnostic] = []
    for (entry, _), (before, summary) in zip(olds, results, strict=False):
        entry.findings = introduced(entry.findings, before)
        if entry.source is not None:
            findings += removed(entry.source, entry.summary, summary, name)
    for old, (_, summary) in zip(gone, results[len(olds) :], strict=True):
        findings += removed(SourceText(old.path, ""), None, summary, name)
    return findings


def _stale(linted: Sequence[Linted], built: Path) -> list[Diagnostic]:
    """Return a finding for each package that isn't what its file builds."""
    from tilespec.build.digest import is_fresh, source_digest
    from tilespec.rules.package import StalePackage

    findings = []
    for entry in linted:
        folder = built / entry.path.stem
        if entry.source is not None and not is_fresh(folder, source_digest(entry.source)):
            findings.append(StalePackage(folder.as_posix()).at(entry.source, None))
    return findings
