"""Sample sizes: integers for the dim symbols of a file that respect `Dims` and keep every declared dim positive."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tilespec.model.dims import Expr
from tilespec.model.symbols import dim_equations
from tilespec.model.types import DimRange

__all__ = ["SizeSpace"]

_PRIMES = (
    1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049, 1051, 1061, 1063, 1069, 1087, 1091, 1093, 1097, 1103, 1109, 1117,
    1123, 1129, 1151, 1153, 1163, 1171, 1181, 1187, 1193, 1201, 1213, 1217, 1223, 1229, 1231, 1237, 1249, 1259, 1277,
)  # fmt: skip
_SMALL_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71)
_SMOOTH = 480
"""Divisible by every group count and head count that people write."""


@dataclass(frozen=True)
class SizeSpace:
    """The sizes that a file allows: `symbols` in order, `dims` what `Dims` says, `positive` dims that must be >= 1."""

    symbols: tuple[str, ...]
    dims: Mapping[str, DimRange] = field(default_factory=dict)
    positive: tuple[Expr, ...] = ()

    @cached_property
    def equations(self) -> dict[str, Expr]:
        """Symbols that `Dims` defines by an equation, with right-hand sides free of such symbols."""
        return dim_equations(self.dims)

    @property
    def free(self) -> tuple[str, ...]:
        """Symbols that no equation defines; those that only equations mention are included."""
        equations = self.equations
        names = dict.fromkeys(name for name in self.symbols if name not in equations)
        for expr in equations.values():
            names.update(dict.fromkeys(sorted(expr.symbols - equations.keys())))
        return tuple(names)

    def complete(self, values: Mapping[str, int]) -> dict[str, int]:
        """Add the symbols that equations define."""
        total = dict(values)
        for name, expr in self.equations.items():
            if expr.symbols <= total.keys():
                total[name] = expr.evaluate(total)
        return total

    def fits(self, values: Mapping[str, int]) -> bool:
        """Whether complete `values` keep every declared dim positive and respect the ranges."""
        for name, entry in self.dims.items():
            if name in values and not _in_range(values[name], entry):
                return False
        try:
            return all(expr.evaluate(values) >= 1 for expr in self.positive)
        except (KeyError, ZeroDivisionError):
            return False

    def hints(self, *, smooth: bool = False) -> dict[str, int]:
        """Return values for tracing: large and distinct, so that equal sizes mean equal expressions.

        With `smooth`, values that common factors divide instead of primes.
        """
        values: dict[str, int] = {}
        for index, name in enumerate(self.free):
            entry = self.dims.get(name)
            wanted = _SMOOTH * _SMALL_PRIMES[index % 19] if smooth else _PRIMES[index % len(_PRIMES)]
            values[name] = wanted if entry is None else _nearest(wanted, entry)
        for attempt in range(4 * len(values) + 1):
            failing = self._failing(values)
            if failing is None:
                break
            # `H - K + 1` needs a small `K`: shrink a symbol that makes the dim grow when it shrinks.
            for name in sorted(failing.symbols & values.keys()):
                smaller = {**values, name: _SMALL_PRIMES[(attempt + len(name)) % 6]}
                if name in self.dims:
                    smaller[name] = _nearest(smaller[name], self.dims[name])
                if _value(failing, self.complete(smaller)) > _value(failing, self.complete(values)):
                    values = smaller
                    break
            else:
                break
        return values

    def _failing(self, values: Mapping[str, int]) -> Expr | None:
        total = self.complete(values)
        return next((expr for expr in self.positive if _value(expr, total) < 1), None)

    def samples(
        self, count: int, *, least: int = 1, largest: int = 96, seed: int = 0
    ) -> list[dict[str, int]]:
        """Return up to `count` different complete assignments, each symbol at least `least` where `Dims` allows."""
        source = random.Random(seed)  # noqa: S311 (sizes for a check, no secret)
        found: dict[tuple[int, ...], dict[str, int]] = {}
        names = self.free
        for attempt in range(count * 20):
            values: dict[str, int] = {}
            for name in names:
                entry = self.dims.get(name)
                drawn = source.choice((1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 32, 33, 64, largest))
                drawn = max(min(drawn, largest), least)
                if attempt == 0:
                    drawn = least
                values[name] = drawn if entry is None else _draw(source, entry, largest)
            total = self.complete(values)
            if self.fits(total):
                found[tuple(total.values())] = total
            if len(found) >= count or not names:
                break
        return list(found.values())


def _value(expr: Expr, values: Mapping[str, int]) -> int:
    try:
        return expr.evaluate(values)
    except (KeyError, ZeroDivisionError):
        return 0


def _in_range(value: int, entry: DimRange) -> bool:
    if entry.choices is not None:
        return value in entry.choices
    if value < entry.low or (entry.high is not None and value > entry.high):
        return False
    return (value - entry.low) % entry.step == 0


def _nearest(wanted: int, entry: DimRange) -> int:
    if entry.choices is not None:
        return min(entry.choices, key=lambda choice: (abs(choice - wanted), choice))
    steps = max((wanted - entry.low) // entry.step, 0)
    value = entry.low + steps * entry.step
    if entry.high is not None and value > entry.high:
        value = entry.low + (entry.high - entry.low) // entry.step * entry.step
    return value


def _draw(source: random.Random, entry: DimRange, largest: int) -> int:
    if entry.choices is not None:
        return source.choice(entry.choices)
    high = entry.high if entry.high is not None else max(entry.low + 8 * entry.step, largest)
    return entry.low + entry.step * source.randint(0, max((high - entry.low) // entry.step, 0))


def symbols_of(shapes: Iterable[tuple[Expr, ...]]) -> tuple[str, ...]:
    """Return the dim symbols of `shapes`, in order of first appearance."""
    names: dict[str, None] = {}
    for shape in shapes:
        for dim in shape:
            names.update(dict.fromkeys(sorted(dim.symbols)))
    return tuple(names)
