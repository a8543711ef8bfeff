"""Which view of a tensor makes an index a tile access, and when there is none."""

from __future__ import annotations

import pytest

from tilespec.ir.nodes import Load, Node, Tensor
from tilespec.model.dims import Expr, axis, sym
from tilespec.schedule.access import Gather, TileAccess, find_access

B, S, D, E, H, N = (sym(name) for name in "BSDEHN")
b, s, d, e, h, n = (
    axis(name, size) for name, size in (("b", B), ("s", S), ("d", D), ("e", E), ("h", H), ("n", N))
)
m = axis("m", B * S)
r = axis("r", B * S * D)


def name(access: TileAccess) -> list[str]:
    """Write each dim of a view: its size, what reads it, and how it is cut."""
    found = []
    for dim in access.dims:
        reader = dim.axis.name if dim.axis is not None else str(dim.index)
        cut = "" if dim.cut is None else f" cut {dim.cut[0]}, {dim.cut[1]}, {dim.cut[2]}"
        found.append(f"{dim.size}: {reader}{cut}")
    return found


def find(
    index: list[Expr | Node], extents: list[Expr], tiled: str, *, guarded: bool = False
) -> TileAccess | Gather:
    names = set(tiled.split())
    return find_access(index, extents, lambda item: item.name in names, guarded=guarded)


@pytest.mark.parametrize(
    ("index", "extents", "tiled", "view", "shape"),
    [
        ([b, d], [B, D], "b d", ["B: b", "D: d"], None),
        ([d, b], [D, B], "b d", ["D: d", "B: b"], None),
        ([b, d], [B, D], "d", ["B: b", "D: d"], None),
        ([b + 1, d], [B + 1, D], "d", ["B + 1: b + 1", "D: d"], None),
        ([d], [D], "d", ["D: d"], None),
        # Rows of several dims are one dim of a view.
        ([m // S, m % S, d], [B, S, D], "m d", ["B*S: m", "D: d"], "(B*S, D)"),
        ([r // (S * D), r // D % S, r % D], [B, S, D], "r", ["B*D*S: r"], "(B*D*S)"),
        # One dim that holds two axes is two dims of a view.
        ([b, h * E + e], [B, H * E], "b h e", ["B: b", "H: h", "E: e"], "(B, H, E)"),
        ([b, h * E + e], [B, H * E], "b e", ["B: b", "H: h", "E: e"], "(B, H, E)"),
        # A part of a dim is a slice.
        ([b, d + D], [B, 2 * D], "b d", ["B: b", "2*D: d cut D, D, 1"], None),
        ([b, d], [B, 2 * D], "b d", ["B: b", "2*D: d cut 0, D, 1"], None),
        ([b, 2 * d], [B, 2 * D], "b d", ["B: b", "2*D: d cut 0, D, 2"], None),
        ([b, 2 * d + 1], [B, 2 * D], "b d", ["B: b", "2*D: d cut 1, D, 2"], None),
        # The slowest part of a split dim may be cut as well.
        ([(h + H) * E + e], [3 * H * E], "h e", ["3*H: h cut H, H, 1", "E: e"], "(3*H, E)"),
        # A window over a dim steps along it twice, backwards or from a computed place too.
        ([b, d + h], [B, D + H - 1], "b d", ["B: b", "D: d", "H: h"], "(B, D, H)"),
        ([b, d + H - 1 - h], [B, D + H - 1], "b d", ["B: b", "D: d", "H: H - h - 1"], "(B, D, H)"),
        ([b, 2 * d + h % 2], [B, 2 * D], "b d", ["B: b", "D: d", "2: h % 2"], "(B, D, 2)"),
        ([], [], "", ["1: 0"], "(1,)"),
    ],
)
def test_a_view(index: list[Expr], extents: list[Expr], tiled: str, view: list[str], shape: str | None):
    found = find(list(index), extents, tiled)
    assert isinstance(found, TileAccess), found.reason
    assert name(found) == view
    written = None if found.shape is None else "(" + ", ".join(str(dim) for dim in found.shape) + ")"
    assert (written or "").replace(",)", ")") == (shape or "").replace(",)", ")")
    assert found.cuts == any("cut" in item for item in view)


@pytest.mark.parametrize(
    ("index", "extents", "tiled", "reason"),
    [
        ([b, N - 1 - n], [B, N], "b n", "not a positive constant"),
        ([b, n], [B, D], "b n", "may leave"),
        ([b, d + N], [B, D], "b d", "may leave"),
        ([d, d], [D, D], "d", "indexes two dims"),
        ([d // 2], [D], "d", "not affine"),
        ([b, h * E + e + 1], [B, H * E], "h e", "leave|digit"),
        ([h * N + e], [H * E], "h e", "divide"),
    ],
)
def test_no_view(index: list[Expr], extents: list[Expr], tiled: str, reason: str):
    found = find(list(index), extents, tiled)
    assert isinstance(found, Gather)
    assert any(part in found.reason for part in reason.split("|")), found.reason


def test_an_index_that_is_data_is_gathered():
    positions = Load("int64", Tensor("t", (B,), "int64"), (b,))
    for index, extents in (([positions, d], [N, D]), ([d, positions], [D, N])):
        found = find(list(index), list(extents), "b d")
        assert isinstance(found, Gather)
        assert "data" in found.reason


def test_a_guarded_scalar_index_must_stay_inside():
    inside = find([b, d], [B, D], "d", guarded=True)
    assert isinstance(inside, TileAccess)
    outside = find([b - 1, d], [B, D], "d", guarded=True)
    assert isinstance(outside, Gather)
    assert "leave" in outside.reason
    # Without a guard the index is in range wherever the value is used.
    assert isinstance(find([b - 1, d], [B, D], "d"), TileAccess)


@pytest.mark.parametrize("offset", [-1, 1])
def test_a_guarded_tile_index_must_stay_inside(offset: int):
    assert isinstance(find([b, d + offset], [B, D], "b d", guarded=True), Gather)
