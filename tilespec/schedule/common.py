"""What the families share: the axes of a program, merging them, plans and matrix products."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilespec.ir.nodes import Contract, Load, Node, Program, Reduce, Scan, postorder, rewrite
from tilespec.model.dims import AxisAtom, Expr, OpAtom, axis, const
from tilespec.schedule.plan import AxisPlan, KernelPlan
from tilespec.schedule.regroup import merge_axes, mergeable_groups, substitute_axes

__all__ = [
    "axes_of",
    "folded_axes",
    "has_scan",
    "make_plan",
    "merged",
    "most",
    "named",
    "orient",
    "overlaps",
    "replace_products",
    "slides",
    "stored_axes",
    "unit_strides",
]


_LONG_NAME = 4
"""Letters of a name to read aloud."""


def merged(program: Program) -> Program:
    """Merge every group of axes that all uses keep together."""
    while True:
        groups = mergeable_groups(program)
        if not groups:
            return program
        taken = {item.name for item in axes_of(program)}
        name = _group_name(groups[0], taken)
        program, _ = merge_axes(program, groups[0], name)


def _group_name(group: Sequence[AxisAtom], taken: set[str]) -> str:
    name = "".join(item.name for item in group)
    if len(name) > _LONG_NAME:
        name = "row"
    while name in taken:
        name += "_"
    return name


def axes_of(program: Program) -> list[AxisAtom]:
    """Return the axes of a program: stored ones first."""
    found: list[AxisAtom] = []
    for store in program.stores:
        found += [item for item in store.axes if item not in found]
    for node in postorder(store.value for store in program.stores):
        if isinstance(node, Reduce | Contract):
            found += [item for item in node.axes if item not in found]
        elif isinstance(node, Scan) and node.axis not in found:
            found.append(node.axis)
    return found


def folded_axes(program: Program) -> list[AxisAtom]:
    """Return the axes that reductions and contractions fold."""
    found: list[AxisAtom] = []
    for node in postorder(store.value for store in program.stores):
        if isinstance(node, Reduce | Contract):
            found += [item for item in node.axes if item not in found]
    return found


def stored_axes(program: Program) -> list[AxisAtom]:
    """Return the axes that stores bind."""
    found: list[AxisAtom] = []
    for store in program.stores:
        found += [item for item in store.axes if item not in found]
    return found


def unit_strides(
    program: Program, *, bulk: bool = False, beside: AxisAtom | None = None
) -> Counter[AxisAtom]:
    """Count for each axis in how many loads and stores it has unit stride in the last dim.

    With `bulk` only those of the most axes count: where nearly all bytes are. With `beside` only those that depend on
    that axis, too.
    """
    uses: list[tuple[Sequence[Expr | Node], frozenset[AxisAtom]]] = [
        (node.index, node.free)
        for node in postorder(store.value for store in program.stores)
        if isinstance(node, Load) and node.index
    ]
    uses += [(store.index, frozenset(store.axes)) for store in program.stores if store.index]
    most_axes = max((len(axes) for _, axes in uses), default=0) if bulk else 0
    counts: Counter[AxisAtom] = Counter()
    for index, axes in uses:
        if len(axes) >= most_axes and (beside is None or beside in axes):
            counts.update(_unit_axes(index[-1], len(index)))
    return counts


def _unit_axes(index: object, weight: int) -> dict[AxisAtom, int]:
    if not isinstance(index, Expr):
        return {}
    split = index.linear()
    if split is None:
        return dict.fromkeys(index.axes, weight)
    return {item: weight for item, stride in split[0].items() if stride.value == 1}


def slides(program: Program, item: AxisAtom) -> bool:
    """Whether some load is indexed by an axis and another one that it overlaps: a sliding window."""
    for node in postorder(store.value for store in program.stores):
        if not isinstance(node, Load):
            continue
        for part in node.index:
            if not isinstance(part, Expr) or item not in part.axes or len(part.axes) < 2:
                continue
            split = _digits(part).linear()
            if split is None or overlaps(split[0]):
                return True
    return False


def _digits(index: Expr) -> Expr:
    """Return an index with an axis of its own for every quotient and remainder: `i // 8` goes from 0 to `(n - 1) // 8`."""
    total = const(0)
    for monomial, value in index.terms:
        term = const(value)
        for atom in monomial:
            factor = Expr.of({(atom,): 1})
            if isinstance(atom, OpAtom) and factor.axes and factor.is_nonnegative():
                factor = axis(str(factor), factor.upper() + 1)
            term = term * factor
        total = total + term
    return total


def overlaps(strides: Mapping[AxisAtom, Expr]) -> bool:
    """Whether the axes of an index are no digits of one number: two choices of them may meet.

    An axis that runs backwards covers what one does that runs forwards.
    """
    steps = {item: -stride if (-stride).is_positive() else stride for item, stride in strides.items()}

    def size(item: AxisAtom) -> int:
        value = steps[item].value
        return 1 << 60 if value is None else value

    order = sorted(steps, key=size)
    return any(
        not (steps[outer] - steps[inner] * inner.extent).is_nonnegative()
        for inner, outer in itertools.pairwise(order)
    )


def most(extent: Expr) -> int | None:
    """Return a number that an extent never exceeds, if one shows: that of `min(512, N)`."""
    if extent.value is not None:
        return extent.value
    outer = extent.atom
    if not isinstance(outer, OpAtom) or outer.op not in {"min", "max"}:
        return None
    limits = [limit for limit in (most(outer.left), most(outer.right)) if limit is not None]
    if outer.op == "max":
        return max(limits) if len(limits) == 2 else None
    return min(limits, default=None)


def has_scan(program: Program) -> bool:
    """Whether a program scans."""
    return any(isinstance(node, Scan) for node in postorder(store.value for store in program.stores))


def make_plan(
    family: str,
    program: Program,
    axes: Sequence[AxisPlan],
    frames: Sequence[tuple[AxisAtom, ...]],
    name: str,
    *,
    hints: tuple[tuple[str, int], ...] = (),
    condition: Expr | None = None,
) -> KernelPlan:
    """Return a plan whose grid is that of its axes."""
    grid = tuple(item.axis for item in axes if item.role.in_grid)
    return KernelPlan(
        name=name,
        family=family,
        program=program,
        axes=tuple(axes),
        frames=tuple(frames) or ((),),
        grid=grid,
        hints=hints,
        condition=condition,
    )


def named(program: Program, names: dict[AxisAtom, str]) -> tuple[Program, list[AxisAtom]]:
    """Give axes the names of the field, where those are free."""
    taken = {item.name for item in axes_of(program)}
    mapping = {item: axis(name, item.extent) for item, name in names.items() if name not in taken}
    renamed = [mapping[item].axis if item in mapping else item for item in names]
    return substitute_axes(program, mapping), [item for item in renamed if item is not None]


def orient(node: Contract, row: AxisAtom, column: AxisAtom) -> Contract | None:
    """Return a contraction with its rows on the left, or None when these are not its rows and columns."""
    left, right = node.left.free, node.right.free
    if row in left and column in right and column not in left and row not in right:
        return node
    if row in right and column in left and column not in right and row not in left:
        return replace(node, left=node.right, right=node.left)
    return None


def replace_products(program: Program, mapping: dict[Contract, Contract]) -> Program:
    """Put contractions in the places of others."""
    memo: dict[Node, Node] = {}

    def change(node: Node) -> Node:
        return mapping.get(node, node) if isinstance(node, Contract) else node

    return replace(
        program,
        stores=tuple(replace(store, value=rewrite(store.value, change, memo)) for store in program.stores),
    )
