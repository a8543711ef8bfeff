from __future__ import annotations

from pathlib import Path

import pytest

from tilespec.diagnostics import SourceText
from tilespec.model import SpecFile, build_model
from tilespec.model.dims import const, sym
from tilespec.model.symbols import dim_equations
from tilespec.model.types import ScalarSpec
from tilespec.syntax import parse, read_source

KERNEL = """KERNEL SPEC: {id}
Description: One step.
Operations: [exp]
Inputs:
  - x: shape=(N,), dtype=float32
Outputs:
  - y: shape=(N,), dtype=float32
Dependencies: {dependencies}
"""


def model_of(text: str) -> SpecFile:
    tree, findings = parse(SourceText("folder/my file.tilespec", text))
    spec, more = build_model(tree)
    assert [finding.message for finding in findings + more] == []
    assert spec is not None
    return spec


def chain(**dependencies: str) -> str:
    return "---\n".join(KERNEL.format(id=ident, dependencies=other) for ident, other in dependencies.items())


def test_the_model_of_the_base_format(repository: Path) -> None:
    source, _ = read_source(repository / "specs" / "ffn.tilespec")
    assert source is not None
    spec = model_of(source.text)
    assert spec.order == ("ffn_linear_gelu", "ffn_linear2", "residual_layernorm")
    assert spec.levels == (("ffn_linear_gelu",), ("ffn_linear2",), ("residual_layernorm",))
    last = spec.kernel("residual_layernorm")
    assert last.tensors[0].shape == (sym("B"), sym("S"), sym("D"))
    assert last.tensors[0].dtype == "float16"
    assert last.scalars == (ScalarSpec(name="eps", kind="float", default=1e-5, span=last.scalars[0].span),)
    assert [operation.name for operation in last.operations] == ["add", "layer_norm"]
    assert last.reference is not None
    begin = source.text.index("def reference_residual_layernorm")
    assert last.reference.span(1, 0, 1, 3).start == begin
    assert spec.end_to_end is not None


@pytest.mark.parametrize(
    ("shipped"),
    sorted(path.name for path in (Path(__file__).resolve().parents[3] / "specs").glob("*.tilespec")),
)
def test_every_shipped_spec_is_clean(repository: Path, shipped: str) -> None:
    source, findings = read_source(repository / "specs" / shipped)
    assert source is not None
    assert findings == []
    model_of(source.text)


def test_order_and_levels_are_derived() -> None:
    text = chain(d="[b, c]", a="none", b="[a]", c="[a]")
    spec = model_of("Execution order: a -> b || c -> d\n" + text)
    assert spec.order == ("a", "b", "c", "d")
    assert spec.levels == (("a",), ("b", "c"), ("d",))


@pytest.mark.parametrize(
    ("order", "right"),
    [
        ("a -> b || c -> d", True),
        ("a -> b -> c -> d", True),
        ("a -> c -> b -> d", True),
        ("(a -> b || c) -> d", True),
        ("a || b -> c -> d", False),
        ("a -> b || (c -> d)", False),
        ("d -> a -> b -> c", False),
    ],
)
def test_any_order_that_the_dependencies_allow_is_right(order: str, right: bool) -> None:  # noqa: FBT001 - a case
    tree, _ = parse(
        SourceText("a", f"Execution order: {order}\n" + chain(a="none", b="[a]", c="[a]", d="[b, c]"))
    )
    assert ([finding.code for finding in build_model(tree)[1]] == []) == right


def test_a_cycle_is_reported_once() -> None:
    tree, _ = parse(SourceText("a", chain(a="[c]", b="[a]", c="[b]")))
    spec, findings = build_model(tree)
    assert spec is None
    assert [finding.code for finding in findings] == ["TS204"]
    assert len(findings[0].labels) == 2


def test_ten_thousand_kernels_in_a_row_are_no_deeper_than_one() -> None:
    names = [f"k{index}" for index in range(2000)]
    steps = {name: f"[{names[index - 1]}]" if index else "none" for index, name in enumerate(names)}
    spec = model_of(f"Execution order: {' -> '.join(names)}\n" + chain(**steps))
    assert spec.order == tuple(names)
    assert len(spec.levels) == len(names)


