"""A missing reference is written from the operations, or refused with the reason."""

from __future__ import annotations

import pytest

from tilespec.coverage import examine
from tilespec.diagnostics import SourceText
from tilespec.model import build_model
from tilespec.model.generate import Budget, Refusal, generate_reference
from tilespec.model.types import Kernel, ReferenceText
from tilespec.syntax import parse


def spec_text(operations: str, inputs: str, outputs: str, extra: str = "") -> str:
    """Return a file of one kernel; tensors are written `x: B, D` and are float16 unless a dtype follows `|`."""
    lines = ["KERNEL SPEC: k", "Description: A kernel.", f"Operations: [{operations}]"]
    for title, items in (("Inputs", inputs), ("Outputs", outputs)):
        lines.append(f"{title}:")
        for item in items.split(";"):
            name, _, rest = item.strip().partition(":")
            if "scalar" in rest:
                lines.append(f"  - {name}: {rest.strip()}")
                continue
            shape, _, dtype = rest.partition("|")
            dims = [dim.strip() for dim in shape.split(",") if dim.strip()]
            shown = f"({dims[0]},)" if len(dims) == 1 else f"({', '.join(dims)})"
            lines.append(f"  - {name}: shape={shown}, dtype={dtype.strip() or 'float16'}")
    return "\n".join([*lines, extra]) + "\n"


def model(text: str) -> Kernel:
    tree, findings = parse(SourceText("k.tilespec", text))
    spec, more = build_model(tree)
    assert spec is not None, [*findings, *more]
    return spec.kernels[0]


DETERMINED = [
    ("relu", "x: N", "y: N", ["return F.relu(x)"]),
    ("matmul, bias_add, gelu", "x: B, D; w: D, N; b: N", "y: B, N",
     ["y = x @ w", "y = y + b", "return F.gelu(y)"]),
    # The name says which one is the bias, whatever the order.
    ("matmul, bias_add", "b: N; x: B, N; w: N, N", "y: B, N", ["y = x @ w", "return y + b"]),
    ("linear", "x: B, D; weight: N, D; bias: N", "y: B, N", ["return F.linear(x, weight, bias)"]),
    ("linear", "x: B, D; weight: D, N", "y: B, N", ["return x @ weight"]),
    ("linear, bias_add", "x: B, D; weight: N, D; bias: N", "y: B, N",
     ["y = F.linear(x, weight)", "return y + bias"]),
    ("matmul, scale, softmax, matmul", "q: B, H, S, D; k: B, H, S, D; v: B, H, S, D; s: scalar float = 0.5",
     "o: B, H, S, D", ["o = q @ k.mT", "o = o * s", "o = torch.softmax(o, dim=-1)", "return o @ v"]),
    ("attention", "q: B, H, S, D; k: B, H, T, D; v: B, H, T, E; scale: scalar float = 0.5", "o: B, H, S, E",
     ["return F.scaled_dot_product_attention(q, k, v, scale=scale)"]),
    ("add, layer_norm", "x: B, D; residual: B, D; beta: D; gamma: D; eps: scalar float = 1e-5", "y: B, D",
     ["y = x + residual", "return F.layer_norm(y, gamma.shape, gamma, beta, eps=eps)"]),
    ("layer_norm", "x: B, D", "y: B, D", ["return F.layer_norm(x, (x.shape[-1],))"]),
    ("layer_norm", "x: B, D; bias: D", "y: B, D", ["return F.layer_norm(x, bias.shape, bias=bias)"]),
    ("rms_norm", "x: B, D; w: D; eps: scalar float = 1e-6", "y: B, D",
     ["return F.rms_norm(x, w.shape, w, eps=eps)"]),
    ("matmul (gate), matmul (up), silu, mul", "x: B, D; a: D, N; b: D, N", "y: B, N",
     ["y = x @ a", "y_2 = x @ b", "y = F.silu(y)", "return y * y_2"]),
    ("swiglu", "gate: B, N; up: B, N", "y: B, N", ["return F.silu(gate) * up"]),
    ("swiglu", "up: B, N; gate: B, N", "y: B, N", ["return F.silu(gate) * up"]),
    ("matmul, matmul, sub", "x: B, D; a: D, N; b: D, N", "y: B, N",
     ["y = x @ a", "y_2 = x @ b", "return y - y_2"]),
    ("square, mean", "x: B, N|float32", "y: B|float32", ["y = torch.square(x)", "return y.mean(dim=-1)"]),
    ("sum", "x: B, C, H, W|float32", "y: B, C|float32", ["return x.sum(dim=(2, -1))"]),
    ("max", "x: B, N", "y: B, 1", ["return x.amax(dim=-1, keepdim=True)"]),
    ("softmax (dim=1)", "x: B, H, W", "y: B, H, W", ["return torch.softmax(x, dim=1)"]),
    ("cumsum (dim=0)", "x: B, H", "y: B, H", ["return torch.cumsum(x, dim=0)"]),
    ("leaky_relu", "x: N; slope: scalar float = 0.1", "y: N", ["return F.leaky_relu(x, slope)"]),
    ("clamp", "x: N; low: scalar float = 0.0; high: scalar float = 6.0", "y: N",
     ["return torch.clamp(x, low, high)"]),
    ("embedding", "ids: B, S|int64; table: V, D", "y: B, S, D", ["return F.embedding(ids, table)"]),
    ("cross_entropy", "logits: B, V|float32; target: B|int64", "loss: |float32",
     ["return F.cross_entropy(logits, target)"]),
    ("relu", "x: N", "y: N|float32", ["y = F.relu(x)", "return y.to(torch.float32)"]),
    ("mul, add", "x: N; a: N; b: N", "y: N", ["y = x * a", "return y + b"]),
    ("matmul, matmul", "x: B, D; wq: D, N; wk: D, N", "q: B, N; k: B, N",
     ["q = x @ wq", "q_2 = x @ wk", "return q, q_2"]),
]  # fmt: skip


