"""Index expressions: whatever the simplifier concludes holds for every size and every axis in range."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilespec.lowering.values import inside
from tilespec.model.dims import Expr, axis, const, sym

B, D, H = sym("B"), sym("D"), sym("H")
SYMBOLS = {"B": B, "D": D, "H": H}
AXES = {
    "b": axis("b", B),
    "d": axis("d", D),
    "e": axis("e", B * D),
    "r": axis("r", 3),
    "w": axis("w", (H + 1) // 2),
}

leaves = st.one_of(st.sampled_from([*SYMBOLS.values(), *AXES.values()]), st.integers(-4, 6).map(const))
divisors = st.sampled_from([const(2), const(3), B, D, B * D, D * 2])


def combine(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda pair: pair[0] + pair[1]),
        pairs.map(lambda pair: pair[0] - pair[1]),
        st.tuples(inner, st.sampled_from([const(2), const(-1), B, D])).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, divisors).map(lambda pair: pair[0] // pair[1]),
        st.tuples(inner, divisors).map(lambda pair: pair[0] % pair[1]),
        pairs.map(lambda pair: pair[0].minimum(pair[1])),
        pairs.map(lambda pair: pair[0].maximum(pair[1])),
    )


expressions = st.recursive(leaves, combine, max_leaves=6)


@st.composite
def places(draw: st.DrawFn) -> dict[str, int]:
    values = {name: draw(st.integers(1, 7)) for name in SYMBOLS}
    extents = {
        "b": values["B"],
        "d": values["D"],
        "e": values["B"] * values["D"],
        "r": 3,
        "w": (values["H"] + 1) // 2,
    }
    return values | {name: draw(st.integers(0, extent - 1)) for name, extent in extents.items()}


@settings(max_examples=600)
@given(expressions, places())
def test_what_is_shown_to_be_nonnegative_is(expr: Expr, values: dict[str, int]):
    if expr.is_nonnegative():
        assert expr.evaluate(values) >= 0
    if expr.is_positive():
        assert expr.evaluate(values) >= 1


@settings(max_examples=600)
@given(expressions, st.sampled_from([B, D, B * D, H, const(3)]), places())
def test_what_is_shown_to_be_inside_is(expr: Expr, size: Expr, values: dict[str, int]):
    if inside(expr, size):
        assert 0 <= expr.evaluate(values) < size.evaluate(values)


@settings(max_examples=600)
@given(expressions, expressions, divisors, places())
def test_arithmetic_is_that_of_integers(left: Expr, right: Expr, divisor: Expr, values: dict[str, int]):
    one, two, size = (item.evaluate(values) for item in (left, right, divisor))
    assert (left + right).evaluate(values) == one + two
    assert (left * right).evaluate(values) == one * two
    assert (left // divisor).evaluate(values) == one // size
    assert (left % divisor).evaluate(values) == one % size
    assert left.minimum(right).evaluate(values) == min(one, two)
    assert left.maximum(right).evaluate(values) == max(one, two)


@settings(max_examples=300)
@given(expressions, places(), st.sampled_from(list(AXES)))
def test_substitution_agrees_with_evaluation(expr: Expr, values: dict[str, int], name: str):
    assert expr.substitute({name: const(values[name])}).evaluate(values) == expr.evaluate(values)


@pytest.mark.parametrize("shape", [(B, D), (B, D, H), (B, const(4), D)])
def test_mixed_radix_digits_come_back(shape: tuple[Expr, ...]):
    digits = [axis(f"i{number}", size) for number, size in enumerate(shape)]
    position = const(0)
    for digit, size in zip(digits, shape, strict=True):
        position = position * size + digit
    stride = const(1)
    for digit, size in reversed(list(zip(digits, shape, strict=True))):
        assert position // stride % size == digit
        stride = stride * size
