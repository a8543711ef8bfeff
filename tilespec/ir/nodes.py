"""The tile program: what one kernel computes, as scalar expressions over named axes.

A `Program` has stores; a store writes one scalar expression (a DAG of nodes) for every point of its parallel axes.
Views have become index substitutions, so the same few node kinds describe a LayerNorm, an im2col convolution and an
attention row. Nothing here says how the work is tiled: that is `schedule`.

    store y[b, s, f]
      gelu_erf
        add
          contract k: x[b, s, k] * w[k, f]
          bias[f]

Axes are `AxisAtom`s of `model.dims`. Nodes are interned: two nodes with the same content are the same object, so `is`
and `==` agree and a DAG is never walked twice by accident.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

from tilespec.diagnostics import Span
from tilespec.model.dims import AxisAtom, Expr

__all__ = [
    "Compute",
    "Const",
    "Contract",
    "Index",
    "Load",
    "Node",
    "Parameter",
    "Program",
    "Reduce",
    "Scan",
    "Store",
    "Tensor",
    "own_nodes",
    "postorder",
    "rewrite",
]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor in memory that a program loads from or stores to; `dtype` as torch names it."""

    name: str
    shape: tuple[Expr, ...]
    dtype: str


_Table = WeakValueDictionary[object, Any]
_TABLE: ContextVar[_Table] = ContextVar("_TABLE", default=WeakValueDictionary())  # noqa: B039 - one for all is meant


class _Interned(type):
    """Gives one object for one content; children are compared by identity, so this is cheap."""

    def __call__(cls, *args: object, **kwargs: object) -> Any:  # noqa: ANN401 - the class decides
        made = super().__call__(*args, **kwargs)
        # repr() of literals keeps 1, True, 1.0, -0.0 and nan apart.
        key = (
            cls,
            *(
                repr(value) if isinstance(value, bool | int | float) else value
                for value in (getattr(made, item.name) for item in fields(made) if item.compare)
            ),
        )
        node = _TABLE.get().setdefault(key, made)
        # Bottom up, node by node: asking a deep DAG for it only at its root would recurse.
        node.free  # noqa: B018 - fills the cache
        return node


@contextmanager
def own_nodes(table: _Table | None = None) -> Iterator[None]:
    """Let nodes made inside be shared among themselves and those of `table` only.

    Equal nodes are one object, with the span of whichever was made first. Of another program still alive that would be a
    line of another kernel or file, and what is generated would depend on what was built before.
    """
    token = _TABLE.set(WeakValueDictionary() if table is None else table)
    try:
        yield
    finally:
        _TABLE.reset(token)


@dataclass(frozen=True, eq=False)
class Node(metaclass=_Interned):
    """Base of all nodes.

    `dtype` is the torch name of the value's dtype. Arithmetic never happens in float16, bfloat16 or float8: a `Load` of
    such a tensor has the tensor's dtype and a `Compute("cast")` to float32 stands above it; a `Store` rounds once.
    """

    dtype: str

    @property
    def operands(self) -> tuple[Node, ...]:
        """The nodes that this one reads."""
        return ()

    @property
    def bound(self) -> frozenset[AxisAtom]:
        """Axes that this node reduces or scans over; they are not free in it."""
        return frozenset()

    @cached_property
    def free(self) -> frozenset[AxisAtom]:
        """Axes that the value depends on."""
        return frozenset[AxisAtom]().union(*(item.free for item in self.operands)) - self.bound


@dataclass(frozen=True, eq=False)
class Const(Node):
    """A literal; `value` is a bool, an int or a float (inf and nan too)."""

    value: float | int | bool


@dataclass(frozen=True, eq=False)
class Parameter(Node):
    """A scalar launch argument (`eps`)."""

    name: str


@dataclass(frozen=True, eq=False)
class Index(Node):
    """The integer value of an index expression: positions (`arange`, `triu` masks) and sizes (`x.shape[-1]`)."""

    expr: Expr

    @cached_property
    def free(self) -> frozenset[AxisAtom]:
        return self.expr.axes


@dataclass(frozen=True, eq=False)
class Load(Node):
    """One element of a tensor.

    An index is an expression, or a node for an index that is data (embedding). With `fill` an index outside
    `[0, extent)` in any dim reads as `fill` (zero padding of a convolution); without it the index is in range wherever
    the value is used, though it may be out of range under the untaken side of a `where`.
    """

    tensor: Tensor
    index: tuple[Expr | Node, ...]
    fill: float | int | bool | None = None
    span: Span | None = field(default=None, compare=False)

    @property
    def operands(self) -> tuple[Node, ...]:
        return tuple(item for item in self.index if isinstance(item, Node))

    @cached_property
    def free(self) -> frozenset[AxisAtom]:
        return frozenset[AxisAtom]().union(
            *(item.free if isinstance(item, Node) else item.axes for item in self.index)
        )


