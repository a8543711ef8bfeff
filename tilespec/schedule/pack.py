"""Bring the operands of a convolution into the layout that tensor cores read: one launch each, before the product.

A convolution is a contraction over channels and a sliding window. Read from NCHW with a border of zeros, its tiles are
gathers. So the input is copied once, channels last and with its border, and the weights once with channels last; then
every load is a tile of a view.

    before   y[n, o, h, w] = contract c, i, j: x[n, c, 2*h + i - 1, 2*w + j - 1] (0 outside) * k[o, c, i, j]
    after    x_packed[n, p, q, c] = x[n, c, p - 1, q - 1] (0 outside)
             k_packed[i, j, o, c] = k[o, c, i, j]
             y[n, o, h, w] = contract c, i, j: x_packed[n, 2*h + i, 2*w + j, c] * k_packed[i, j, o, c]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilespec.ir.build import literal
from tilespec.ir.nodes import Compute, Contract, Load, Node, Program, Store, Tensor, postorder, rewrite
from tilespec.model.dims import ZERO, AxisAtom, Expr, axis
from tilespec.schedule.columns import FEW, Columns, fold_taps
from tilespec.schedule.common import overlaps
from tilespec.schedule.phases import split_phases
from tilespec.schedule.skip import without_tests

__all__ = ["Packed", "pack_operands"]

_OPERANDS = frozenset({"float16", "bfloat16", "float32"})
_MOST_DIMS = 4
"""Dims of a packed input: a window over it has one more, and what is known of strides ends at 5 (cuda-tile 1.7)."""


@dataclass(frozen=True)
class Packed:
    """A way to pack: programs that write the operands, what they write, and the program that reads it.

    It serves sizes for which `condition` is at least 0; None serves all that are left.
    """

    steps: tuple[Program, ...]
    tensors: tuple[Tensor, ...]
    program: Program
    condition: Expr | None = None


def pack_operands(program: Program) -> list[Packed]:
    """Return the ways to pack the operands of the first convolution of a program, for few channels first; or none."""
    ways = _columns(program)
    if any(way.condition is None for way in ways):
        return ways
    phased = split_phases(program)
    found = _first(phased)
    if found is None:
        return ways
    node, weights, window, channels = found
    names = _names(window, weights, "packed", program)
    packs = (
        (window, _pack_window(window, node, channels, names[0])),
        (weights, _pack_weights(weights, channels, names[1])),
    )
    return [*ways, _packed(phased, node, packs, node.axes, None)]


def _columns(program: Program) -> list[Packed]:
    """Return the way to pack for few channels, if their number may be small."""
    found = _first(program)
    if found is None:
        return []
    node, weights, window, channels = found
    room = FEW - 1 - channels.extent
    if any(without_tests(side)[0] for side in node.operands) or (room.value or 0) < 0:
        return []
    folded = fold_taps(node, window, weights, channels, _names(window, weights, "columns", program))
    if folded is None:
        return []
    packs = ((window, folded[0]), (weights, folded[1]))
    return [_packed(program, node, packs, folded[2], room if room.value is None else None)]


def _packed(
    program: Program,
    node: Contract,
    packs: Sequence[tuple[Load, Columns]],
    axes: tuple[AxisAtom, ...],
    condition: Expr | None,
) -> Packed:
    tensors = tuple(store.tensor for _, (store, _) in packs)
    steps = tuple(
        Program(f"{program.name}_pack_{load.tensor.name}", program.inputs, program.parameters, (store,))
        for load, (store, _) in packs
    )
    memo: dict[Node, Node] = {load: moved for load, (_, moved) in packs}
    packed = replace(
        node,
        left=rewrite(node.left, lambda item: item, memo),
        right=rewrite(node.right, lambda item: item, memo),
        axes=axes,
    )
    swap: dict[Node, Node] = {node: packed}
    stores = tuple(
        replace(store, value=rewrite(store.value, lambda item: item, swap)) for store in program.stores
    )
    return Packed(
        steps, tensors, replace(program, inputs=(*program.inputs, *tensors), stores=stores), condition
    )


def _names(window: Load, weights: Load, kind: str, program: Program) -> tuple[str, str]:
    taken = {item.name for item in (*program.inputs, *program.outputs)}
    names: list[str] = []
    for load in (window, weights):
        name = f"{load.tensor.name}_{kind}"
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names[0], names[1]


def _first(program: Program) -> tuple[Contract, Load, Load, AxisAtom] | None:
    """Return the first convolution of a program with its weights, its input and its channels."""
    for node in postorder(store.value for store in program.stores):
        found = _convolution(node, program) if isinstance(node, Contract) else None
        if isinstance(node, Contract) and found is not None:
            return (node, *found)
    return None


def _convolution(node: Contract, program: Program) -> tuple[Load, Load, AxisAtom] | None:
    """Return weights, windowed input and the channel axis of a convolution with enough channels for a tensor core."""
    if node.operand not in _OPERANDS:
        return None
    sides = [_operand(node.left), _operand(node.right)]
    if sides[0] is None or sides[1] is None:
        return None
    windowed = [side for side in sides if side is not None and _windows(side, node)]
    if len(windowed) != 1:
        return None
    window = windowed[0]
    weights = sides[0] if sides[1] is window else sides[1]
    assert weights is not None  # noqa: S101 - as tested
    channels = [
        item
        for item in node.axes
        if item.extent.value != 1
        and not _in_window(item, window)
        and any(isinstance(part, Expr) and item in part.axes for part in window.index)
    ]
    output = [
        item
        for item in weights.free - node.bound
        if item not in window.free and any(item in store.axes for store in program.stores)
    ]
    if len(channels) != 1 or not output:
        return None
    for side in (window, weights):
        if any(not isinstance(part, Expr) for part in side.index):
            return None
        own = [part for part in side.index if isinstance(part, Expr) and channels[0] in part.axes]
        if len(own) != 1 or own[0].linear() is None:
            return None
    return weights, window, channels[0]


def _operand(node: Node) -> Load | None:
    """Return the load under casts and tests."""
    _, inner = without_tests(node)
    while isinstance(inner, Compute) and inner.op == "cast":
        inner = inner.args[0]
    return inner if isinstance(inner, Load) else None


def _in_window(item: AxisAtom, load: Load) -> bool:
    """Whether an axis shares an index with another one that it slides along, or is offset."""
    for part in load.index:
        if not isinstance(part, Expr) or item not in part.axes:
            continue
        strides, rest, computed = _affine(part)
        if rest != ZERO or computed != ZERO or overlaps(strides):
            return True
    return False


def _windows(load: Load, node: Contract) -> bool:
    """Whether an index slides along a window, or starts at a place that is computed from other axes."""
    for part in load.index:
        if not isinstance(part, Expr):
            return False
        strides, rest, computed = _affine(part)
        if set(strides) & node.bound and (rest != ZERO or overlaps(strides)):
            return True
        if set(strides) - node.bound and computed != ZERO:
            return True
    return False


def _affine(part: Expr) -> tuple[dict[AxisAtom, Expr], Expr, Expr]:
    """Return the multiples of axes in an index, what is free of axes, and quotients and remainders of axes."""
    computed = Expr(tuple(term for term in part.terms if Expr((term,)).linear() is None))
    split = (part - computed).linear()
    assert split is not None  # noqa: S101 - each term is linear
    return (*split, computed)


def _pack_window(load: Load, node: Contract, channels: AxisAtom, name: str) -> tuple[Store, Load]:
    """Pack the input: spatial dims with their border, in order, then the channels."""
    parts = [part for part in load.index if isinstance(part, Expr)]
    last = next(place for place, part in enumerate(parts) if channels in part.axes)
    order = [place for place in range(len(parts)) if place != last] + [last]
    shape: list[Expr] = []
    read: list[Expr] = [ZERO] * len(parts)
    moved: list[Expr] = []
    axes: list[AxisAtom] = []
    index: list[Expr] = []
    for place in order:
        strides, rest, computed = _affine(parts[place])
        slides = place != last and bool(set(strides) & node.bound or rest != ZERO or computed != ZERO)
        # The border starts where the window does: a transposed convolution walks it backwards.
        offset = parts[place].lower() if slides else rest
        extent = (parts[place] - offset).upper() + 1 if slides else load.tensor.shape[place]
        item = axis(f"p{place}", extent)
        shape.append(extent)
        index.append(item)
        read[place] = item + offset if slides else item
        moved.append(parts[place] - offset if slides else parts[place])
        if item.axis is not None:
            axes.append(item.axis)
    fill = literal(load.dtype, 0).value if load.fill is None else load.fill
    inside = all(read[place] == index[order.index(place)] for place in range(len(parts)))
    value = Load(load.dtype, load.tensor, tuple(read), None if inside else fill, load.span)
    groups = len(parts[last].axes) - 1
    while len(shape) > max(_MOST_DIMS - groups, 2):
        index[:2], moved[:2] = [index[0] * shape[1] + index[1]], [moved[0] * shape[1] + moved[1]]
        shape[:2] = [shape[0] * shape[1]]
    tensor = Tensor(name, tuple(shape), load.tensor.dtype)
    return (
        Store(tensor, tuple(index), value, tuple(axes)),
        Load(load.dtype, tensor, tuple(moved), None, load.span),
    )


def _pack_weights(load: Load, channels: AxisAtom, name: str) -> tuple[Store, Load]:
    """Pack the weights: the window first, then output channels, then the channels."""
    parts = [part for part in load.index if isinstance(part, Expr)]
    last = next(place for place, part in enumerate(parts) if channels in part.axes)
    # Torch lays weights out as (out, in, window): the window in front, out and in behind it.
    front = [place for place in range(2, len(parts)) if place != last]
    order = [*front, *(place for place in range(len(parts)) if place not in front and place != last), last]
    index: list[Expr] = [axis(f"p{place}", load.tensor.shape[place]) for place in range(len(parts))]
    tensor = Tensor(name, tuple(load.tensor.shape[place] for place in order), load.tensor.dtype)
    axes = tuple(index[place].axis for place in order)
    value = Load(load.dtype, load.tensor, tuple(index), None, load.span)
    store = Store(
        tensor,
        tuple(index[place] for place in order),
        value,
        tuple(item for item in axes if item is not None),
    )
    return store, Load(load.dtype, tensor, tuple(parts[place] for place in order), load.fill, load.span)
