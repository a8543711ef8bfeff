"""Traced values as functions from an index to a node, and the dtypes they are computed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from tilespec.ir.axes import substitute
from tilespec.ir.build import cast, compute, index_node, is_float, is_integer, literal
from tilespec.ir.nodes import Compute, Load, Node
from tilespec.model.dims import ONE, ZERO, AxisAtom, Expr, OpAtom

__all__ = [
    "Index",
    "Value",
    "broadcast_index",
    "broadcast_shape",
    "compute_dtype",
    "inside",
    "padded",
    "promote",
    "read_at",
]

Index = tuple[Expr, ...]


def compute_dtype(dtype: str) -> str:
    """Return the dtype that arithmetic on values of `dtype` runs in: float32 for all narrower floats."""
    return "float32" if is_float(dtype) and dtype != "float64" else dtype


@dataclass(frozen=True, eq=False)
class Value:
    """A traced tensor: its element at an index, on demand.

    `fetch` gives a node of dtype `compute_dtype(dtype)`; results are kept per index. `weak` marks Python numbers,
    which don't take part in type promotion.
    """

    shape: tuple[Expr, ...]
    dtype: str
    fetch: Callable[[Index], Node]
    weak: bool = False
    _seen: dict[Index, Node] = field(default_factory=dict[Index, Node], repr=False)

    def at(self, index: Sequence[Expr]) -> Node:
        """Return the element at `index`, which has one expression for each dim."""
        key = tuple(index)
        found = self._seen.get(key)
        if found is None:
            found = self._seen[key] = self.fetch(key)
        return found

    @property
    def rank(self) -> int:
        """Number of dims."""
        return len(self.shape)


def broadcast_index(shape: Sequence[Expr], index: Sequence[Expr]) -> Index:
    """Return the index into a tensor of `shape` that broadcasting reads for `index` of the larger shape."""
    tail = index[len(index) - len(shape) :]
    return tuple(ZERO if size == ONE else item for size, item in zip(shape, tail, strict=True))


def broadcast_shape(*shapes: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return the shape that `shapes` broadcast to."""
    result = [ONE] * max(map(len, shapes), default=0)
    for shape in shapes:
        for back, size in enumerate(reversed(shape), start=1):
            if size != ONE:
                result[-back] = size
    return tuple(result)


_ORDER = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")


def _category(dtype: str) -> int:
    return 2 if is_float(dtype) else 1 if is_integer(dtype) else 0


def _promote_two(left: str, right: str) -> str:
    if left == right:
        return left
    if {left, right} == {"float16", "bfloat16"}:
        return "float32"
    if {left, right} == {"uint8", "int8"}:
        return "int16"
    if left not in _ORDER or right not in _ORDER:
        return left if left not in _ORDER and _category(left) >= _category(right) else right
    return max(left, right, key=_ORDER.index)


def promote(values: Sequence[Value]) -> str:
    """Return the dtype that torch promotes `values` to.

    A 0-d tensor counts only where its category (bool, integer, float) is above that of the tensors with dims, a Python
    number only where its category is above that of all tensors.
    """
    best: str | None = None
    for group in (
        [value.dtype for value in values if not value.weak and value.rank],
        [value.dtype for value in values if not value.weak and not value.rank],
        [value.dtype for value in values if value.weak],
    ):
        if not group:
            continue
        joined = group[0]
        for dtype in group[1:]:
            joined = _promote_two(joined, dtype)
        if best is None:
            best = joined
        elif _category(joined) > _category(best):
            best = _promote_two(best, joined) if joined != "float32" else joined
    return best or "float32"


def read_at(value: Value, index: Sequence[Expr | Node], tag: str) -> Node:
    """Return an element of `value` at an index that may hold data.

    `tag` names the place holders that stand for the data while the element is built; it is unique to the caller.

    Raises:
        UnscannableError: the element is a scan along a dim whose index is data.
    """
    plain: list[Expr] = []
    mapping: dict[AxisAtom, Expr | Node] = {}
    for position, item in enumerate(index):
        if isinstance(item, Expr):
            plain.append(item)
            continue
        holder = AxisAtom(f"@{tag}.{position}", value.shape[position])
        mapping[holder] = item
        plain.append(Expr((((holder,), 1),)))
    node = value.at(plain)
    return substitute(node, mapping) if mapping else node


def inside(item: Expr, size: Expr) -> bool:
    """Whether `0 <= item < size` can be shown."""
    gap = size - 1 - item
    return item.is_nonnegative() and (gap.is_nonnegative() or _relaxed(gap.lower()).is_nonnegative())


def _relaxed(gap: Expr) -> Expr:
    """Bound `gap` from below by replacing `-k*c*(e // c)` with `-k*e`: a strided window ends where its steps do."""
    total = ZERO
    for monomial, value in gap.terms:
        term = Expr(((monomial, value),))
        atom = monomial[0] if len(monomial) == 1 else None
        if value < 0 and isinstance(atom, OpAtom) and atom.op == "//":
            step = atom.right.value
            if step is not None and step > 0 and value % step == 0:
                term = atom.left * (value // step)
        total = total + term
    return total


def padded(value: Value, index: Sequence[Expr], fill: float | bool) -> Node:  # noqa: FBT001 - a literal
    """Return the element at `index`, or `fill` where the index lies outside of the value."""
    outside = [(item, size) for item, size in zip(index, value.shape, strict=True) if not inside(item, size)]
    node = value.at(index)
    if not outside:
        return node
    filled = _fill_load(node, outside, fill)
    if filled is not None:
        return filled
    tests = [test for item, size in outside for test in _range_tests(item, size)]
    condition = reduce(lambda left, right: compute("and", left, right), tests)
    return compute("where", condition, node, literal(node.dtype, fill))


def _range_tests(item: Expr, size: Expr) -> list[Node]:
    tests: list[Node] = []
    if not item.is_nonnegative():
        tests.append(compute("ge", index_node(item), literal("int64", 0)))
    if not (size - 1 - item).is_nonnegative():
        tests.append(compute("lt", index_node(item), index_node(size)))
    return tests


def _fill_load(node: Node, outside: Sequence[tuple[Expr, Expr]], fill: float | bool) -> Node | None:  # noqa: FBT001
    """Move the fill into a load whose own bounds are those of the value; None when they aren't."""
    casts: list[Compute] = []
    inner = node
    while isinstance(inner, Compute) and inner.op == "cast":
        casts.append(inner)
        inner = inner.args[0]
    if not isinstance(inner, Load) or inner.fill is not None:
        return None
    dims = list(zip(inner.index, inner.tensor.shape, strict=True))
    if any(pair not in dims for pair in outside):
        return None
    # Another dim that may leave its tensor would read the fill where the value is still defined.
    if any(
        isinstance(item, Expr) and (item, size) not in outside and not inside(item, size)
        for item, size in dims
    ):
        return None
    made: Node = Load(
        inner.dtype, inner.tensor, inner.index, literal(inner.dtype, fill).value, span=inner.span
    )
    for item in reversed(casts):
        made = cast(made, item.dtype, item.span)
    return made
