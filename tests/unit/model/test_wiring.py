from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tilespec.diagnostics import SourceText
from tilespec.model import SpecFile, build_model
from tilespec.model.types import Edge
from tilespec.model.wiring import assignments, composition_inputs, final_outputs
from tilespec.syntax import parse, read_source

S = "shape=(N,), dtype=float32"


def kernel(ident: str, inputs: list[str], outputs: list[str], dependencies: str = "none") -> str:
    def rows(items: list[str]) -> str:
        return "".join(f"  - {item if ':' in item else f'{item}: {S}'}\n" for item in items)

    return (
        f"KERNEL SPEC: {ident}\nDescription: A step.\nOperations: [add]\nInputs:\n{rows(inputs)}Outputs:\n{rows(outputs)}"
        f"Dependencies: {dependencies}\n---\n"
    )


def spec_of(text: str) -> SpecFile:
    tree, findings = parse(SourceText("a.tilespec", text))
    spec, more = build_model(tree)
    assert [finding.message for finding in findings + more] == []
    assert spec is not None
    return spec


def short(edges: tuple[Edge, ...], consumer: str | None = None) -> dict[str, str]:
    return {
        f"{edge.consumer}.{edge.input}" if consumer is None else edge.input: f"{edge.producer}.{edge.output}"
        if edge.producer
        else edge.output
        for edge in edges
        if consumer in {None, edge.consumer}
    }


def first(text: str, consumer: str | None = None) -> dict[str, str]:
    return short(next(assignments(spec_of(text))), consumer)


def ends(definition: str) -> str:
    return f"## Composition Notes\n{definition}\n    return x\n"


def test_the_base_format_is_wired_by_declaration_order(repository: Path) -> None:
    source, _ = read_source(repository / "specs" / "ffn.tilespec")
    assert source is not None
    spec = spec_of(source.text)
    edges = next(assignments(spec))
    wiring = short(edges)
    assert wiring["ffn_linear2.x"] == "ffn_linear_gelu.y"
    assert wiring["residual_layernorm.x"] == "ffn_linear2.y"
    assert wiring["residual_layernorm.residual"] == "x"
    names = [item.name for item in composition_inputs(spec, edges)]
    assert names == ["x", "weight1", "bias1", "weight2", "bias2", "gamma", "beta", "eps"]
    assert composition_inputs(spec, edges)[0].consumers == (
        ("ffn_linear_gelu", "x"),
        ("residual_layernorm", "residual"),
    )
    assert [(ident, output.name) for ident, output in final_outputs(spec, edges)] == [
        ("residual_layernorm", "y")
    ]


def test_every_edge_says_why(repository: Path) -> None:
    source, _ = read_source(repository / "specs" / "ffn.tilespec")
    assert source is not None
    edges = next(assignments(spec_of(source.text)))
    assert all(edge.why for edge in edges)
    inferred = {(edge.consumer, edge.input) for edge in edges if edge.inferred}
    assert inferred == {("ffn_linear2", "x"), ("residual_layernorm", "x"), ("residual_layernorm", "residual")}


def test_the_next_assignment_swaps() -> None:
    text = (
        kernel("a", ["x"], ["y"])
        + kernel("b", ["x", "residual"], ["z"], "[a]")
        + ends("def reference_all(x):")
    )
    found = [short(edges, "b") for edges in assignments(spec_of(text))]
    assert found[0] == {"x": "a.y", "residual": "x"}
    assert {"x": "x", "residual": "a.y"} in found
    assert len(found) == len({tuple(sorted(each.items())) for each in found})


def test_an_equal_name_of_an_output_counts_first() -> None:
    text = kernel("a", ["x"], ["q", "k", "v"]) + kernel("b", ["v", "k", "q"], ["z"], "[a]")
    assert first(text, "b") == {"v": "a.v", "k": "a.k", "q": "a.q"}


def test_declaration_order_where_names_say_nothing() -> None:
    text = kernel("a", ["x"], ["q", "k"]) + kernel("b", ["first", "second"], ["z"], "[a]")
    assert first(text, "b") == {"first": "a.q", "second": "a.k"}


def test_every_dependency_is_consumed() -> None:
    text = kernel("a", ["x"], ["y"]) + kernel("b", ["x"], ["y"]) + kernel("c", ["l", "r"], ["z"], "[a, b]")
    for edges in assignments(spec_of(text)):
        assert {edge.producer for edge in edges if edge.consumer == "c"} == {"a", "b"}
    assert first(text, "c") == {"l": "a.y", "r": "b.y"}