@pytest.mark.parametrize(("operations", "inputs", "outputs", "body"), DETERMINED)
def test_operations_that_leave_one_way_are_written(
    operations: str, inputs: str, outputs: str, body: list[str]
):
    kernel = model(spec_text(operations, inputs, outputs))
    assert kernel.reference is not None
    head, *lines = kernel.reference.text.splitlines()
    assert head.startswith("def reference_k(")
    assert [line.strip() for line in lines] == body


@pytest.mark.parametrize("case", DETERMINED, ids=lambda case: case[0])
def test_what_is_written_does_what_is_declared(case: tuple[str, str, str, list[str]]):
    tree, _ = parse(SourceText("k.tilespec", spec_text(*case[:3])))
    spec, _ = build_model(tree)
    assert spec is not None
    examined = examine(spec)
    assert [item.code for item in examined.findings if item.severity.value != "note"] == []
    assert examined.findings[0].code == "TS427"
    assert "k" in examined.graphs


@pytest.mark.parametrize(
    ("operations", "inputs", "outputs", "part"),
    [
        ("conv2d", "x: N, C, H, W; weight: K, C, 3, 3", "y: N, K, H, W", "`conv2d` needs a stride"),
        ("mul", "x: N", "y: N", "no order of operands"),
        ("relu", "x: N; z: N", "y: N", "no order of operands uses every input"),
        ("relu", "x: N", "y: M", "the declared shape"),
        ("cumsum", "x: B, H", "y: B, H", "`return torch.cumsum(x, dim=-1)` and `return torch.cumsum(x, dim=-2)`"),
        ("sum", "x: N, N", "y: N", "fit equally"),
        ("matmul, matmul, silu, mul", "x: B, D; a: D, N; b: D, N", "y: B, N", "`y = F.silu(y)` fit equally"),
        ("rms_norm", "x: B, D; w: D", "y: B, D", "`rms_norm` needs an epsilon"),
    ],
)  # fmt: skip
def test_operations_that_leave_a_choice_are_refused(operations: str, inputs: str, outputs: str, part: str):
    text = spec_text(operations, inputs, outputs)
    if "shape" in part and "M" in outputs:
        text += "Dims:\n  M: = 2 * N\n"
    kernel = model(text)
    assert kernel.reference is None
    written = generate_reference(SourceText("k", text), kernel)
    assert isinstance(written, Refusal)
    assert part in written.reason


def test_numerics_choose_the_gelu():
    kernel = model(spec_text("gelu", "x: N", "y: N", "Numerics: approximate=[gelu: tanh]"))
    assert kernel.reference is not None
    assert 'F.gelu(x, approximate="tanh")' in kernel.reference.text


def test_each_line_points_at_its_operation():
    text = spec_text("matmul, gelu", "x: B, D; w: D, N", "y: B, N")
    reference = model(text).reference
    assert reference is not None
    places = [text[span.start : span.end] for span in reference.generated]
    assert places == ["matmul", "matmul", "gelu"]
    assert reference.span(3, 4, 3, 8) == reference.generated[2]


def test_a_reference_that_is_written_is_left_alone():
    body = "PyTorch Reference:\ndef reference_k(x):\n    return x.relu()\n"
    reference = model(spec_text("relu", "x: N", "y: N", body)).reference
    assert reference is not None
    assert reference.generated == ()
    assert "x.relu()" in reference.text


def test_the_search_is_bounded_in_a_file():
    names = "; ".join(f"x{number}: N" for number in range(12))
    operations = ", ".join(["add"] * 11)
    kernel = model(spec_text(operations, names, "y: N"))
    budget = Budget(50)
    written = generate_reference(SourceText("k", ""), kernel, budget)
    assert isinstance(written, Refusal)
    assert budget.left < 0
    assert not isinstance(written, ReferenceText)
