"""Activation functions, as trees of scalar operations."""

from __future__ import annotations

import math
from collections.abc import Callable

from tilespec.ir.build import literal
from tilespec.ir.nodes import Node
from tilespec.lowering.call import Call, Rule
from tilespec.lowering.values import Index, Value
from tilespec.model.dims import ONE

__all__ = ["RULES"]


def _simple(make: Callable[[Call, Node], Node]) -> Rule:
    def rule(call: Call) -> Value:
        return call.pointwise(lambda x: make(call, x), call.value(0))

    return rule


def _relu(call: Call, x: Node) -> Node:
    return call.do("max", x, literal(x.dtype, 0))


def _relu6(call: Call, x: Node) -> Node:
    return call.do("min", _relu(call, x), literal(x.dtype, 6))


def _silu(call: Call, x: Node) -> Node:
    return call.do("mul", x, call.do("sigmoid", x))


def softplus(call: Call, x: Node) -> Node:
    """Return `log(1 + e**x)` without overflow."""
    return call.do("add", _relu(call, x), call.do("log1p", call.do("exp", call.do("neg", call.do("abs", x)))))


def _mish(call: Call, x: Node) -> Node:
    return call.do("mul", x, call.do("tanh", softplus(call, x)))


def _log_sigmoid(call: Call, x: Node) -> Node:
    return call.do("neg", softplus(call, call.do("neg", x)))


def _log_sigmoid_forward(call: Call) -> tuple[Value, Value]:
    made = call.pointwise(lambda x: _log_sigmoid(call, x), call.value(0))
    # The second result is a buffer of the backward pass, which no reference reads.
    return made, made


def _hard_gate(call: Call, x: Node) -> Node:
    """Return `clamp(x + 3, 0, 6) / 6`."""
    shifted = call.do("add", x, literal(x.dtype, 3))
    return call.do("div", _relu6(call, shifted), literal(x.dtype, 6))


def _hardswish(call: Call, x: Node) -> Node:
    return call.do("mul", x, _hard_gate(call, x))


def _softsign(call: Call, x: Node) -> Node:
    return call.do("div", x, call.do("add", literal(x.dtype, 1), call.do("abs", x)))


def _tanhshrink(call: Call, x: Node) -> Node:
    return call.do("sub", x, call.do("tanh", x))


def _gelu(call: Call) -> Value:
    tanh = call.raw(1, "approximate", "none") == "tanh" or call.approximate.get("gelu") == "tanh"

    def make(x: Node) -> Node:
        half, one = literal(x.dtype, 0.5), literal(x.dtype, 1)
        if tanh:
            cube = call.do("mul", call.do("mul", x, x), x)
            inner = call.do("add", x, call.do("mul", literal(x.dtype, 0.044715), cube))
            gate = call.do("tanh", call.do("mul", literal(x.dtype, math.sqrt(2 / math.pi)), inner))
        else:
            gate = call.do("erf", call.do("mul", x, literal(x.dtype, math.sqrt(0.5))))
        return call.do("mul", call.do("mul", half, x), call.do("add", one, gate))

    return call.pointwise(make, call.value(0))


def _leaky_relu(call: Call) -> Value:
    slope = call.scalar(1, "negative_slope", 0.01, call.kind)
    return call.pointwise(
        lambda x: call.do("where", call.do("gt", x, literal(x.dtype, 0)), x, call.do("mul", x, slope)),
        call.value(0),
    )


def _prelu(call: Call) -> Value:
    value, weight = call.value(0), call.value(1)
    if weight.rank == 1 and value.rank > 1:
        # The one dim of the weight is the channel dim of the value.
        inner = weight
        channels = ONE if inner.shape[0] == ONE else value.shape[1]
        weight = Value(
            tuple(channels if position == 1 else ONE for position in range(value.rank)),
            inner.dtype,
            lambda index: inner.at((index[1],)),
        )
    return call.pointwise(
        lambda x, w: call.do("where", call.do("gt", x, literal(x.dtype, 0)), x, call.do("mul", w, x)),
        value,
        weight,
    )


