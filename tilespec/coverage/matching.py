"""Coverage: every compute op of the forward pass against the kernels that perform it.

Two ways, the first exact and cheap. Structure: the same call on the same values, op by op along the wiring. Value: where
the two say one thing in two ways, the kernels' outputs are found among the values of the forward pass, and a kernel
covers what lies between its inputs and its outputs there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from tilespec.coverage.composed import ComposedGraph, join
from tilespec.coverage.operations import canonical, named
from tilespec.coverage.ops import is_compute
from tilespec.coverage.prove import sample_sizes
from tilespec.coverage.values import draw, same_elements
from tilespec.diagnostics import Diagnostic
from tilespec.model.operations import find_operation, suggest_operation
from tilespec.model.types import Edge, ScalarSpec, SpecFile, TensorSpec
from tilespec.reference.graph import Argument, Graph, Node, Ref
from tilespec.reference.library import RAISED
from tilespec.reference.replay import call
from tilespec.rules import reference as rules

__all__ = ["Coverage", "CoveredOp", "cover", "outputs_by_structure"]


@dataclass(frozen=True)
class CoveredOp:
    """One compute op of the forward pass; `kernels` perform it, or it is kept in PyTorch, or it is a gap."""

    node: Node
    operation: str
    kernels: tuple[str, ...]
    kept: str | None = None

    @property
    def is_gap(self) -> bool:
        """Whether nothing performs it."""
        return not self.kernels and self.kept is None


@dataclass(frozen=True)
class Coverage:
    """Every compute op of the forward pass in order. `decided` is False when sizes were too large to compare values."""

    ops: tuple[CoveredOp, ...]
    findings: tuple[Diagnostic, ...] = ()
    decided: bool = True

    @property
    def gaps(self) -> tuple[CoveredOp, ...]:
        """The ops that nothing performs."""
        return tuple(op for op in self.ops if op.is_gap)

    @property
    def kept(self) -> tuple[CoveredOp, ...]:
        """The ops that stay in PyTorch."""
        return tuple(op for op in self.ops if op.kept is not None)

    @property
    def complete(self) -> bool:
        """Whether every op is performed or openly kept."""
        return self.decided and not self.gaps


def cover(
    spec: SpecFile, edges: Sequence[Edge], kernel_graphs: Mapping[str, Graph], end_to_end_graph: Graph
) -> Coverage:
    """Match the forward pass with the kernels; every gap is a finding."""
    composed = join(spec, edges, kernel_graphs)
    found = _by_structure(composed, end_to_end_graph)
    needed = [node for node in end_to_end_graph.nodes if is_compute(node)]
    decided = True
    if any(node.name not in found for node in needed):
        by_value = _Values(spec, edges, composed, end_to_end_graph).run()
        decided = by_value is not None
        for name, kernels in (by_value or {}).items():
            found.setdefault(name, kernels)
    kept = {
        name: entry.reason for kernel in spec.kernels for entry in kernel.kept for name in _names(entry.op)
    }
    source = spec.source if spec.end_to_end is None else spec.end_to_end.source
    ops: list[CoveredOp] = []
    findings: list[Diagnostic] = []
    for node in needed:
        kernels = found.get(node.name, ())
        if kernels == _IDENTITY:
            continue
        operation = named(node)
        reason = kept.get(operation, kept.get(canonical(node)))
        op = CoveredOp(node, operation, kernels, None if kernels else reason)
        ops.append(op)
        if op.kept is not None:
            findings.append(rules.KeptInPytorch(operation, op.kept).at(source, node.span))
        elif op.is_gap and decided:
            findings.append(rules.IncompleteCoverage(operation, node.origin).at(source, node.span))
    if decided:
        findings += _idle(spec, ops)
    else:
        findings.append(rules.CoverageUndecided().at(spec.source, None))
    return Coverage(tuple(ops), tuple(_one_each(findings)), decided)


_IDENTITY = ("",)


def _idle(spec: SpecFile, ops: Sequence[CoveredOp]) -> Iterator[Diagnostic]:
    """Yield each entry of `Keep in PyTorch` that keeps nothing.

    A call that the reference writes and that does nothing, as dropout does in inference, is kept all the same; and the text
    that `Source` names isn't here to look at.
    """
    text = "" if spec.end_to_end is None else spec.end_to_end.text
    for entry in dict.fromkeys(entry for kernel in spec.kernels for entry in kernel.kept):
        names = _names(entry.op)
        meant = [op for op in ops if {op.operation, canonical(op.node)} & names]
        if any(op.kept is not None or op.is_gap for op in meant):
            continue
        if not meant and (spec.source_path is not None or re.search(rf"\b{re.escape(entry.op)}\b", text)):
            continue
        performer = meant[0].kernels[0] if meant else None
        close = None if meant or find_operation(entry.op) is not None else suggest_operation(entry.op)
        yield rules.NothingKept(entry.op, performer, close).at(spec.source, entry.span)


def _names(op: str) -> set[str]:
    entry = find_operation(op)
    return {op} if entry is None else {op, entry.name}


def _one_each(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Keep one finding a place: an op that torch takes apart is one gap."""
    seen: dict[Any, Diagnostic] = {}
    for item in findings:
        seen.setdefault(item.span, item)
    return list(seen.values())


