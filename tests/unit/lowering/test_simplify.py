"""Rewrites that keep every bit, and the tempting ones that don't."""

from __future__ import annotations

import pytest

from tilespec.ir.build import axis_expr, cast, compute, index_node, literal
from tilespec.ir.nodes import Compute, Const, Load, Node, Program, Scan, Store, Tensor
from tilespec.lowering.simplify import simplify
from tilespec.model.dims import AxisAtom, const, sym

D = sym("D")
axis = AxisAtom("d", D)
i = axis_expr(axis)
x = Tensor("x", (D,), "float32")
here = Load("float32", x, (i,))


def simple(value: Node) -> Node:
    program = Program("probe", (x,), (), (Store(Tensor("y", (D,), value.dtype), (i,), value, (axis,)),))
    return simplify(program).stores[0].value


def number(value: float) -> Node:
    return literal("float32", value)


@pytest.mark.parametrize(
    "value",
    [
        compute("mul", here, number(1)),
        compute("mul", number(1), here),
        compute("div", here, number(1)),
        compute("sub", here, number(0)),
        compute("where", literal("bool", value=True), here, number(3)),
        compute("where", compute("lt", index_node(i), index_node(D)), here, number(3)),
        compute("where", compute("ge", index_node(i), literal("int64", 0)), here, here),
        Load("float32", x, (i,), 0.0),
        compute("where", compute("not", compute("isnan", here)), here, here),
    ],
)
def test_neutral_operands_and_decided_branches_go(value: Node):
    assert simple(value) is here


@pytest.mark.parametrize(
    "value",
    [
        compute("add", here, number(0)),  # -0.0 + 0.0 is 0.0
        compute("mul", here, number(0)),  # inf * 0 is nan
        compute("sub", here, here),
        compute("not", compute("lt", here, number(0))),  # true for nan, unlike x >= 0
        Load("float32", x, (i + 1,), 0.0),
    ],
)
def test_what_would_change_a_bit_stays(value: Node):
    assert simple(value) is value


def test_casts_collapse_only_where_the_middle_one_is_wider():
    half = Load("float16", Tensor("h", (D,), "float16"), (i,))
    assert simple(cast(cast(half, "float32"), "float64")) is cast(half, "float64")
    narrowing = Compute("float32", "cast", (Compute("float8_e4m3fn", "cast", (here,)),))
    assert simple(narrowing) is narrowing


def test_integers_fold_and_sizes_stay_symbolic():
    assert simple(compute("mul", index_node(D), literal("int64", 2))) is index_node(D * 2)
    assert simple(compute("floordiv", index_node(D * 6), literal("int64", 3))) is index_node(D * 2)
    assert simple(compute("gt", index_node(D), literal("int64", 0))) is Const("bool", value=True)


def test_a_condition_is_turned_instead_of_negated():
    test = compute("le", index_node(i), literal("int64", 3))
    assert simple(compute("where", compute("not", test), number(1), here)) is compute(
        "where", test, here, number(1)
    )
    assert simple(compute("not", test)) is compute("gt", index_node(i), literal("int64", 3))


def test_a_mask_made_of_numbers_becomes_its_condition():
    test = compute("le", index_node(i), literal("int64", 3))
    ones = compute("where", test, number(1), number(0))
    assert simple(compute("ne", ones, number(0))) is test
    assert simple(compute("eq", ones, number(0))) is compute("gt", index_node(i), literal("int64", 3))
    assert simple(cast(ones, "bool")) is test


def test_masks_with_one_filling_become_one():
    first = compute("le", index_node(i), literal("int64", 3))
    second = compute("ne", index_node(i), literal("int64", 2))
    inner = compute("where", second, here, number(0))
    both = compute("where", compute("and", first, second), here, number(0))
    assert simple(compute("where", first, inner, number(0))) is both
    other = compute("where", first, inner, number(1))
    assert simple(other) is other


def test_a_scan_read_backwards_runs_in_reverse():
    other = AxisAtom("r", D)
    value = Scan("float32", "sum", Load("float32", x, (D - 1 - axis_expr(other),)), other, D - 1 - i)
    made = simple(value)
    assert made is Scan("float32", "sum", Load("float32", x, (axis_expr(other),)), other, i, reverse=True)


def test_a_scan_read_forwards_stays():
    other = AxisAtom("r", D)
    value = Scan("float32", "sum", Load("float32", x, (axis_expr(other),)), other, i)
    assert simple(value) is value


def test_a_fill_that_can_show_stays():
    short = Tensor("s", (D - 1,), "float32")
    load = Load("float32", short, (i,), 0.0)
    assert simple(load) is load
    assert simple(Load("float32", Tensor("t", (D + const(1),), "float32"), (i,), 0.0)).fill is None
