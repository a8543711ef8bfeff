"""Arithmetic on scalar arguments and sizes: `eps * 2`, `1 / math.sqrt(d)`."""

from __future__ import annotations

from collections.abc import Callable

from tilespec.ir.build import index_node, literal
from tilespec.ir.nodes import Const, Node
from tilespec.lowering.call import Call, Rule, convert
from tilespec.lowering.values import Index, Value
from tilespec.model.dims import Expr
from tilespec.reference.graph import Argument

__all__ = ["RULES"]


def _number(call: Call, raw: Argument) -> Node:
    """Return an operand as float32; what needs float64 is widened where it is used."""
    if isinstance(raw, float | int):
        return literal("float32", float(raw))
    if isinstance(raw, Expr):
        return convert(index_node(raw), "float32", call.span)
    return convert(call.as_value(raw).at(()), "float32", call.span)


def _scalar(call: Call, make: Callable[..., Node]) -> Value:
    def fetch(_: Index) -> Node:
        return make(*(_number(call, raw) for raw in call.node.args))

    return Value((), "float32", fetch, weak=True)


def _table_op(op: str) -> Rule:
    def rule(call: Call) -> Value:
        def make(*args: Node) -> Node:
            return call.do(op, *args)

        return _scalar(call, make)

    return rule


def _pow(call: Call) -> Value:
    def make(base: Node, exponent: Node) -> Node:
        if isinstance(exponent, Const):
            if exponent.value == 0.5:
                return call.do("sqrt", base)
            if exponent.value == -0.5:
                return call.do("rsqrt", base)
            if exponent.value == -1:
                return call.do("reciprocal", base)
            if exponent.value == 2:
                return call.do("mul", base, base)
        return call.do("pow", base, exponent)

    return _scalar(call, make)


def _factor(value: float) -> Rule:
    def rule(call: Call) -> Value:
        def make(x: Node) -> Node:
            return call.do("mul", x, literal(x.dtype, value))

        return _scalar(call, make)

    return rule


_SAME = (
    "add sub mul div max min mod abs neg sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh "
    "asinh acosh atanh atan2 floor ceil trunc erf erfc fmod"
)


def _hypot(call: Call) -> Value:
    def make(x: Node, y: Node) -> Node:
        return call.do("sqrt", call.do("add", call.do("mul", x, x), call.do("mul", y, y)))

    return _scalar(call, make)


RULES: dict[str, Rule] = {
    **{f"scalar.{name}": _table_op(name) for name in _SAME.split()},
    "scalar.degrees": _factor(57.29577951308232),
    "scalar.fabs": _table_op("abs"),
    "scalar.hypot": _hypot,
    "scalar.pow": _pow,
    "scalar.radians": _factor(0.017453292519943295),
}
