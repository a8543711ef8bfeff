"""What generated packages say and do, for specs of unusual form."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.unit.pipeline.packages import DOUBLE, TWO_STEPS, build, forward_of, spec_text
from tilespec.diagnostics import Severity
from tilespec.interpret import load_package, recording

X = torch.linspace(-3.0, 3.0, 12).reshape(3, 4)
WILD = [
    'It\'s "quoted" and ends in a quote"',
    'Three """ in a row, and a tail of quotes """',
    "A path C:\\new\\table and a trailing backslash \\",
    "Braces {x} {{ x }} {% if x %} {# note #} ${x} %s",
    "Unicode: π ≤ τ, a zero-width\u200bspace, an accent e\u0301, a snowman ☃",
    "A # hash, a ; semicolon, a `tick` and <angle> brackets",
    "\\N{DASH} \\u0041 \\x41 \\' \\\"",
]


@pytest.mark.parametrize("description", WILD)
def test_a_description_is_prose_in_generated_code(description: str, tmp_path: Path):
    shape = "shape=(N,), dtype=float32"
    text = spec_text("probe", {"x": shape}, {"y": shape}, "mul", "return x * 2", description=description)
    package, findings = build(text, tmp_path)
    assert not [item for item in findings if item.severity is Severity.ERROR]
    for path in package.rglob("*.py"):
        ast.parse(path.read_text())
    kernel = load_package(package, module="kernels.probe")
    torch.testing.assert_close(kernel.launch(X[0]), X[0] * 2)
    words = [word for word in description.split() if word.isalpha() and word.isascii()]
    assert all(word in kernel.__doc__ for word in words)
    assert "\\" not in description or "\\" in kernel.__doc__


def test_a_description_may_wrap(tmp_path: Path):
    text = DOUBLE.replace("Description: A kernel.", "Description: A kernel\n  that goes on\n  and on.")
    package, _ = build(text, tmp_path)
    assert "A kernel that goes on and on." in (package / "kernels" / "double.py").read_text()


def test_generated_files_import_only_what_they_may(tmp_path: Path):
    package, _ = build(TWO_STEPS, tmp_path)
    for path in (*(package / "kernels").glob("*.py"), package / "composed.py"):
        found = {
            name.name if isinstance(node, ast.Import) else f"{'.' * node.level}{node.module or ''}"
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in node.names
        }
        assert found <= {"torch", "cuda.tile", "math", "operator", "threading", ".kernels"}, path.name


def test_a_spec_without_a_reference(tmp_path: Path):
    text = spec_text(
        "activated",
        {"x": "shape=(M, N), dtype=float32"},
        {"y": "shape=(M, N), dtype=float32"},
        "relu",
        None,
    )
    package, findings = build(text, tmp_path)
    assert not [item for item in findings if item.severity is Severity.ERROR]
    torch.testing.assert_close(forward_of(package).forward(X), torch.relu(X))


def test_several_outputs_keep_their_order(tmp_path: Path):
    text = spec_text(
        "parts",
        {"x": "shape=(M, N), dtype=float32"},
        {
            "mean": "shape=(M,), dtype=float32",
            "centred": "shape=(M, N), dtype=float32",
            "largest": "shape=(), dtype=float32",
        },
        "mean, sub, max",
        "mean = x.mean(dim=-1)\nreturn mean, x - mean[:, None], x.max()",
    )
    package, findings = build(text, tmp_path)
    assert findings == []
    mean, centred, largest = load_package(package, module="kernels.parts").launch(X)
    torch.testing.assert_close(mean, X.mean(-1))
    torch.testing.assert_close(centred, X - X.mean(-1, keepdim=True))
    torch.testing.assert_close(largest, X.max())


def test_an_output_of_no_dims(tmp_path: Path):
    text = spec_text(
        "total",
        {"x": "shape=(M, N), dtype=float32", "s": "shape=(), dtype=float32"},
        {"y": "shape=(), dtype=float32"},
        "sum, mul",
        "return x.sum() * s",
    )
    package, findings = build(text, tmp_path)
    assert findings == []
    result = forward_of(package).forward(X + 1, torch.tensor(2.0))
    assert result.shape == ()
    torch.testing.assert_close(result, (X + 1).sum() * 2)


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0, 0)])
def test_empty_tensors(shape: tuple[int, int], tmp_path: Path):
    package, _ = build(TWO_STEPS, tmp_path)
    empty = torch.empty(shape)
    result = forward_of(package).forward(empty)
    torch.testing.assert_close(result, empty.sum(-1))


@pytest.mark.parametrize(
    ("sizes", "launches"),
    [((20, 4500, 24), 2), ((20, 700, 24), 1), ((0, 4500, 24), 0), ((20, 0, 24), 1)],
)
def test_sizes_choose_whether_a_product_is_made_in_shares(
    sizes: tuple[int, int, int], launches: int, tmp_path: Path
):
    text = spec_text(
        "product",
        {"a": "shape=(M, K), dtype=float32", "b": "shape=(K, N), dtype=float32"},
        {"y": "shape=(M, N), dtype=float32"},
        "matmul, relu",
        "return torch.relu(a @ b)",
    )
    package, findings = build(text, tmp_path)
    assert findings == []
    rows, depth, columns = sizes
    a, b = torch.randn(rows, depth), torch.randn(depth, columns)
    forward = forward_of(package).forward
    with recording() as records:
        result = forward(a, b)
    assert len(records) == launches
    torch.testing.assert_close(result, torch.relu(a @ b), atol=1e-3, rtol=1e-3)
    manifest = json.loads((package / "manifest.json").read_text())
    compiled = {item["function"] for item in manifest["kernels"]["product"]["targets"]["sm_90"]}
    assert compiled == {"product_shares_kernel", "product_finish_kernel", "product_kernel"}


def test_groups_of_features_whose_number_dims_knows_are_rows(tmp_path: Path):
    spec = spec_text(
        "norm",
        {"x": "shape=(N, F), dtype=float32"},
        {"y": "shape=(N, F), dtype=float32"},
        "group_norm",
        "return F.group_norm(x, 4)",
    )
    package, findings = build("Dims:\n  F: 8..64 step 4\n\n---\n" + spec, tmp_path)
    assert findings == []
    assert "gather" not in (package / "kernels" / "norm.py").read_text()
    forward = forward_of(package).forward
    x = torch.randn(3, 24)
    torch.testing.assert_close(forward(x), torch.nn.functional.group_norm(x, 4))
    with pytest.raises(ValueError, match="x: dim 1"):
        forward(torch.randn(3, 26))


class Calls(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204 - as torch calls it
        del types
        self.names.append(func.name().partition("::")[2].partition(".")[0])
        return func(*args, **(kwargs or {}))


def test_nothing_is_computed_outside_of_kernels(tmp_path: Path):
    package, _ = build(TWO_STEPS, tmp_path)
    forward = forward_of(package).forward
    # A dry launch is checked and runs no block: what torch sees is the host side alone.
    with recording(dry=True) as launches, Calls() as calls:
        result = forward(X)
    assert result.shape == (3,)
    assert [launch.kernel.name.partition("_")[0] for launch in launches] == ["scaled", "totals"]
    assert calls.names
    assert set(calls.names) <= {"empty", "view", "reshape", "as_strided", "slice", "alias"}