@dataclass(frozen=True, eq=False)
class Compute(Node):
    """A scalar operation of the table `ir.ops.OPS` on operands of that table's dtypes; `cast` converts to `dtype`."""

    op: str
    args: tuple[Node, ...]
    span: Span | None = field(default=None, compare=False)

    @property
    def operands(self) -> tuple[Node, ...]:
        return self.args


@dataclass(frozen=True, eq=False)
class Reduce(Node):
    """`op` over `axes` of `arg`: sum, prod, max, min (NaN wins, as in torch), any, all, argmax, argmin.

    `argmax` and `argmin` give the row-major position over `axes`, the first one on ties, as int64.
    An empty axis gives the identity of `op`.
    """

    op: str
    arg: Node
    axes: tuple[AxisAtom, ...]
    span: Span | None = field(default=None, compare=False)

    @property
    def operands(self) -> tuple[Node, ...]:
        return (self.arg,)

    @property
    def bound(self) -> frozenset[AxisAtom]:
        return frozenset(self.axes)


@dataclass(frozen=True, eq=False)
class Contract(Node):
    """Sum of `left * right` over `axes`, in `dtype` (float32, float64 or int32).

    `operand` is the dtype that tensor cores may read the operands in: that of the traced product. float32 operands keep
    float32 accuracy.
    """

    left: Node
    right: Node
    axes: tuple[AxisAtom, ...]
    operand: str
    span: Span | None = field(default=None, compare=False)

    @property
    def operands(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def bound(self) -> frozenset[AxisAtom]:
        return frozenset(self.axes)


@dataclass(frozen=True, eq=False)
class Scan(Node):
    """Inclusive running `op` (sum, prod, max, min) of `arg` along `axis`, read at position `at`.

    With `reverse` it runs from the end. `at` is an expression over other axes.
    """

    op: str
    arg: Node
    axis: AxisAtom
    at: Expr
    reverse: bool = False
    span: Span | None = field(default=None, compare=False)

    @property
    def operands(self) -> tuple[Node, ...]:
        return (self.arg,)

    @property
    def bound(self) -> frozenset[AxisAtom]:
        return frozenset((self.axis,))

    @cached_property
    def free(self) -> frozenset[AxisAtom]:
        return (self.arg.free - self.bound) | self.at.axes


@dataclass(frozen=True, slots=True)
class Store:
    """Writes `value` to `tensor[index]` for every point of `axes`; `index` covers each element exactly once.

    Of a `partial` store the index may leave the tensor besides; nothing is written there.
    """

    tensor: Tensor
    index: tuple[Expr, ...]
    value: Node
    axes: tuple[AxisAtom, ...]
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """One kernel. `parameters` maps scalar arguments to `float`, `int` or `bool`, in signature order."""

    name: str
    inputs: tuple[Tensor, ...]
    parameters: tuple[tuple[str, str], ...]
    stores: tuple[Store, ...]
    _table: _Table = field(default_factory=_TABLE.get, init=False, repr=False, compare=False)

    def own_nodes(self) -> AbstractContextManager[None]:
        """Let nodes made inside be shared with those of this program only."""
        return own_nodes(self._table)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The stored tensors, in order."""
        return tuple(store.tensor for store in self.stores)


def postorder(roots: Iterable[Node]) -> Iterator[Node]:
    """Yield every node below `roots` once, operands before users."""
    seen: set[Node] = set()
    for root in roots:
        stack: list[tuple[Node, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if node in seen:
                continue
            if ready:
                seen.add(node)
                yield node
                continue
            stack.append((node, True))
            stack.extend((item, False) for item in reversed(node.operands) if item not in seen)


def rewrite(root: Node, change: Callable[[Node], Node], memo: dict[Node, Node] | None = None) -> Node:
    """Rebuild the DAG below `root` bottom up: `change` sees each node with its operands already changed."""
    done: dict[Node, Node] = {} if memo is None else memo
    for node in postorder([root]):
        if node not in done:
            done[node] = change(_with_operands(node, done))
    return done[root]


def _with_operands(node: Node, done: Mapping[Node, Node]) -> Node:
    if all(done[item] is item for item in node.operands):
        return node
    if isinstance(node, Compute):
        return replace(node, args=tuple(done[item] for item in node.args))
    if isinstance(node, Reduce | Scan):
        return replace(node, arg=done[node.arg])
    if isinstance(node, Contract):
        return replace(node, left=done[node.left], right=done[node.right])
    if isinstance(node, Load):
        return replace(
            node, index=tuple(done[item] if isinstance(item, Node) else item for item in node.index)
        )
    message = f"{type(node).__name__} has no operands"
    raise TypeError(message)
