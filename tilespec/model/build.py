"""From the tree to the model: names, sizes and dtypes get their meaning, contradictions are reported.

The model is only handed on when the file holds no error: later stages trust it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from pathlib import PurePath

from tilespec.collector import paused
from tilespec.diagnostics import Diagnostic, Label, Rule, Severity, Span
from tilespec.model.dag import ancestors, contradictions, find_cycle, levels_of, sort_kernels
from tilespec.model.kernels import KernelBuilder
from tilespec.model.symbols import Symbols
from tilespec.model.types import Claim, Completeness, Kernel, Mapping, ReferenceText, ScalarSpec, SpecFile
from tilespec.model.wiring import check_wiring
from tilespec.rules import graph as rules
from tilespec.syntax.names import Guesses, is_safe_name
from tilespec.syntax.nodes import CompletenessNode, FileNode, KernelNode, Name, names_in_order

__all__ = ["build_model"]

_GROUP = re.compile(r"[\[{(]\s*\w+(?:\s*,\s*\w+){1,50}\s*[\])}]|\w+(?:\s*\|\|\s*\w+){1,50}")
_MOST_GROUPS = 50


def build_model(tree: FileNode) -> tuple[SpecFile | None, list[Diagnostic]]:
    """Build and check the model of a file; None when the tree is incomplete or an error is found."""
    builder = _Builder(tree)
    with paused():
        spec = builder.run()
    findings = sorted(builder.findings, key=lambda finding: finding.sort_key)
    wrong = any(finding.severity is Severity.ERROR for finding in findings)
    return (None if wrong or not tree.complete else spec), findings


class _Builder:
    def __init__(self, tree: FileNode) -> None:
        self.tree = tree
        self.source = tree.source
        self.findings: list[Diagnostic] = []
        self.nodes: dict[str, KernelNode] = {}
        self.guesses = Guesses()

    def report(self, rule: Rule, span: Span | None, *labels: Label) -> None:
        """Add a finding."""
        self.findings.append(rule.at(self.source, span, *labels))

    def run(self) -> SpecFile | None:
        tree = self.tree
        self.unique_kernels()
        symbols = Symbols(tree, tuple(self.nodes.values()), self.report)
        edges = {ident: self.dependencies(node) for ident, node in self.nodes.items()}
        cycle = find_cycle(edges)
        if cycle:
            self.report_cycle(cycle)
        else:
            self.order(edges)
            self.groups(edges)
        self.summary()
        builder = KernelBuilder(tree, symbols, self.report)
        kernels = [
            kernel
            for ident, node in self.nodes.items()
            if (kernel := builder.build(node, edges[ident], self.shared(node))) is not None
        ]
        if tree.complete:
            symbols.report_unused()
        if cycle or not kernels or len(kernels) < len(self.nodes):
            return None
        self.scalars(kernels)
        spec = SpecFile(
            source=self.source,
            name=_module_name(self.source.path),
            kernels=tuple(kernels),
            dims=symbols.ranges,
            types=symbols.types,
            end_to_end=self.end_to_end(),
            source_path=f"{tree.code.path}:{tree.code.qualifier}" if tree.code else None,
            source_span=tree.code.span if tree.code else None,
            completeness=_completeness(tree.completeness),
            order=sort_kernels(edges),
            levels=levels_of(edges),
        )
        self.findings.extend(check_wiring(spec, self.nodes))
        return spec

    def unique_kernels(self) -> None:
        for node in self.tree.kernels:
            first = self.nodes.setdefault(node.id.text, node)
            if first is not node:
                label = Label(first.id.span, "first defined here")
                self.report(rules.DuplicateKernel(node.id.text), node.id.span, label)

    def known(self, name: Name) -> bool:
        """Whether a kernel of this id exists; a finding where it doesn't."""
        if name.text in self.nodes:
            return True
        if self.tree.complete or is_safe_name(name.text):
            close = self.guesses.closest(name.text, self.nodes)
            shown = tuple(itertools.islice(self.nodes, 20))
            self.report(rules.UndefinedKernel(name.text, close, shown), name.span)
        return False

    def listed(self, names: Iterable[Name], field: str) -> list[Name]:
        """Return the names of a list that are kernels, each once."""
        found: dict[str, Name] = {}
        for name in names:
            if name.text in found:
                label = Label(found[name.text].span, "first named here")
                self.report(rules.RepeatedEntry(name.text, field), name.span, label)
            elif self.known(name):
                found[name.text] = name
        return list(found.values())

    def dependencies(self, node: KernelNode) -> tuple[str, ...]:
        kept: list[str] = []
        for name in self.listed(node.dependencies or (), "Dependencies"):
            if name.text == node.id.text:
                self.report(rules.SelfDependency(name.text), name.span)
            else:
                kept.append(name.text)
        return tuple(kept)

    def shared(self, node: KernelNode) -> tuple[str, ...]:
        names = self.listed(node.shared_with, "Shared with")
        return tuple(name.text for name in names if name.text != node.id.text)

    def report_cycle(self, cycle: tuple[str, ...]) -> None:
        places: list[Span] = []
        for index, ident in enumerate(cycle):
            wanted = cycle[(index + 1) % len(cycle)]
            names = self.nodes[ident].dependencies or ()
            places.append(next(name.span for name in names if name.text == wanted))
        labels = [Label(place, "and here") for place in places[1:4]]
        self.report(rules.DependencyCycle(cycle), places[0], *labels)

    def order(self, edges: dict[str, tuple[str, ...]]) -> None:
        order = self.tree.summary.order
        if order is None:
            return
        derived = self.derived_order(edges)
        seen: dict[str, Name] = {}
        unknown = False
        for name in names_in_order(order):
            if name.text in seen:
                label = Label(seen[name.text].span, "first named here")
                self.report(rules.IncompleteOrder(name.text, derived, twice=True), name.span, label)
            elif self.known(name):
                seen[name.text] = name
            else:
                unknown = True
        for ident in self.nodes:
            # An unknown id is most likely the one that seems to be missing.
            if ident not in seen and not unknown:
                self.report(rules.IncompleteOrder(ident, derived), order.span)
        for name, other in contradictions(order, edges):
            declared = next(
                each.span for each in self.nodes[name.text].dependencies or () if each.text == other
            )
            rule = rules.OrderContradiction(name.text, other, derived)
            self.report(rule, name.span, Label(declared, "declared here"))

    def derived_order(self, edges: dict[str, tuple[str, ...]]) -> str:
        return " -> ".join(" || ".join(level) for level in levels_of(edges))

    def summary(self) -> None:
        total = self.tree.summary.total
        if total is not None and total.value != len(self.tree.kernels) and self.tree.complete:
            self.report(rules.TotalMismatch(int(total.value), len(self.tree.kernels)), total.span)
        prose = self.tree.summary.parallel
        if prose is None:
            return
        text = self.source.text[prose.span.start : prose.span.end]
        for match in re.finditer(r"[A-Za-z]\w*", text):
            word = match[0]
            if "_" not in word or word in self.nodes:
                continue
            close = self.guesses.closest(word, self.nodes)
            if close:
                span = Span(prose.span.start + match.start(), prose.span.start + match.end())
                self.report(rules.UnknownGroupMember(word, close), span)

    def groups(self, edges: dict[str, tuple[str, ...]]) -> None:
        """Report kernels that `Parallel groups` lists as one group, `[a, b]` or `a || b`, though one waits for the other.

        The field is prose: only lists of nothing but ids are read.
        """
        prose = self.tree.summary.parallel
        if prose is None:
            return
        text = self.source.text[prose.span.start : prose.span.end]
        for group in itertools.islice(_GROUP.finditer(text), _MOST_GROUPS):
            members = [
                Name(word[0], Span(prose.span.start + word.start(), prose.span.start + word.end()))
                for word in re.compile(r"\w+").finditer(text, *group.span())
            ]
            if not all(name.text in self.nodes for name in members):
                continue
            listed = {name.text for name in members}
            for name in members:
                before = (ancestors(name.text, edges) & listed) - {name.text}
                if before:
                    rule = rules.OrderContradiction(
                        name.text, min(before), self.derived_order(edges), parallel=True
                    )
                    self.report(rule, name.span)
                    break

    def scalars(self, kernels: list[Kernel]) -> None:
        """Report scalars of one name with two defaults: the composition has one argument for both."""
        first: dict[str, ScalarSpec] = {}
        for kernel in kernels:
            for scalar in kernel.scalars:
                other = first.setdefault(scalar.name, scalar)
                if (
                    other.default != scalar.default
                    and other.default is not None
                    and scalar.default is not None
                ):
                    rule = rules.ConflictingDefault(scalar.name, str(scalar.default), str(other.default))
                    self.report(rule, scalar.span, Label(other.span, "the other default"))

    def end_to_end(self) -> ReferenceText | None:
        node = self.tree.end_to_end
        if node is None:
            return None
        return ReferenceText(
            source=self.source, text=node.text, first_line=node.first_line, indent=node.indent
        )


def _module_name(path: str) -> str:
    stem = PurePath(path).name.split(".", 1)[0]
    name = re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9_]", "_", stem)).strip("_")
    return name if is_safe_name(name) else f"spec_{name}".rstrip("_")


def _completeness(node: CompletenessNode | None) -> Completeness | None:
    if node is None:
        return None
    return Completeness(
        operations=_claims(node.operations),
        mapping=tuple(
            Mapping(left=_claims(line.left), right=_claims(line.right), span=line.span)
            for line in node.mapping
        ),
        gaps=None if node.gaps is None else _claims(node.gaps),
        span=node.span,
    )


def _claims(names: Iterable[Name]) -> tuple[Claim, ...]:
    return tuple(Claim(text=name.text, span=name.span) for name in names)
