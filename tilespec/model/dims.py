"""Integer expressions over dim symbols and axes: the sizes and the indices of everything.

An `Expr` is an integer polynomial in canonical form, so equal expressions compare equal: `D*4 == 4*D` and
`2*(S + 1) - 2 == 2*S`. Its atoms are dim symbols (`D`), axes of a tile program (which carry their extent) and the
opaque operations `//`, `%`, `min`, `max`. Division is Python's floor division. Dim symbols are at least 1 and axes
lie in `[0, extent)`; the simplifier uses both, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

__all__ = ["ONE", "ZERO", "AxisAtom", "Expr", "OpAtom", "SymbolAtom", "axis", "const", "product", "sym"]


@dataclass(frozen=True, slots=True)
class SymbolAtom:
    """A dim symbol such as `D`; at least 1."""

    name: str

    @property
    def key(self) -> tuple[int, str]:
        """Sort key: symbols print before axes and operations."""
        return (0, self.name)


@dataclass(frozen=True, slots=True)
class AxisAtom:
    """An axis of a tile program, in `[0, extent)`."""

    name: str
    extent: Expr

    @property
    def key(self) -> tuple[int, str]:
        """Sort key."""
        return (1, self.name)


@dataclass(frozen=True, slots=True)
class OpAtom:
    """An operation that has no polynomial form: `op` is `//`, `%`, `min` or `max`."""

    op: str
    left: Expr
    right: Expr

    @property
    def key(self) -> tuple[int, str]:
        """Sort key."""
        return (2, f"{self.op}({self.left},{self.right})")


Atom = SymbolAtom | AxisAtom | OpAtom
Monomial = tuple[Atom, ...]
_EMPTY: Monomial = ()


def _monomial(atoms: Iterable[Atom]) -> Monomial:
    return tuple(sorted(atoms, key=lambda atom: atom.key))


def _monomial_key(monomial: Monomial) -> tuple[int, tuple[tuple[int, str], ...]]:
    return (-len(monomial), tuple(atom.key for atom in monomial))


def _divide(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    rest = list(monomial)
    for atom in divisor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


@dataclass(frozen=True)
class Expr:
    """A canonical integer polynomial: `terms` maps monomials to coefficients, sorted, without zeros."""

    terms: tuple[tuple[Monomial, int], ...]

    # construction

    @staticmethod
    def of(terms: Mapping[Monomial, int]) -> Expr:
        """Return the canonical expression with these terms."""
        kept = [(monomial, value) for monomial, value in terms.items() if value]
        kept.sort(key=lambda item: _monomial_key(item[0]))
        return Expr(tuple(kept))

    @staticmethod
    def wrap(value: Expr | int) -> Expr:
        """Return `value` as an expression."""
        return value if isinstance(value, Expr) else const(value)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.terms)

    def __add__(self, other: Expr | int) -> Expr:
        total = dict(self.terms)
        for monomial, value in Expr.wrap(other).terms:
            total[monomial] = total.get(monomial, 0) + value
        return Expr.of(total)

    __radd__ = __add__

    def __neg__(self) -> Expr:
        return Expr(tuple((monomial, -value) for monomial, value in self.terms))

    def __sub__(self, other: Expr | int) -> Expr:
        return self + (-Expr.wrap(other))

    def __rsub__(self, other: Expr | int) -> Expr:
        return Expr.wrap(other) + (-self)

    def __mul__(self, other: Expr | int) -> Expr:
        total: dict[Monomial, int] = {}
        for left, left_value in self.terms:
            for right, right_value in Expr.wrap(other).terms:
                monomial = _monomial(left + right)
                total[monomial] = total.get(monomial, 0) + left_value * right_value
        return Expr.of(total)

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Expr:
        return product([self] * exponent)

    def __floordiv__(self, other: Expr | int) -> Expr:
        return _floordiv(self, Expr.wrap(other))

    def __rfloordiv__(self, other: Expr | int) -> Expr:
        return _floordiv(Expr.wrap(other), self)

    def __mod__(self, other: Expr | int) -> Expr:
        return _mod(self, Expr.wrap(other))

    def __rmod__(self, other: Expr | int) -> Expr:
        return _mod(Expr.wrap(other), self)

    def minimum(self, other: Expr | int) -> Expr:
        """Return `min(self, other)`."""
        other = Expr.wrap(other)
        if (other - self).is_nonnegative():
            return self
        if (self - other).is_nonnegative():
            return other
        return _atom(OpAtom("min", self, other))

    def maximum(self, other: Expr | int) -> Expr:
        """Return `max(self, other)`."""
        other = Expr.wrap(other)
        if (other - self).is_nonnegative():
            return other
        if (self - other).is_nonnegative():
            return self
        return _atom(OpAtom("max", self, other))

    def ceildiv(self, other: Expr | int) -> Expr:
        """Return `-(-self // other)`."""
        return -((-self) // other)

    # inspection

    @property
    def value(self) -> int | None:
        """The integer that this is, or None when symbols or axes are left."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and self.terms[0][0] == _EMPTY:
            return self.terms[0][1]
        return None

    @property
    def symbol(self) -> str | None:
        """The name, when this is one dim symbol and nothing else."""
        atom = self.atom
        return atom.name if isinstance(atom, SymbolAtom) else None

    @property
    def axis(self) -> AxisAtom | None:
        """The axis, when this is one axis and nothing else."""
        atom = self.atom
        return atom if isinstance(atom, AxisAtom) else None

    @property
    def atom(self) -> Atom | None:
        """The atom, when this is one atom with coefficient 1 and nothing else."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) == 1:
            return self.terms[0][0][0]
        return None

    def atoms(self) -> Iterator[Atom]:
        """Yield every atom, those inside operations too; may repeat."""
        for monomial, _ in self.terms:
            for atom in monomial:
                yield atom
                if isinstance(atom, OpAtom):
                    yield from atom.left.atoms()
                    yield from atom.right.atoms()

    @cached_property
    def symbols(self) -> frozenset[str]:
        """Names of the dim symbols inside; those of axis extents are not counted."""
        return frozenset(atom.name for atom in self.atoms() if isinstance(atom, SymbolAtom))

    @cached_property
    def axes(self) -> frozenset[AxisAtom]:
        """The axes inside."""
        return frozenset(atom for atom in self.atoms() if isinstance(atom, AxisAtom))

    @cached_property
    def _names(self) -> frozenset[str]:
        # Of symbols and axes, those in the extents of axes too: all that `substitute` may replace.
        inner = frozenset[str]().union(*(atom.extent._names for atom in self.axes))  # noqa: SLF001 - of its own kind
        return self.symbols | frozenset(atom.name for atom in self.axes) | inner

    def linear(self) -> tuple[dict[AxisAtom, Expr], Expr] | None:
        """Split into `({axis: stride}, offset)`, strides and offset free of axes; None when not affine."""
        strides: dict[AxisAtom, Expr] = {}
        offset = ZERO
        for monomial, value in self.terms:
            found = [atom for atom in monomial if isinstance(atom, AxisAtom)]
            for atom in monomial:
                if isinstance(atom, OpAtom) and (atom.left.axes or atom.right.axes):
                    return None
            if len(found) > 1:
                return None
            if not found:
                offset = offset + Expr(((monomial, value),))
                continue
            rest = list(monomial)
            rest.remove(found[0])
            strides[found[0]] = strides.get(found[0], ZERO) + Expr(((tuple(rest), value),))
        return strides, offset

    def is_nonnegative(self) -> bool:
        """Whether this can be shown to be at least 0 for all symbols >= 1 and all axes in range."""
        if self.value is not None:
            return self.value >= 0
        return all(
            value >= 0 and all(_is_natural(atom) for atom in monomial)
            for monomial, value in _shift(self.lower()).terms
        )

    def is_positive(self) -> bool:
        """Whether this can be shown to be at least 1."""
        return (self - 1).is_nonnegative()

    def lower(self) -> Expr:
        """A lower bound without axes: each term at the end of its axes' ranges that makes it least."""
        return self._bound(upper=False)

    def upper(self) -> Expr:
        """An upper bound without axes."""
        return self._bound(upper=True)

    def _bound(self, *, upper: bool) -> Expr:
        total = ZERO
        for monomial, value in self.terms:
            part = const(value)
            largest = (value > 0) == upper
            signed = any(not _is_natural(atom) for atom in monomial)
            for atom in monomial:
                if isinstance(atom, OpAtom) and (atom.left.axes or atom.right.axes):
                    # A product with a factor of either sign has no bound here: it stays, and nothing is proved.
                    alone = len(monomial) == 1 or not signed
                    part = part * (
                        (_op_upper(atom) if largest else _op_lower(atom)) if alone else _atom(atom)
                    )
                elif isinstance(atom, AxisAtom) and not signed:
                    part = part * (atom.extent - 1 if largest else ZERO)
                else:
                    part = part * _atom(atom)
            total = total + part
        return total

    # use

    def substitute(self, mapping: Mapping[str, Expr]) -> Expr:
        """Replace symbols and axes by name; axes keep their extent with its symbols replaced."""
        if self._names.isdisjoint(mapping):
            return self
        total = ZERO
        for monomial, value in self.terms:
            part = const(value)
            for atom in monomial:
                part = part * _substitute_atom(atom, mapping)
            total = total + part
        return total

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Return the integer for these values of symbols and axes.

        Raises:
            KeyError: a symbol or axis has no value.
            ZeroDivisionError: a divisor is 0.
        """
        return sum(
            value * _product(_evaluate_atom(atom, values) for atom in monomial)
            for monomial, value in self.terms
        )

    def text(self, name: Callable[[Atom], str] | None = None) -> str:
        """Return Python source; `name` gives the text of symbols and axes (their own name by default)."""
        return _text(self, name or _own_name)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"Expr({self.text()})"


def _own_name(atom: Atom) -> str:
    return atom.name if not isinstance(atom, OpAtom) else ""


def _product(values: Iterable[int]) -> int:
    total = 1
    for value in values:
        total *= value
    return total


@lru_cache(maxsize=4096)
def const(value: int) -> Expr:
    """Return the constant `value`."""
    return Expr(((_EMPTY, value),)) if value else Expr(())


def _atom(atom: Atom) -> Expr:
    return Expr((((atom,), 1),))


def sym(name: str) -> Expr:
    """Return the dim symbol `name`."""
    return _atom(SymbolAtom(name))


def axis(name: str, extent: Expr | int) -> Expr:
    """Return the axis `name`, which runs over `[0, extent)`."""
    return _atom(AxisAtom(name, Expr.wrap(extent)))


def product(values: Iterable[Expr | int]) -> Expr:
    """Return the product; 1 for none."""
    total = ONE
    for value in values:
        total = total * value
    return total


ZERO = const(0)
ONE = const(1)


def _shift(expr: Expr) -> Expr:
    """Write each symbol `D` as `1 + D'`, `D' >= 0`: then non-negative coefficients prove a non-negative value.

    Operations stay as they are, numbers of their own: simplifying them again would take `D'` for a symbol, at least 1.
    """
    total = ZERO
    for monomial, value in expr.terms:
        part = const(value)
        for atom in monomial:
            part = part * (_atom(atom) + 1 if isinstance(atom, SymbolAtom) else _atom(atom))
        total = total + part
    return total


def _is_natural(atom: Atom) -> bool:
    """Whether an atom can be shown to be at least 0; divisors are positive."""
    if not isinstance(atom, OpAtom) or atom.op == "%":
        return True
    if atom.op == "//":
        return atom.left.is_nonnegative()
    sides = (atom.left.is_nonnegative(), atom.right.is_nonnegative())
    return all(sides) if atom.op == "min" else any(sides)


def _op_upper(atom: OpAtom) -> Expr:
    if atom.op == "%":
        return atom.right.upper() - 1
    if atom.op == "//":
        left = atom.left.upper()
        return left // (atom.right.lower() if left.is_nonnegative() else atom.right.upper())
    return _atom(OpAtom(atom.op, atom.left.upper(), atom.right.upper()))


def _op_lower(atom: OpAtom) -> Expr:
    if _is_natural(atom):
        return ZERO
    if atom.op == "//":
        return atom.left.lower() // atom.right.lower()
    return _atom(OpAtom(atom.op, atom.left.lower(), atom.right.lower()))


def _long_division(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Return `(quotient, remainder)` of polynomials with `left == quotient * right + remainder`."""
    lead, lead_value = right.terms[0]
    quotient, rest = ZERO, left
    for _ in range(64):
        for monomial, value in rest.terms:
            reduced = _divide(monomial, lead)
            if reduced is None or value % lead_value:
                continue
            step = Expr(((reduced, value // lead_value),))
            quotient = quotient + step
            rest = rest - step * right
            break
        else:
            break
    return quotient, rest


@lru_cache(maxsize=65536)
def _floordiv(left: Expr, right: Expr) -> Expr:
    if right.value == 0:
        message = f"division of {left} by zero"
        raise ZeroDivisionError(message)
    if right.value == 1 or left.value == 0:
        return left
    if left.value is not None and right.value is not None:
        return const(left.value // right.value)
    if _within(left, right):
        return ZERO
    quotient, rest = _long_division(left, right)
    if rest.value == 0 or _within(rest, right):
        return quotient
    if _within(-1 - rest, right):
        return quotient - 1
    if right.value is not None and rest.value is not None:
        return quotient + rest.value // right.value
    if quotient.value != 0 and rest.is_nonnegative():
        return quotient + _atom(OpAtom("//", rest, right))
    return _atom(OpAtom("//", left, right))


@lru_cache(maxsize=65536)
def _mod(left: Expr, right: Expr) -> Expr:
    whole = _floordiv(left, right)
    if not any(
        isinstance(atom, OpAtom) and atom.op == "//" and atom.right == right for atom in whole.atoms()
    ):
        return left - whole * right
    quotient, rest = _long_division(left, right)
    if quotient.value != 0 and rest.is_nonnegative():
        return _atom(OpAtom("%", rest, right))
    return _atom(OpAtom("%", left, right))


def _within(expr: Expr, size: Expr) -> bool:
    """Whether `0 <= expr < size` can be shown."""
    return expr.is_nonnegative() and (size - 1 - expr.upper()).is_nonnegative()


def _substitute_atom(atom: Atom, mapping: Mapping[str, Expr]) -> Expr:
    if isinstance(atom, SymbolAtom):
        return mapping.get(atom.name, _atom(atom))
    if isinstance(atom, AxisAtom):
        if atom.name in mapping:
            return mapping[atom.name]
        return _atom(AxisAtom(atom.name, atom.extent.substitute(mapping)))
    left, right = atom.left.substitute(mapping), atom.right.substitute(mapping)
    if atom.op == "//":
        return left // right
    if atom.op == "%":
        return left % right
    return left.minimum(right) if atom.op == "min" else left.maximum(right)


def _evaluate_atom(atom: Atom, values: Mapping[str, int]) -> int:
    if not isinstance(atom, OpAtom):
        return values[atom.name]
    left, right = atom.left.evaluate(values), atom.right.evaluate(values)
    if atom.op == "//":
        return left // right
    if atom.op == "%":
        return left % right
    return min(left, right) if atom.op == "min" else max(left, right)


def _text(expr: Expr, name: Callable[[Atom], str]) -> str:
    if not expr.terms:
        return "0"
    pieces: list[str] = []
    # A positive term first, so that `W - K` does not print as `-K + W`.
    ordered = sorted(expr.terms, key=lambda item: item[1] < 0)
    for position, (monomial, value) in enumerate(ordered):
        factors = [_atom_text(atom, name) for atom in monomial]
        if abs(value) != 1 or not factors:
            factors.insert(0, str(abs(value)))
        if len(factors) > 1 or (position == 0 and value < 0):
            factors = [f"({factor})" if _is_quotient(factor, monomial) else factor for factor in factors]
        body = "*".join(factors)
        if position == 0:
            pieces.append(body if value > 0 else f"-{body}")
        else:
            pieces.append(f" {'+' if value > 0 else '-'} {body}")
    return "".join(pieces)


def _is_quotient(factor: str, monomial: Monomial) -> bool:
    return any(isinstance(atom, OpAtom) and atom.op in {"//", "%"} for atom in monomial) and (
        "//" in factor or "%" in factor
    )


def _atom_text(atom: Atom, name: Callable[[Atom], str]) -> str:
    if not isinstance(atom, OpAtom):
        return name(atom)
    if atom.op in {"min", "max"}:
        return f"{atom.op}({_text(atom.left, name)}, {_text(atom.right, name)})"
    left, right = _text(atom.left, name), _text(atom.right, name)
    if len(atom.left.terms) > 1 or left.startswith("-"):
        left = f"({left})"
    if (atom.right.atom is None and not (atom.right.value or 0) > 0) or isinstance(atom.right.atom, OpAtom):
        right = f"({right})"
    return f"{left} {atom.op} {right}"
