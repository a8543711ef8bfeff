# ruff: noqa: ANN401 (values of torch and sympy, which are typed in part)
"""Symbolic sizes and scalars: between our `Expr`, torch's `SymInt` and the sympy underneath."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch import SymFloat, SymInt
from torch._guards import SLoc, Source
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

from tilespec.model.dims import Expr, OpAtom, SymbolAtom, const, product, sym

__all__ = ["NotExpressibleError", "SymbolTable", "float_value"]


class NotExpressibleError(ValueError):
    """A size that is no integer polynomial with floor division, remainder, min and max."""


class _Name(str):  # noqa: SLOT000 (torch wants a string)
    """A name that is a string in newer torch, which reads `source.name`, and a call in older, which calls it."""

    def __call__(self) -> str:
        return str(self)


class _Named(Source):
    def __init__(self, name: str) -> None:
        self.__dict__["name"] = _Name(name)


class _Env(ShapeEnv):
    """A shape environment whose symbolic floats stay symbolic when a call asks for their value."""

    def _set_replacement(self, a: sympy.Symbol, tgt: sympy.Expr, msg: str) -> None:
        if a.is_integer:
            super()._set_replacement(a, tgt, msg)

    def _get_sloc(self, *_: object, **__: object) -> SLoc:
        # Where in torch an assumption was made is of no use here, and walking the stack for it is most of the cost.
        return _NOWHERE


_NOWHERE = SLoc(None, None)


@dataclass
class SymbolTable:
    """The symbols of one trace. `hints` are the integers behind the dim symbols while tracing."""

    equations: Mapping[str, Expr]
    hints: dict[str, int] = field(default_factory=dict)
    env: ShapeEnv = field(default_factory=_Env)
    names: dict[sympy.Symbol, str] = field(default_factory=dict)
    integers: dict[str, SymInt] = field(default_factory=dict)
    scalars: dict[sympy.Symbol, str] = field(default_factory=dict)
    defined: dict[sympy.Symbol, tuple[str, tuple[Any, ...]]] = field(default_factory=dict)
    values: dict[sympy.Symbol, float] = field(default_factory=dict)

    def integer(self, name: str, hint: int) -> SymInt:
        """Create a symbolic integer; one name has one symbol."""
        if name not in self.integers:
            source = _Named(name)
            symbol = self.env.create_symbol(
                hint, source, dynamic_dim=DimDynamic.DYNAMIC, do_not_specialize_zero_one=True
            )
            self.names[symbol] = name
            self.hints[name] = hint
            made = self.env.create_symintnode(symbol, hint=hint, source=source)
            if isinstance(made, int):
                message = f"{name} is no symbol"
                raise TypeError(message)
            self.integers[name] = made
        return self.integers[name]

    def floating(self, name: str, hint: float) -> SymFloat:
        """Create a symbolic float for scalar `name`."""
        symbol, node = self._float(name, hint)
        self.scalars[symbol] = name
        return node

    def define(self, function: str, args: Sequence[Any], value: float) -> SymFloat:
        """Create a symbolic float that stands for `function(*args)`, which is `value` at the hints."""
        symbol, node = self._float(f"{function}.{len(self.defined)}", value)
        self.defined[symbol] = (function, tuple(_sympy(arg) for arg in args))
        return node

    def _float(self, name: str, value: float) -> tuple[sympy.Symbol, SymFloat]:
        source = _Named(name)
        # Off the declared value by a part in 10^9: a number equal to it elsewhere in the text stays a number.
        hint = value * (1.0 + 1.2345e-9 * (len(self.values) + 1)) or 1.2345e-9
        symbol = self.env.create_symbol(
            hint, source, dynamic_dim=DimDynamic.DYNAMIC, positive=None, do_not_specialize_zero_one=True
        )
        self.values[symbol] = hint
        made = self.env.create_symfloatnode(symbol, hint=hint, source=source)
        if isinstance(made, float):
            message = f"{name} is no symbol"
            raise TypeError(message)
        return symbol, made

    def size(self, expr: Expr) -> SymInt | int:
        """Return `expr` over the symbols of this table."""
        expr = expr.substitute(self.equations)
        if expr.value is not None:
            return expr.value
        total: SymInt | int = 0
        for monomial, factor in expr.terms:
            part: SymInt | int = factor
            for atom in monomial:
                part = part * self._atom(atom)
            total = total + part
        return total

    def _atom(self, atom: Any) -> SymInt | int:
        if isinstance(atom, SymbolAtom):
            return self.integers[atom.name]
        if not isinstance(atom, OpAtom):
            message = f"{atom} is no size"
            raise NotExpressibleError(message)
        left, right = self.size(atom.left), self.size(atom.right)
        operations: dict[str, Callable[[Any, Any], Any]] = {
            "//": lambda one, other: one // other,
            "%": lambda one, other: one % other,
            "min": torch.sym_min,
            "max": torch.sym_max,
        }
        result: SymInt | int = operations[atom.op](left, right)
        return result

    def expr(self, value: SymInt | int | sympy.Basic) -> Expr:
        """Return a symbolic size as an `Expr`.

        Raises:
            NotExpressibleError: it is no polynomial with the four operations.
        """
        if isinstance(value, int):
            return const(value)
        if isinstance(value, SymInt):
            value = value.node.expr
        return _Converter(self.names).expr(sympy.sympify(value))

    def readable(self, text: str) -> str:
        """Replace torch's symbol names in a message by the file's names."""
        for symbol, name in sorted(self.names.items(), key=lambda item: -len(str(item[0]))):
            text = text.replace(str(symbol), name)
        return text


def float_value(value: Any) -> sympy.Basic:
    """Return the sympy expression of a symbolic or plain number."""
    return _sympy(value)


def _sympy(value: Any) -> sympy.Basic:
    if isinstance(value, SymInt | SymFloat):
        return value.node.expr
    return sympy.sympify(value)


@dataclass(frozen=True)
class _Converter:
    names: Mapping[sympy.Symbol, str]

    def expr(self, value: sympy.Basic) -> Expr:  # noqa: PLR0912 (a row of cases)
        if isinstance(value, sympy.Symbol):
            if value not in self.names:
                message = f"{value} is no size"
                raise NotExpressibleError(message)
            return sym(self.names[value])
        if isinstance(value, sympy.Integer):
            return const(int(value))
        if isinstance(value, sympy.Float) and value == int(value):
            return const(int(value))
        if isinstance(value, sympy.Add):
            return sum((self.expr(arg) for arg in value.args), const(0))
        if isinstance(value, sympy.Mul):
            return self._product(value)
        name = type(value).__name__
        args = value.args
        if name in {"ToFloat", "Identity", "IntLikeType"}:
            return self.expr(args[0])
        if name in {"Pow", "PowByNatural"} and isinstance(args[1], sympy.Integer) and int(args[1]) >= 0:
            return self.expr(args[0]) ** int(args[1])
        if name in {"FloorDiv", "CleanDiv"}:
            return self.expr(args[0]) // self.expr(args[1])
        if name in {"Mod", "PythonMod"}:
            return self.expr(args[0]) % self.expr(args[1])
        if name in {"Max", "Min"}:
            first, *rest = (self.expr(arg) for arg in args)
            for other in rest:
                first = first.maximum(other) if name == "Max" else first.minimum(other)
            return first
        if name in {"FloorToInt", "floor", "TruncToInt", "TruncToFloat", "CeilToInt", "ceiling"}:
            return self._rounded(name, args[0])
        if name == "CeilDiv":
            return self.expr(args[0]).ceildiv(self.expr(args[1]))
        message = f"{value} is no size"
        raise NotExpressibleError(message)

    def _product(self, value: sympy.Mul) -> Expr:
        rational, rest = value.as_coeff_Mul()
        if isinstance(rational, sympy.Rational) and not isinstance(rational, sympy.Integer):
            message = f"{value} is no integer"
            raise NotExpressibleError(message)
        if rational == 1:
            return product(self.expr(arg) for arg in value.args)
        return self.expr(rational) * self.expr(rest)

    def _rounded(self, name: str, value: sympy.Basic) -> Expr:
        up = name in {"CeilToInt", "ceiling"}
        kind = type(value).__name__
        if kind in {"IntTrueDiv", "FloatTrueDiv"}:
            top, bottom = (self.expr(arg) for arg in value.args)
        elif isinstance(value, sympy.Mul) and isinstance(value.as_coeff_Mul()[0], sympy.Rational):
            rational, rest = value.as_coeff_Mul()
            top, bottom = self.expr(rest) * int(rational.p), const(int(rational.q))
        elif isinstance(value, sympy.Mul) and isinstance(value.as_coeff_Mul()[0], sympy.Float):
            rational = sympy.nsimplify(value.as_coeff_Mul()[0], rational=True)
            top, bottom = self.expr(value.as_coeff_Mul()[1]) * int(rational.p), const(int(rational.q))
        else:
            return self.expr(value)
        return top.ceildiv(bottom) if up else top // bottom
