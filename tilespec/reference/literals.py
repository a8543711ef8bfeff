"""Evaluate a number that a file states as text: a dim, a default, a bound. Needs no torch."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilespec.diagnostics import Diagnostic
from tilespec.model.types import ReferenceText
from tilespec.reference import allow
from tilespec.reference.check import Program, check, plain_text
from tilespec.reference.evaluator import Evaluator, FunctionRef, Stop, Value
from tilespec.rules import reference as rules

__all__ = ["evaluate_text"]


def evaluate_text(
    text: str, values: Mapping[str, int | float | bool] | None = None
) -> tuple[int | float | bool | None, list[Diagnostic]]:
    """Evaluate one expression over `values` under the bounds of the reference language.

    >>> evaluate_text("2 * D // heads", {"D": 64, "heads": 4})
    (32, [])
    >>> value, findings = evaluate_text("9**9**9")
    >>> value, findings[0].code
    (None, 'TS411')
    """
    names = values or {}
    wrapped = plain_text(f"def value({', '.join(names)}):\n    return (\n{text}\n)")
    program, findings = check(ReferenceText(source=wrapped.source, text=wrapped.text, first_line=1))
    if program is None:
        return None, findings
    evaluator = Evaluator(program, _Numbers(program))
    try:
        result = evaluator.call("value", names)
    except Stop as stop:
        return None, [stop.diagnostic(program)]
    if isinstance(result, int | float):
        return result, []
    node = program.functions["value"]
    rule = rules.ReferenceRaises(" ".join(text.split()), "it is not a number")
    return None, [rule.at(program.reference.source, program.span(node))]


@dataclass
class _Numbers:
    """The library of the evaluator without tensors: Python numbers and `math`."""

    program: Program

    def constant(self, path: str) -> Value:
        module, _, name = path.rpartition(".")
        if module == "math":
            value = getattr(math, name)
            return value if isinstance(value, float) else FunctionRef(path)
        return FunctionRef(path)

    def attribute(self, owner: Value, name: str, node: ast.AST) -> Value:
        del owner
        raise Stop(rules.UnknownFunction(f".{name}"), node)

    def call(self, path: str, args: Sequence[Value], kwargs: Mapping[str, Value], node: ast.AST) -> Value:
        module, _, name = path.rpartition(".")
        if module != "math" or kwargs:
            raise self._fails(node, "only numbers and `math` are known here")
        return self._run(getattr(math, name), args, node)

    def method(
        self, owner: Value, name: str, args: Sequence[Value], kwargs: Mapping[str, Value], node: ast.AST
    ) -> Value:
        del owner, args, kwargs
        raise Stop(rules.UnknownFunction(f".{name}"), node)

    def binary(self, op: Callable[[Value, Value], Value], left: Value, right: Value, node: ast.AST) -> Value:
        return self._run(op, [left, right], node)

    def unary(self, op: Callable[[Value], Value], operand: Value, node: ast.AST) -> Value:
        return self._run(op, [operand], node)

    def subscript(self, owner: Value, index: Value, node: ast.AST) -> Value:
        return self._run(operator.getitem, [owner, index], node)

    def assign(self, owner: Value, index: Value, value: Value, node: ast.AST) -> Value:
        del owner, index, value
        raise self._fails(node, "numbers have no elements")

    def update(self, target: Value, value: Value, node: ast.AST) -> Value:
        del target, node
        return value

    def truth(self, value: Value, node: ast.AST) -> bool:
        del node
        return bool(value)

    def builtin(self, name: str, args: Sequence[Value], node: ast.AST) -> Value:
        if name == "index":
            if not isinstance(args[0], int):
                raise self._fails(node, "the number of passes is no integer")
            return args[0]
        return self._run(_BUILTINS[name], args, node)

    def shares(self, left: Value, right: Value) -> bool:
        del left, right
        return False

    def _run(self, function: Callable[..., Value], args: Sequence[Value], node: ast.AST) -> Value:
        if any(isinstance(arg, int) and arg.bit_length() > allow.LIMITS["integer bits"] for arg in args):
            raise Stop(rules.ReferenceLimit("bits in an integer", allow.LIMITS["integer bits"]), node)
        try:
            result = function(*args)
        except (TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise self._fails(node, str(error)) from None
        if isinstance(result, complex):
            raise self._fails(node, "the result is not a real number")
        return result

    def _fails(self, node: ast.AST, reason: str) -> Stop:
        return Stop(rules.ReferenceRaises(self.program.text(node), reason), node)


_BUILTINS: dict[str, Callable[..., Value]] = {
    "abs": abs, "int": int, "float": float, "bool": bool, "round": round, "min": min, "max": max, "len": len,
}  # fmt: skip
