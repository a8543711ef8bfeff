"""The kernels' graphs joined along the wiring into one graph of the composition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tilespec.model.types import Edge, SpecFile
from tilespec.reference.graph import Argument, Graph, Node, Ref

__all__ = ["ComposedGraph", "ComposedNode", "join"]


@dataclass(frozen=True, slots=True)
class ComposedNode:
    """A node of a kernel, with its references renamed to those of the composition."""

    kernel: str
    node: Node


@dataclass(frozen=True, slots=True)
class ComposedGraph:
    """Nodes in execution order; `inputs` and `outputs` say which values each kernel reads and gives."""

    nodes: tuple[ComposedNode, ...]
    inputs: Mapping[str, tuple[Ref, ...]]
    outputs: Mapping[str, tuple[Ref, ...]]
    producers: Mapping[str, frozenset[str]]


def join(spec: SpecFile, edges: Sequence[Edge], graphs: Mapping[str, Graph]) -> ComposedGraph:
    """Join `graphs` along `edges`; composition inputs keep their names.

    Kernels without a graph are left out, and with them whatever they feed.
    """
    by_consumer: dict[str, dict[str, Edge]] = {}
    for edge in edges:
        by_consumer.setdefault(edge.consumer, {})[edge.input] = edge
    nodes: list[ComposedNode] = []
    inputs: dict[str, tuple[Ref, ...]] = {}
    outputs: dict[str, tuple[Ref, ...]] = {}
    producers: dict[str, frozenset[str]] = {}
    for kernel_id in spec.order or tuple(kernel.id for kernel in spec.kernels):
        graph = graphs.get(kernel_id)
        wired = by_consumer.get(kernel_id, {})
        sources = {edge.producer for edge in wired.values() if edge.producer is not None}
        if graph is None or not sources <= outputs.keys():
            continue
        names = {name: _source(spec, edge, outputs) for name, edge in wired.items()}
        local = {node.name: f"{kernel_id}.{node.name}" for node in graph.nodes}

        def rename(value: Argument, names: dict[str, Ref] = names, local: dict[str, str] = local) -> Argument:
            if isinstance(value, Ref):
                if value.name in local:
                    return Ref(local[value.name], value.index)
                return names.get(value.name, value)
            if isinstance(value, tuple):
                return tuple(rename(item) for item in value)
            return value

        for node in graph.nodes:
            renamed = replace(
                node,
                name=local[node.name],
                args=tuple(rename(arg) for arg in node.args),
                kwargs=tuple((key, rename(arg)) for key, arg in node.kwargs),
            )
            nodes.append(ComposedNode(kernel_id, renamed))
        inputs[kernel_id] = tuple(names.get(name, Ref(name)) for name, _ in graph.inputs)
        outputs[kernel_id] = tuple(
            ref for ref in (rename(output) for output in graph.outputs) if isinstance(ref, Ref)
        )
        producers[kernel_id] = frozenset(sources)
    return ComposedGraph(tuple(nodes), inputs, outputs, producers)


def _source(spec: SpecFile, edge: Edge, outputs: Mapping[str, tuple[Ref, ...]]) -> Ref:
    if edge.producer is None:
        return Ref(edge.output)
    names = [output.name for output in spec.kernel(edge.producer).outputs]
    return outputs[edge.producer][names.index(edge.output)]
