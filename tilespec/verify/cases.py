"""Draws cases: Hypothesis strategies over sizes, dtypes, layouts and values.

A case starts from a profile: a class for every dim symbol (one, odd, a multiple of 16), a dtype for every type variable
and a layout for every tensor. These are what a compiled kernel is keyed on. Tiles are powers of two that follow the
sizes, so where compiling costs, a profile also holds each size between two powers of two: the number of profiles then
bounds the number of compilations, whatever the number of cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from tilespec.model.dims import Expr, OpAtom
from tilespec.model.types import DimRange, ScalarSpec, TensorSpec
from tilespec.verify.inputs import KINDS
from tilespec.verify.subject import Case, Layout, Subject, TensorCase

__all__ = ["Budget", "Profile", "cases", "profiles"]

_PRIMES = (
    3,
    5,
    7,
    11,
    13,
    17,
    23,
    31,
    37,
    47,
    61,
    67,
    97,
    127,
    131,
    191,
    251,
    257,
    379,
    509,
    521,
    751,
    1021,
    1031,
    1543,
    2039,
    3067,
    4093,
)
_FLOATS = frozenset({"float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"})


@dataclass(frozen=True)
class Budget:
    """How large a case may be: elements of one tensor, and the product of all dim symbols (work of a contraction).

    With `banded` a profile holds every size between two powers of two.
    """

    elements: int
    work: int
    largest: int
    banded: bool = False


@dataclass(frozen=True)
class Profile:
    """What a compiled kernel is keyed on. `layouts` names one of the layouts of `_layout` for every tensor.

    `bands` gives the power of two that a size is rounded up to, or nothing.
    """

    classes: tuple[tuple[str, str], ...]
    dtypes: tuple[tuple[str, str], ...]
    layouts: tuple[tuple[str, str], ...]
    bands: tuple[tuple[str, int], ...] = ()


def profiles(subject: Subject, count: int, seed: int, budget: Budget) -> tuple[Profile, ...]:
    """Return up to `count` different profiles; the first is the plainest and comes out when a failure shrinks.

    The second has every size aligned, the third every size 1; then comes one long dim at a time, the others short: long
    sums show a poor accumulator, long rows a second tile. The rest are drawn.
    """
    random = Random(f"{seed} {subject.name}")  # noqa: S311 - a fixed seed is the point
    symbols, names = subject.free_symbols, [tensor.name for tensor in subject.tensors]
    types = {name: choices for name, choices in subject.types.items() if _uses(subject, name)}
    plain = tuple((name, "contiguous") for name in names)

    def dtypes(at: int) -> tuple[tuple[str, str], ...]:
        return tuple((name, choices[at % len(choices)]) for name, choices in types.items())

    def bands(power: int | None) -> tuple[tuple[str, int], ...]:
        if not budget.banded:
            return ()
        drawn = {
            name: random.randint(2, budget.largest.bit_length() - 1) if power is None else power
            for name in symbols
        }
        return tuple(_within_budget(subject, drawn, budget).items())

    def uniform(label: str, at: int, power: int) -> Profile:
        return Profile(tuple((name, label) for name in symbols), dtypes(at), plain, bands(power))

    found = dict.fromkeys((uniform("odd", 0, 2), uniform("aligned", 1, 7), uniform("one", 2, 0)))
    longest = budget.largest.bit_length() - 1
    for label in ("odd", "aligned", "odd", "eight")[: 1 if budget.banded else 4]:
        for at, name in enumerate(symbols):
            classes = tuple(
                (other, label if other == name else random.choice(("odd", "one"))) for other in symbols
            )
            powers = {other: longest if other == name else 2 for other in symbols}
            found[Profile(classes, dtypes(at), plain, tuple(powers.items()))] = None
    for attempt in range(8 * count):
        if len(found) >= count:
            break
        made = Profile(
            tuple(
                (name, random.choice(("odd", "odd", "aligned", "aligned", "eight", "one")))
                for name in symbols
            ),
            dtypes(attempt),
            tuple((name, random.choice(_CHOICES)) for name in names),
            bands(None),
        )
        found[made] = None
    return tuple(found)[:count]


def _within_budget(subject: Subject, powers: dict[str, int], budget: Budget) -> dict[str, int]:
    """Lower the largest powers until sizes of these powers fit."""
    fitted = dict(powers)
    for _ in range(200):
        sizes = subject.sizes({name: 2**power for name, power in fitted.items()})
        name = max(fitted, key=lambda item: fitted[item], default=None)
        if name is None or sizes is None or fitted[name] < 1:
            break
        try:
            if not _too_large(subject, sizes, budget):
                break
        except ZeroDivisionError:
            break
        fitted[name] -= 1
    return fitted


def _uses(subject: Subject, variable: str) -> bool:
    return any(tensor.dtype == variable for tensor in (*subject.tensors, *subject.outputs))


_CHOICES = (
    "contiguous",
    "contiguous",
    "contiguous",
    "transposed",
    "padded",
    "padded",
    "stepped",
    "offset",
    "expanded",
)


def _layout(kind: str, shape: tuple[int, ...], *, inplace: bool) -> Layout | None:
    """Return the layout `kind` for this shape; None where it would be contiguous."""
    if not shape or kind == "contiguous" or 0 in shape:
        return None
    if kind == "transposed" and len(shape) > 1:
        swapped = (*shape[:-2], shape[-1], shape[-2])
        stride = _dense(swapped)
        return Layout((*stride[:-2], stride[-1], stride[-2]))
    if kind == "padded":
        # A slice of a wider tensor: rows no longer follow each other.
        return Layout(_dense((*shape[:-1], shape[-1] + 3)))
    if kind == "stepped":
        return Layout(tuple(2 * step for step in _dense(shape)))
    if kind == "expanded" and not inplace:
        stride = _dense((1, *shape[1:]))
        return Layout((0, *stride[1:]))
    return Layout(_dense(shape), offset=1)


def _dense(shape: Sequence[int]) -> tuple[int, ...]:
    stride: list[int] = []
    step = 1
    for size in reversed(shape):
        stride.append(step)
        step *= max(size, 1)
    return tuple(reversed(stride))


def _pool(kind: str, allowed: DimRange, tiles: Sequence[int], largest: int, band: int | None) -> list[int]:
    """Return sizes of a class and band within what `Dims` allows, small ones first.

    Where the class has none, the band alone counts, then the class alone, then neither.
    """
    high = min(allowed.high, largest) if allowed.high is not None else largest
    fits: dict[str, Callable[[int], bool]] = {
        "one": lambda size: size == 1,
        "odd": lambda size: size % 2 == 1 and size > 1,
        "aligned": lambda size: size % 16 == 0,
        "eight": lambda size: size % 16 == 8,
    }
    of_kind = fits[kind]
    inside = [
        size
        for size in _allowed(allowed, high, tiles)
        if allowed.low <= size and (size <= high or allowed.choices)
    ]
    both = [size for size in inside if of_kind(size) and _in_band(size, band)]
    of_band = [size for size in inside if _in_band(size, band) and band is not None]
    return both or of_band or [size for size in inside if of_kind(size)] or inside or [allowed.low]


def _in_band(size: int, band: int | None) -> bool:
    return band is None or size == 1 or 2 ** (band - 1) < size <= 2**band


def _allowed(allowed: DimRange, high: int, tiles: Sequence[int]) -> list[int]:
    """Return sizes worth trying, sorted: primes, powers of two and tiles and what lies beside them, multiples of 16."""
    if allowed.choices is not None:
        return sorted(allowed.choices)
    powers = [2**power for power in range(1, high.bit_length())]
    beside = [size + delta for size in (*powers, *tiles) for delta in (-1, 0, 1)]
    beside += [multiple * tile + delta for tile in tiles for multiple in (2, 3) for delta in (0, 1)]
    sixteens = [
        16 * count
        for count in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 16, 17, 24, 32, 33, 48, 64, 80, 128, 192, 256, 384)
    ]
    eights = [16 * count + 8 for count in (0, 1, 2, 3, 5, 7, 8, 12, 15, 16, 24, 32, 48, 63, 64, 96, 128)]
    wanted = {1, *_PRIMES, *beside, *sixteens, *eights, 9, 15, 21, 45, 105, 189, 385, 777, 1155, 3003, 5005}
    if allowed.step == 1:
        near = {allowed.low + delta for delta in range(4)}
        return sorted(size for size in wanted | near if size > 0)
    steps = {
        allowed.low + (size - allowed.low) // allowed.step * allowed.step
        for size in wanted
        if size >= allowed.low
    }
    return sorted({allowed.low, *steps, *(allowed.low + count * allowed.step for count in range(8))})


def _divide(size: int, divisor: int) -> int:
    return divisor * max(1, size // divisor) if divisor > 0 else size


def _repair(subject: Subject, drawn: dict[str, int]) -> dict[str, int]:
    """Make `D` a multiple of `heads` where a shape says `D // heads` or `D % heads`: most references need it."""
    repaired = dict(drawn)
    for tensor in (*subject.tensors, *subject.outputs):
        for size in tensor.shape:
            for atom in size.atoms():
                if not isinstance(atom, OpAtom) or atom.op not in {"//", "%"}:
                    continue
                name, divisor = atom.left.symbol, _known(atom.right, repaired)
                if name in repaired and divisor and not subject.dims.get(name):
                    repaired[name] = _divide(repaired[name], divisor)
    return repaired


def _known(expr: Expr, values: Mapping[str, int]) -> int | None:
    return expr.evaluate(values) if expr.symbols <= values.keys() else None


def _fit(
    subject: Subject, pools: Mapping[str, list[int]], drawn: dict[str, int], budget: Budget, kept: str | None
) -> dict[str, int]:
    """Replace the largest sizes by smaller ones of their pool until the case fits the budget, `kept` last."""
    sizes = dict(drawn)
    for _ in range(64):
        full = subject.sizes(sizes)
        if full is None or not _too_large(subject, full, budget):
            break
        shrinkable = [name for name, size in sizes.items() if any(other < size for other in pools[name])]
        if not shrinkable:
            break
        name = max(shrinkable, key=lambda item: (item != kept, sizes[item]))
        smaller = [size for size in pools[name] if size < sizes[name]]
        sizes[name] = smaller[len(smaller) // 2]
    return sizes


def _too_large(subject: Subject, sizes: Mapping[str, int], budget: Budget) -> bool:
    work = 1
    for name in subject.free_symbols:
        work *= max(sizes[name], 1)
    if work > budget.work:
        return True
    for tensor in (*subject.tensors, *subject.outputs):
        count = 1
        for size in tensor.shape:
            count *= max(size.evaluate(sizes), 1)
        if count > budget.elements:
            return True
    return False


@st.composite
def cases(
    draw: st.DrawFn, subject: Subject, choices: tuple[Profile, ...], budget: Budget, *, empty: bool = True
) -> Case | None:
    """Draw a case of `subject`; None when the sizes give a negative extent or a division by zero."""
    profile = choices[draw(st.integers(0, len(choices) - 1))]
    classes, layouts, bands = dict(profile.classes), dict(profile.layouts), dict(profile.bands)
    pools = {
        name: _pool(
            classes[name], subject.dims.get(name, DimRange()), subject.tiles, budget.largest, bands.get(name)
        )
        for name in subject.free_symbols
    }
    drawn = {name: draw(st.sampled_from(pool)) for name, pool in pools.items()}
    # One dim may stay long while the others give way.
    kept = draw(st.sampled_from([None, *drawn])) if drawn else None
    fitted = _repair(subject, _fit(subject, pools, _repair(subject, drawn), budget, kept))
    open_ended = [name for name in fitted if name not in subject.dims]
    if empty and open_ended and draw(st.integers(0, 39)) == 39:
        fitted[draw(st.sampled_from(open_ended))] = 0
    try:
        sizes = subject.sizes(fitted)
        shapes = (
            {}
            if sizes is None
            else {item.name: _shape(item, sizes) for item in (*subject.tensors, *subject.outputs)}
        )
    except ZeroDivisionError:
        return None
    if sizes is None or any(size < 0 for shape in shapes.values() for size in shape):
        return None
    if any(_indexes_nothing(subject, name, shape, sizes) for name, shape in shapes.items()):
        return None
    seed = draw(st.integers(0, 2**16))
    dtypes = dict(profile.dtypes)
    tensors = tuple(
        draw(
            _tensor(
                subject, tensor, shapes[tensor.name], dtypes, layouts[tensor.name], sizes, seed + 1000 * at
            )
        )
        for at, tensor in enumerate(subject.tensors)
    )
    scalars = tuple(
        (scalar.name, draw(_scalar(scalar, fixed=scalar.name in subject.fixed))) for scalar in subject.scalars
    )
    return Case(tuple((name, sizes[name]) for name in subject.symbols), tensors, scalars)


def _indexes_nothing(subject: Subject, name: str, shape: tuple[int, ...], sizes: Mapping[str, int]) -> bool:
    """Whether a tensor of indices has elements, but what it indexes has none: eager kills the device over it."""
    bounds = subject.bounds.get(name)
    return (
        bounds is not None
        and bounds.extent is not None
        and bounds.extent.evaluate(sizes) < 1
        and math.prod(shape) > 0
    )


def _shape(tensor: TensorSpec, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(size.evaluate(sizes) for size in tensor.shape)


@st.composite
def _tensor(
    draw: st.DrawFn,
    subject: Subject,
    tensor: TensorSpec,
    shape: tuple[int, ...],
    dtypes: Mapping[str, str],
    layout: str,
    sizes: Mapping[str, int],
    seed: int,
) -> TensorCase:
    bounds = subject.bounds.get(tensor.name)
    low = high = None
    if tensor.values is not None:
        low, high = tensor.values.low, tensor.values.high
    elif bounds is not None and bounds.extent is not None:
        low, high = 0, max(bounds.extent.evaluate(sizes) - 1, 0)
    elif bounds is not None:
        low, high = bounds.low, bounds.high
    dtype = dtypes.get(tensor.dtype, tensor.dtype)
    kind = "normal"
    if dtype in _FLOATS and low is None:
        # Plain values in most cases: special ones hide errors in everything that they touch.
        rare = [name for name in KINDS[2:] if name not in {"large", "special", "nan"}]
        if subject.extreme:
            rare += ["large", "nan" if bounds is not None and bounds.finite else "special"]
        kind = draw(st.sampled_from(("normal", "normal", "normal", "normal", "uniform", "uniform", *rare)))
    return TensorCase(
        tensor.name,
        shape,
        dtype,
        kind,
        seed,
        _layout(layout, shape, inplace=tensor.name in subject.inplace),
        low,
        high,
        None if bounds is None else bounds.other,
    )


def _scalar(scalar: ScalarSpec, *, fixed: bool) -> st.SearchStrategy[float | int | bool]:
    if scalar.default is not None and fixed:
        return st.just(scalar.default)
    if scalar.default is not None:
        # An integer or a flag may decide a shape, so it keeps its value; a float may be any of the same size.
        if scalar.kind != "float":
            return st.just(scalar.default)
        value = float(scalar.default)
        return st.sampled_from((value, value, value, value * 0.5, value * 2.0))
    if scalar.kind == "bool":
        return st.booleans()
    return st.integers(1, 4) if scalar.kind == "int" else st.sampled_from((1.0, 0.5, 2.0, 0.125))
