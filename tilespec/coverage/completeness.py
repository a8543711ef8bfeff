"""The completeness check: derived from coverage as text, and a hand-written one compared with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilespec.coverage.matching import Coverage
from tilespec.coverage.operations import canonical, named
from tilespec.coverage.ops import GLUE, base, is_compute
from tilespec.diagnostics import Diagnostic
from tilespec.model.operations import OperationEntry, find_operation
from tilespec.model.types import Claim, SpecFile
from tilespec.reference.graph import Graph, Node
from tilespec.rules import reference as rules

_CAST = "cast"
"""What may go without saying."""

__all__ = ["Summary", "check_completeness", "summarise"]


@dataclass(frozen=True, slots=True)
class Summary:
    """What performs the forward pass of a file: `covered` are (operation, kernel ids) in order, each operation once.

    `whole` is False when the file gives no forward pass of its own, and the kernels were taken for it.
    """

    name: str
    kernels: tuple[str, ...]
    covered: tuple[tuple[str, tuple[str, ...]], ...]
    gaps: tuple[str, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    whole: bool = True

    @property
    def block(self) -> str:
        """The `## Completeness Check` block of the file."""
        operations = dict.fromkeys(
            [*(name for name, _ in self.covered), *(name for name, _ in self.kept), *self.gaps]
        )
        lines = ["## Completeness Check", f"Original forward-pass ops: [{', '.join(operations)}]"]
        lines.append("Covered by kernel specs:")
        lines += [f"- {name} -> {', '.join(kernels)}" for name, kernels in self.covered]
        lines.append(f"Gaps: {', '.join(self.gaps) or 'NONE'}")
        return "\n".join(lines) + "\n"


def summarise(spec: SpecFile, graphs: Mapping[str, Graph], coverage: Coverage | None) -> Summary:
    """Return which kernel performs which operation of the forward pass."""
    covered: dict[str, dict[str, None]] = {}
    kept: dict[str, str] = {}
    gaps: dict[str, None] = {}
    if coverage is None:
        for kernel in spec.kernels:
            graph = graphs.get(kernel.id)
            for node in graph.nodes if graph is not None else ():
                if is_compute(node) and canonical(node) != _CAST:
                    covered.setdefault(named(node), {})[kernel.id] = None
    else:
        for op in coverage.ops:
            if op.kept is not None:
                kept[op.operation] = op.kept
            elif op.is_gap:
                gaps[op.operation] = None
            elif op.operation != _CAST:
                covered.setdefault(op.operation, {}).update(dict.fromkeys(op.kernels))
    return Summary(
        spec.name,
        tuple(kernel.id for kernel in spec.kernels),
        tuple((name, tuple(kernels)) for name, kernels in covered.items()),
        tuple(gaps),
        tuple(kept.items()),
        coverage is not None,
    )


def check_completeness(
    spec: SpecFile, graphs: Mapping[str, Graph], coverage: Coverage | None
) -> list[Diagnostic]:
    """Compare a hand-written completeness check with what the traces perform."""
    if spec.completeness is None or (coverage is not None and not coverage.decided):
        return []
    return list(_Check(spec, graphs, coverage).run())


class _Check:
    """One hand-written check; names are looked up once."""

    def __init__(self, spec: SpecFile, graphs: Mapping[str, Graph], coverage: Coverage | None) -> None:
        self.spec = spec
        self.kernels = {kernel.id: kernel for kernel in spec.kernels}
        self.graphs = graphs
        self.coverage = coverage
        nodes = [op.node for op in coverage.ops] if coverage is not None else []
        if coverage is None:
            nodes = [node for graph in graphs.values() for node in graph.nodes if is_compute(node)]
        self.nodes: list[Node] = nodes
        self.ops = frozenset(base(node) for node in nodes)
        self.listed_by_kernel = {
            kernel.id: {operation.name for operation in kernel.operations} for kernel in spec.kernels
        }
        self.listed = frozenset(name for names in self.listed_by_kernel.values() for name in names)
        self.in_kernel = {
            ident: frozenset(base(node) for node in graph.nodes) for ident, graph in graphs.items()
        }
        self.covering: dict[str, set[str]] = {}
        for op in coverage.ops if coverage is not None else ():
            for name in {op.operation, canonical(op.node)}:
                self.covering.setdefault(name, set()).update(op.kernels)

    def run(self) -> Iterator[Diagnostic]:
        written = self.spec.completeness
        assert written is not None  # noqa: S101 (the caller looked)
        for claim in written.operations:
            if not self.performed(claim.text):
                yield self.wrong(f"the forward pass performs no `{claim.text}`", claim)
        if written.operations:
            yield from self.unlisted(written.operations)
        for line in written.mapping:
            yield from self.mapping(line.left, line.right)
        if written.gaps is not None:
            yield from self.gaps(written.gaps)

    def wrong(self, fault: str, claim: Claim) -> Diagnostic:
        return rules.WrongCompleteness(fault).at(self.spec.source, claim.span)

    def performed(self, text: str) -> bool:
        """Whether the forward pass performs an operation, by any of its names or as a kernel lists it."""
        entry = find_operation(text)
        name = entry.name if entry is not None else text
        return name in self.listed or (entry is not None and entry.satisfied_by(self.ops)) or text in self.ops

    def unlisted(self, claims: tuple[Claim, ...]) -> Iterator[Diagnostic]:
        """Yield each operation of the forward pass that the list leaves out."""
        entries = [entry for claim in claims if (entry := find_operation(claim.text)) is not None]
        known = {claim.text for claim in claims} | {entry.name for entry in entries}
        known |= {op for entry in entries for op in entry.aten}
        larger = any(_is_written_out(entry) for entry in entries)
        seen: set[str] = set()
        for node in self.nodes:
            name, operation = base(node), named(node)
            if operation in seen or {name, operation, canonical(node)} & (known | {_CAST}):
                continue
            if larger and name in GLUE:
                continue
            seen.add(operation)
            yield self.wrong(f"the list leaves out `{operation}`", claims[-1])

    def mapping(self, left: tuple[Claim, ...], right: tuple[Claim, ...]) -> Iterator[Diagnostic]:
        """Yield what is wrong with `op -> id` or `id: op, op`; a line that names neither is prose."""
        if any(claim.text in self.kernels for claim in left):
            kernels, operations = left, right
        elif any(claim.text in self.kernels for claim in right) or self.all_operations(left):
            kernels, operations = right, left
        else:
            return
        missing = [claim for claim in kernels if claim.text not in self.kernels]
        for claim in missing:
            if claim.text.isidentifier():
                yield self.wrong(f"there is no kernel `{claim.text}`", claim)
        present = [claim.text for claim in kernels if claim.text in self.kernels]
        for claim in operations:
            if not self.performed(claim.text):
                yield self.wrong(f"the forward pass performs no `{claim.text}`", claim)
                continue
            for ident in present:
                if not self.performs(ident, claim.text):
                    yield self.wrong(f"`{ident}` performs no `{claim.text}`", claim)

    def all_operations(self, claims: tuple[Claim, ...]) -> bool:
        return all(find_operation(claim.text) is not None or claim.text in self.listed for claim in claims)

    def performs(self, ident: str, text: str) -> bool:
        entry = find_operation(text)
        name = entry.name if entry is not None else text
        if name in self.listed_by_kernel[ident] or ident in self.covering.get(name, ()):
            return True
        return entry is not None and entry.satisfied_by(self.in_kernel.get(ident, frozenset()))

    def gaps(self, claims: tuple[Claim, ...]) -> Iterator[Diagnostic]:
        """Yield each declared gap that is none; gaps that aren't declared are findings of their own."""
        open_ops = (
            {op.operation for op in self.coverage.ops if not op.kernels} if self.coverage else set[str]()
        )
        for claim in claims:
            entry = find_operation(claim.text)
            name = entry.name if entry is not None else claim.text
            if name in open_ops:
                continue
            kernels = sorted(self.covering.get(name, ())) or [
                ident for ident, listed in self.listed_by_kernel.items() if name in listed
            ]
            by = f"`{kernels[0]}` performs `{claim.text}`" if kernels else f"nothing performs `{claim.text}`"
            yield self.wrong(f"{by}, so it is no gap", claim)


def _is_written_out(entry: OperationEntry) -> bool:
    return len(entry.patterns) > 1 or any(len(pattern) > 1 for pattern in entry.patterns)
