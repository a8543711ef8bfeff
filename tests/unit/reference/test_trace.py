"""Traces say what the reference computes, at every size, in ops of the core set."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.unit.reference.corpus import CORPUS
from tests.unit.reference.making import ORIGIN, kernel, spec
from tilespec.diagnostics import Diagnostic, Severity, SourceText
from tilespec.model import build_model
from tilespec.model.dims import Expr, sym
from tilespec.model.types import DimRange, Kernel
from tilespec.reference.evaluate import evaluate
from tilespec.reference.graph import Graph, Ref
from tilespec.reference.replay import replay
from tilespec.reference.signature import Signature
from tilespec.reference.sizes import SizeSpace, symbols_of
from tilespec.reference.trace import trace, trace_end_to_end, trace_kernel
from tilespec.syntax import parse

CASES = [(inputs, text) for inputs, texts in CORPUS.items() for text in texts]


def traced(entry: Kernel, dims: dict[str, DimRange] | None = None) -> tuple[Graph | None, list[Diagnostic]]:
    return trace_kernel(spec(entry, dims=dims), entry)


def graph_of(
    inputs: list[str], outputs: list[str], code: str, dims: dict[str, DimRange] | None = None
) -> Graph:
    graph, findings = traced(kernel("t", inputs, outputs, code), dims)
    assert graph is not None, [item.message for item in findings]
    return graph


def codes(
    inputs: list[str], outputs: list[str], code: str, dims: dict[str, DimRange] | None = None
) -> list[str]:
    _, findings = traced(kernel("t", inputs, outputs, code), dims)
    return [item.code for item in findings]


def draw(entry: Kernel, sizes: dict[str, int]) -> dict[str, Tensor]:
    source = torch.Generator().manual_seed(3)
    values: dict[str, Tensor] = {}
    for item in entry.tensors:
        shape = [dim.evaluate(sizes) for dim in item.shape]
        if item.dtype == "int64":
            values[item.name] = torch.randint(0, 2, shape, generator=source)
        else:
            values[item.name] = torch.rand(shape, dtype=torch.float64, generator=source) * 2 - 0.7
    return values


def sizes_of(entry: Kernel) -> dict[str, int]:
    shapes = [item.shape for item in entry.tensors]
    return dict(zip(SizeSpace(symbols_of(shapes)).free, (2, 5, 6, 7, 3, 4, 8), strict=False))


@pytest.mark.parametrize(("inputs", "text"), CASES, ids=[text for _, text in CASES])
def test_replaying_the_trace_gives_the_reference(inputs: tuple[str, ...], text: str):
    names = ", ".join(item.split(":")[0] for item in inputs)
    entry = kernel("t", list(inputs), ["y: B float32"], f"def reference_t({names}):\n    return {text}\n")
    assert entry.reference is not None
    graph, findings = trace(
        spec(entry), entry.reference, Signature("reference_t", entry.inputs, None, ORIGIN)
    )
    assert graph is not None, [item.message for item in findings]
    sizes = sizes_of(entry)
    arguments = draw(entry, sizes)
    expected = evaluate(entry, arguments, widen=True)
    found = replay(graph, arguments, {}, sizes, widen=True)
    assert len(found) == len(expected)
    for ref, one, other in zip(graph.outputs, found, expected, strict=True):
        assert one.shape == other.shape == tuple(dim.evaluate(sizes) for dim in graph.meta(ref).shape)
        torch.testing.assert_close(one.double(), other.double(), rtol=1e-6, atol=1e-6, equal_nan=True)
    for node in graph.nodes:
        assert node.span is not None
        assert node.origin


def test_sizes_stay_expressions():
    graph = graph_of(
        ["x: N,C,W float32", "w: O,C,K float32"],
        ["y: N,O,(W+2*3-K)//2+1 float32"],
        "def reference_t(x, w):\n    return F.conv1d(x, w, stride=2, padding=3)\n",
    )
    *outer, length = graph.meta(graph.outputs[0]).shape
    assert outer == [sym("N"), sym("O")]
    for width, window in ((5, 3), (8, 1), (64, 7)):
        assert length.evaluate({"W": width, "K": window}) == (width + 6 - window) // 2 + 1


def test_an_equation_of_dims_is_exact():
    dims = {"E": DimRange(equals=4 * sym("D"))}
    graph = graph_of(
        ["x: N,D float32", "w: E,D float32"],
        ["y: N,4*D float32"],
        "def reference_t(x, w):\n    return F.linear(x, w)\n",
        dims,
    )
    assert graph.meta(graph.outputs[0]).shape == (sym("N"), 4 * sym("D"))


def test_a_scalar_is_a_reference_wherever_it_arrives():
    graph = graph_of(
        ["x: N,D float16", "w: D float16", "eps: float = 1e-5"],
        ["y: N,D float16"],
        "def reference_t(x, w, eps=1e-5):\n    return F.layer_norm(x, (x.shape[-1],), w, None, eps) + eps\n",
    )
    norm, add = graph.nodes
    assert norm.op == "aten.native_layer_norm.default"
    assert norm.args[4] == Ref("eps")
    assert add.args[1] == Ref("eps")


def test_arithmetic_on_scalars_is_nodes():
    graph = graph_of(
        ["x: N,D float16", "s: float = 0.5"],
        ["y: N,D float16"],
        "def reference_t(x, s=0.5):\n    return x * (2 * math.exp(s) / x.shape[-1] ** 0.5)\n",
    )
    ops = [node.op for node in graph.nodes]
    assert "scalar.exp" in ops
    assert ops[-1] == "aten.mul.Tensor"
    arguments = {"x": torch.ones(2, 9)}
    (found,) = replay(graph, arguments, {"s": 0.25}, {"N": 2, "D": 9})
    torch.testing.assert_close(found, torch.full((2, 9), 2 * 1.2840254166877414 / 3))


def test_a_scalar_that_decides_the_program_is_fixed():
    graph, findings = traced(
        kernel(
            "t",
            ["x: N,D float32", "dim: int = 1"],
            ["y: N float32"],
            "def reference_t(x, dim=1):\n    return x.sum(dim)\n",
        )
    )
    assert graph is not None
    assert graph.fixed == (("dim", 1),)
    assert [(item.code, item.severity) for item in findings] == [("TS417", Severity.NOTE)]


def test_an_integer_scalar_in_arithmetic_is_not_fixed():
    graph = graph_of(
        ["x: N float32", "k: int = 3"], ["y: N float32"], "def reference_t(x, k=3):\n    return x * k\n"
    )
    assert graph.fixed == ()
    assert graph.nodes[0].args[1] == Ref("k")


def test_a_stride_in_the_shape_is_fixed():
    graph = graph_of(
        ["x: N,C,W float32", "w: O,C,3 float32", "s: int = 2"],
        ["y: N,O,(W-3)//2+1 float32"],
        "def reference_t(x, w, s=2):\n    return F.conv1d(x, w, stride=s)\n",
    )
    assert graph.fixed == (("s", 2),)


def test_a_trillion_elements_cost_nothing():
    graph = graph_of(
        ["x: 1000000000000 float16"], ["y: 1000000000000 float16"], "def reference_t(x):\n    return x * 2\n"
    )
    assert graph.meta(graph.outputs[0]).shape == (Expr.wrap(10**12),)


X = ["x: N,D float32"]
WRONG = {
    "contraction": (["q: N,D float32", "k: N,D float32"], ["y: N,N float32"], "def reference_t(q, k):\n    return q @ k\n", "TS418"),
    "linear": (["x: N,D float32", "w: D,E float32"], ["y: N,E float32"], "def reference_t(x, w):\n    return F.linear(x, w)\n", "TS418"),
    "broadcast": (["x: N,D float32", "b: N float32"], ["y: N,D float32"], "def reference_t(x, b):\n    return x + b\n", "TS419"),
    "count": (X, ["y: N,D float32"], "def reference_t(x):\n    return x, x + 1\n", "TS412"),
    "nothing": (X, ["y: N,D float32"], "def reference_t(x):\n    x = x + 1\n", "TS412"),
    "shape": (X, ["y: N float32"], "def reference_t(x):\n    return x + 1\n", "TS413"),
    "dtype": (X, ["y: N,D float16"], "def reference_t(x):\n    return x + 1\n", "TS414"),
    "order": (["a: N float32", "b: N float32"], ["y: N float32"], "def reference_t(b, a):\n    return a - b\n", "TS406"),
    "values": (X, ["y: N,D float32"], "def reference_t(x):\n    if x[0, 0] > 0:\n        return x\n    return -x\n", "TS409"),
    "item": (X, ["y: N,D float32"], "def reference_t(x):\n    return x * x.sum().item()\n", "TS409"),
    "branch": (X, ["y: N,D float32"], "def reference_t(x):\n    if x.shape[0] > 4:\n        return x\n    return -x\n", "TS410"),
    "rows of eight": (X, ["y: N,D//8 float32"], "def reference_t(x):\n    return x.view(x.shape[0], -1, 8).sum(-1)\n", "TS410"),
    "narrow": (X, ["y: N,64 float32"], "def reference_t(x):\n    return x[:, :64] + 0\n", "TS413"),
    "too many groups": (["x: N,C,W float32"], ["y: N,C,W float32"], "def reference_t(x):\n    return F.group_norm(x, 8)\n", "TS410"),
    "unused": (["x: N float32", "z: N float32"], ["y: N float32"], "def reference_t(x, z):\n    return x + 1\n", "TS416"),
    "shared memory": (X, ["y: N,D float32"], "def reference_t(x):\n    y = x[0]\n    y += 1\n    return x + 0\n", "TS402"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_reference_is_one_finding(name: str):
    inputs, outputs, code, expected = WRONG[name]
    assert codes(inputs, outputs, code) == [expected]


def test_dims_that_state_the_restriction_lift_it():
    inputs, outputs, code, _ = WRONG["rows of eight"]
    assert codes(inputs, outputs, code, {"D": DimRange(low=8, high=4096, step=8)}) == []
    assert codes(inputs, outputs, code, {"D": DimRange(low=4, high=4096, step=4)}) == ["TS410"]


def test_a_branch_that_dims_decide_is_taken():
    inputs, outputs, code, _ = WRONG["branch"]
    assert codes(inputs, outputs, code, {"N": DimRange(low=8)}) == []


def test_both_places_of_a_mismatch_are_shown():
    entry = kernel(
        "t",
        ["q: N,D float32", "k: N,D float32"],
        ["y: N,N float32"],
        "def reference_t(q, k):\n    return q @ k\n",
    )
    _, (finding,) = traced(entry)
    assert finding.message == "`q @ k` contracts `D` of `q` with `N` of `k`"
    assert finding.help == "transpose it: `k.transpose(-2, -1)`"
    assert finding.span is not None
    assert finding.source.text[finding.span.start : finding.span.end] == "k"
    assert len(finding.labels) == 2


def test_helpers_loops_and_assignments():
    code = """
