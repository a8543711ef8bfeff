"""Convolutions of 1, 2 and 3 dims as contractions over channels and window.

    y[n, o, y, x] = sum over c, ky, kx of x[n, g*Cg + c, y*s + ky*d - p, ...] * w[o, c, ky, kx]

A transposed one looks from the output: of the window only every `stride`-th tap meets an input element, so the axis of
the window counts those taps and nothing is multiplied by inserted zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilespec.ir.build import index_node, literal
from tilespec.ir.nodes import Node
from tilespec.lowering.call import Call, Rule, convert
from tilespec.lowering.contraction import product_of
from tilespec.lowering.values import Index, Value, padded
from tilespec.model.dims import ONE, ZERO, Expr

__all__ = ["RULES"]


@dataclass(frozen=True, slots=True)
class _Window:
    """Stride, padding in front and dilation of each spatial dim."""

    stride: tuple[Expr, ...]
    padding: tuple[Expr, ...]
    dilation: tuple[Expr, ...]


_Maker = Callable[[Call, Value, Value, Value | None, _Window, Expr], Value]


def _spread(sizes: Sequence[Expr], rank: int) -> tuple[Expr, ...]:
    return tuple(sizes) if len(sizes) == rank else tuple(sizes) * rank


def _biased(call: Call, node: Node, bias: Value | None, channel: Expr) -> Node:
    if bias is None:
        return node
    return call.do("add", node, convert(bias.at((channel,)), node.dtype, call.span))


def _forward(
    call: Call, value: Value, weight: Value, bias: Value | None, window: _Window, groups: Expr
) -> Value:
    width = weight.shape[1]
    channel = call.axis("c", width)
    taps = [call.axis(f"k{dim}", size) for dim, size in enumerate(weight.shape[2:])]
    per_group = weight.shape[0] // groups

    def fetch(index: Index) -> Node:
        sample, out, *places = index
        group = ZERO if groups == ONE else out // per_group
        spatial = [
            place * stride + tap * dilation - padding
            for place, tap, stride, padding, dilation in zip(
                places, taps, window.stride, window.padding, window.dilation, strict=True
            )
        ]
        left = padded(value, (sample, group * width + channel, *spatial), 0)
        node = product_of(call, left, weight.at((out, channel, *taps)), (channel, *taps), value.dtype)
        return _biased(call, node, bias, out)

    return call.result(fetch)


@dataclass(frozen=True, slots=True)
class _Tap:
    """One spatial dim of a transposed convolution at one output place: window and input position, and tests."""

    window: Expr
    place: Expr
    tests: tuple[Node, ...]


def _tap(call: Call, number: int, place: Expr, size: Expr, window: _Window) -> tuple[Expr, _Tap]:
    """Return the axis over taps and the tap at an output place.

    `place + padding = input*stride + k*dilation`: with `g = gcd(stride, dilation)` this needs `(place + padding) % g == 0`,
    and then `k` is fixed modulo `stride / g`.
    """
    stride, dilation = window.stride[number].value, window.dilation[number].value
    if stride is None or dilation is None:
        call.refuse("its stride or dilation depends on sizes", "write stride and dilation as literals")
    shifted = place + window.padding[number]
    common = math.gcd(stride, dilation)
    period, step = stride // common, dilation // common
    tests: list[Node] = []
    if common > 1:
        tests.append(call.do("eq", index_node(shifted % common), literal("int64", 0)))
        shifted = shifted // common
    axis = call.axis(f"k{number}", size.ceildiv(period))
    if period == 1:
        return axis, _Tap(axis, shifted - axis * step, tuple(tests))
    inverse = pow(step, -1, period)
    first = (shifted * inverse) % period
    tap = first + axis * period
    # A tap past the window must not meet an infinite input: its weight reads as 0.
    if not (size - 1 - tap).is_nonnegative():
        tests.append(call.do("lt", index_node(tap), index_node(size)))
    # One dilation further and back, so that what is divided is not negative.
    start = shifted // period if step == 1 else (shifted + (period - first) * step) // period - step
    return axis, _Tap(tap, start - axis * step, tuple(tests))


def _transposed(
    call: Call, value: Value, weight: Value, bias: Value | None, window: _Window, groups: Expr
) -> Value:
    width = value.shape[1] // groups
    per_group = weight.shape[1]
    channel = call.axis("c", width)

    def fetch(index: Index) -> Node:
        sample, out, *places = index
        group = ZERO if groups == ONE else out // per_group
        inner = out if groups == ONE else out % per_group
        axes: list[Expr] = []
        taps: list[_Tap] = []
        for number, (place, size) in enumerate(zip(places, weight.shape[2:], strict=True)):
            axis, tap = _tap(call, number, place, size, window)
            axes.append(axis)
            taps.append(tap)
        from_channel = group * width + channel
        left = padded(value, (sample, from_channel, *(tap.place for tap in taps)), 0)
        for test in (test for tap in taps for test in tap.tests):
            left = call.do("where", test, left, literal(left.dtype, 0))
        right = padded(weight, (from_channel, inner, *(tap.window for tap in taps)), 0)
        node = product_of(call, left, right, (channel, *axes), value.dtype)
        return _biased(call, node, bias, out)

    return call.result(fetch)


def _general(call: Call) -> Value:
    """`aten.convolution`: everything by position."""
    value, weight, bias = call.value(0), call.value(1), call.optional(2, "bias")
    rank = weight.rank - 2
    window = _Window(
        _spread(call.sizes(3, "stride"), rank),
        _spread(call.sizes(4, "padding"), rank),
        _spread(call.sizes(5, "dilation"), rank),
    )
    groups = call.size(8, "groups", 1)
    make = _transposed if call.flag(6, "transposed") else _forward
    return _batched(call, make, value, weight, bias, window, groups)


def _batched(
    call: Call, make: _Maker, value: Value, weight: Value, bias: Value | None, window: _Window, groups: Expr
) -> Value:
    if value.rank == weight.rank:
        return make(call, value, weight, bias, window, groups)
    # Without a batch dim: one sample.
    one = Value((ONE, *value.shape), value.dtype, lambda index: value.at(index[1:]))
    made = make(call, one, weight, bias, window, groups)
    return call.result(lambda index: made.at((ZERO, *index)))


def _plain(call: Call) -> Value:
    """`conv1d`, `conv2d`, `conv3d` with numbers or `same`/`valid` as padding."""
    value, weight, bias = call.value(0), call.value(1), call.optional(2, "bias")
    rank = weight.rank - 2
    dilation = _spread(call.sizes(5, "dilation", 1), rank)
    raw = call.raw(4, "padding", 0)
    if raw == "same":
        padding = tuple(
            (step * (size - 1)) // 2 for step, size in zip(dilation, weight.shape[2:], strict=True)
        )
    elif raw == "valid":
        padding = (ZERO,) * rank
    else:
        padding = _spread(call.sizes(4, "padding", 0), rank)
    window = _Window(_spread(call.sizes(3, "stride", 1), rank), padding, dilation)
    return _batched(call, _forward, value, weight, bias, window, call.size(6, "groups", 1))


def _plain_transposed(call: Call) -> Value:
    """`conv_transpose1d`, `2d`, `3d`."""
    value, weight, bias = call.value(0), call.value(1), call.optional(2, "bias")
    rank = weight.rank - 2
    window = _Window(
        _spread(call.sizes(3, "stride", 1), rank),
        _spread(call.sizes(4, "padding", 0), rank),
        _spread(call.sizes(7, "dilation", 1), rank),
    )
    return _batched(call, _transposed, value, weight, bias, window, call.size(6, "groups", 1))


def _fold(call: Call) -> Value:
    """`col2im`: sum the blocks of every window that covers an element."""
    value = call.value(0)
    names = ("output_size", "kernel_size", "dilation", "padding", "stride")
    outs, size, dilation, padding, stride = (
        _spread(call.sizes(position + 1, name), 2) for position, name in enumerate(names)
    )
    window = _Window(stride, padding, dilation)
    counts = [
        (out + 2 * pad - step * (length - 1) - 1) // jump + 1
        for out, pad, step, length, jump in zip(outs, padding, dilation, size, stride, strict=True)
    ]

    def fetch(index: Index) -> Node:
        taps = [_tap(call, number, index[-2 + number], size[number], window) for number in range(2)]
        (first_axis, first), (second_axis, second) = taps
        row = index[-3] * (size[0] * size[1]) + first.window * size[1] + second.window
        place = first.place * counts[1] + second.place
        node = value.at((*index[:-3], row, place))
        tests = [*first.tests, *second.tests]
        for tap, count in ((first, counts[0]), (second, counts[1])):
            tests.append(call.do("ge", index_node(tap.place), literal("int64", 0)))
            tests.append(call.do("lt", index_node(tap.place), index_node(count)))
        for test in tests:
            node = call.do("where", test, node, literal(node.dtype, 0))
        return call.reduce("sum", node, (first_axis, second_axis))

    return call.result(fetch)


RULES: dict[str, Rule] = {
    "aten._convolution": _general,
    "aten.col2im": _fold,
    "aten.conv1d": _plain,
    "aten.conv2d": _plain,
    "aten.conv3d": _plain,
    "aten.conv_transpose1d": _plain_transposed,
    "aten.conv_transpose2d": _plain_transposed,
    "aten.conv_transpose3d": _plain_transposed,
    "aten.convolution": _general,
}
