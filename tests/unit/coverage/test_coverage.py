"""Coverage is decided on graphs and values, not on names."""

from __future__ import annotations

from tests.unit.reference.making import kernel, spec
from tilespec.coverage import examine, performed
from tilespec.diagnostics import Span
from tilespec.model.types import KeptOp, Kernel, SpecFile

LINEAR = kernel(
    "up",
    ["x: B,D float16", "w: D,E float16", "b: E float16"],
    ["h: B,E float16"],
    "def reference_up(x, w, b):\n    return F.silu(x @ w + b)\n",
    operations=("matmul", "bias_add", "silu"),
)
NORM = kernel(
    "norm",
    ["h: B,E float16", "g: E float16", "eps: float = 1e-5"],
    ["y: B,E float16"],
    """
def reference_norm(h, g, eps=1e-5):
    mean = h.mean(-1, keepdim=True)
    var = ((h - mean) ** 2).mean(-1, keepdim=True)
    return (h - mean) * torch.rsqrt(var + eps) * g
""",
    operations=("layer_norm",),
    dependencies=("up",),
)


def file(end_to_end: str, *kernels: Kernel) -> SpecFile:
    return spec(*(kernels or (LINEAR, NORM)), end_to_end=end_to_end)


def codes(end_to_end: str, *kernels: Kernel) -> list[str]:
    return [item.code for item in examine(file(end_to_end, *kernels)).findings]


FORWARD = """
def reference_forward(x, w, b, g, eps=1e-5):
    h = x @ w + b
    h = h * torch.sigmoid(h)
    return F.layer_norm(h, (h.shape[-1],), g, None, eps)
"""


def test_one_computation_in_two_spellings_is_covered():
    result = examine(file(FORWARD))
    assert result.findings == []
    assert result.proof is not None
    assert result.proof.proved
    assert result.proof.outputs == (("norm", "y"),)
    assert result.coverage is not None
    assert result.coverage.complete
    found = {(op.operation, op.kernels) for op in result.coverage.ops}
    assert ("matmul", ("up",)) in found
    assert ("sigmoid", ("up",)) in found
    assert ("layer_norm", ("norm",)) in found


def test_an_op_that_no_kernel_performs_is_a_gap():
    result = examine(file(FORWARD.replace("g, None, eps)", "g, None, eps).tanh()")))
    assert [item.code for item in result.findings] == ["TS420"]
    (gap,) = result.findings
    assert "`tanh`" in gap.message
    assert gap.span is not None
    assert gap.source.text[gap.span.start : gap.span.end].endswith(".tanh()")


def test_a_second_use_of_a_performed_op_is_a_gap_too():
    found = codes(FORWARD.replace("h = x @ w + b", "h = x @ w + b\n    h = h * torch.sigmoid(h)"))
    assert set(found) == {"TS420"}


def test_a_matmul_is_never_a_view():
    only = kernel(
        "copy",
        ["x: B,D float16"],
        ["y: D,B float16"],
        "def reference_copy(x):\n    return x.T * 1.0\n",
        operations=("mul",),
    )
    assert codes("def reference_forward(x):\n    return (x @ x.T) @ x\n", only)


def test_views_and_joins_may_stay_outside():
    twice = kernel(
        "twice",
        ["x: B,D float32"],
        ["y: B,D float32"],
        "def reference_twice(x):\n    return x * 2\n",
        operations=("mul",),
    )
    result = examine(file("def reference_forward(x):\n    return (x * 2).view(x.shape[0], -1)\n", twice))
    assert result.findings == []


def test_a_kept_op_is_no_gap():
    kept = LINEAR.model_copy(update={"kept": (KeptOp(op="tanh", reason="a test", span=Span(0, 1)),)})
    result = examine(file(FORWARD.replace("g, None, eps)", "g, None, eps).tanh()"), kept, NORM))
    assert result.coverage is not None
    assert [op.kept for op in result.coverage.ops if op.operation == "tanh"] == ["a test"]


def test_kernels_that_compute_something_else_are_disproved():
    assert codes(FORWARD.replace("h * torch.sigmoid(h)", "h * torch.sigmoid(2 * h)"))


def test_the_wiring_is_proved_by_value():
    minus = kernel(
        "minus", ["p: N float32", "q: N float32"], ["d: N float32"],
        "def reference_minus(p, q):\n    return p - q\n", operations=("sub",), dependencies=("twice",),
    )  # fmt: skip
    twice = kernel(
        "twice",
        ["a: N float32"],
        ["t: N float32"],
        "def reference_twice(a):\n    return a * 2\n",
        operations=("mul",),
    )
    result = examine(spec(twice, minus, end_to_end="def reference_forward(a):\n    return a - a * 2\n"))
    assert result.findings == []
    wired = {(edge.consumer, edge.input): (edge.producer, edge.output) for edge in result.edges}
    assert wired["minus", "p"] == (None, "a")
    assert wired["minus", "q"] == ("twice", "t")


def test_operations_against_the_reference():
    listed = LINEAR.model_copy(update={"operations": (*LINEAR.operations, *NORM.operations)})
    assert [item.code for item in examine(spec(listed)).findings] == ["TS421"]
    short = LINEAR.model_copy(update={"operations": LINEAR.operations[:1]})
    assert {item.code for item in examine(spec(short)).findings} == {"TS422"}


def test_larger_operations_are_named():
    result = examine(spec(NORM.model_copy(update={"dependencies": ()})))
    assert "layer_norm" in performed(result.graphs["norm"])


def test_sizes_too_large_to_compute_are_proved_by_structure():
    product = kernel(
        "product",
        ["a: 65536,32768 float32", "b: 32768,65536 float32"],
        ["c: 65536,65536 float32"],
        "def reference_product(a, b):\n    return a @ b\n",
        operations=("matmul",),
    )
    bent = kernel(
        "bent",
        ["c: 65536,65536 float32"],
        ["y: 65536,65536 float32"],
        "def reference_bent(c):\n    return F.relu(c)\n",
        operations=("relu",),
        dependencies=("product",),
    )
    result = examine(
        spec(product, bent, end_to_end="def reference_forward(a, b):\n    return torch.relu(a @ b)\n")
    )
    assert result.findings == []
    assert result.proof is not None
    assert result.proof.proved
    assert result.proof.outputs == (("bent", "y"),)
    assert result.coverage is not None
    assert result.coverage.complete