# by structure


def _by_structure(composed: ComposedGraph, graph: Graph) -> dict[str, tuple[str, ...]]:
    """Return the kernel of each node of `graph` that some kernel performs literally."""
    numbers: dict[Any, int] = {}
    owners: dict[int, str] = {}
    known: dict[str, int] = {}
    for entry in composed.nodes:
        number = _number(entry.node, known, numbers)
        known[entry.node.name] = number
        owners.setdefault(number, entry.kernel)
    found: dict[str, tuple[str, ...]] = {}
    known = {}
    for node in graph.nodes:
        number = _number(node, known, numbers)
        known[node.name] = number
        if number in owners:
            found[node.name] = (owners[number],)
    return found


def outputs_by_structure(
    spec: SpecFile, composed: ComposedGraph, graph: Graph
) -> tuple[tuple[str, str], ...] | None:
    """Return which kernel outputs the results of `graph` literally are; None when one of them is none."""
    numbers: dict[Any, int] = {}
    known: dict[str, int] = {}
    for entry in composed.nodes:
        known[entry.node.name] = _number(entry.node, known, numbers)
    owners: dict[Any, tuple[str, str]] = {}
    for kernel, refs in composed.outputs.items():
        for output, ref in zip(spec.kernel(kernel).outputs, refs, strict=False):
            owners.setdefault((known.get(ref.name, ref.name), ref.index), (kernel, output.name))
    known = {}
    for node in graph.nodes:
        known[node.name] = _number(node, known, numbers)
    found = [owners.get((known.get(ref.name, ref.name), ref.index)) for ref in graph.outputs]
    complete = tuple(item for item in found if item is not None)
    return complete if len(complete) == len(found) else None


_COMMUTATIVE = frozenset(
    {"aten.add.Tensor", "aten.mul.Tensor", "aten.maximum.default", "aten.minimum.default"}
)


def _number(node: Node, known: Mapping[str, int], numbers: dict[Any, int]) -> int:
    def key(value: Argument) -> Any:  # noqa: ANN401
        if isinstance(value, Ref):
            return ("ref", known.get(value.name, value.name), value.index)
        if isinstance(value, tuple):
            return tuple(key(item) for item in value)
        return (type(value).__name__, value)

    args = [key(arg) for arg in node.args]
    if node.op in _COMMUTATIVE and len(args) == _PAIR:
        args.sort(key=repr)
    whole = (node.op, tuple(args), tuple((name, key(value)) for name, value in node.kwargs), node.results)
    return numbers.setdefault(whole, len(numbers))


_PAIR = 2
_ELEMENTS = 4_000_000
_SEED = 1

# by value


