"""The stage itself: names, outputs, scalars, findings."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from tests.unit.lowering.graphs import record
from tilespec.diagnostics import SourceText, Span
from tilespec.ir.evaluate import evaluate_program
from tilespec.ir.nodes import Contract, Parameter, Scan, postorder
from tilespec.ir.print import print_program
from tilespec.ir.verify import verify
from tilespec.lowering import lower
from tilespec.model.dims import const, sym
from tilespec.model.types import Numerics
from tilespec.reference.graph import Graph, Node, Ref, TensorMeta

D = sym("D")
VECTOR = TensorMeta((D,), "float32")


def graph(*nodes: Node, scalars: tuple[tuple[str, str], ...] = (), outputs: tuple[Ref, ...] = ()) -> Graph:
    return Graph("probe", (("x", VECTOR),), scalars, nodes, outputs or (Ref(nodes[-1].name),))


def call(name: str, op: str, *args: object, meta: TensorMeta = VECTOR, span: Span | None = None) -> Node:
    return Node(name, op, args, (), (meta,), span, name)  # type: ignore[arg-type]


def test_outputs_are_named_as_asked_or_by_number():
    two = graph(call("a", "aten.exp.default", Ref("x")), outputs=(Ref("a"), Ref("x")))
    named, _ = lower(two, outputs=["y", "z"])
    plain, _ = lower(two)
    assert named is not None
    assert plain is not None
    assert [item.name for item in named.outputs] == ["y", "z"]
    assert [item.name for item in plain.outputs] == ["out0", "out1"]


def test_an_input_and_a_repeated_value_may_be_outputs():
    made, _ = lower(graph(call("a", "aten.exp.default", Ref("x")), outputs=(Ref("x"), Ref("a"), Ref("a"))))
    assert made is not None
    assert verify(made) == ()
    data = torch.tensor([0.0, 1.0])
    same, one, two = evaluate_program(made, {"x": data}, {}, {"D": 2})
    assert same.equal(data)
    assert one.equal(two)


def test_scalars_take_the_dtype_they_meet():
    double = TensorMeta((D,), "float64")
    total = call("s", "scalar.add", Ref("eps"), 1.0, meta=TensorMeta((), "float64"))
    for meta in (VECTOR, double):
        source = Graph("probe", (("x", meta),), (("eps", "float"),), (total, call("a", "aten.mul.Tensor", Ref("x"), Ref("s"), meta=meta)), (Ref("a"),))  # fmt: skip
        made, _ = lower(source)
        assert made is not None
        assert verify(made) == ()
        (parameter,) = {node for node in postorder([made.stores[0].value]) if isinstance(node, Parameter)}
        assert parameter.dtype == meta.dtype


def test_every_call_without_a_kernel_is_found_at_its_place():
    source = SourceText("a.tilespec", "one two three")
    broken = graph(
        call("a", "aten.lgamma.default", Ref("x"), span=Span(0, 3)),
        call("b", "aten.erfinv.default", Ref("a"), span=Span(4, 7)),
        call("c", "aten.exp.default", Ref("b"), span=Span(8, 13)),
    )
    made, findings = lower(broken, source=source)
    assert made is None
    assert [
        (item.code, item.source.text[item.span.start : item.span.end]) for item in findings if item.span
    ] == [
        ("TS501", "one"),
        ("TS501", "two"),
    ]


def test_a_complex_result_is_refused_by_its_dtype():
    made, findings = lower(graph(call("a", "aten.exp.default", Ref("x"), meta=TensorMeta((D,), "complex64"))))
    assert made is None
    assert "`complex64`" in findings[0].message


def test_gelu_may_be_approximated_when_the_spec_says_so():
    traced = record(F.gelu, torch.zeros(3))
    exact, _ = lower(traced, numerics=Numerics())
    close, _ = lower(traced, numerics=Numerics(approximate={"gelu": "tanh"}))
    assert exact is not None
    assert close is not None
    assert "erf(" in print_program(exact)
    assert "tanh(" in print_program(close)


def test_a_product_keeps_the_dtype_of_its_operands():
    half = torch.zeros(3, 4, dtype=torch.bfloat16)
    made, _ = lower(record(lambda a, b: torch.softmax(a, -1) @ b, half, half.T.contiguous()))
    assert made is not None
    (product,) = (node for node in postorder([made.stores[0].value]) if isinstance(node, Contract))
    assert (product.operand, product.dtype) == ("bfloat16", "float32")


def test_a_running_sum_from_the_right_is_a_reverse_scan():
    made, _ = lower(record(lambda a: a.flip(1).cumsum(1).flip(1), torch.zeros(3, 4)))
    assert made is not None
    (scan,) = (node for node in postorder([made.stores[0].value]) if isinstance(node, Scan))
    assert scan.reverse
    assert scan.arg.tensor.shape == (const(3), const(4))


def test_an_empty_size_computes_identities():
    made, _ = lower(record(lambda a: (a.sum(1), a.exp()), torch.zeros(2, 0)))
    assert made is not None
    total, nothing = evaluate_program(made, {"x0": torch.zeros(2, 0)}, {}, {})
    assert total.tolist() == [0.0, 0.0]
    assert nothing.shape == (2, 0)
