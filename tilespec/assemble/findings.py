"""Turns what the compiler answered into findings on the spec."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from tilespec.assemble.types import Assembly, AssemblyError
from tilespec.diagnostics import Diagnostic, Rule, SourceText, Span
from tilespec.rules import target as rules

__all__ = ["findings"]

Locate = Callable[[int], Span | None]
"""From a line of the generated module to the text of the spec that it was made from."""

_OFFSET = re.compile(r"\berror at offset \d+: ([^\n]+)")

_FAILURES = {
    "unsupported": rules.UnsupportedOnTarget,
    "crash": rules.CompilerCrash,
    "toolchain": rules.CompilerUnusable,
}


def _rule(kernel: str, targets: str, seconds: float, error: AssemblyError) -> Rule:
    if error.kind == "timeout":
        return rules.CompileTimeout(kernel, targets, seconds)
    complaint = error.message or error.exception
    return _FAILURES.get(error.kind, rules.KernelRefused)(kernel, targets, complaint)


def _complaint(message: str) -> str:
    """Return the first thing that the compiler complains about: what follows are consequences, with offsets of their own."""
    first = _OFFSET.search(message)
    return " ".join((first[1] if first else message).split()).rstrip(".")


def _targets(assemblies: Iterable[Assembly]) -> str:
    return ", ".join(dict.fromkeys(assembly.target for assembly in assemblies))


def _grouped(assemblies: Iterable[Assembly]) -> Iterator[tuple[AssemblyError, list[Assembly]]]:
    """Bring together the failures of one cause: targets and variants differ, what is complained about doesn't."""
    groups: dict[AssemblyError, list[Assembly]] = {}
    for assembly in assemblies:
        error = assembly.error
        if error is not None:
            plain = _complaint(error.message)
            for name in (assembly.target, assembly.target.replace("_", "")):
                plain = plain.replace(name, "the target")
            groups.setdefault(replace(error, message=plain), []).append(assembly)
    yield from groups.items()


def findings(
    assemblies: Iterable[Assembly],
    source: SourceText,
    kernel_span: Span | None,
    locate: Locate | None = None,
    *,
    kernel: str | None = None,
) -> Iterator[Diagnostic]:
    """Yield the findings on the compiles of one kernel of a spec: an error for each cause, warnings about slow code.

    One cause gives one finding, which names all targets that it concerns. `locate` maps generated lines to spans of
    `source`; where it knows nothing, `kernel_span` is shown. `kernel` is the name in the spec, the name of the
    generated function by default.
    """
    listed = list(assemblies)

    def place(line: int | None) -> Span | None:
        found = locate(line) if locate is not None and line is not None else None
        return found or kernel_span

    for error, group in _grouped(listed):
        name = kernel or group[0].kernel
        notes = (f"generated code: {error.file}:{error.line}",) if error.line is not None else ()
        seconds = max(assembly.seconds for assembly in group)
        yield _rule(name, _targets(group), seconds, error).at(source, place(error.line), notes=notes)
    # The ragged variant is the slow path in any case.
    spilling = [
        assembly for assembly in listed if assembly.error is None and assembly.spills and assembly.aligned
    ]
    if spilling:
        frame = max(assembly.frame for assembly in spilling)
        rule = rules.RegisterSpill(kernel or spilling[0].kernel, _targets(spilling), frame)
        yield rule.at(source, kernel_span)
    scalar: dict[int | None, list[Assembly]] = {}
    for assembly in listed:
        for remark in assembly.scalar_contractions:
            scalar.setdefault(remark.line, []).append(assembly)
    for line, group in scalar.items():
        yield rules.ScalarContraction(kernel or group[0].kernel, _targets(group)).at(source, place(line))
