"""Printing, verifying and evaluating programs."""

from __future__ import annotations

import pytest
import torch

from tilespec.ir.build import axis_expr, cast, compute, index_node, literal
from tilespec.ir.evaluate import evaluate_program
from tilespec.ir.nodes import (
    Compute,
    Contract,
    Index,
    Load,
    Node,
    Parameter,
    Program,
    Reduce,
    Scan,
    Store,
    Tensor,
)
from tilespec.ir.ops import OPS
from tilespec.ir.print import print_node, print_program
from tilespec.ir.scalar_torch import APPLY
from tilespec.ir.verify import verify
from tilespec.model.dims import AxisAtom, const, sym

B, D = sym("B"), sym("D")
b, d, r = AxisAtom("b", B), AxisAtom("d", D), AxisAtom("r", D)
x = Tensor("x", (B, D), "float16")
row = cast(Load("float16", x, (axis_expr(b), axis_expr(d))), "float32")


def rms() -> Program:
    squares = Reduce("float32", "sum", compute("mul", row, row), (d,))
    mean = compute("div", squares, cast(index_node(D), "float32"))
    scale = compute("rsqrt", compute("add", mean, Parameter("float32", "eps")))
    store = Store(
        Tensor("y", (B, D), "float16"), (axis_expr(b), axis_expr(d)), compute("mul", row, scale), (b, d)
    )
    return Program("rms", (x,), (("eps", "float"),), (store,))


def storing(
    value: Node,
    dtype: str = "float32",
    inputs: tuple[Tensor, ...] = (x,),
    parameters: tuple[tuple[str, str], ...] = (),
) -> Program:
    store = Store(Tensor("y", (B, D), dtype), (axis_expr(b), axis_expr(d)), value, (b, d))
    return Program("probe", inputs, parameters, (store,))


def test_the_text_of_a_program():
    assert print_program(rms()) == (
        "program rms(x: float16[B, D]; eps: float)\n"
        "  v0 = float32(x[b, d])\n"
        "  v1 = reduce sum over d<D: (v0 * v0)\n"
        "  y: float16[B, D]\n"
        "    [b, d] over b<B, d<D = (v0 * rsqrt(((v1 / float32(index(D))) + eps)))\n"
    )


def test_every_kind_of_node_has_a_text():
    filled = Load("float16", x, (axis_expr(b), axis_expr(d) + 1), 0.0)
    assert print_node(filled) == "x[b, d + 1 else 0.0]"
    scan = Scan("float32", "sum", row, d, axis_expr(r), reverse=True)
    assert print_node(scan) == "reverse scan sum over d<D at r: float32(x[b, d])"
    product = Contract("float32", row, row, (d,), "float16")
    assert print_node(product) == "contract<float16->float32> over d<D: float32(x[b, d]) @ float32(x[b, d])"
    assert print_node(literal("int32", 4)) == "4:int32"
    with pytest.raises(TypeError):
        print_node(x)  # type: ignore[arg-type]


def test_a_deep_expression_is_cut_in_lines():
    value = row
    for _ in range(600):
        value = compute("add", value, literal("float32", 1.5))
    text = print_program(storing(value))
    assert max(map(len, text.splitlines())) < 200


def test_a_sound_program_has_no_complaint():
    assert verify(rms()) == ()


