"""How a load or store reaches memory: as a tile of a host-side view, or element by element.

A tile access is possible when reshaping and slicing the tensor on the host, without a copy, makes every dim of the view
either one tile axis or one scalar index. `gather` and `scatter` serve the rest.

    x[m // S, m % S, d]  of (B, S, D)       x.reshape(B * S, D), dims (m, d)
    q[b, h, s, d]  from  p[b, s, h*E + d]   p.reshape(B, S, H, E), dims (b, s, h, d)
    x[b, s, d + E]       of (B, S, 2*E)     x[:, :, E:2*E], dims (b, s, d)
    x[n, 2*w + k, c]     of (N, W, C)       dims (n, w, k, c) with strides (N's, 2 W's, W's, C's): a sliding window
    x[n, w + 2 - k, c]   of (N, W, C)       dims (n, w, 2 - k, c): a window that is walked backwards
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tilespec.ir.nodes import Node
from tilespec.model.dims import ONE, ZERO, AxisAtom, Expr, product
from tilespec.schedule.regroup import linear_index

__all__ = ["Dim", "Gather", "TileAccess", "find_access", "inside"]


@dataclass(frozen=True, slots=True)
class Dim:
    """One dim of a view: a tile axis, or a scalar index.

    `cut` slices the dim: (start, length, step). `source` says which dim of the tensor it steps along and by how many of
    its elements; it is None where dims were joined.
    """

    size: Expr
    axis: AxisAtom | None
    index: Expr
    cut: tuple[Expr, Expr, int] | None = None
    source: tuple[int, Expr] | None = None


@dataclass(frozen=True, slots=True)
class TileAccess:
    """A view whose dims are tile axes or scalar indices.

    `shape` is the reshape it needs, None for none. With `strided` no reshape gives it: its dims overlap in memory.
    """

    dims: tuple[Dim, ...]
    shape: tuple[Expr, ...] | None
    strided: bool = False

    @property
    def cuts(self) -> bool:
        """Whether the view slices the tensor."""
        return any(dim.cut for dim in self.dims)


@dataclass(frozen=True, slots=True)
class Gather:
    """Element access, and why no view does."""

    reason: str


def find_access(
    index: Sequence[Expr | Node],
    extents: Sequence[Expr],
    tiled: Callable[[AxisAtom], bool],
    *,
    guarded: bool,
) -> TileAccess | Gather:
    """Find the view that makes `index` a tile access; `guarded` marks a load whose index may leave the tensor."""
    if not extents:
        # A 0-d tensor is read and written as one element.
        return TileAccess((Dim(ONE, None, ZERO),), (ONE,))
    dims: list[Dim] = []
    strided = False
    position = 0
    while position < len(index):
        item = index[position]
        if isinstance(item, Node):
            return Gather("the index is data")
        if not any(tiled(axis) for axis in item.axes):
            if guarded and not inside(item, extents[position]):
                return Gather(f"index `{item}` may leave the tensor")
            dims.append(Dim(extents[position], None, item, source=(position, ONE)))
            position += 1
            continue
        found = _tile_dims(index, extents, position, tiled)
        if isinstance(found, Gather) and not guarded:
            window = _window(item, extents[position], tiled)
            strided = strided or window is not None
            found = found if window is None else (_sourced(window, position), position + 1)
        if isinstance(found, Gather):
            return found
        dims.extend(found[0])
        position = found[1]
    axes = [dim.axis for dim in dims if dim.axis is not None]
    if len(set(axes)) != len(axes):
        return Gather("one axis indexes two dims")
    shape = tuple(dim.size for dim in dims)
    if strided:
        if any(dim.source is None or dim.cut for dim in dims):
            return Gather("a sliding window beside joined or sliced dims")
        return TileAccess(tuple(dims), shape, strided=True)
    return TileAccess(tuple(dims), None if shape == tuple(extents) else shape)


def inside(index: Expr, extent: Expr) -> bool:
    """Whether an index can be shown to lie in a dim."""
    return index.is_nonnegative() and (extent - 1 - index.upper()).is_nonnegative()


def _tile_dims(
    index: Sequence[Expr | Node], extents: Sequence[Expr], position: int, tiled: Callable[[AxisAtom], bool]
) -> tuple[list[Dim], int] | Gather:
    """Return the dims that a run of indices from `position` on makes, the shortest that is affine, and where it ends."""
    run: list[Expr] = []
    for item in index[position:]:
        if isinstance(item, Node):
            return Gather("the index is data")
        run.append(item)
        end = position + len(run)
        whole = item if len(run) == 1 else linear_index(run, extents[position:end])
        if whole.linear() is not None:
            break
    found = _digits(whole, product(extents[position:end]), tiled)
    if isinstance(found, Gather):
        return found
    return (_sourced(found, position) if len(run) == 1 else [replace(dim, source=None) for dim in found]), end


def _sourced(dims: list[Dim], position: int) -> list[Dim]:
    """Return dims that step along dim `position` of the tensor."""
    return [replace(dim, source=(position, dim.source[1]) if dim.source else None) for dim in dims]


def _window(whole: Expr, size: Expr, tiled: Callable[[AxisAtom], bool]) -> list[Dim] | None:
    """Read `2*w + k` as dims that step along one of the tensor: a sliding window over it.

    What no tile covers is a scalar index of any form, such as the `2 - k` of a window that is walked backwards: where it
    isn't a sum of positive multiples it is one dim.
    """
    if not inside(whole, size):
        return None
    split = whole.linear()
    if split is None or split[1] != ZERO or any(not stride.is_positive() for stride in split[0].values()):
        rest = Expr(tuple(term for term in whole.terms if not any(map(tiled, Expr((term,)).axes))))
        split = (whole - rest).linear()
        if split is None or not rest.is_nonnegative():
            return None
        scalar = [Dim(rest.upper() + 1, None, rest, source=(0, ONE))]
    else:
        scalar = []
    strides = split[0]
    if any(not stride.is_positive() for stride in strides.values()):
        return None
    order = sorted(strides, key=lambda item: (-(strides[item].value or 0), not tiled(item), item.name))
    return [
        Dim(item.extent, item, ZERO, source=(0, strides[item]))
        if tiled(item)
        else Dim(item.extent, None, _axis(item), source=(0, strides[item]))
        for item in order
    ] + scalar


def _digits(whole: Expr, size: Expr, tiled: Callable[[AxisAtom], bool]) -> list[Dim] | Gather:
    """Read an affine index of one dim as digits of a mixed radix: one view dim a digit, sliced where it is shorter."""
    split = whole.linear()
    if split is None:
        return Gather(f"index `{whole}` is not affine")
    strides, offset = split
    order = sorted(
        strides,
        key=lambda item: (
            sum(
                1
                for other in strides
                if strides[other] != strides[item] and (strides[other] - strides[item]).is_nonnegative()
            ),
            item.name,
        ),
    )
    dims: list[Dim] = []
    above = size
    for place, axis in enumerate(order):
        stride = strides[axis]
        last = place == len(order) - 1
        step = 1
        if last:
            step = stride.value or 0
            if step <= 0:
                return Gather(f"stride `{stride}` of `{axis.name}` is not a positive constant")
            unit = ONE
        else:
            unit = stride
        if unit.is_positive() is False:
            return Gather(f"stride `{stride}` of `{axis.name}` may be negative")
        width = above // unit
        if width * unit != above:
            return Gather(f"`{unit}` does not divide `{above}`")
        start = offset // unit
        offset = offset - start * unit
        used = (axis.extent - 1) * step + 1
        if not start.is_nonnegative() or not (width - start - used).is_nonnegative():
            return Gather(f"index `{whole}` may leave its dim of `{width}`")
        whole_dim = start == ZERO and step == 1 and width == axis.extent
        if not tiled(axis):
            dims.append(Dim(width, None, start + step * _axis(axis), source=(0, unit)))
        else:
            dims.append(
                Dim(width, axis, ZERO, None if whole_dim else (start, axis.extent, step), source=(0, unit))
            )
        above = unit
    if offset != ZERO:
        return Gather(f"offset of `{whole}` is not a digit")
    return dims


def _axis(axis: AxisAtom) -> Expr:
    return Expr((((axis,), 1),))