@pytest.mark.parametrize(
    "remark",
    [
        "(output of a)",
        "(the output of `a`)",
        "(output y of a)",
        "(a output)",
        "(a's output)",
        "(from a)",
        "(a.y)",
        "(y of a)",
        "(produced by kernel a)",
        "(result of a)",
    ],
)
def test_a_remark_is_wiring(remark: str) -> None:
    text = (
        kernel("a", ["x"], ["y"])
        + kernel("b", ["l", f"r: {S} {remark}"], ["z"], "[a]")
        + ends("def reference_all(x, l):")
    )
    wirings = [short(edges, "b")["r"] for edges in itertools.islice(assignments(spec_of(text)), 8)]
    assert set(wirings) == {"a.y"}


@pytest.mark.parametrize(
    "remark", ["(original input)", "(original input x)", "(the original x)", "(module input)"]
)
def test_the_original_input_is_no_output(remark: str) -> None:
    text = (
        kernel("a", ["x"], ["y"])
        + kernel("b", [f"l: {S} {remark}", "r"], ["z"], "[a]")
        + ends("def reference_all(x):")
    )
    assert first(text, "b") == {"l": "x", "r": "a.y"}


@pytest.mark.parametrize("remark", ["(in float16)", "(row major)", "(see a paper)", "(b is for bias)"])
def test_other_remarks_are_not(remark: str) -> None:
    text = (
        kernel("a1", ["x"], ["y"])
        + kernel("b1", [f"l: {S} {remark}", "r"], ["z"], "[a1]")
        + ends("def reference_all(x):")
    )
    assert first(text, "b1") == {"l": "a1.y", "r": "x"}


def test_from_decides() -> None:
    text = (
        kernel("a", ["x"], ["y"])
        + kernel("b", ["l", f"r: {S}, from=a.y"], ["z"], "[a]")
        + ends("def reference_all(x):")
    )
    assert first(text, "b") == {"l": "x", "r": "a.y"}


def test_from_may_name_a_composition_input() -> None:
    text = (
        kernel("a", ["x"], ["y"])
        + kernel("b", [f"l: {S}, from=x", "r"], ["z"], "[a]")
        + ends("def reference_all(x):")
    )
    assert first(text, "b") == {"l": "x", "r": "a.y"}


def test_equations_make_shapes_agree() -> None:
    text = "Dims:\n  M: = 2*N\n" + kernel("a", ["x"], ["y: shape=(2*N,), dtype=float32"])
    text += kernel("b", ["y: shape=(M,), dtype=float32"], ["z: shape=(M,), dtype=float32"], "[a]")
    assert first(text, "b") == {"y": "a.y"}


def test_weights_of_one_name_and_two_shapes_are_two_inputs() -> None:
    text = kernel("a", ["x", "w: shape=(N, M), dtype=float32"], ["y"])
    text += kernel("b", ["y", "w: shape=(M, N), dtype=float32"], ["z"], "[a]")
    spec = spec_of(text)
    edges = next(assignments(spec))
    assert [item.name for item in composition_inputs(spec, edges)] == ["x", "w", "b_w"]


def test_weights_take_the_names_of_the_end_to_end_reference() -> None:
    text = kernel("a", ["x", "w: shape=(N, M), dtype=float32"], ["y"])
    text += kernel("b", ["y", "w: shape=(N, M), dtype=float32"], ["z"], "[a]") + ends(
        "def reference_all(x, w, w2):"
    )
    spec = spec_of(text)
    edges = next(assignments(spec))
    assert short(edges, "b")["w"] == "w2"
    assert [item.name for item in composition_inputs(spec, edges)] == ["x", "w", "w2"]


def test_without_an_end_to_end_reference_inputs_keep_their_names() -> None:
    text = kernel("a", ["x"], ["y"]) + kernel("b", ["y", "residual"], ["z"], "[a]")
    spec = spec_of(text)
    edges = next(assignments(spec))
    assert [item.name for item in composition_inputs(spec, edges)] == ["x", "residual"]


def test_final_outputs_are_those_nobody_consumes() -> None:
    text = kernel("a", ["x"], ["y", "s: shape=(M,), dtype=float32"]).replace(
        "shape=(N,), dtype=float32\nOut", "shape=(N,), dtype=float32\n  - m: shape=(M,), dtype=float32\nOut"
    )
    text += kernel("b", ["y"], ["z"], "[a]")
    spec = spec_of(text)
    assert [(ident, output.name) for ident, output in final_outputs(spec, next(assignments(spec)))] == [
        ("a", "s"),
        ("b", "z"),
    ]


def test_many_inputs_of_one_shape_are_still_wired_in_order() -> None:
    text = kernel("a", ["x"], [f"o{index}" for index in range(8)])
    text += kernel("b", [f"i{index}" for index in range(8)], ["z"], "[a]")
    assert first(text, "b") == {f"i{index}": f"a.o{index}" for index in range(8)}
