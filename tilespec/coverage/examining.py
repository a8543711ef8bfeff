"""Everything that references say about a file: traces, operations, wiring, coverage, in one call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from tilespec.coverage.completeness import check_completeness
from tilespec.coverage.composed import join
from tilespec.coverage.matching import Coverage, cover, outputs_by_structure
from tilespec.coverage.notes import check_notes
from tilespec.coverage.operations import canonical, check_operations
from tilespec.coverage.ops import is_compute
from tilespec.coverage.prove import MOST_TRIED, WiringProof, prove_wiring
from tilespec.diagnostics import Diagnostic, Severity
from tilespec.model.types import Edge, SpecFile
from tilespec.model.wiring import assignments
from tilespec.reference.graph import Graph
from tilespec.reference.source import trace_source
from tilespec.reference.trace import trace_end_to_end, trace_kernel
from tilespec.rules import reference as rules

__all__ = ["Examination", "examine"]


@dataclass
class Examination:
    """What `examine` found; parts that an error kept from being made are empty or None."""

    graphs: dict[str, Graph] = field(default_factory=dict)
    end_to_end: Graph | None = None
    proof: WiringProof | None = None
    coverage: Coverage | None = None
    findings: list[Diagnostic] = field(default_factory=list)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The wiring that holds, or none."""
        return () if self.proof is None else self.proof.edges


def examine(
    spec: SpecFile, *, types: Mapping[str, str] | None = None, trust_source: bool = False
) -> Examination:
    """Trace every reference of `spec`, then compare operations, wiring and coverage.

    With `trust_source`, the forward pass is what `Source` names, imported: that runs its code. `types` picks a dtype for each type variable, as in `trace_kernel`.
    """
    result = Examination()
    for kernel in spec.kernels:
        graph, found = trace_kernel(spec, kernel, types=types)
        result.findings += found
        if graph is not None:
            result.graphs[kernel.id] = graph
            result.findings += check_operations(spec, kernel, graph)
            result.findings += check_notes(spec, kernel, graph)
    _trace_forward_pass(spec, result, types, trust_source=trust_source)
    if any(item.severity is Severity.ERROR and item.code not in _APART for item in result.findings):
        return result
    candidates = tuple(islice(assignments(spec), MOST_TRIED))
    result.proof, disproved = prove_wiring(spec, candidates)
    if result.proof is not None and not result.proof.proved and result.end_to_end is not None:
        result.proof = _prove_by_structure(spec, candidates, result) or result.proof
    edges = result.edges or next(iter(candidates), ())
    if result.end_to_end is None and spec.end_to_end is None:
        result.findings += check_completeness(spec, result.graphs, None)
    if result.end_to_end is not None:
        result.coverage = cover(spec, edges, result.graphs, result.end_to_end)
        if disproved:
            # With a gap no wiring can be right: then the gap is the fault to report.
            lacking = _lacking(result.graphs, result.end_to_end)
            places = {op.node.span for op in result.coverage.gaps if canonical(op.node) in lacking}
            if places:
                shown = result.coverage.findings
                disproved = [
                    item for item in shown if item.span in places or item.code == rules.NothingKept.code
                ]
            if (
                not places
                and result.coverage.kept
                and lacking <= {canonical(op.node) for op in result.coverage.kept}
            ):
                # The kernels lack what the file keeps out of them: then no wiring gives the whole.
                result.proof, disproved = prove_wiring(
                    spec.model_copy(update={"end_to_end": None}), candidates
                )
                result.findings += result.coverage.findings
        else:
            result.findings += result.coverage.findings
        if not disproved:
            result.findings += check_completeness(spec, result.graphs, result.coverage)
    result.findings += disproved
    if result.proof is not None and result.proof.proved:
        result.findings += _not_needed(spec, result.proof)
    return result


def _not_needed(spec: SpecFile, proof: WiringProof) -> list[Diagnostic]:
    """Return a finding for each kernel from which no wire leads to a final output."""
    producers: dict[str, set[str]] = {}
    for edge in proof.edges:
        if edge.producer is not None:
            producers.setdefault(edge.consumer, set()).add(edge.producer)
    waiting, needed = [kernel for kernel, _ in proof.outputs], set[str]()
    while waiting:
        kernel = waiting.pop()
        if kernel not in needed:
            needed.add(kernel)
            waiting.extend(producers.get(kernel, ()))
    return [
        rules.KernelNotNeeded(kernel.id).at(spec.source, kernel.span)
        for kernel in spec.kernels
        if kernel.id not in needed
    ]


def _trace_forward_pass(
    spec: SpecFile, result: Examination, types: Mapping[str, str] | None, *, trust_source: bool
) -> None:
    """Trace what the kernels have to cover: what `Source` names, or else the end-to-end reference."""
    result.end_to_end, found = trace_end_to_end(spec, types=types)
    result.findings += found
    if spec.source_path is None:
        return
    if not trust_source:
        result.findings.append(rules.SourceNotRead(spec.source_path).at(spec.source, spec.source_span))
        return
    forward, found = trace_source(spec, types=types)
    result.end_to_end = forward or result.end_to_end
    result.findings += found


def _prove_by_structure(
    spec: SpecFile, candidates: Sequence[tuple[Edge, ...]], found: Examination
) -> WiringProof | None:
    """Prove a wiring whose sizes are too large to compute: joined, the kernels are the forward pass call by call."""
    if found.end_to_end is None:
        return None
    for tried, edges in enumerate(candidates, 1):
        outputs = outputs_by_structure(spec, join(spec, edges, found.graphs), found.end_to_end)
        if outputs is not None:
            return WiringProof(edges, outputs, proved=True, tried=tried)
    return None


def _lacking(graphs: Mapping[str, Graph], end_to_end: Graph) -> set[str]:
    """Return the operations that the forward pass performs more often than the kernels."""
    wanted = Counter(canonical(node) for node in end_to_end.nodes if is_compute(node))
    given = Counter(canonical(node) for graph in graphs.values() for node in graph.nodes if is_compute(node))
    return set(wanted - given)


_APART = frozenset({rules.OperationNotPerformed.code})
"""Findings that leave traces and wiring as they are."""
