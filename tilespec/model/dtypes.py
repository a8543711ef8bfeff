"""Dtypes: the names that a spec may use, their other spellings, and what was probably meant."""

from __future__ import annotations

from collections.abc import Mapping

from tilespec.syntax.names import DTYPE_ALIASES as ALIASES
from tilespec.syntax.names import closest

__all__ = ["ALIASES", "DTYPES", "FLOATS", "INTEGERS", "canonical_dtype", "suggest_dtype"]

FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")
INTEGERS = ("int8", "uint8", "int32", "int64")
DTYPES = (*FLOATS, *INTEGERS, "bool")

_NEAR: Mapping[str, str] = {
    "fp8": "float8_e4m3fn",
    "float8": "float8_e4m3fn",
    "uint32": "int32",
    "uint16": "int32",
    "int16": "int32",
    "uint64": "int64",
    "boolean": "bool",
    "short": "int32",
    "tf32": "float32",
    "complex64": "float32",
}


def canonical_dtype(written: str) -> str | None:
    """Return the canonical name of a dtype; None when it is none."""
    name = written.removeprefix("torch.")
    if name in DTYPES:
        return name
    return ALIASES.get(name.lower())


def suggest_dtype(written: str, types: tuple[str, ...] = ()) -> str | None:
    """Return the dtype or type variable that was probably meant."""
    name = written.removeprefix("torch.").lower()
    return _NEAR.get(name) or closest(name, (*types, *DTYPES, *ALIASES), fold=True)
