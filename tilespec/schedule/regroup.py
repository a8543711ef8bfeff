"""Merge axes, so that a program has few and every load can be a view of its tensor.

Neighbouring axes that every load and store uses as neighbours become one: `b, s` of a linear layer are one row axis.

    before   y[b, s, f] = contract k: x[b, s, k] * w[k, f]
    after    y[m // S, m % S, f] = contract k: x[m // S, m % S, k] * w[k, f]      m = b*S + s
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tilespec.ir.nodes import Contract, Index, Load, Node, Program, Reduce, Scan, Store, postorder, rewrite
from tilespec.model.dims import ONE, ZERO, AxisAtom, Expr, OpAtom, axis, product

__all__ = ["linear_index", "merge_axes", "mergeable_groups", "recombine", "substitute_axes"]


def recombine(expr: Expr) -> Expr:
    """Put digits back together: `(x // q)*q + x % q` becomes `x`."""
    changed = True
    while changed:
        changed = False
        for monomial, value in expr.terms:
            for atom in monomial:
                if not (isinstance(atom, OpAtom) and atom.op == "%"):
                    continue
                rest = list(monomial)
                rest.remove(atom)
                factor = Expr(((tuple(rest), value),))
                high = factor * atom.right * _quotient(atom.left, atom.right)
                if high.terms and all(term in expr.terms for term in high.terms):
                    expr = expr - high - Expr(((monomial, value),)) + factor * atom.left
                    changed = True
                    break
            if changed:
                break
    return expr


def _quotient(left: Expr, right: Expr) -> Expr:
    """Return `left // right`, with `(x // p) // q` as `x // (p*q)`."""
    inner = left.atom
    if isinstance(inner, OpAtom) and inner.op == "//":
        return inner.left // (inner.right * right)
    return left // right


def linear_index(index: Sequence[Expr], extents: Sequence[Expr]) -> Expr:
    """Return the row-major position of `index` in dims of these extents, digits recombined."""
    total = ZERO
    for item, extent in zip(index, extents, strict=True):
        total = total * extent + item
    return recombine(total)


def substitute_axes(program: Program, mapping: Mapping[AxisAtom, Expr]) -> Program:
    """Replace axes in every index, reduction and store.

    A bound axis may only be replaced by an expression whose axes together enumerate it: they take its place in `axes`,
    in order of decreasing stride.
    """
    names = {item.name: expr for item, expr in mapping.items()}

    def replaced(index: Expr) -> Expr:
        return recombine(index.substitute(names))

    def expand(axes: Iterable[AxisAtom]) -> tuple[AxisAtom, ...]:
        result: list[AxisAtom] = []
        for item in axes:
            for new in _digits(mapping[item]) if item in mapping else (item,):
                if new not in result:
                    result.append(new)
        return tuple(result)

    def change(node: Node) -> Node:
        if isinstance(node, Load):
            return replace(
                node,
                index=tuple(item if isinstance(item, Node) else replaced(item) for item in node.index),
            )
        if isinstance(node, Index):
            return replace(node, expr=replaced(node.expr))
        if isinstance(node, Reduce | Contract):
            return replace(node, axes=expand(node.axes))
        if isinstance(node, Scan) and (node.axis in mapping or node.at.axes & set(mapping)):
            return replace(node, at=replaced(node.at))
        return node

    memo: dict[Node, Node] = {}
    stores = tuple(
        Store(
            store.tensor,
            tuple(replaced(item) for item in store.index),
            rewrite(store.value, change, memo),
            expand(store.axes),
            store.partial,
        )
        for store in program.stores
    )
    return replace(program, stores=stores)


def _digits(expr: Expr) -> tuple[AxisAtom, ...]:
    """Return the axes of a replacement in order of decreasing stride."""
    split = expr.linear()
    if split is None:
        return tuple(sorted(expr.axes, key=lambda item: item.name))
    strides, _ = split

    def rank(item: AxisAtom) -> int:
        # The larger stride is the one that the other cannot be shown to reach.
        return sum(1 for other in strides if (strides[item] - strides[other]).is_nonnegative())

    return tuple(sorted(strides, key=rank, reverse=True))


def mergeable_groups(program: Program) -> list[tuple[AxisAtom, ...]]:
    """Return maximal runs of axes, outer first, that every use keeps together as neighbours.

    Two axes are neighbours in a use when consecutive dims are indexed by them alone, or one dim by `a*extent(b) + b`.
    A use that has neither is no obstacle; reductions must take both or none.
    """
    stores = program.stores
    order: list[AxisAtom] = []
    for store in stores:
        order += [item for item in store.axes if item not in order]
    for node in postorder(store.value for store in stores):
        if isinstance(node, Reduce | Contract):
            order += [item for item in node.axes if item not in order]
    uses = _uses(program)
    follower: dict[AxisAtom, AxisAtom] = {}
    for outer in order:
        for inner in order:
            if (
                outer is not inner
                and outer.name != inner.name
                and _always_neighbours(outer, inner, uses, program)
            ):
                follower[outer] = inner
    groups: list[tuple[AxisAtom, ...]] = []
    heads = [item for item in order if item in follower and item not in follower.values()]
    for head in heads:
        chain = [head]
        while chain[-1] in follower and follower[chain[-1]] not in chain:
            chain.append(follower[chain[-1]])
        groups.append(tuple(chain))
    return groups


def _uses(program: Program) -> list[tuple[tuple[Expr | Node, ...], tuple[Expr, ...]]]:
    uses: list[tuple[tuple[Expr | Node, ...], tuple[Expr, ...]]] = []
    for node in postorder(store.value for store in program.stores):
        if isinstance(node, Load):
            uses.append((node.index, node.tensor.shape))
        elif isinstance(node, Index):
            uses.append(((node.expr,), (ZERO,)))
        elif isinstance(node, Scan):
            uses.append(((node.at,), (ZERO,)))
    uses.extend((store.index, store.tensor.shape) for store in program.stores)
    return uses


def _always_neighbours(
    outer: AxisAtom,
    inner: AxisAtom,
    uses: list[tuple[tuple[Expr | Node, ...], tuple[Expr, ...]]],
    program: Program,
) -> bool:
    met = False
    for index, extents in uses:
        has = [
            (
                outer in (item.axes if isinstance(item, Expr) else item.free),
                inner in (item.axes if isinstance(item, Expr) else item.free),
            )
            for item in index
        ]
        if not any(left or right for left, right in has):
            continue
        if not _neighbours(outer, inner, index, extents):
            return False
        met = True
    for node in postorder(store.value for store in program.stores):
        if isinstance(node, Scan) and node.axis in {outer, inner}:
            return False
        if isinstance(node, Reduce | Contract) and (outer in node.axes) != (inner in node.axes):
            return False
        if isinstance(node, Reduce) and node.op in {"argmax", "argmin"} and outer in node.axes:
            where = node.axes.index(outer)
            if node.axes[where + 1 : where + 2] != (inner,):
                return False
    for store in program.stores:
        if (outer in store.axes) != (inner in store.axes):
            return False
    return met


def _neighbours(
    outer: AxisAtom, inner: AxisAtom, index: tuple[Expr | Node, ...], extents: tuple[Expr, ...]
) -> bool:
    places = [
        position
        for position, item in enumerate(index)
        if outer in (item.axes if isinstance(item, Expr) else item.free)
        or inner in (item.axes if isinstance(item, Expr) else item.free)
    ]
    items = [index[position] for position in places]
    if any(isinstance(item, Node) for item in items):
        return False
    pair = [item for item in items if isinstance(item, Expr)]
    if len(pair) == 1:
        split = pair[0].linear()
        return split is not None and _strides_adjoin(split[0], outer, inner)
    if len(pair) != 2 or places[1] != places[0] + 1:
        return False
    low, high = pair[1].linear(), pair[0].linear()
    if low is None or high is None:
        return False
    return (
        set(low[0]) == {inner}
        and low[0][inner] == ONE
        and low[1] == ZERO
        and extents[places[1]] == inner.extent
        and high[0].get(outer) == ONE
        and inner not in high[0]
        # A window that slides along the outer axis would slide along both by whole rows: no view has that.
        and all((high[0][item] - outer.extent).is_nonnegative() for item in high[0] if item != outer)
    )


def _strides_adjoin(strides: Mapping[AxisAtom, Expr], outer: AxisAtom, inner: AxisAtom) -> bool:
    return outer in strides and inner in strides and strides[outer] == strides[inner] * inner.extent


def merge_axes(program: Program, group: Sequence[AxisAtom], name: str) -> tuple[Program, AxisAtom]:
    """Replace the axes of `group` (outer first) by one axis; returns the program and the new axis."""
    whole = axis(name, product(item.extent for item in group))
    mapping: dict[AxisAtom, Expr] = {}
    stride = ONE
    for item in reversed(group):
        digit = whole // stride
        mapping[item] = digit if item is group[0] else digit % item.extent
        stride = stride * item.extent
    merged = whole.axis
    assert merged is not None  # noqa: S101 - axis() makes one atom
    return substitute_axes(program, mapping), merged
