"""Unary, binary and ternary math, comparisons, bit operations, selection and casts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tilespec.ir.build import cast, is_float, literal
from tilespec.ir.nodes import Const, Node
from tilespec.lowering.call import Call, Rule, convert
from tilespec.lowering.values import Index, Value, broadcast_index, compute_dtype, promote

__all__ = ["RULES"]


def _unary(op: str) -> Rule:
    def rule(call: Call) -> Value:
        return call.pointwise(lambda x: call.do(op, x), call.value(0))

    return rule


def _binary(op: str) -> Rule:
    def rule(call: Call) -> Value:
        return call.pointwise(lambda x, y: call.do(op, x, y), call.value(0), call.value(1))

    return rule


def _own_kind(make: Callable[[Call, Node], Node]) -> Rule:
    """Make a rule that computes in the operand's dtype and converts afterwards."""

    def rule(call: Call) -> Value:
        value = call.value(0)
        return call.pointwise(lambda x: make(call, x), value, dtype=value.dtype)

    return rule


def _compare(op: str) -> Rule:
    def rule(call: Call) -> Value:
        left, right = call.value(0), call.value(1)
        dtype = promote([left, right])
        if dtype == "bool" and op not in {"eq", "ne"}:
            dtype = "int32"
        return call.pointwise(lambda x, y: call.do(op, x, y), left, right, dtype=dtype)

    return rule


def _scaled(op: str) -> Rule:
    """`add` and `sub` with their `alpha`; on bool `add` is `or`, `sub` and `rsub` don't exist."""

    def rule(call: Call) -> Value:
        left, right = call.value(0), call.value(1)
        if call.op == "rsub":
            left, right = right, left
        alpha = call.raw(2, "alpha", 1)
        if call.meta.dtype == "bool":
            return call.pointwise(lambda x, y: call.do("or", x, y), left, right)
        if alpha == 1:
            return call.pointwise(lambda x, y: call.do(op, x, y), left, right)
        factor = call.scalar(2, "alpha", 1, call.kind)
        if call.op == "rsub":
            return call.pointwise(lambda x, y: call.do(op, x, call.do("mul", factor, y)), left, right)
        return call.pointwise(lambda x, y: call.do(op, x, call.do("mul", y, factor)), left, right)

    return rule


def _mul(call: Call) -> Value:
    op = "and" if call.meta.dtype == "bool" else "mul"
    return call.pointwise(lambda x, y: call.do(op, x, y), call.value(0), call.value(1))


def _div(call: Call) -> Value:
    mode = call.raw(2, "rounding_mode")
    floats = is_float(call.meta.dtype)

    def make(x: Node, y: Node) -> Node:
        if mode is None:
            return call.do("div", x, y)
        if mode == "floor":
            return call.do("floordiv", x, y)
        return call.do("trunc", call.do("div", x, y)) if floats else call.do("truncdiv", x, y)

    return call.pointwise(make, call.value(0), call.value(1))


def _pow(call: Call) -> Value:
    exponent = call.raw(1, "exponent")

    def make(x: Node, y: Node) -> Node:
        if isinstance(y, Const):
            short = _short_power(call, x, y.value)
            if short is not None:
                return short
        if not is_float(x.dtype):
            made = call.do("pow", cast(x, "float64"), cast(y, "float64"))
            return cast(call.do("round", made), x.dtype)
        return call.do("pow", x, y)

    if isinstance(exponent, int) and exponent > 0 and not is_float(call.meta.dtype):
        return call.pointwise(lambda x: _whole_power(call, x, exponent), call.value(0))
    if isinstance(exponent, int | float) and exponent in {0.5, -0.5, 2, 3, -1, -2, 1, 0}:
        return call.pointwise(lambda x: make(x, Const(x.dtype, exponent)), call.value(0))
    return call.pointwise(make, call.value(0), call.value(1))


def _whole_power(call: Call, x: Node, exponent: int) -> Node:
    """Multiply by squaring, which wraps as integers do."""
    result: Node | None = None
    square = x
    while exponent:
        if exponent % 2:
            result = square if result is None else call.do("mul", result, square)
        exponent //= 2
        square = call.do("mul", square, square) if exponent else square
    return literal(x.dtype, 1) if result is None else result


