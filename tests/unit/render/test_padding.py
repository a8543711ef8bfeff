"""What padded lanes hold, and which padding each load gets."""

from __future__ import annotations

import math

import pytest

from tilespec.ir.nodes import Compute, Const, Contract, Load, Node, Reduce, Tensor
from tilespec.model.dims import AxisAtom, axis, sym
from tilespec.render.padding import choose_padding, padded_value
from tilespec.schedule.access import Gather, TileAccess, find_access

M, N = axis("m", sym("M")), axis("n", sym("N"))
assert M.axis is not None
assert N.axis is not None
ROW: AxisAtom = N.axis
X = Load("float32", Tensor("x", (sym("M"), sym("N")), "float32"), (M, N))
G = Load("float32", Tensor("g", (sym("M"),), "float32"), (M,))
INTEGERS = Load("int32", Tensor("t", (sym("M"), sym("N")), "int32"), (M, N))


def access(load: Load) -> TileAccess | Gather:
    return find_access(load.index, load.tensor.shape, lambda _: True, guarded=load.fill is not None)


def op(name: str, *args: Node) -> Compute:
    return Compute("float32", name, args)


def number(value: float) -> Const:
    return Const("float32", value)


@pytest.mark.parametrize(
    ("node", "padding", "value"),
    [
        (X, 0.0, 0.0),
        (X, -math.inf, -math.inf),
        (op("mul", X, X), 0.0, 0.0),
        (op("mul", X, number(3.0)), 0.0, 0.0),
        (op("add", X, number(3.0)), 0.0, 3.0),
        (op("exp", X), 0.0, 1.0),
        (op("exp", X), -math.inf, 0.0),
        (op("exp", op("sub", X, G)), -math.inf, 0.0),
        (op("max", X, number(0.0)), -math.inf, 0.0),
        (op("sigmoid", X), 0.0, 0.5),
        # The value of the row isn't known, so neither is its product with 0: it may be infinite.
        (op("mul", X, G), 0.0, None),
        (op("sub", X, G), 0.0, None),
        (op("div", X, X), 0.0, None),
        (op("sin", X), 0.0, None),
        (op("mul", X, number(math.inf)), 0.0, math.nan),
        (G, 0.0, None),
        (number(2.0), 0.0, 2.0),
    ],
)
def test_what_padded_lanes_hold(node: Node, padding: float, value: float | None):
    found = padded_value(node, ROW, access, {X: padding})
    if value is not None and math.isnan(value):
        assert found is not None
        assert math.isnan(found)
    else:
        assert found == value


def test_a_mask_has_set_what_it_has_set():
    assert padded_value(op("exp", X), ROW, access, {X: 0.0}, {(X, ROW): -math.inf}) == 0.0


def reduce(name: str, arg: Node) -> Reduce:
    return Reduce("float32", name, arg, (ROW,))


HIGHEST = reduce("max", X)


@pytest.mark.parametrize(
    ("root", "padding"),
    [
        (reduce("sum", X), 0.0),
        (reduce("max", X), -math.inf),
        (reduce("min", X), math.inf),
        (reduce("sum", op("mul", X, X)), 0.0),
        # A softmax is served by -inf twice: in its maximum, and as e^-inf in its sum.
        (reduce("sum", op("exp", op("sub", X, HIGHEST))), -math.inf),
        # Nothing makes cos 0 for sure: the mask stays and the padding is the plain one.
        (reduce("sum", op("cos", X)), 0.0),
        (X, 0.0),
    ],
)
def test_which_padding_a_load_gets(root: Node, padding: float):
    assert choose_padding([root], access)[X] == padding


def test_products_want_zeros_and_integers_have_no_other():
    other = Load("float32", Tensor("w", (sym("N"),), "float32"), (N,))
    product = Contract("float32", X, other, (ROW,), "float32")
    assert choose_padding([product], access) == {X: 0.0, other: 0.0}
    highest = Reduce("int32", "max", INTEGERS, (ROW,))
    assert choose_padding([highest], access) == {INTEGERS: 0.0}
