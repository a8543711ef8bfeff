from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tilespec.diagnostics import SourceText
from tilespec.syntax import decode_source, parse, read_source
from tilespec.syntax.nodes import (
    FileNode,
    Name,
    Parallel,
    ScalarNode,
    Sequence,
    Symbol,
    TensorNode,
    names_in_order,
)

KERNEL = """KERNEL SPEC: double
Description: Doubles a vector.
Operations: [scale]
Inputs:
  - x: shape=(N,), dtype=float32
Outputs:
  - y: shape=(N,), dtype=float32
"""


def tree_of(text: str) -> FileNode:
    tree, findings = parse(SourceText("a.tilespec", text))
    assert [finding.message for finding in findings] == []
    return tree


def codes(text: str) -> list[str]:
    return [finding.code for finding in parse(SourceText("a.tilespec", text))[1]]


def text_at(tree: FileNode, name: Name) -> str:
    return tree.source.text[name.span.start : name.span.end]


def test_the_base_format_is_read_as_it_stands(repository: Path) -> None:
    source, findings = read_source(repository / "specs" / "ffn.tilespec")
    assert source is not None
    assert findings == []
    tree = tree_of(source.text)
    assert [kernel.id.text for kernel in tree.kernels] == [
        "ffn_linear_gelu",
        "ffn_linear2",
        "residual_layernorm",
    ]
    assert tree.summary.total is not None
    assert tree.summary.total.value == 3
    last = tree.kernels[-1]
    assert [item.name.text for item in last.inputs or ()] == ["x", "residual", "gamma", "beta", "eps"]
    eps = (last.inputs or ())[-1]
    assert isinstance(eps, ScalarNode)
    assert eps.kind.text == "float"
    assert [name.text for name in last.dependencies or ()] == ["ffn_linear2"]
    assert last.reference is not None
    assert last.reference.text.startswith("def reference_residual_layernorm(")
    assert source.line(last.reference.first_line) == last.reference.text.split("\n")[0]
    assert tree.end_to_end is not None
    assert tree.end_to_end.text.startswith("def reference_ffn(")
    assert [note.text for note in tree.kernels[1].notes] == ["Use float32 accumulator for matmul"]


def test_every_name_has_the_span_of_its_text() -> None:
    tree = tree_of(
        KERNEL.replace("[scale]", "[matmul (a), bias add]").replace("x: shape=(N,)", "x : shape = (N, 2*M)")
    )
    (kernel,) = tree.kernels
    assert text_at(tree, kernel.id) == "double"
    tensor = (kernel.inputs or ())[0]
    assert isinstance(tensor, TensorNode)
    assert text_at(tree, tensor.name) == "x"
    assert tensor.dtype is not None
    assert text_at(tree, tensor.dtype) == "float32"
    assert tensor.shape is not None
    assert [tree.source.text[dim.span.start : dim.span.end] for dim in tensor.shape.dims] == ["N", "2*M"]
    assert [text_at(tree, item.name) for item in kernel.operations or ()] == ["matmul", "bias add"]


@pytest.mark.parametrize("bullet", ["-", "*", "•"])
def test_bullets(bullet: str) -> None:
    tree = tree_of(KERNEL.replace("  - ", f"  {bullet} "))
    assert [item.name.text for item in tree.kernels[0].inputs or ()] == ["x"]


@pytest.mark.parametrize(
    "header",
    [
        "KERNEL SPEC: double",
        "### KERNEL SPEC: double",
        "**KERNEL SPEC:** double",
        "kernel spec: `double`",
        "KERNEL SPEC: double  # why",
    ],
)
def test_headers(header: str) -> None:
    assert tree_of(KERNEL.replace("KERNEL SPEC: double", header)).kernels[0].id.text == "double"


@pytest.mark.parametrize("separator", ["---\n", "---\n---\n", "---\n\n---\n", "\n", "***\n", "Some words.\n"])
def test_between_kernels(separator: str) -> None:
    second = KERNEL.replace("double", "again")
    if separator == "Some words.\n":
        separator = "---\nSome words.\n"
    assert [kernel.id.text for kernel in tree_of(KERNEL + separator + second).kernels] == ["double", "again"]