def _short_power(call: Call, x: Node, exponent: float) -> Node | None:
    if exponent == 0:
        return literal(x.dtype, 1)
    if exponent == 1:
        return x
    if exponent == 2:
        return call.do("mul", x, x)
    if exponent == 3:
        return call.do("mul", call.do("mul", x, x), x)
    if not is_float(x.dtype):
        return None
    if exponent == 0.5:
        return call.do("sqrt", x)
    if exponent == -0.5:
        return call.do("rsqrt", x)
    if exponent == -1:
        return call.do("reciprocal", x)
    if exponent == -2:
        return call.do("reciprocal", call.do("mul", x, x))
    return None


def _remainder(call: Call) -> Value:
    return call.pointwise(lambda x, y: call.do("mod", x, y), call.value(0), call.value(1))


def _rounding(op: str) -> Rule:
    def rule(call: Call) -> Value:
        value = call.value(0)
        if not is_float(value.dtype):
            return call.pointwise(lambda x: x, value)
        decimals = int(call.number(1, "decimals", 0)) if op == "round" else 0
        if decimals:
            scale = 10.0**decimals

            def make(x: Node) -> Node:
                factor = literal(x.dtype, scale)
                return call.do("div", call.do("round", call.do("mul", x, factor)), factor)

            return call.pointwise(make, value)
        return call.pointwise(lambda x: call.do(op, x), value)

    return rule


def _logical(op: str) -> Rule:
    def rule(call: Call) -> Value:
        operands = [call.value(position) for position in range(1 if op == "not" else 2)]
        return call.result(
            lambda index: call.do(
                op,
                *(cast(item.at(broadcast_index(item.shape, index)), "bool", call.span) for item in operands),
            )
        )

    return rule


def _where(call: Call) -> Value:
    condition, left, right = call.value(0), call.value(1), call.value(2)

    def fetch(index: Index) -> Node:
        parts = [item.at(broadcast_index(item.shape, index)) for item in (condition, left, right)]
        return call.do(
            "where",
            cast(parts[0], "bool", call.span),
            convert(parts[1], call.kind, call.span),
            convert(parts[2], call.kind, call.span),
        )

    return call.result(fetch)


def _masked_fill(call: Call) -> Value:
    value, mask, fill = call.value(0), call.value(1), call.value(2)
    return call.result(
        lambda index: call.do(
            "where",
            mask.at(broadcast_index(mask.shape, index)),
            convert(fill.at(()), call.kind, call.span),
            value.at(broadcast_index(value.shape, index)),
        )
    )


def _clamp(call: Call) -> Value:
    low = None if call.op == "clamp_max" else call.optional(1, "min")
    high = call.optional(1 if call.op == "clamp_max" else 2, "max")

    def fetch(index: Index) -> Node:
        def read(value: Value) -> Node:
            return convert(value.at(broadcast_index(value.shape, index)), call.kind, call.span)

        node = read(call.value(0))
        if low is not None:
            node = call.do("max", node, read(low))
        return call.do("min", node, read(high)) if high is not None else node

    return call.result(fetch)


def _to_copy(call: Call) -> Value:
    value = call.value(0)
    target = call.meta.dtype

    def fetch(index: Index) -> Node:
        node = value.at(index)
        if target.startswith("float8") and value.dtype != target:
            return cast(cast(node, target, call.span), compute_dtype(target), call.span)
        return convert(node, compute_dtype(target), call.span)

    return call.result(fetch)


def _identity(call: Call) -> Value:
    value = call.value(0)
    return call.result(value.at)


def _sign(call: Call, x: Node) -> Node:
    return x if x.dtype == "bool" else call.do("sign", x)


def _signbit(call: Call, x: Node) -> Node:
    if is_float(x.dtype):
        # The sign of -0.0 shows in 1/x only.
        zero = literal(x.dtype, 0)
        negative_zero = call.do("and", call.do("eq", x, zero), call.do("lt", call.do("reciprocal", x), zero))
        return call.do("or", call.do("lt", x, zero), negative_zero)
    return call.do("lt", x, literal(x.dtype, 0))


def _isnan(call: Call, x: Node) -> Node:
    return call.do("isnan", x) if is_float(x.dtype) else literal("bool", value=False)


def _isinf(call: Call, x: Node) -> Node:
    return call.do("isinf", x) if is_float(x.dtype) else literal("bool", value=False)


def _isfinite(call: Call, x: Node) -> Node:
    if not is_float(x.dtype):
        return literal("bool", value=True)
    return call.do("not", call.do("or", call.do("isnan", x), call.do("isinf", x)))


def _abs(call: Call, x: Node) -> Node:
    return x if x.dtype in {"bool", "uint8"} else call.do("abs", x)


def _square(call: Call, x: Node) -> Node:
    return call.do("mul", x, x)