@dataclass
class _Values:
    """Values of both graphs at one choice of sizes."""

    spec: SpecFile
    edges: Sequence[Edge]
    composed: ComposedGraph
    graph: Graph
    values: dict[str, Any] = field(default_factory=dict)
    forward: dict[str, Any] = field(default_factory=dict)

    def run(self) -> dict[str, tuple[str, ...]] | None:
        """Return the kernels of each node of the forward pass; None when no sizes can be computed."""
        for sizes in sample_sizes(self.spec, 1):
            if self._fits(sizes) and self._evaluate(sizes):
                return self._assign()
        return None

    def _fits(self, sizes: Mapping[str, int]) -> bool:
        total = 0
        for node in self.graph.nodes:
            for meta in node.results:
                count = 1
                for dim in meta.shape:
                    if not dim.symbols <= sizes.keys():
                        return False
                    count *= dim.evaluate(sizes)
                total += count
        return total <= _ELEMENTS

    def _evaluate(self, sizes: Mapping[str, int]) -> bool:
        items: dict[str, TensorSpec | ScalarSpec] = {}
        specs = {(kernel.id, item.name): item for kernel in self.spec.kernels for item in kernel.inputs}
        for edge in self.edges:
            if edge.producer is None:
                items.setdefault(edge.output, specs[edge.consumer, edge.input])
        arguments = draw(self.spec, items.items(), sizes, _SEED)
        for name, value in arguments.items():
            if name in {scalar for scalar, _ in self.graph.scalars} and isinstance(value, int):
                sizes = {**sizes, name: value}
        self.forward, self.values = dict(arguments), dict(arguments)
        try:
            with torch.no_grad():
                for node in self.graph.nodes:
                    self.forward[node.name] = call(node, self.forward, sizes, widen=True)
                for entry in self.composed.nodes:
                    self.values[entry.node.name] = call(entry.node, self.values, sizes, widen=True)
        except RAISED:
            return False
        return True

    def _assign(self) -> dict[str, tuple[str, ...]]:
        users = {node.name: node for node in self.graph.nodes}
        found: dict[str, tuple[str, ...]] = {}
        for node in self.graph.nodes:
            if self._is_identity(node):
                found[node.name] = _IDENTITY
        for kernel in self.composed.outputs:
            for output in self.composed.outputs[kernel]:
                value = _pick(self.values, output)
                for node in self.graph.nodes:
                    if any(same_elements(part, value) for part in _parts(self.forward[node.name])):
                        self._cover_slice(node, kernel, users, found)
                        break
        return found

    def _is_identity(self, node: Node) -> bool:
        """Whether a node gives back a value that it was given: a cast, once all floats are float64."""
        value = self.forward[node.name]
        if not isinstance(value, Tensor) or not node.op.startswith("aten._to_copy"):
            return False
        argument = node.args[0]
        given = _pick(self.forward, argument) if isinstance(argument, Ref) else None
        return isinstance(given, Tensor) and same_elements(given, value)

    def _cover_slice(
        self, node: Node, kernel: str, nodes: Mapping[str, Node], found: dict[str, tuple[str, ...]]
    ) -> None:
        """Let `kernel` cover what leads from its inputs to `node`; with its producers, where those inputs don't appear."""
        group = {kernel}
        while True:
            stops = [_pick(self.values, ref) for member in group for ref in self.composed.inputs[member]]
            region = self._slice(node, nodes, [stop for stop in stops if isinstance(stop, Tensor)])
            if region is not None:
                break
            wider = group | {source for member in group for source in self.composed.producers[member]}
            if wider == group:
                return
            group = wider
        for name in region:
            if found.get(name) != _IDENTITY:
                found.setdefault(name, tuple(sorted(group)))

    def _slice(self, node: Node, nodes: Mapping[str, Node], stops: Sequence[Tensor]) -> set[str] | None:
        """Return the nodes between `stops` and `node`; None when the slice reaches an input that is no stop."""
        region: set[str] = set()
        pending = [node]
        while pending:
            current = pending.pop()
            if current.name in region:
                continue
            region.add(current.name)
            for ref in _refs((*current.args, *(value for _, value in current.kwargs))):
                value = _pick(self.forward, ref)
                if not isinstance(value, Tensor) or any(same_elements(value, stop) for stop in stops):
                    continue
                if ref.name not in nodes:
                    return None
                pending.append(nodes[ref.name])
        return region


def _pick(values: Mapping[str, Any], ref: Ref) -> Any:  # noqa: ANN401
    value = values[ref.name]
    return value if ref.index is None else value[ref.index]


def _parts(value: Any) -> list[Tensor]:  # noqa: ANN401
    items = value if isinstance(value, tuple | list) else [value]
    return [item for item in items if isinstance(item, Tensor)]


def _refs(values: Iterable[Argument]) -> Iterable[Ref]:
    for value in values:
        if isinstance(value, Ref):
            yield value
        elif isinstance(value, tuple):
            yield from _refs(value)