def scaled(a, factor=2.0):
    \"\"\"Scale.\"\"\"
    return a * factor

def reference_t(x: torch.Tensor, n=3) -> torch.Tensor:
    total = torch.zeros_like(x)
    parts = []
    for i, weight in enumerate((1.0, 0.5)):
        parts.append(scaled(x, factor=weight) if i else scaled(x))
    for part in parts:
        total += part
    first, *rest = [value * 1 for value in parts]
    total[:, 1:] = total[:, 1:] + first[:, :-1]
    assert x.shape[0] >= 1
    return total + len(rest) * n
"""
    entry = kernel("t", ["x: N,D float32", "n: int = 3"], ["y: N,D float32"], code)
    graph, findings = traced(entry)
    assert graph is not None, [item.message for item in findings]
    x = torch.arange(6.0).view(2, 3)
    total = 2.5 * x
    total[:, 1:] = total[:, 1:] + 2 * x[:, :-1]
    (golden,) = evaluate(entry, {"x": x}, widen=True)
    (replayed,) = replay(graph, {"x": x}, {"n": 3}, {"N": 2, "D": 3})
    torch.testing.assert_close(golden, total.double() + 3)
    torch.testing.assert_close(replayed, total + 3)


STAGES = "".join(
    f"""\
KERNEL SPEC: stage{stage}
Description: A hundred sines.
Operations: [sin]
Inputs:
  - x{stage}: shape=(N,), dtype=float32
Outputs:
  - x{stage + 1}: shape=(N,), dtype=float32
Dependencies: {f"[stage{stage - 1}]" if stage else "none"}
PyTorch Reference:
def reference_stage{stage}(x{stage}):
    for _ in range(100):
        x{stage} = x{stage}.sin()
    return x{stage}
---
"""
    for stage in range(3)
)
WHOLE = """\
End-to-end PyTorch reference:
def reference_whole(x0):
    for _ in range(300):
        x0 = x0.sin()
    return x0
"""


def test_a_forward_pass_may_have_more_operations_than_a_kernel():
    tree, _ = parse(SourceText("stages.tilespec", STAGES + WHOLE))
    spec, _ = build_model(tree)
    assert spec is not None
    graph, findings = trace_end_to_end(spec)
    assert findings == []
    assert graph is not None
    assert len(graph.nodes) == 300
    tree, _ = parse(SourceText("stage.tilespec", STAGES.partition("---")[0].replace("100", "300")))
    spec, _ = build_model(tree)
    assert spec is not None
    graph, findings = trace_kernel(spec, spec.kernels[0])
    assert graph is None
    assert [item.message for item in findings] == ["the reference exceeds 192 operations"]