def _nan_to_num(call: Call) -> Value:
    limits = {
        "float16": 65504.0,
        "bfloat16": 3.3895313892515355e38,
        "float32": 3.4028234663852886e38,
        "float64": 1.7976931348623157e308,
    }
    value = call.value(0)
    if not is_float(value.dtype):
        return _identity(call)
    largest = limits.get(value.dtype, 448.0)
    nan = call.scalar(1, "nan", 0.0, call.kind)
    top = call.scalar(2, "posinf", largest, call.kind)
    bottom = call.scalar(3, "neginf", -largest, call.kind)

    def make(x: Node) -> Node:
        inf = literal(x.dtype, math.inf)
        node = call.do("where", call.do("eq", x, inf), top, x)
        node = call.do("where", call.do("eq", x, call.do("neg", inf)), bottom, node)
        return call.do("where", call.do("isnan", x), nan, node)

    return call.pointwise(make, value)


def _lerp(call: Call) -> Value:
    def make(start: Node, end: Node, weight: Node) -> Node:
        return call.do("add", start, call.do("mul", weight, call.do("sub", end, start)))

    return call.pointwise(make, call.value(0), call.value(1), call.value(2))


def _addc(op: str) -> Rule:
    def rule(call: Call) -> Value:
        factor = call.scalar(3, "value", 1, call.kind)

        def make(base: Node, left: Node, right: Node) -> Node:
            return call.do("add", base, call.do("mul", factor, call.do(op, left, right)))

        return call.pointwise(make, call.value(0), call.value(1), call.value(2))

    return rule


def _xlogy(call: Call) -> Value:
    def make(x: Node, y: Node) -> Node:
        zero = literal(x.dtype, 0)
        log = call.do("log1p" if "1py" in call.op else "log", y)
        product = call.do("where", call.do("eq", x, zero), zero, call.do("mul", x, log))
        return call.do("where", call.do("isnan", y), y, product)

    return call.pointwise(make, call.value(0), call.value(1))


def _logaddexp(call: Call) -> Value:
    def make(x: Node, y: Node) -> Node:
        top = call.do("max", x, y)
        gap = call.do("neg", call.do("abs", call.do("sub", x, y)))
        return call.do("where", call.do("eq", x, y), call.do("add", x, literal(x.dtype, math.log(2.0))),
                       call.do("add", top, call.do("log1p", call.do("exp", gap))))  # fmt: skip

    return call.pointwise(make, call.value(0), call.value(1))


def _hypot(call: Call) -> Value:
    def make(x: Node, y: Node) -> Node:
        return call.do("sqrt", call.do("add", call.do("mul", x, x), call.do("mul", y, y)))

    return call.pointwise(make, call.value(0), call.value(1))


def _copysign(call: Call) -> Value:
    def make(x: Node, y: Node) -> Node:
        size = call.do("abs", x)
        return call.do("where", _signbit(call, y), call.do("neg", size), size)

    return call.pointwise(make, call.value(0), call.value(1))


def _fminmax(op: str) -> Rule:
    def rule(call: Call) -> Value:
        def make(x: Node, y: Node) -> Node:
            if not is_float(x.dtype):
                return call.do(op, x, y)
            inner = call.do("where", call.do("isnan", y), x, call.do(op, x, y))
            return call.do("where", call.do("isnan", x), y, inner)

        return call.pointwise(make, call.value(0), call.value(1))

    return rule


def _heaviside(call: Call) -> Value:
    def make(x: Node, y: Node) -> Node:
        zero = literal(x.dtype, 0)
        step = cast(call.do("gt", x, zero), x.dtype, call.span)
        return call.do("where", call.do("eq", x, zero), y, step)

    return call.pointwise(make, call.value(0), call.value(1))


def _bit(op: str) -> Rule:
    def rule(call: Call) -> Value:
        if op == "not":
            return call.pointwise(lambda x: call.do(op, x), call.value(0))
        return call.pointwise(lambda x, y: call.do(op, x, y), call.value(0), call.value(1))

    return rule


def _deg(factor: float) -> Rule:
    def rule(call: Call) -> Value:
        return call.pointwise(lambda x: call.do("mul", x, literal(x.dtype, factor)), call.value(0))

    return rule


def _logit(call: Call) -> Value:
    eps = call.raw(1, "eps")

    def make(x: Node) -> Node:
        one = literal(x.dtype, 1)
        if eps is not None:
            low = call.scalar(1, "eps", None, call.kind)
            x = call.do("min", call.do("max", x, low), call.do("sub", one, low))
        return call.do("log", call.do("div", x, call.do("sub", one, x)))

    return call.pointwise(make, call.value(0))


