"""Which sizes are known to be multiples of what axes divide them by."""

from __future__ import annotations

import pytest

from tilespec.ir.build import axis_expr
from tilespec.ir.nodes import Load, Program, Reduce, Store, Tensor
from tilespec.lowering.multiples import multiples
from tilespec.model.dims import Expr, axis, sym
from tilespec.model.types import DimRange

N, F = sym("N"), sym("F")


def groups(divided: Expr) -> Program:
    """Return a sum over `divided` elements of each row."""
    row, member = axis("n", N).axis, axis("f", divided).axis
    assert row is not None
    assert member is not None
    x, y = Tensor("x", (N, F), "float32"), Tensor("y", (N,), "float32")
    value = Reduce("float32", "sum", Load("float32", x, (axis_expr(row), axis_expr(member))), (member,))
    return Program("groups", (x,), (), (Store(y, (axis_expr(row),), value, (row,)),))


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        (DimRange(low=16, high=64, step=8), {"F": 8 * sym("F_8")}),
        (DimRange(low=32, high=96, step=16), {"F": 8 * sym("F_8")}),
        (DimRange(choices=(8, 24)), {"F": 8 * sym("F_8")}),
        (DimRange(choices=(8, 12)), {}),
        # A step from another start.
        (DimRange(low=4, high=64, step=8), {}),
        (DimRange(low=8, high=64), {}),
        (DimRange(equals=8 * N), {}),
    ],
)
def test_multiples(limits: DimRange, found: dict[str, Expr]):
    assert multiples(groups(F // 8), {"F": limits}, ()) == found


def test_what_no_axis_divides_stays():
    assert multiples(groups(F), {"F": DimRange(low=8, step=8)}, ()) == {}
    assert multiples(groups(F // 8), {}, ()) == {}


def test_a_size_in_an_equation_stays():
    dims = {"F": DimRange(low=8, step=8), "G": DimRange(equals=2 * F)}
    assert multiples(groups(F // 8), dims, ()) == {}


def test_the_new_name_is_free():
    dims = {"F": DimRange(low=8, step=8)}
    assert multiples(groups(F // 8), dims, {"F_8", "F_8_"}) == {"F": 8 * sym("F_8__")}