def test_dims_types_and_settings() -> None:
    text = (
        "Dims:\n  N: 64..8192 step 64\n  M: = 4 * N\n  K: in {8, 16}\n  P: 3\nTypes: T in {fp16, float32}\n"
        "Numerics: tf32=allow\nBench: N=128, K=8, Z=1\nSource: model.py:FFN\n"
        "KERNEL SPEC: a\nDescription: A.\nOperations: [matmul (gate), exp]\nInputs:\n"
        "  - x: shape=(N, M, K, P, 2*N - N), dtype=T, values=-1..1\n  - s: scalar float = 1/8\n  - b: scalar bool = False\n"
        "Outputs:\n  - y: shape=(N, M), dtype=half\nNumerics: accumulate=float64, tolerance=(1e-2, 0)\n"
        'Keep in PyTorch: [dropout] because "idle"\n'
    )
    spec = model_of(text)
    (kernel,) = spec.kernels
    assert spec.name == "my_file"
    assert (spec.dims["N"].low, spec.dims["N"].high, spec.dims["N"].step) == (64, 8192, 64)
    assert spec.dims["M"].equals == 4 * sym("N")
    assert spec.dims["K"].choices == (8, 16)
    assert spec.dims["P"].equals == const(3)
    assert spec.types == {"T": ("float16", "float32")}
    assert spec.source_path == "model.py:FFN"
    assert kernel.tensors[0].shape[-1] == sym("N")
    assert kernel.tensors[0].values is not None
    assert (kernel.tensors[0].values.low, kernel.tensors[0].values.high) == (-1.0, 1.0)
    assert kernel.outputs[0].dtype == "float16"
    assert [scalar.default for scalar in kernel.scalars] == [0.125, False]
    assert kernel.numerics.tf32 == "allow"
    assert kernel.numerics.accumulate == "float64"
    assert kernel.numerics.tolerance == (0.01, 0.0)
    assert kernel.bench == ({"N": 128, "K": 8},)
    assert kernel.operations[0].label == "gate"
    assert (kernel.kept[0].op, kernel.kept[0].reason) == ("dropout", "idle")


def test_an_equation_binds_an_output_size() -> None:
    text = KERNEL.format(id="a", dependencies="none").replace("y: shape=(N,)", "y: shape=(P,)")
    spec = model_of("Dims:\n  P: = Q // 2\n  Q: = 8*N\n" + text)
    assert dim_equations(spec.dims) == {"P": 8 * sym("N") // 2, "Q": 8 * sym("N")}
    _, findings = build_model(parse(SourceText("a", "Dims:\n  P: 1..64\n" + text))[0])
    assert [finding.code for finding in findings] == ["TS304"]


def test_a_broken_kernel_gives_one_finding() -> None:
    text = KERNEL.format(id="a", dependencies="none").replace("x: shape=(N,)", "x shape=(N,)")
    tree, findings = parse(SourceText("a", "Dims:\n  N: 1..2\n" + text))
    spec, more = build_model(tree)
    assert spec is None
    assert [finding.code for finding in findings + more] == ["TS106"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.tilespec", "a"),
        ("x/My-Net.v2.md", "My_Net"),
        ("class.tilespec", "spec_class"),
        ("9.md", "spec_9"),
        ("é.md", "spec"),
    ],
)
def test_the_name_of_a_file_is_a_module_name(path: str, name: str) -> None:
    tree, _ = parse(SourceText(path, KERNEL.format(id="a", dependencies="none")))
    spec, _ = build_model(tree)
    assert spec is not None
    assert spec.name == name


@pytest.mark.parametrize(
    ("dims", "size"),
    [
        ("".join(f"  D{index + 1}: = D{index}*(D{index} + 1)\n" for index in range(60)), "D60"),
        ("".join(f"  D{index + 1}: = max(D{index}, D{index} // 3)\n" for index in range(40)), "D40"),
        ("", "//".join(f"(A{index} + {index})" for index in range(60))),
        ("", "max(" * 60 + "A" + ", A // 2)" * 60),
        ("", "(A + B + C + D + E + F + G)**8"),
    ],
    ids=["squares", "maxima", "divisions", "nested", "power"],
)
def test_a_bomb_costs_no_more_than_its_text(dims: str, size: str) -> None:
    text = KERNEL.format(id="a", dependencies="none").replace("x: shape=(N,)", f"x: shape=(N, D0, {size})")
    tree, _ = parse(SourceText("a", (f"Dims:\n{dims}" if dims else "") + text))
    _, findings = build_model(tree)
    assert {finding.code for finding in findings} <= {"TS303"}
