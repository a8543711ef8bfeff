"""The traced reference: ATen calls with symbolic shapes, free of torch objects.

`reference.trace` makes a `Graph`; `lowering` and `coverage` read it without importing torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tilespec.diagnostics import Span
from tilespec.model.dims import Expr

__all__ = ["Argument", "Graph", "Node", "Ref", "TensorMeta", "expressions", "rename"]


@dataclass(frozen=True, slots=True)
class TensorMeta:
    """Shape and dtype of a traced value; `dtype` is a torch dtype name without `torch.` (`float16`)."""

    shape: tuple[Expr, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Ref:
    """The result of a node, a graph input or a scalar parameter, by name; `index` picks from a multi-result node."""

    name: str
    index: int | None = None


Argument = Ref | Expr | int | float | bool | str | None | tuple["Argument", ...]
"""An argument of a node. Symbolic ints are `Expr`; dtypes and memory formats are `str` (`float16`)."""


@dataclass(frozen=True, slots=True)
class Node:
    """One ATen call in the core ATen set, e.g. `op="aten.mm.default"`, with defaults left out as torch leaves them."""

    name: str
    op: str
    args: tuple[Argument, ...]
    kwargs: tuple[tuple[str, Argument], ...]
    results: tuple[TensorMeta, ...]
    span: Span | None
    origin: str
    """The source expression that made this call, for messages (`F.gelu(y)`)."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A reference as ATen calls in execution order.

    `inputs` are tensor parameters in signature order; `scalars` maps scalar parameters to `float`, `int` or `bool`.
    `outputs` are refs to what the reference returns, in order. `fixed` are scalars that decided the trace (an axis, a
    flag), with the value that it holds for: a launcher rejects others.

    Arithmetic on scalars is nodes too: `scalar.mul`, `scalar.sqrt`, ... on refs to scalars, sizes and numbers. Their one
    result has no axes; as an argument it is a Python number, which never widens the dtype of a tensor.
    """

    name: str
    inputs: tuple[tuple[str, TensorMeta], ...]
    scalars: tuple[tuple[str, str], ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Ref, ...]
    fixed: tuple[tuple[str, float | bool], ...] = ()

    def meta(self, ref: Ref) -> TensorMeta:
        """Return shape and dtype of a ref to a tensor.

        Raises:
            KeyError: no such input or node.
        """
        for name, meta in self.inputs:
            if name == ref.name:
                return meta
        for node in self.nodes:
            if node.name == ref.name:
                return node.results[ref.index or 0]
        raise KeyError(ref.name)


def rename(graph: Graph, symbols: Mapping[str, Expr]) -> Graph:
    """Return the graph with dim symbols replaced everywhere."""

    def meta(item: TensorMeta) -> TensorMeta:
        return TensorMeta(tuple(dim.substitute(symbols) for dim in item.shape), item.dtype)

    def argument(item: Argument) -> Argument:
        if isinstance(item, Expr):
            return item.substitute(symbols)
        return tuple(argument(part) for part in item) if isinstance(item, tuple) else item

    return replace(
        graph,
        inputs=tuple((name, meta(item)) for name, item in graph.inputs),
        nodes=tuple(
            replace(
                node,
                args=tuple(argument(item) for item in node.args),
                kwargs=tuple((name, argument(item)) for name, item in node.kwargs),
                results=tuple(meta(item) for item in node.results),
            )
            for node in graph.nodes
        ),
    )


def expressions(graph: Graph) -> Iterator[Expr]:
    """Yield every size and index expression of a graph."""

    def inside(item: Argument) -> Iterator[Expr]:
        if isinstance(item, Expr):
            yield item
        elif isinstance(item, tuple):
            for part in item:
                yield from inside(part)

    for _, meta in graph.inputs:
        yield from meta.shape
    for node in graph.nodes:
        for meta in node.results:
            yield from meta.shape
        yield from inside(node.args)
        for _, argument in node.kwargs:
            yield from inside(argument)