@pytest.mark.parametrize(
    ("reference", "first", "indent"),
    [
        ("PyTorch Reference:\ndef reference_double(x):\n    return x * 2\n", 9, 0),
        ("PyTorch Reference:\n\n    def reference_double(x):\n        return x * 2\n", 10, 4),
        ("PyTorch Reference:\n```python\ndef reference_double(x):\n    return x * 2\n```\n", 10, 0),
        ("PyTorch Reference:\n  ```\n  def reference_double(x):\n      return x * 2\n  ```\n", 10, 2),
        ("PyTorch Reference:\n~~~py\ndef reference_double(x):\n    return x * 2\n~~~\nNotes:\n- n\n", 10, 0),
    ],
)
def test_references(reference: str, first: int, indent: int) -> None:
    node = tree_of(KERNEL + reference).kernels[0].reference
    assert node is not None
    assert node.text == "def reference_double(x):\n    return x * 2"
    assert (node.first_line, node.indent) == (first, indent)


def test_comments_and_headings_inside_a_reference_are_code() -> None:
    text = (
        KERNEL + "PyTorch Reference:\n# first\ndef reference_double(x):\n    # why\n    return x * 2\n---\n"
    )
    node = tree_of(text).kernels[0].reference
    assert node is not None
    assert node.text == "# first\ndef reference_double(x):\n    # why\n    return x * 2"


def test_a_field_after_a_reference_ends_it() -> None:
    text = (
        KERNEL
        + "PyTorch Reference:\ndef reference_double(x):\n    return x * 2\nDependencies: none\nNotes:\n- a\n"
    )
    (kernel,) = tree_of(text).kernels
    assert kernel.reference is not None
    assert kernel.reference.text.endswith("return x * 2")
    assert kernel.dependencies == ()


def test_carriage_returns_and_byte_order_mark_are_no_text() -> None:
    source, findings = decode_source("a.tilespec", b"\xef\xbb\xbf" + KERNEL.replace("\n", "  \r\n").encode())
    assert findings == []
    assert source is not None
    assert tree_of(source.text).kernels[0].id.text == "double"


def test_markdown_around_kernels() -> None:
    text = f"# Title\n\nProse: with a colon.\n\n```python\ndef other():\n    pass\n```\n\n```tilespec\n{KERNEL}```\n\nMore: prose.\n"
    tree = tree_of(text)
    assert [kernel.id.text for kernel in tree.kernels] == ["double"]


def test_order_binds_parallel_tighter() -> None:
    tree = tree_of("Execution order: a -> b || (c -> d) -> e\n" + KERNEL)
    order = tree.summary.order
    assert isinstance(order, Sequence)
    assert [type(step) for step in order.steps] == [Name, Parallel, Name]
    assert [name.text for name in names_in_order(order)] == ["a", "b", "c", "d", "e"]


def test_extensions() -> None:
    text = (
        "Dims:\n  B: 1..64\n  D: 64..8192 step 64\n  D_ff: = 4 * D\n  H: in {8, 16, 32}\n"
        "Types: T in {float16, bfloat16}; U in {int8}\nSource: model.py:FFN\nBench: B=8, D=64\n"
        'Numerics: accumulate=float32, tf32=never, approximate=[gelu: tanh], tolerance=(1e-2, 1e-2)\nKeep in PyTorch: [dropout] because "idle"\n\n'
        + KERNEL.replace(
            "dtype=float32\nOut",
            "dtype=T, from=a.b, layout=channels_last, values=-1..2.5 (original input)\nOut",
        )
    )
    tree = tree_of(text)
    assert [line.name.text for line in tree.dims] == ["B", "D", "D_ff", "H"]
    assert [line.name.text for line in tree.types] == ["T", "U"]
    assert tree.code is not None
    assert (tree.code.path, tree.code.qualifier) == ("model.py", "FFN")
    assert [setting.key.text for setting in tree.numerics] == [
        "accumulate",
        "tf32",
        "approximate",
        "tolerance",
    ]
    assert tree.kept[0].reason is not None
    assert tree.kept[0].reason.text == "idle"
    tensor = (tree.kernels[0].inputs or ())[0]
    assert isinstance(tensor, TensorNode)
    assert tensor.origin is not None
    assert tensor.origin.text == "a.b"
    assert tensor.remark is not None
    assert tensor.remark.text == "original input"
    assert tensor.values is not None


def test_lists_wrap() -> None:
    tree = tree_of(KERNEL.replace("[scale]", "[\n    matmul (with, comma),\n    # why\n    scale,\n  ]"))
    assert [
        (item.name.text, item.label and item.label.text) for item in tree.kernels[0].operations or ()
    ] == [
        ("matmul", "with, comma"),
        ("scale", None),
    ]


def test_an_unknown_field_doesnt_hide_later_faults() -> None:
    text = (
        KERNEL.replace("Operations", "Operatoins").replace("  - y: shape", "  - y shape")
        + "---\n"
        + KERNEL.replace("(N,)", "(N", 1)
    )
    assert codes(text) == ["TS108", "TS106", "TS105"]


