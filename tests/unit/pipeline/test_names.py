"""Whatever a spec calls its dims, tensors and kernels, the generated package runs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.unit.pipeline.packages import DOUBLE, build, forward_of, spec_text

NAMES = [
    *(
        "plan",
        "key",
        "grid",
        "device",
        "kernel",
        "constants",
        "stream",
        "outputs",
        "arguments",
        "results",
        "name",
    ),
    *("allocate", "plan_for", "steps", "forward", "tensor", "kind", "step", "launches"),
    *("min", "max", "any", "range", "float", "int", "tuple", "len", "sum"),
    *(
        "m",
        "n",
        "k",
        "block",
        "tile",
        "rows",
        "first",
        "acc",
        "total",
        "highest",
        "x_tile",
        "erf",
        "mma_float32",
    ),
]
ROWS = torch.linspace(-2.0, 2.0, 60).reshape(6, 10)
COLUMNS = torch.linspace(1.0, -1.0, 80).reshape(10, 8)


@pytest.mark.parametrize("name", [*NAMES, "torch", "ct", "class", "_cover", "BLOCK_N1", "TMA_STORE"])
def test_a_dim_may_be_called(name: str, tmp_path: Path):
    shape = f"shape=({name}, N1), dtype=float32"
    text = spec_text("probe", {"x": shape}, {"y": shape}, "softmax", "return torch.softmax(x, dim=-1)")
    package, findings = build(text, tmp_path)
    assert findings == []
    torch.testing.assert_close(forward_of(package).forward(ROWS), torch.softmax(ROWS, -1))


@pytest.mark.parametrize("name", NAMES)
def test_a_tensor_may_be_called(name: str, tmp_path: Path):
    text = spec_text(
        "product",
        {name: "shape=(M, K), dtype=float32", "w": "shape=(K, N), dtype=float32"},
        {"y": "shape=(M, N), dtype=float32"},
        "matmul",
        f"return {name} @ w",
    )
    package, findings = build(text, tmp_path)
    assert findings == []
    forward = forward_of(package).forward
    torch.testing.assert_close(forward(ROWS, COLUMNS), ROWS @ COLUMNS)
    torch.testing.assert_close(forward(w=COLUMNS, **{name: ROWS}), ROWS @ COLUMNS)


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_may_be_called(name: str, tmp_path: Path):
    shape = "shape=(M, N), dtype=float32"
    text = spec_text(name, {"x": shape}, {"y": shape}, "softmax", "return torch.softmax(x, dim=-1)")
    package, findings = build(text, tmp_path)
    assert findings == []
    torch.testing.assert_close(forward_of(package).forward(ROWS), torch.softmax(ROWS, -1))


def test_scalars_may_be_called_min_and_max(tmp_path: Path):
    text = spec_text(
        "stretch",
        {"x": "shape=(M, N), dtype=float32", "min": "scalar float", "max": "scalar float"},
        {"y": "shape=(M, N), dtype=float32"},
        "mul, add",
        "return x * (max - min) + min",
    )
    package, findings = build(text, tmp_path)
    assert findings == []
    torch.testing.assert_close(forward_of(package).forward(ROWS, -0.5, 1.0), ROWS * 1.5 - 0.5)


def test_a_dim_and_a_tensor_may_share_a_name(tmp_path: Path):
    text = spec_text(
        "scaled",
        {"S": "shape=(S, size_S), dtype=float32", "size_S": "shape=(2*S,), dtype=float32"},
        {"y": "shape=(S, size_S), dtype=float32"},
        "mul, sum",
        "return S * size_S.sum()",
    )
    package, findings = build("Dims:\n  S: 1..64\n" + text, tmp_path)
    assert findings == []
    weights = torch.linspace(0.0, 1.0, 12)
    torch.testing.assert_close(forward_of(package).forward(ROWS, weights), ROWS * weights.sum())


def test_an_equation_of_a_renamed_dim(tmp_path: Path):
    text = spec_text(
        "added",
        {"S": "shape=(D,), dtype=float32", "b": "shape=(S,), dtype=float32"},
        {"y": "shape=(S,), dtype=float32"},
        "cat, add",
        "return torch.cat([S, S]) + b",
    )
    package, findings = build("Dims:\n  D: 1..64\n  S: = 2*D\n" + text, tmp_path)
    assert findings == []
    x, b = torch.arange(5.0), torch.ones(10)
    torch.testing.assert_close(forward_of(package).forward(x, b), torch.cat([x, x]) + b)


@pytest.mark.parametrize("name", ["class", "torch", "ct", "_plan", "BLOCK_M", "TMA_STORE", "launch"])
@pytest.mark.parametrize("place", ["tensor", "kernel"])
def test_what_no_tensor_or_kernel_may_be_called(name: str, place: str, tmp_path: Path):
    tensor, kernel = (name, "probe") if place == "tensor" else ("x", name)
    shape = "shape=(N,), dtype=float32"
    _, findings = build(spec_text(kernel, {tensor: shape}, {"y": shape}, "relu", None), tmp_path)
    assert "TS110" in {finding.code for finding in findings}


@pytest.mark.parametrize(
    "name", ["w", "half", "training", "forward", "held", "type", "self", "register_buffer"]
)
def test_a_module_may_hold(name: str, tmp_path: Path):
    text = spec_text(
        "product",
        {
            "x": "shape=(M, K), dtype=float32",
            name: "shape=(K, N), dtype=float32",
            "bias": "scalar float = 1.0",
        },
        {"y": "shape=(M, N), dtype=float32"},
        "matmul, add",
        f"return x @ {name} + bias",
    ).replace(", bias):", ", bias=1.0):")
    package, findings = build(text, tmp_path)
    assert findings == []
    module = forward_of(package).Probe(**{name: COLUMNS.clone()})
    torch.testing.assert_close(module(ROWS), ROWS @ COLUMNS + 1)
    torch.testing.assert_close(module(ROWS, 2.0), ROWS @ COLUMNS + 2)
    (key,) = module.state_dict()
    assert key.rstrip("_") == name
    module.load_state_dict({key: -COLUMNS})
    torch.testing.assert_close(module(ROWS), 1 - ROWS @ COLUMNS)


def test_a_module_refuses_what_it_does_not_know(tmp_path: Path):
    package, _ = build(DOUBLE, tmp_path)
    with pytest.raises(TypeError, match="no argument named z"):
        forward_of(package).Probe(z=ROWS)
