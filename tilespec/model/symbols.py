"""The symbol table of a file: dims, type variables, and expressions over them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tilespec.diagnostics import Label, Span
from tilespec.model.dag import find_cycle
from tilespec.model.dims import Expr, OpAtom, SymbolAtom, const, sym
from tilespec.model.dtypes import canonical_dtype, suggest_dtype
from tilespec.model.expressions import ExpressionFault, to_expr
from tilespec.model.types import DimRange
from tilespec.rules import shapes as rules
from tilespec.syntax.names import Guesses
from tilespec.syntax.nodes import (
    DimLine,
    DimNode,
    FileNode,
    KernelNode,
    Name,
    Number,
    RangeNode,
    SetNode,
    ShapeNode,
    Symbol,
    TypeLine,
)

__all__ = ["Report", "Symbols", "dim_equations"]

Report = Callable[..., None]


_MOST_GUESSES = 100
_MOST_ATOMS = 64
_MOST_DIMS = 32


def dim_equations(ranges: Mapping[str, DimRange]) -> dict[str, Expr]:
    """Return `{symbol: expression}` for all dims that are equations, with other equations put in."""
    solved, _ = _solved(ranges)
    return solved


def _solved(ranges: Mapping[str, DimRange]) -> tuple[dict[str, Expr], tuple[str, ...]]:
    """Put equations into each other; those that would grow beyond reason are kept as they are written, and named."""
    written = {name: limits.equals for name, limits in ranges.items() if limits.equals is not None}
    solved: dict[str, Expr] = {}
    sizes: dict[str, int] = {}
    for root in written:
        stack = [root]
        while stack:
            name = stack[-1]
            value = written[name]
            waiting = [each for each in sorted(value.symbols) if each in written and each not in solved]
            # A circle was reported and its equations forgotten; the bound is for those that were not.
            if waiting and name not in solved and len(stack) <= len(written):
                stack.append(waiting[0])
                continue
            stack.pop()
            if name not in solved:
                size = _size(value, sizes)
                solved[name] = value.substitute(solved) if size <= _MOST_ATOMS else value
                sizes[name] = min(size, _MOST_ATOMS + 1)
    return solved, tuple(name for name, size in sizes.items() if size > _MOST_ATOMS)


def _size(value: Expr, sizes: Mapping[str, int]) -> int:
    """Return a bound of the number of atoms after a substitution, those inside operations too."""
    total = 0
    for monomial, _ in value.terms:
        factors = [
            1 + _size(atom.left, sizes) + _size(atom.right, sizes)
            if isinstance(atom, OpAtom)
            else sizes.get(atom.name, 1)
            for atom in monomial
            if isinstance(atom, OpAtom | SymbolAtom)
        ]
        # Sums multiply into terms, single terms into degrees.
        total += max(math.prod(factors), sum(factors))
    return total


class Symbols:
    """Dims and types of a file; every kernel adds the symbols that it uses."""

    def __init__(self, tree: FileNode, kernels: tuple[KernelNode, ...], report: Report) -> None:
        self.source = tree.source
        self.report = report
        self.ranges: dict[str, DimRange] = {}
        self.types: dict[str, tuple[str, ...]] = {}
        self.used: set[str] = set()
        self.unknown_dtypes = 0
        self.lines: dict[str, DimLine | TypeLine] = {}
        self._cache: dict[str, Expr] = {}
        for type_line in (*tree.types, *(line for kernel in kernels for line in kernel.types)):
            self.add_type(type_line)
        for dim_line in (*tree.dims, *(line for kernel in kernels for line in kernel.dims)):
            self.add_dim(dim_line)
        if self.ranges:
            self.check_circles()

    # definitions

    def defined(self, line: DimLine | TypeLine, kind: str) -> bool:
        """Whether the symbol of a line is defined already; a finding if so."""
        first = self.lines.setdefault(line.name.text, line)
        if first is line:
            return False
        self.report(
            rules.DuplicateDim(line.name.text, kind),
            line.name.span,
            Label(first.name.span, "first defined here"),
        )
        return True

    def add_type(self, line: TypeLine) -> None:
        """Add a type variable."""
        if self.defined(line, "type"):
            return
        members = [self.dtype(member, variables=False) for member in line.members]
        self.types[line.name.text] = tuple(dict.fromkeys(member for member in members if member))

    def add_dim(self, line: DimLine) -> None:
        """Add what one line of `Dims` says."""
        if self.defined(line, "dim"):
            return
        limits = self.limits(line)
        if limits is not None:
            self.ranges[line.name.text] = limits

    def limits(self, line: DimLine) -> DimRange | None:
        """Return the meaning of one line of `Dims`; None after a finding."""
        rule = line.rule
        if isinstance(rule, RangeNode):
            return self.range(rule)
        if isinstance(rule, SetNode):
            members = [self.size(member) for member in rule.members]
            if None in members:
                return None
            sizes = sorted({member for member in members if member is not None})
            return DimRange(low=sizes[0], high=sizes[-1], choices=tuple(sizes))
        value = self.expression(rule.size)
        if value is None:
            return None
        if value.value is not None and value.value < 1:
            self.report(rules.NonPositiveDim(self.text(rule.span), value.value), rule.span)
            return None
        self.used |= value.symbols
        if value.value is not None:
            return DimRange(low=value.value, high=value.value, equals=value)
        return DimRange(equals=value)

    def range(self, node: RangeNode) -> DimRange | None:
        """Return the meaning of `low..high step n`; None after a finding."""
        low = self.size(node.low) if node.low is not None else 1
        high = self.size(node.high) if node.high is not None else None
        step = self.size(node.step) if node.step is not None else 1
        if low is None or step is None or (node.high is not None and high is None):
            return None
        if high is not None and high < low:
            self.report(rules.EmptyRange(self.text(node.span), "holds no size"), node.span)
            return None
        return DimRange(low=low, high=high, step=step)

    def size(self, node: DimNode) -> int | None:
        """Return the literal size of a range end; a finding when it isn't one."""
        value = self.expression(node)
        if value is None:
            return None
        if value.value is None:
            self.report(rules.EmptyRange(self.text(node.span), "is no number"), node.span)
            return None
        if value.value < 1:
            self.report(rules.EmptyRange(self.text(node.span), "is less than 1"), node.span)
            return None
        return value.value

    def check_circles(self) -> None:
        """Report dims that are defined by themselves or grow beyond reason, and forget their equations."""
        equations = {
            name: [other for other in sorted(limits.equals.symbols) if other in self.ranges]
            for name, limits in self.ranges.items()
            if limits.equals is not None
        }
        while path := find_cycle(equations):
            self.report(rules.CircularDim(path), self.lines[path[0]].span)
            for each in path:
                del self.ranges[each], equations[each]
        _, large = _solved(self.ranges)
        if large:
            # The first that grows too large makes those grow that use it.
            line = self.lines[large[0]]
            advice = "state what the file needs in fewer steps"
            reason = "is too large once the equations of other sizes are put in"
            self.report(rules.InvalidExpression(self.text(line.span), reason, advice), line.span)
            for name in large:
                del self.ranges[name]

    # uses

    def text(self, span: Span) -> str:
        """Return the text of a span on one line."""
        return " ".join(self.source.text[span.start : span.end].split())

    def expression(self, node: DimNode) -> Expr | None:
        """Return the value of a dim expression; a finding when it has none."""
        if isinstance(node, Symbol):
            return sym(node.name)
        if isinstance(node, Number) and isinstance(node.value, int) and node.value < 2**62:
            return const(node.value)
        try:
            return to_expr(node)
        except ExpressionFault as fault:
            self.report(rules.InvalidExpression(self.text(node.span), fault.reason, fault.advice), fault.span)
            return None

    def shape(self, node: ShapeNode) -> tuple[Expr, ...] | None:
        """Return a shape and count its symbols as used; None after a finding."""
        if len(node.dims) > _MOST_DIMS:
            self.report(rules.TooManyDims(len(node.dims), _MOST_DIMS), node.span)
            return None
        dims: list[Expr] = []
        for dim in node.dims:
            if isinstance(dim, Symbol):
                value = self._cache.get(dim.name)
                if value is None:
                    value = self._cache[dim.name] = sym(dim.name)
                self.used.add(dim.name)
                dims.append(value)
                continue
            expression = self.expression(dim)
            if expression is None:
                return None
            if expression.value is not None and expression.value < 1:
                self.report(rules.NonPositiveDim(self.text(dim.span), expression.value), dim.span)
                return None
            self.used |= expression.symbols
            dims.append(expression)
        return tuple(dims)

    def dtype(self, name: Name, *, variables: bool = True) -> str | None:
        """Return a canonical dtype or a type variable; a finding when it is neither."""
        if variables and name.text in self.types:
            self.used.add(name.text)
            return name.text
        found = canonical_dtype(name.text)
        if found is None:
            self.unknown_dtypes += 1
            known = tuple(self.types) if variables else ()
            close = suggest_dtype(name.text, known) if self.unknown_dtypes <= _MOST_GUESSES else None
            self.report(rules.UnknownDtype(name.text, close), name.span)
        return found

    def report_unused(self) -> None:
        """Report symbols that are defined and not used by any tensor."""
        guesses = Guesses()
        free = sorted(self.used - set(self.lines))
        for name, line in self.lines.items():
            if name in self.used:
                continue
            kind = "type" if isinstance(line, TypeLine) else "dim"
            close = None if kind == "type" else guesses.closest(name, free)
            self.report(rules.UnusedDim(name, close, kind), line.name.span)
