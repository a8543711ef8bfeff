"""Turns what the compiler answered into findings on the spec."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tilespec.assemble.types import Assembly, AssemblyError
from tilespec.diagnostics import Diagnostic, Rule, SourceText, Span
from tilespec.rules import target as rules

__all__ = ["findings"]

Locate = Callable[[int], Span | None]
"""From a line of the generated module to the text of the spec that it was made from."""


def _rule(assembly: Assembly, error: AssemblyError) -> Rule:
    complaint = " ".join(error.message.split()) or error.exception
    names = {"kernel": assembly.kernel, "target": assembly.target}
    if error.kind == "timeout":
        return rules.CompileTimeout(**names, seconds=assembly.seconds)
    kind = {
        "unsupported": rules.UnsupportedOnTarget,
        "crash": rules.CompilerCrash,
        "toolchain": rules.CompilerUnusable,
    }.get(error.kind, rules.KernelRefused)
    return kind(**names, complaint=complaint)


def findings(
    assembly: Assembly, source: SourceText, kernel_span: Span | None, locate: Locate | None = None
) -> Iterator[Diagnostic]:
    """Yield an error if the kernel didn't compile, else warnings about how it did.

    `locate` maps generated lines to spans of `source`; where it knows nothing, `kernel_span` is shown.
    """

    def place(line: int | None) -> Span | None:
        found = locate(line) if locate is not None and line is not None else None
        return found or kernel_span

    error = assembly.error
    if error is not None:
        notes = (f"generated code: {error.file}:{error.line}",) if error.line is not None else ()
        yield _rule(assembly, error).at(source, place(error.line), notes=notes)
        return
    if assembly.spills and assembly.aligned:  # the ragged variant is the slow path in any case
        rule = rules.RegisterSpill(assembly.kernel, assembly.target, assembly.frame)
        yield rule.at(source, kernel_span)
    for line in dict.fromkeys(remark.line for remark in assembly.scalar_contractions):
        yield rules.ScalarContraction(assembly.kernel, assembly.target).at(source, place(line))
