"""A kernel whose inputs have quotients as sizes: the quotient is the size that its launcher reads."""

from __future__ import annotations

import pytest

from tilespec.model.dims import Expr, sym
from tilespec.pipeline import _quotient_of

H, W, N = sym("H"), sym("W"), sym("N")


@pytest.mark.parametrize("size", [H // 2, (H + 3) // 2, (H + 2 * N - 1) // 2])
def test_a_size_that_occurs_in_one_quotient_is_replaced_by_it(size: Expr):
    mapping = _quotient_of("H", [N, size])
    assert mapping is not None
    replaced = size.substitute(mapping)
    assert "H" not in replaced.symbols
    # Whatever `H` is, the quotient that a launcher reads stands for it.
    for height in range(2, 9):
        read = size.evaluate({"H": height, "N": 3})
        offset = replaced.evaluate({"H_2": 0, "N": 3})
        assert replaced.evaluate({"H_2": read - offset, "N": 3}) == read


@pytest.mark.parametrize(
    "sizes",
    [
        [H // 2, H],
        [H // 2, H // 3],
        [(3 * H) // 2],
        [H // W],
        [H % 2],
        [N],
    ],
)
def test_a_size_that_does_not_follow_from_one_quotient_stays(sizes: list[Expr]):
    assert _quotient_of("H", sizes) is None