@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        (storing(Load("float16", x, (axis_expr(b), axis_expr(d)))), "value is float16"),
        (storing(cast(Load("float16", x, (axis_expr(b), axis_expr(r))), "float32")), "free axes r"),
        (storing(cast(Load("float16", x, (axis_expr(b),)), "float32")), "index has rank 1"),
        (storing(row, inputs=()), "which is no input"),
        (storing(Parameter("float32", "eps")), "parameter eps is not declared"),
        (storing(Compute("float32", "frobnicate", (row,))), "operation frobnicate is unknown"),
        (storing(Compute("float32", "add", (row,))), "1 operands, needs 2"),
        (storing(Compute("float32", "add", (row, literal("float64", 1)))), "operands of float32, float64"),
        (storing(Compute("float32", "shl", (row, row))), "shl: operands of float32"),
        (storing(Compute("float32", "lt", (row, row))), "lt: dtype float32, expected bool"),
        (storing(Compute("float32", "where", (row, row, row))), "condition is float32"),
        (storing(Compute("float32", "cast", (row,))), "to itself"),
        (storing(Reduce("float32", "mean", row, (r,))), "reduce mean is unknown"),
        (storing(Reduce("float32", "argmax", row, (r,))), "expected int64"),
        (storing(Reduce("float32", "sum", row, ())), "axes are empty"),
        (
            storing(Contract("float64", row, row, (r,), "float16")),
            "contract: float32 by float32 gives float64",
        ),
        (storing(Scan("float32", "mean", row, r, axis_expr(d))), "scan mean is unknown"),
        (storing(Index("float32", axis_expr(d))), "index of dtype float32"),
        (storing(row, dtype="float64"), "value is float32, tensor is float64"),
    ],
)
def test_the_verifier_names_what_is_wrong(program: Program, complaint: str):
    assert any(complaint in item for item in verify(program)), verify(program)


def test_an_index_that_misses_an_axis_is_wrong():
    store = Store(Tensor("y", (B,), "float32"), (axis_expr(b),), row, (b, d))
    assert any("index uses b" in item for item in verify(Program("probe", (x,), (), (store,))))


def test_evaluation_computes_and_widens():
    data = torch.randn(3, 5, generator=torch.Generator().manual_seed(1)).half()
    sizes = {"B": 3, "D": 5}
    (narrow,) = evaluate_program(rms(), {"x": data}, {"eps": 1e-5}, sizes)
    (wide,) = evaluate_program(rms(), {"x": data}, {"eps": 1e-5}, sizes, widen=True)
    double = data.double()
    expected = double * torch.rsqrt((double * double).mean(-1, keepdim=True) + 1e-5)
    assert narrow.dtype == torch.float16
    torch.testing.assert_close(wide, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(narrow, expected.half())


def test_an_element_outside_reads_nan_unless_filled():
    data = torch.ones(2, 3).half()
    outside = (axis_expr(b), axis_expr(d) + 1)
    bare = storing(cast(Load("float16", x, outside), "float32"))
    filled = storing(cast(Load("float16", x, outside, -2.0), "float32"))
    (left,) = evaluate_program(bare, {"x": data}, {}, {"B": 2, "D": 3})
    (right,) = evaluate_program(filled, {"x": data}, {}, {"B": 2, "D": 3})
    assert left[:, 2].isnan().all()
    assert not left[:, :2].isnan().any()
    assert right[:, 2].eq(-2).all()


def test_a_store_that_misses_elements_is_caught():
    store = Store(Tensor("y", (B, D * 2), "float32"), (axis_expr(b), axis_expr(d)), row, (b, d))
    with pytest.raises(ValueError, match="does not write each element once"):
        evaluate_program(
            Program("probe", (x,), (), (store,)), {"x": torch.ones(2, 3).half()}, {}, {"B": 2, "D": 3}
        )


@pytest.mark.parametrize(
    ("op", "identity"), [("sum", 0.0), ("prod", 1.0), ("max", -torch.inf), ("min", torch.inf)]
)
def test_an_empty_reduction_gives_its_identity(op: str, identity: float):
    store = Store(Tensor("y", (B,), "float32"), (axis_expr(b),), Reduce("float32", op, row, (d,)), (b,))
    (found,) = evaluate_program(
        Program("p", (x,), (), (store,)), {"x": torch.ones(2, 0).half()}, {}, {"B": 2, "D": 0}
    )
    assert found.tolist() == [identity, identity]


def test_every_operation_has_a_meaning():
    assert set(APPLY) == set(OPS) - {"cast"}
    assert all(rule.formula for rule in OPS.values())


def test_equal_nodes_are_one_object():
    assert Load("float16", x, (axis_expr(b), const(0))) is Load("float16", x, (axis_expr(b), const(0)))
    assert literal("float32", 0.0) is not literal("float32", -0.0)
