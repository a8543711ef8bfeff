"""Python's operators on tiles, as one table from method to function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilespec.interpret import arithmetic, bits, contraction, convert, shapes
from tilespec.interpret.tiles import Value

__all__ = ["METHODS", "install"]

_BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": arithmetic.add,
    "sub": arithmetic.sub,
    "mul": arithmetic.mul,
    "truediv": arithmetic.truediv,
    "floordiv": arithmetic.floordiv,
    "mod": arithmetic.mod,
    "divmod": arithmetic.divmod_,
    "pow": arithmetic.pow_,
    "matmul": contraction.matmul,
    "and": bits.bitwise_and,
    "or": bits.bitwise_or,
    "xor": bits.bitwise_xor,
    "lshift": bits.bitwise_lshift,
    "rshift": bits.bitwise_rshift,
}
_PLAIN: Final[dict[str, Callable[..., Any]]] = {
    "__lt__": arithmetic.less,
    "__le__": arithmetic.less_equal,
    "__gt__": arithmetic.greater,
    "__ge__": arithmetic.greater_equal,
    "__eq__": arithmetic.equal,
    "__ne__": arithmetic.not_equal,
    "__neg__": arithmetic.negative,
    "__pos__": lambda x: x,
    "__abs__": arithmetic.abs_,
    "__invert__": bits.bitwise_not,
    "__getitem__": shapes.subscript,
    "astype": convert.astype,
    "reshape": shapes.reshape,
    "permute": shapes.permute,
    "transpose": shapes.transpose,
    "extract": shapes.extract,
    "insert": shapes.insert,
    "item": shapes.item,
}


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Value, other: Any) -> Any:  # noqa: ANN401 - passed through
        return function(other, self)

    return method


def _methods() -> dict[str, Callable[..., Any]]:
    methods = dict(_PLAIN)
    for name, function in _BINARY.items():
        methods[f"__{name}__"] = function
        methods[f"__r{name}__"] = _reflected(function)
    return methods


METHODS: Final = _methods()


def install() -> None:
    """Give `Value` its operators; they can't be written there, since they are defined on it."""
    for name, method in METHODS.items():
        setattr(Value, name, method)
