"""Promotion of every pair of dtypes, against the rules of the compiler itself."""

from __future__ import annotations

import itertools

import cuda.tile as ct
import pytest
from cuda.tile._datatype import promote_dtypes

from tilespec.interpret.dtypes import BY_NAME, constant_of, default_for, promote, promote_constant, wrap
from tilespec.interpret.errors import TileTypeError, TileValueError


def theirs(left: str, right: str) -> str | None:
    try:
        return str(promote_dtypes(getattr(ct, left), getattr(ct, right)))
    except ct.TileError:
        return None


def mine(left: str, right: str) -> str | None:
    try:
        return promote(BY_NAME[left], BY_NAME[right]).name
    except TileTypeError:
        return None


def test_every_pair_promotes_as_in_the_compiler() -> None:
    pairs = list(itertools.product(BY_NAME, repeat=2))
    assert {pair: mine(*pair) for pair in pairs} == {pair: theirs(*pair) for pair in pairs}


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("float16", 1, "float16"),
        ("float16", 2.5, "float16"),
        ("float16", True, "float16"),
        ("int8", 1, "int8"),
        ("int8", 2.5, "float32"),
        ("uint8", 255, "uint8"),
        ("bool_", 1, "int32"),
        ("bool_", 1 << 40, "int64"),
        ("bool_", 2.5, "float32"),
        ("bool_", True, "bool_"),
        ("float64", 0.1, "float64"),
    ],
)
def test_a_constant_takes_the_dtype_that_it_meets(dtype: str, value: float, expected: str) -> None:
    assert promote_constant(BY_NAME[dtype], value).name == expected


@pytest.mark.parametrize(
    ("dtype", "value"), [("int8", 128), ("uint8", -1), ("uint32", 1 << 32), ("int64", 1 << 63)]
)
def test_a_constant_must_fit(dtype: str, value: int) -> None:
    with pytest.raises(TileValueError, match="out of range"):
        promote_constant(BY_NAME[dtype], value)


def test_a_constant_alone_has_a_default() -> None:
    values = (True, 1, 1 << 31, 1 << 63, 1.0, float("inf"))
    assert [default_for(value).name for value in values] == [
        "bool_",
        "int32",
        "int64",
        "uint64",
        "float32",
        "float32",
    ]
    with pytest.raises(TileValueError):
        default_for(1 << 64)


def test_zero_keeps_its_sign_and_nan_is_nan() -> None:
    half = BY_NAME["float16"]
    assert str(constant_of(-0.0, half).item()) == "-0.0"
    assert str(constant_of(0.0, half).item()) == "0.0"
    assert constant_of(float("nan"), half).isnan()


@pytest.mark.parametrize(
    ("value", "dtype", "expected"), [(128, "int8", -128), (-1, "uint16", 65535), (5, "int32", 5)]
)
def test_wrapping(value: int, dtype: str, expected: int) -> None:
    assert wrap(value, BY_NAME[dtype]) == expected
