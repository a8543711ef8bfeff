"""Axes of a program: substitution, splitting by divisors, unification, names.

`unify` is what makes a LayerNorm one pass over a row: the reduction axis of its mean and its output axis become one
axis, so that both read the same `Load`.

    reduce sum r: x[b, r]   and   x[b, d]   ->   reduce sum d: x[b, d]   and   x[b, d]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from itertools import islice, permutations, product
from keyword import iskeyword

from tilespec.ir.build import axis_expr, compute, index_node, literal
from tilespec.ir.nodes import (
    Contract,
    Index,
    Load,
    Node,
    Program,
    Reduce,
    Scan,
    Store,
    Tensor,
    postorder,
    rewrite,
)
from tilespec.model.dims import AxisAtom, Expr, OpAtom, SymbolAtom, sym

__all__ = [
    "bound_axes",
    "expr_node",
    "map_expressions",
    "name_axes",
    "rename",
    "split",
    "substitute",
    "unify",
]

_MAX_ALIGNMENTS = 120


class UnscannableError(ValueError):
    """A scan would have to be read at a position that is data."""


def bound_axes(roots: Iterable[Node]) -> tuple[AxisAtom, ...]:
    """Return every axis that a node below `roots` binds, in order of first appearance (operands first)."""
    found: dict[AxisAtom, None] = {}
    for node in postorder(roots):
        for atom in _binder_axes(node):
            found[atom] = None
    return tuple(found)


def _binder_axes(node: Node) -> tuple[AxisAtom, ...]:
    if isinstance(node, Reduce | Contract):
        return node.axes
    return (node.axis,) if isinstance(node, Scan) else ()


# substitution


def map_expressions(
    root: Node,
    change: Callable[[Expr], Expr],
    axes: Callable[[AxisAtom], tuple[AxisAtom, ...]] = lambda atom: (atom,),
    memo: dict[Node, Node] | None = None,
) -> Node:
    """Rebuild the DAG with `change` applied to every expression and `axes` to every bound axis.

    A scan axis must map to one axis.
    """

    def visit(node: Node) -> Node:
        if isinstance(node, Load):
            index = tuple(item if isinstance(item, Node) else change(item) for item in node.index)
            return node if index == node.index else replace(node, index=index)
        if isinstance(node, Index):
            return index_node(change(node.expr))
        if isinstance(node, Scan):
            (scanned,) = axes(node.axis)
            return replace(node, axis=scanned, at=change(node.at))
        if isinstance(node, Reduce | Contract):
            return replace(node, axes=tuple(new for old in node.axes for new in axes(old)))
        return node

    return rewrite(root, visit, memo)


def rename(root: Node, mapping: Mapping[AxisAtom, AxisAtom], memo: dict[Node, Node] | None = None) -> Node:
    """Rename axes everywhere, bound and free; the caller makes sure that no two scopes collide."""
    by_name = {old.name: axis_expr(new) for old, new in mapping.items()}
    return map_expressions(
        root, lambda expr: expr.substitute(by_name), lambda atom: (mapping.get(atom, atom),), memo
    )


def expr_node(expr: Expr, values: Mapping[str, Node]) -> Node:
    """Return an int64 node for `expr` with the axes named in `values` replaced by data."""
    plain = [item for item in expr.terms if not (set(_names(Expr((item,)))) & set(values))]
    total: Node | None = index_node(Expr(tuple(plain))) if plain else None
    for term in expr.terms:
        if term in plain:
            continue
        monomial, value = term
        factors = [_atom_node(atom, values) for atom in monomial]
        if value != 1:
            factors.insert(0, literal("int64", value))
        part = reduce(lambda left, right: compute("mul", left, right), factors)
        total = part if total is None else compute("add", total, part)
    return literal("int64", 0) if total is None else total


def _atom_node(atom: SymbolAtom | AxisAtom | OpAtom, values: Mapping[str, Node]) -> Node:
    if isinstance(atom, OpAtom):
        op = {"//": "floordiv", "%": "mod", "min": "min", "max": "max"}[atom.op]
        return compute(op, expr_node(atom.left, values), expr_node(atom.right, values))
    if isinstance(atom, AxisAtom):
        return values[atom.name] if atom.name in values else index_node(axis_expr(atom))
    return index_node(sym(atom.name))


def _names(expr: Expr) -> Iterator[str]:
    for atom in expr.atoms():
        if isinstance(atom, AxisAtom):
            yield atom.name


def substitute(root: Node, mapping: Mapping[AxisAtom, Expr | Node]) -> Node:
    """Replace free axes by expressions or by nodes of integer data.

    Raises:
        UnscannableError: a scan would be read at a position that is data.
    """
    exprs = {atom.name: value for atom, value in mapping.items() if isinstance(value, Expr)}
    nodes = {atom.name: value for atom, value in mapping.items() if isinstance(value, Node)}

    def touched(expr: Expr) -> bool:
        return any(name in nodes for name in _names(expr))

    def item(expr: Expr) -> Expr | Node:
        changed = expr.substitute(exprs)
        if not touched(changed):
            return changed
        atom = changed.axis
        return nodes[atom.name] if atom is not None else expr_node(changed, nodes)

    def visit(node: Node) -> Node:
        if isinstance(node, Load):
            return replace(node, index=tuple(i if isinstance(i, Node) else item(i) for i in node.index))
        if isinstance(node, Index):
            made = item(node.expr)
            return made if isinstance(made, Node) else index_node(made)
        if isinstance(node, Scan):
            if touched(node.at):
                raise UnscannableError
            return replace(node, at=node.at.substitute(exprs))
        return node

    return rewrite(root, visit)


# splitting


def split(program: Program) -> Program:
    """Split axes that occur as `a // c` and `a % c` with `c` dividing their extent, until none is left.

    y[e] = x[e // S, e % S]   ->   y[b*S + s] = x[b, s]
    """
    for _ in range(64):
        found = _divided_axis(program)
        if found is None:
            return program
        program = _split_one(program, *found)
    return program


def _expressions(program: Program) -> Iterator[Expr]:
    for store in program.stores:
        yield from store.index
    for node in postorder(store.value for store in program.stores):
        if isinstance(node, Load):
            yield from (item for item in node.index if isinstance(item, Expr))
        elif isinstance(node, Index):
            yield node.expr
        elif isinstance(node, Scan):
            yield node.at


def _divided_axis(program: Program) -> tuple[AxisAtom, Expr] | None:
    divisors: dict[AxisAtom, dict[Expr, None]] = {}
    for expr in _expressions(program):
        for atom in expr.atoms():
            if isinstance(atom, OpAtom) and atom.op in {"//", "%"}:
                divided = atom.left.axis
                if divided is not None and not atom.right.axes:
                    divisors.setdefault(divided, {})[atom.right] = None
    scanned = {
        node.axis for node in postorder(store.value for store in program.stores) if isinstance(node, Scan)
    }
    for atom, found in divisors.items():
        if atom in scanned:
            continue
        usable = [item for item in found if (atom.extent % item).value == 0]
        for item in usable:
            # The coarsest divisor first: the finer ones then divide the remainder.
            if all((item % other).value == 0 for other in usable):
                return atom, item
    return None


def _split_one(program: Program, atom: AxisAtom, divisor: Expr) -> Program:
    outer = AxisAtom(f"{atom.name}.0", atom.extent // divisor)
    inner = AxisAtom(f"{atom.name}.1", divisor)
    parts = tuple(part for part in (outer, inner) if part.extent.value != 1)
    whole = sum((axis_expr(part) * (divisor if part is outer else 1) for part in parts), start=Expr(()))
    by_name = {atom.name: whole}
    memo: dict[Node, Node] = {}
    stores = tuple(
        Store(
            store.tensor,
            tuple(item.substitute(by_name) for item in store.index),
            map_expressions(
                store.value,
                lambda expr: expr.substitute(by_name),
                lambda old: parts if old == atom else (old,),
                memo,
            ),
            tuple(new for old in store.axes for new in (parts if old == atom else (old,))),
        )
        for store in program.stores
    )
    return replace(program, stores=stores)


# unification


def unify(program: Program) -> Program:
    """Give one axis to scopes that run over the same extent, where nothing needs them apart.

    A bound axis `r` becomes another axis `a` of equal extent when no node below the binders of `r` depends on both.
    Reductions join reductions and contractions join contractions; else two axes join only when that makes loads
    coincide. A contraction axis never becomes an output axis.
    """
    program = _align_stores(program)
    for parallel in (False, True):
        while True:
            found = _next_pair(program, parallel=parallel)
            if found is None:
                break
            old, new = found
            program = _rename_program(program, {old: new})
    return program


def _rename_program(program: Program, mapping: Mapping[AxisAtom, AxisAtom]) -> Program:
    memo: dict[Node, Node] = {}
    by_name = {old.name: axis_expr(new) for old, new in mapping.items()}
    return replace(
        program,
        stores=tuple(
            Store(
                store.tensor,
                tuple(item.substitute(by_name) for item in store.index),
                rename(store.value, mapping, memo),
                tuple(mapping.get(atom, atom) for atom in store.axes),
            )
            for store in program.stores
        ),
    )


def _next_pair(program: Program, *, parallel: bool) -> tuple[AxisAtom, AxisAtom] | None:
    roots = [store.value for store in program.stores]
    nodes = list(postorder(roots))
    outer = tuple(dict.fromkeys(atom for store in program.stores for atom in store.axes))
    bound = [atom for atom in bound_axes(roots) if atom not in outer]
    binders = {atom: [node for node in nodes if atom in _binder_axes(node)] for atom in bound}
    loads = [node for node in nodes if isinstance(node, Load)]
    for position, atom in enumerate(bound):
        candidates = outer if parallel else tuple(bound[:position]) + tuple(bound[position + 1 :])
        best: tuple[int, AxisAtom] | None = None
        for other in candidates:
            if other.extent != atom.extent or not _may_join(atom, other, binders, parallel=parallel):
                continue
            shared = _sharing(loads, atom, other)
            if parallel:
                joins = shared > 0
            else:
                mine, theirs = binders[atom], binders[other]
                joins = _same_kind(mine, theirs) or (shared > 0 and not _feeds(mine, theirs))
            if not joins:
                continue
            if _separable(binders[atom], atom, other) and (best is None or shared > best[0]):
                best = (shared, other)
        if best is not None:
            return atom, best[1]
    return None


def _may_join(
    atom: AxisAtom, other: AxisAtom, binders: Mapping[AxisAtom, Sequence[Node]], *, parallel: bool
) -> bool:
    if any(other in _binder_axes(node) for node in binders[atom]):
        return False
    return not (parallel and any(isinstance(node, Contract) for node in binders[atom]))


def _same_kind(left: Sequence[Node], right: Sequence[Node]) -> bool:
    return bool({type(node) for node in left} & {type(node) for node in right} - {Scan})


def _feeds(left: Sequence[Node], right: Sequence[Node]) -> bool:
    """Whether a contraction of one side is an input of a reduction of the other: two passes, whatever they read."""
    for above, below in ((left, right), (right, left)):
        reductions = [node for node in above if isinstance(node, Reduce)]
        contractions = {node for node in below if isinstance(node, Contract)}
        if contractions and any(node in contractions for node in postorder(reductions)):
            return True
    return False


def _separable(binders: Sequence[Node], atom: AxisAtom, other: AxisAtom) -> bool:
    seen: set[Node] = set()
    stack = [item for node in binders for item in node.operands]
    while stack:
        node = stack.pop()
        if node in seen or atom not in node.free:
            continue
        seen.add(node)
        if other in node.free or other in node.bound:
            return False
        stack.extend(node.operands)
    return True


def _sharing(loads: Sequence[Load], atom: AxisAtom, other: AxisAtom) -> int:
    """Count dims in which a load along `atom` would read what a load along `other` reads."""
    score = 0
    for left in loads:
        along = [
            position
            for position, item in enumerate(left.index)
            if isinstance(item, Expr) and atom in item.axes
        ]
        if not along:
            continue
        renamed = tuple(
            _renamed(item, atom, other) if isinstance(item, Expr) else item for item in left.index
        )
        for right in loads:
            if right.tensor != left.tensor or right is left or other not in right.free:
                continue
            if all(renamed[position] == right.index[position] for position in along):
                score += sum(a == b for a, b in zip(renamed, right.index, strict=True))
    return score


@lru_cache(maxsize=65536)
def _renamed(expr: Expr, old: AxisAtom, new: AxisAtom) -> Expr:
    return expr.substitute({old.name: axis_expr(new)})


def _align_stores(program: Program) -> Program:
    """Let stores share axes of equal extent, in the way that makes most loads coincide."""
    known: list[AxisAtom] = []
    stores: list[Store] = []
    reads: set[_Read] = set()
    for store in program.stores:
        mapping = _alignment(store, known, reads)
        alone = replace(program, stores=(store,))
        changed = _rename_program(alone, mapping).stores[0] if mapping else store
        stores.append(changed)
        known.extend(atom for atom in changed.axes if atom not in known)
        reads.update(_reads(changed.value))
    return replace(program, stores=tuple(stores))


_Read = tuple[Tensor, int, Expr]
"""A dim of a tensor and the expression that it is read at."""


def _reads(value: Node) -> Iterator[_Read]:
    for node in postorder([value]):
        if isinstance(node, Load):
            yield from (
                (node.tensor, dim, item)
                for dim, item in enumerate(node.index)
                if isinstance(item, Expr) and item.axes
            )


def _alignment(store: Store, known: Sequence[AxisAtom], reads: set[_Read]) -> dict[AxisAtom, AxisAtom]:
    groups: dict[Expr, list[AxisAtom]] = {}
    for atom in store.axes:
        groups.setdefault(atom.extent, []).append(atom)
    options: list[list[dict[AxisAtom, AxisAtom]]] = []
    for extent, members in groups.items():
        targets = [atom for atom in known if atom.extent == extent]
        count = min(len(targets), len(members))
        options.append(
            [
                dict(zip(chosen, target, strict=True))
                for chosen in permutations(members, count)
                if list(chosen) == [atom for atom in members if atom in chosen]
                for target in permutations(targets, count)
            ]
        )
    best: dict[AxisAtom, AxisAtom] = {}
    best_score = -1
    for combination in islice(product(*options), _MAX_ALIGNMENTS):
        mapping = {old: new for part in combination for old, new in part.items() if old != new}
        score = sum(1 for read in _reads(rename(store.value, mapping)) if read in reads)
        if score > best_score:
            best, best_score = mapping, score
    return best


# names


def name_axes(program: Program) -> Program:
    """Name axes after their dim in lower case where that is free, else `i0, i1, ...` and `r0, r1, ...`.

    Names never collide with dims, tensors, parameters or Python keywords, and depend on the program only.
    """
    roots = [store.value for store in program.stores]
    outer = list(dict.fromkeys(atom for store in program.stores for atom in store.axes))
    inner = [atom for atom in bound_axes(roots) if atom not in outer]
    taken = {item.name for item in (*program.inputs, *program.outputs)}
    taken |= {name for name, _ in program.parameters}
    for item in (*program.inputs, *program.outputs):
        taken |= {name for size in item.shape for name in size.symbols}
    for atom in (*outer, *inner):
        taken |= atom.extent.symbols
    counts: Counter[str] = Counter()
    mapping: dict[AxisAtom, AxisAtom] = {}
    for atom in (*outer, *inner):
        mapping[atom] = AxisAtom(_free_name(_stem(atom.extent), atom in outer, taken, counts), atom.extent)
    # Two steps, so that an old name that equals a new one of another axis can't mix them up.
    middle = {old: AxisAtom(f"@{position}", old.extent) for position, old in enumerate(mapping)}
    program = _rename_program(program, middle)
    return _rename_program(program, {middle[old]: new for old, new in mapping.items()})


def _stem(extent: Expr) -> str | None:
    symbols = extent.symbols
    return next(iter(symbols)).lower() if len(symbols) == 1 else None


def _free_name(stem: str | None, outer: bool, taken: set[str], counts: Counter[str]) -> str:  # noqa: FBT001 - a kind
    name = stem or ""
    base = stem or ("i" if outer else "r")
    first = 1 if stem else 0
    while not name or name in taken or iskeyword(name):
        name = f"{base}{first + counts[base]}"
        counts[base] += 1
    taken.add(name)
    return name
