"""Reshaping an index: row-major positions agree, and untouched dims keep their index."""

from __future__ import annotations

from itertools import product as cartesian
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from tilespec.lowering.views import reshape_index
from tilespec.model.dims import ONE, axis, const, sym

B, S, D = sym("B"), sym("S"), sym("D")


def test_merging_and_splitting_symbolic_dims():
    b, s, d = axis("b", B), axis("s", S), axis("d", D)
    assert reshape_index((B, S * D), (B, S, D), (b, s, d)) == (b, s * D + d)
    merged = axis("m", S * D)
    assert reshape_index((B, S, D), (B, S * D), (b, merged)) == (b, merged // D, merged % D)
    assert reshape_index((B, S, D), (B, S * D), (b, s * D + d)) == (b, s, d)
    assert reshape_index((B, ONE, D), (ONE, B, D, ONE), (const(0), b, d, const(0))) == (b, const(0), d)


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    factors = draw(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=4))
    others = draw(st.permutations(factors))

    def grouped(items: list[int]) -> tuple[int, ...]:
        shape = [items[0]]
        for item in items[1:]:
            if draw(st.booleans()):
                shape.append(item)
            else:
                shape[-1] *= item
        return tuple(shape)

    return grouped(factors), grouped(list(others))


@given(reshapes())
def test_any_reshape_keeps_row_major_order(shapes: tuple[tuple[int, ...], tuple[int, ...]]):
    old, new = shapes
    names = [f"i{number}" for number in range(len(new))]
    index = [axis(name, size) if size > 1 else const(0) for name, size in zip(names, new, strict=True)]
    inner = reshape_index([const(size) for size in old], [const(size) for size in new], index)

    def position(place: tuple[int, ...], shape: tuple[int, ...]) -> int:
        return sum(item * prod(shape[number + 1 :]) for number, item in enumerate(place))

    for place in cartesian(*map(range, new)):
        values = dict(zip(names, place, strict=True))
        source = tuple(item.evaluate(values) for item in inner)
        assert all(0 <= item < size for item, size in zip(source, old, strict=True))
        assert position(source, old) == position(place, new)
