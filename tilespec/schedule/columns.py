"""Fold the taps of a window into the depth of a product, where channels are too few to fill it: im2col.

A tensor core multiplies 16 or more values of the depth at a time; of an image with 3 channels it would multiply padding. So
the input is copied once with the taps of each place side by side, and the weights likewise. What stands past the last
channel is zero: rows are whole multiples of 16 values.

    before   y[n, o, h, w] = contract c, i, j: x[n, c, 2*h + i - 1, 2*w + j - 1] (0 outside) * k[o, c, i, j]
    after    x_columns[n, h, w, t] = x[n, t // 9, 2*h + t % 9 // 3 - 1, 2*w + t % 3 - 1] (0 outside)
             k_columns[o, t] = k[o, t // 9, t % 9 // 3, t % 3] (0 outside)
             y[n, o, h, w] = contract t: x_columns[n, h, w, t] * k_columns[o, t]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilespec.ir.build import literal
from tilespec.ir.nodes import Contract, Load, Store, Tensor
from tilespec.model.dims import ONE, AxisAtom, Expr, axis, product

__all__ = ["FEW", "Columns", "fold_taps"]

FEW = 16
"""Channels from which on they fill the depth of a product themselves."""
_USUAL = 3
"""Channels of an image: how many taps are folded goes by them, unless the spec has a number."""
_DEPTH = 32
"""Depth of a tile of float32."""

Columns = tuple[Store, Load]
"""A store that writes an operand with its taps side by side, and the load that reads it."""


def fold_taps(
    node: Contract, window: Load, weights: Load, channels: AxisAtom, names: tuple[str, str]
) -> tuple[Columns, Columns, tuple[AxisAtom, ...]] | None:
    """Return the window and the weights with folded taps, and the axes that are left to contract; None without taps."""
    places = [item for item in window.index if isinstance(item, Expr)]
    taps = [item for part in places for item in node.axes if item != channels and item in part.axes]
    plain = [item.axis for item in weights.index if isinstance(item, Expr)]
    if (
        not taps
        or sorted((*taps, channels), key=node.axes.index) != list(node.axes)
        or any(part.linear() is None for part in places)
        or not set(node.axes) <= set(plain)
        or channels not in {part.axis for part in places}
        or any(item.extent.value is None for item in taps)
    ):
        return None
    folded = _folded(taps, channels)
    size = product(item.extent for item in folded)
    rows = (size * channels.extent + FEW - 1) // FEW * FEW
    taken = {item.name for item in (*window.free, *weights.free)}
    name = "t"
    while name in taken:
        name += "_"
    depth = axis(name, rows)
    digits = {channels.name: depth // size, **_digits(depth % size, folded)}
    left = [item for item in taps if item not in folded]
    return (
        _pack(window, depth, digits, names[0]),
        _pack(weights, depth, digits, names[1]),
        (*left, *depth.axes),
    )


def _folded(taps: Sequence[AxisAtom], channels: AxisAtom) -> list[AxisAtom]:
    """Return the inner taps that, with the channels, fill three quarters of the tiles of the depth; all if none do."""
    usual = channels.extent.value or _USUAL
    for count in range(1, len(taps)):
        depth = usual * (product(item.extent for item in taps[-count:]).value or 1)
        if 4 * depth >= 3 * _DEPTH * -(-depth // _DEPTH):
            return list(taps[-count:])
    return list(taps)


def _digits(place: Expr, folded: Sequence[AxisAtom]) -> Mapping[str, Expr]:
    digits: dict[str, Expr] = {}
    below = ONE
    for item in reversed(folded):
        digit = place // below
        digits[item.name] = digit if item is folded[0] else digit % item.extent
        below = below * item.extent
    return digits


def _pack(
    load: Load,
    depth: Expr,
    digits: Mapping[str, Expr],
    name: str,
) -> Columns:
    """Write one operand: a dim for each place that its windows start at, the others as they are, then the depth."""
    index: list[Expr] = []
    read: list[Expr] = []
    moved: list[Expr] = []
    for number, part in enumerate(item for item in load.index if isinstance(item, Expr)):
        inner = part.substitute(digits)
        if inner != part:
            own = [item for item in sorted(part.axes, key=lambda item: item.name) if item.name not in digits]
            index += [axis(item.name, item.extent) for item in own]
            moved += [axis(item.name, item.extent) for item in own]
            read.append(inner)
            continue
        offset = part.lower()
        index.append(axis(f"p{number}", (part - offset).upper() + 1))
        moved.append(part - offset)
        read.append(index[-1] + offset)
    index.append(depth)
    moved.append(depth)
    shape = tuple((item.upper() + 1) for item in index)
    tensor = Tensor(name, shape, load.tensor.dtype)
    fill = literal(load.dtype, 0).value if load.fill is None else load.fill
    value = Load(load.dtype, load.tensor, tuple(read), fill, load.span)
    axes = tuple(item.axis for item in index if item.axis is not None)
    return (
        Store(tensor, tuple(index), value, axes),
        Load(load.dtype, tensor, tuple(moved), None, load.span),
    )
