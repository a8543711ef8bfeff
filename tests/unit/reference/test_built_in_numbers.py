"""A float scalar is a launch argument, or the trace says that it was made for one value of it."""

from __future__ import annotations

import pytest

from tilespec.model.build import build_model
from tilespec.reference.graph import Graph, Ref
from tilespec.reference.trace import trace_kernel
from tilespec.syntax import decode_source, parse

SPEC = """KERNEL SPEC: k
Description: Uses a float scalar.
Operations: [add]
Inputs:
  - x: shape=(M, 8), dtype=float32
  - w: shape=(8,), dtype=float32
  - t: scalar float = 0.25
Outputs:
  - y: shape=(M, 8), dtype=float32
Dependencies: none
PyTorch Reference:
def reference_k(x, w, t=0.25):
    return x + ({expression}).sum()
"""


def traced(expression: str) -> Graph:
    source, _ = decode_source("k.tilespec", SPEC.format(expression=expression).encode())
    assert source is not None
    spec, found = build_model(parse(source)[0])
    assert spec is not None, found
    graph, found = trace_kernel(spec, spec.kernels[0])
    assert graph is not None, found
    return graph


def names(graph: Graph) -> set[str]:
    found: set[str] = set()

    def visit(value: object) -> None:
        if isinstance(value, Ref):
            found.add(value.name)
        elif isinstance(value, tuple):
            for item in value:
                visit(item)

    for node in graph.nodes:
        visit((*node.args, *(value for _, value in node.kwargs)))
    return found


@pytest.mark.parametrize(
    "expression",
    [
        "F.rms_norm(x, (8,), w, t)",
        "F.layer_norm(x, (8,), w, w, t)",
        "F.leaky_relu(x, t)",
        "torch.clamp(x, -t, t)",
        "F.triplet_margin_loss(x, x + 1, x + 2, margin=t)",
    ],
)
def test_stays_an_argument(expression: str) -> None:
    graph = traced(expression)
    assert "t" in names(graph)
    assert graph.fixed == ()


@pytest.mark.parametrize(
    "expression",
    [
        "F.cross_entropy(x, w.long()[:1].expand(x.shape[0]), label_smoothing=t)",
        "F.huber_loss(x, x * 2, delta=t)",
        "torch.logit(x, t)",
    ],
)
def test_is_fixed_where_torch_builds_it_in(expression: str) -> None:
    graph = traced(expression)
    assert graph.fixed == (("t", 0.25),)
    assert "t" not in names(graph)