def _frac(call: Call, x: Node) -> Node:
    return call.do("sub", x, call.do("trunc", x))


def _sinc(call: Call, x: Node) -> Node:
    turn = call.do("mul", x, literal(x.dtype, math.pi))
    zero = literal(x.dtype, 0)
    return call.do(
        "where", call.do("eq", x, zero), literal(x.dtype, 1), call.do("div", call.do("sin", turn), turn)
    )


_FLOAT_UNARY = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sigmoid sin cos tan asin acos atan sinh cosh tanh "
    "asinh acosh atanh erf erfc neg"
)


def _table() -> Mapping[str, Rule]:
    rules: dict[str, Rule] = {f"aten.{name}": _unary(name) for name in _FLOAT_UNARY.split()}
    rules["aten.special_erf"] = _unary("erf")
    for name, op in (("atan2", "atan2"), ("maximum", "max"), ("minimum", "min"), ("fmod", "fmod")):
        rules[f"aten.{name}"] = _binary(op)
    for name, op in (("add", "add"), ("sub", "sub"), ("rsub", "sub")):
        rules[f"aten.{name}"] = _scaled(op)
    for op in ("eq", "ne", "lt", "le", "gt", "ge"):
        rules[f"aten.{op}"] = _compare(op)
    for op in ("floor", "ceil", "round", "trunc"):
        rules[f"aten.{op}"] = _rounding(op)
    rules["aten.fix"] = _rounding("trunc")
    for name in ("and", "or", "xor", "not"):
        rules[f"aten.bitwise_{name}"] = _bit(name)
        rules[f"aten.logical_{name}"] = _logical(name)
    for name, op in (("__and__", "and"), ("__or__", "or"), ("__xor__", "xor")):
        rules[f"aten.{name}"] = _bit(op)
    for name, op in (("bitwise_left_shift", "shl"), ("bitwise_right_shift", "shr"), ("__lshift__", "shl"), ("__rshift__", "shr")):  # fmt: skip
        rules[f"aten.{name}"] = _bit(op)
    for name in ("to", "_to_copy", "type_as"):
        rules[f"aten.{name}"] = _to_copy
    rules["prims.convert_element_type"] = _to_copy
    for name in (
        "clone",
        "alias",
        "detach",
        "contiguous",
        "lift_fresh_copy",
        "lift_fresh",
        "positive",
        "real",
    ):
        rules[f"aten.{name}"] = _identity
    rules["aten._assert_tensor_metadata"] = _identity
    return rules


RULES: dict[str, Rule] = {
    **_table(),
    "aten.abs": _own_kind(_abs),
    "aten.absolute": _own_kind(_abs),
    "aten.addcdiv": _addc("div"),
    "aten.addcmul": _addc("mul"),
    "aten.clamp": _clamp,
    "aten.clamp_max": _clamp,
    "aten.clamp_min": _clamp,
    "aten.clip": _clamp,
    "aten.copysign": _copysign,
    "aten.deg2rad": _deg(math.pi / 180),
    "aten.div": _div,
    "aten.floor_divide": lambda call: call.pointwise(
        lambda x, y: call.do("floordiv", x, y), call.value(0), call.value(1)
    ),
    "aten.fmax": _fminmax("max"),
    "aten.fmin": _fminmax("min"),
    "aten.frac": _own_kind(_frac),
    "aten.heaviside": _heaviside,
    "aten.hypot": _hypot,
    "aten.isfinite": _own_kind(_isfinite),
    "aten.isinf": _own_kind(_isinf),
    "aten.isnan": _own_kind(_isnan),
    "aten.ldexp": lambda call: call.pointwise(
        lambda x, y: call.do("mul", x, call.do("exp2", y)), call.value(0), call.value(1)
    ),
    "aten.lerp": _lerp,
    "aten.logaddexp": _logaddexp,
    "aten.logit": _logit,
    "aten.masked_fill": _masked_fill,
    "aten.mul": _mul,
    "aten.nan_to_num": _nan_to_num,
    "aten.pow": _pow,
    "aten.rad2deg": _deg(180 / math.pi),
    "aten.remainder": _remainder,
    "aten.sgn": _own_kind(_sign),
    "aten.sign": _own_kind(_sign),
    "aten.signbit": _own_kind(_signbit),
    "aten.sinc": _own_kind(_sinc),
    "aten.special_xlog1py": _xlogy,
    "aten.square": _own_kind(_square),
    "aten.where": _where,
    "aten.xlogy": _xlogy,
}