def _elu(call: Call) -> Value:
    if call.op == "celu":
        alpha = call.scalar(1, "alpha", 1.0, call.kind)
        return call.pointwise(
            lambda x: _exponential(call, x, alpha, literal(x.dtype, 1), call.do("reciprocal", alpha)),
            call.value(0),
        )
    alpha = call.scalar(1, "alpha", 1.0, call.kind)
    scale = call.scalar(2, "scale", 1.0, call.kind)
    inner = call.scalar(3, "input_scale", 1.0, call.kind)
    return call.pointwise(lambda x: _exponential(call, x, alpha, scale, inner), call.value(0))


def _exponential(call: Call, x: Node, alpha: Node, scale: Node, inner: Node) -> Node:
    low = call.do("mul", call.do("mul", alpha, scale), call.do("expm1", call.do("mul", x, inner)))
    return call.do("where", call.do("gt", x, literal(x.dtype, 0)), call.do("mul", x, scale), low)


def _selu(call: Call, x: Node) -> Node:
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    one = literal(x.dtype, 1)
    return _exponential(call, x, literal(x.dtype, alpha), literal(x.dtype, scale), one)


def _softplus(call: Call) -> Value:
    beta = call.scalar(1, "beta", 1.0, call.kind)
    threshold = call.scalar(2, "threshold", 20.0, call.kind)

    def make(x: Node) -> Node:
        scaled = call.do("mul", x, beta)
        return call.do(
            "where", call.do("gt", scaled, threshold), x, call.do("div", softplus(call, scaled), beta)
        )

    return call.pointwise(make, call.value(0))


def _hardtanh(call: Call) -> Value:
    low = call.scalar(1, "min_val", -1.0, call.kind)
    high = call.scalar(2, "max_val", 1.0, call.kind)
    return call.pointwise(lambda x: call.do("min", call.do("max", x, low), high), call.value(0))


def _hardshrink(call: Call) -> Value:
    bound = call.scalar(1, "lambd", 0.5, call.kind)
    return call.pointwise(
        lambda x: call.do("where", call.do("le", call.do("abs", x), bound), literal(x.dtype, 0), x),
        call.value(0),
    )


def _softshrink(call: Call) -> Value:
    bound = call.scalar(1, "lambd", 0.5, call.kind)

    def make(x: Node) -> Node:
        low = call.do("where", call.do("lt", x, call.do("neg", bound)), call.do("add", x, bound), call.do("mul", x, literal(x.dtype, 0)))  # fmt: skip
        return call.do("where", call.do("gt", x, bound), call.do("sub", x, bound), low)

    return call.pointwise(make, call.value(0))


def _threshold(call: Call) -> Value:
    bound = call.scalar(1, "threshold", None, call.kind)
    other = call.scalar(2, "value", None, call.kind)
    return call.pointwise(lambda x: call.do("where", call.do("le", x, bound), other, x), call.value(0))


def _glu(call: Call) -> Value:
    value = call.value(0)
    dim = call.dim(1, "dim", value.rank, -1)
    half = call.meta.shape[dim]

    def fetch(index: Index) -> Node:
        gate = value.at((*index[:dim], index[dim] + half, *index[dim + 1 :]))
        return call.do("mul", value.at(index), call.do("sigmoid", gate))

    return call.result(fetch)


RULES: dict[str, Rule] = {
    "aten._prelu_kernel": _prelu,
    "aten.celu": _elu,
    "aten.elu": _elu,
    "aten.gelu": _gelu,
    "aten.glu": _glu,
    "aten.hardshrink": _hardshrink,
    "aten.hardsigmoid": _simple(_hard_gate),
    "aten.hardswish": _simple(_hardswish),
    "aten.hardtanh": _hardtanh,
    "aten.leaky_relu": _leaky_relu,
    "aten.log_sigmoid": _simple(_log_sigmoid),
    "aten.log_sigmoid_forward": _log_sigmoid_forward,
    "aten.mish": _simple(_mish),
    "aten.prelu": _prelu,
    "aten.relu": _simple(_relu),
    "aten.relu6": _simple(_relu6),
    "aten.selu": _simple(_selu),
    "aten.silu": _simple(_silu),
    "aten.softplus": _softplus,
    "aten.softshrink": _softshrink,
    "aten.softsign": _simple(_softsign),
    "aten.tanhshrink": _simple(_tanhshrink),
    "aten.threshold": _threshold,
}
