"""Graphs of small functions, traced with fixed sizes, for tests of lowering alone."""

from __future__ import annotations

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from tilespec.model.dims import Expr, const
from tilespec.reference.graph import Graph, Node, Ref, TensorMeta


def _meta(value) -> TensorMeta:
    return TensorMeta(tuple(const(size) for size in value.shape), str(value.dtype).removeprefix("torch."))


def _argument(value):
    if isinstance(value, torch.fx.Node):
        if value.target is __import__("operator").getitem:
            return Ref(value.args[0].name, value.args[1])
        return Ref(value.name)
    if isinstance(value, list | tuple):
        return tuple(_argument(item) for item in value)
    if isinstance(value, torch.dtype | torch.device | torch.layout | torch.memory_format):
        return str(value).removeprefix("torch.")
    return value


def trace(function, *arguments, table=None, name="probe") -> Graph:
    """Trace `function` at the sizes of `arguments` into core ATen, or with the decompositions in `table`."""
    decompositions = torch._decomp.core_aten_decompositions() if table is None else table
    module = make_fx(function, decomposition_table=decompositions, tracing_mode="fake")(*arguments)
    inputs, nodes, outputs = [], [], ()
    for item in module.graph.nodes:
        if item.op == "placeholder":
            inputs.append((item.name, _meta(item.meta["val"])))
        elif item.op == "output":
            value = item.args[0]
            items = value if isinstance(value, list | tuple) else (value,)
            outputs = tuple(_argument(one) for one in items)
        elif item.target is not __import__("operator").getitem:
            results = item.meta["val"]
            results = results if isinstance(results, list | tuple) else (results,)
            kept = tuple(_meta(one) for one in results if isinstance(one, torch.Tensor))
            nodes.append(
                Node(
                    item.name, str(item.target), tuple(_argument(one) for one in item.args),
                    tuple((key, _argument(one)) for key, one in item.kwargs.items()), kept, None, item.name,
                )
            )  # fmt: skip
    return Graph(name, tuple(inputs), (), tuple(nodes), outputs)


def sizes_of(graph: Graph) -> dict[str, int]:
    """Return the sizes of a graph with fixed sizes: none is symbolic."""
    assert all(isinstance(size, Expr) and size.value is not None for _, meta in graph.inputs for size in meta.shape)
    return {}