def test_the_completeness_check_is_read() -> None:
    text = KERNEL + (
        "---\n## Completeness Check\nOriginal forward-pass ops: [matmul, bias add, gelu]\n"
        "Covered by kernel specs: [matmul -> a, gelu -> a]\n- bias add: a\n- b: relu, add\nprose without a mapping\nGaps: NONE\n"
    )
    node = tree_of(text).completeness
    assert node is not None
    assert [name.text for name in node.operations] == ["matmul", "bias add", "gelu"]
    assert [([n.text for n in line.left], [n.text for n in line.right]) for line in node.mapping] == [
        (["matmul"], ["a"]),
        (["gelu"], ["a"]),
        (["bias add"], ["a"]),
        (["b"], ["relu", "add"]),
    ]
    assert node.gaps == ()


def test_end_to_end_may_have_helpers() -> None:
    text = (
        KERNEL
        + "---\n## Composition Notes\nData flow: x -> double\n\n    def helper(x):\n        return x\n\nwords\n\n    def reference_all(x):\n        return helper(x)\n\nafter\n"
    )
    node = tree_of(text).end_to_end
    assert node is not None
    assert [line for line in node.text.split("\n") if line] == [
        "def helper(x):",
        "    return x",
        "def reference_all(x):",
        "    return helper(x)",
    ]
    assert node.indent == 4
    assert node.text.split("\n")[5] == "def reference_all(x):"


def test_a_scalar_default_may_be_an_expression() -> None:
    tree = tree_of(
        KERNEL.replace("Outputs", "  - s: scalar float = 1 / 8\n  - b: scalar bool = true\nOutputs")
    )
    scalars = [item for item in tree.kernels[0].inputs or () if isinstance(item, ScalarNode)]
    assert isinstance(scalars[1].default, Symbol)


@pytest.mark.parametrize(
    "data", [b"\x00\x01\x02", b"\xff\xfe\x41", b"KERNEL SPEC: a\x00b", bytes(range(256)), b"\xc3\x28"]
)
def test_binary_is_a_finding(data: bytes) -> None:
    source, findings = decode_source("a.tilespec", data)
    assert source is None
    assert [finding.code for finding in findings] == ["TS102"]


def test_a_missing_file_and_a_folder_are_findings(tmp_path: Path) -> None:
    assert [finding.code for finding in read_source(tmp_path / "no.tilespec")[1]] == ["TS101"]
    assert [finding.code for finding in read_source(tmp_path)[1]] == ["TS101"]


def test_a_large_file_is_a_finding() -> None:
    assert [finding.code for finding in decode_source("a", b"a" * (4 * 1024 * 1024 + 1))[1]] == ["TS103"]


@pytest.mark.parametrize(
    "dim",
    ["(" * 5000 + "N" + ")" * 5000, "-" * 5000 + "N", "+".join(["N"] * 5000), "9" * 5000, "2**" * 3000 + "2"],
    ids=["parentheses", "signs", "sum", "digits", "powers"],
)
def test_endless_expressions_end_in_findings_or_values(dim: str) -> None:
    text = KERNEL.replace("(N,)", f"(N, {dim})", 1)
    assert codes(text) in ([], ["TS106"])


def test_parsing_and_modelling_need_no_torch() -> None:
    code = (
        "import tilespec.syntax, tilespec.model, tilespec.model.wiring, sys; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_order_has_a_depth() -> None:
    assert codes("Execution order: " + "(a -> b || " * 3000 + "a" + ")" * 3000 + "\n" + KERNEL) == ["TS106"]


@pytest.mark.parametrize("key", ["Inputs", "Outputs"])
@pytest.mark.parametrize("items", ["", "  # one\n", "  - # one\n", "  - # one\n  - # two\n"])
def test_a_list_of_nothing_but_comments_is_empty(key: str, items: str) -> None:
    lines = {"Inputs": "  - x: shape=(N,), dtype=float32\n", "Outputs": "  - y: shape=(N,), dtype=float32\n"}
    text = KERNEL.replace(f"{key}:\n{lines[key]}", f"{key}:\n{items}")
    assert codes(text) == ["TS115"]


@pytest.mark.parametrize("number", ["2_", "_2", "2__3", "1_.5", "2_e3"])
def test_an_underscore_stands_between_digits(number: str) -> None:
    assert codes(KERNEL.replace("(N,)", f"({number} + 1,)", 1)) in (["TS106"], [])
    assert codes(KERNEL.replace("(N,)", "(1_000 + 1,)", 1)) == []
