"""Which values an input may take follows from what the traced reference does with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilespec.model.dims import sym
from tilespec.reference.graph import Argument, Graph, Node, Ref, TensorMeta
from tilespec.verify.domain import input_bounds

V, D, M = sym("V"), sym("D"), sym("M")


def _node(
    name: str, op: str, *args: Argument, shape: tuple[object, ...] = (), dtype: str = "float32"
) -> Node:
    meta = TensorMeta(shape, dtype)  # type: ignore[arg-type]
    return Node(name, f"aten.{op}", args, (), (meta,), None, name)


def _graph(*nodes: Node) -> Graph:
    inputs = (
        ("table", TensorMeta((V, D), "float32")),
        ("index", TensorMeta((M,), "int64")),
        ("x", TensorMeta((M, D), "float32")),
        ("flag", TensorMeta((M,), "bool")),
    )
    return Graph("k", inputs, (), nodes, (Ref(nodes[-1].name),))


def test_embedding_index_is_drawn_from_the_rows():
    found = input_bounds(_graph(_node("y", "embedding.default", Ref("table"), Ref("index"))))
    assert found["index"].extent == V
    assert "table" not in found


def test_index_is_followed_through_views_and_choices():
    found = input_bounds(
        _graph(
            _node("keep", "ne.Scalar", Ref("index"), -100, dtype="bool"),
            _node("safe", "where.self", Ref("keep"), Ref("index"), 0, dtype="int64"),
            _node("column", "unsqueeze.default", Ref("safe"), 1, dtype="int64"),
            _node("y", "gather.default", Ref("x"), 1, Ref("column")),
        )
    )
    assert found["index"].extent == D
    assert found["index"].other == -100


def test_index_tensor_of_two_dims_takes_the_smaller_extent():
    found = input_bounds(
        _graph(
            _node("a", "index.Tensor", Ref("table"), (Ref("index"),)),
            _node("b", "index.Tensor", Ref("table"), (None, Ref("index"))),
        )
    )
    assert found["index"].extent == V.minimum(D)


@pytest.mark.parametrize("op", ["log.default", "sqrt.default", "rsqrt.default", "log2.default"])
def test_argument_of_a_logarithm_or_root_is_positive(op: str):
    found = input_bounds(_graph(_node("y", op, Ref("x"))))
    assert (found["x"].low or 0) > 0


def test_positive_sum_needs_positive_terms():
    found = input_bounds(
        _graph(_node("s", "sum.dim_IntList", Ref("x"), (1,)), _node("y", "log.default", Ref("s")))
    )
    assert (found["x"].low or 0) > 0


def test_square_is_positive_by_itself():
    found = input_bounds(
        _graph(
            _node("s", "pow.Tensor_Scalar", Ref("x"), 2),
            _node("m", "mean.dim", Ref("s"), (1,)),
            _node("y", "rsqrt.default", Ref("m")),
        )
    )
    assert "x" not in found


def test_divisor_stays_off_zero_and_the_dividend_is_free():
    found = input_bounds(_graph(_node("y", "div.Tensor", Ref("table"), Ref("x"))))
    assert (found["x"].low or 0) > 0
    assert "table" not in found


def test_fractional_power_needs_a_positive_base():
    assert "x" in input_bounds(_graph(_node("y", "pow.Tensor_Scalar", Ref("x"), 0.5)))
    assert "x" not in input_bounds(_graph(_node("y", "pow.Tensor_Scalar", Ref("x"), 3.0)))


def _product(dtype: str, left: Ref) -> tuple[Node, ...]:
    return (
        _node("h", "relu.default", left, dtype=dtype),
        _node("p", "mm.default", Ref("h"), Ref("table"), dtype=dtype),
        _node("y", "add.Tensor", Ref("p"), Ref("other"), dtype=dtype),
    )


def test_what_a_float32_product_depends_on_is_finite():
    graph = _graph(*_product("float32", Ref("x")))
    graph = replace(graph, inputs=(*graph.inputs, ("other", TensorMeta((M, D), "float32"))))
    found = input_bounds(graph)
    assert {name for name, bounds in found.items() if bounds.finite} == {"x", "table"}


def test_a_16_bit_product_takes_infinities():
    graph = _graph(*_product("float16", Ref("x")))
    inputs = tuple((name, TensorMeta(meta.shape, "float16")) for name, meta in graph.inputs)
    graph = replace(graph, inputs=(*inputs, ("other", TensorMeta((M, D), "float16"))))
    assert not any(bounds.finite for bounds in input_bounds(graph).values())


def test_a_product_in_float32_of_16_bit_inputs_keeps_them_finite():
    graph = _graph(
        _node("wide", "_to_copy.default", Ref("x")), _node("y", "mm.default", Ref("wide"), Ref("wide"))
    )
    assert input_bounds(graph)["x"].finite


def test_bounds_and_finite_stand_together():
    graph = _graph(_node("r", "log.default", Ref("x")), _node("y", "mm.default", Ref("r"), Ref("table")))
    found = input_bounds(graph)
    assert found["x"].finite
    assert (found["x"].low or 0) > 0
