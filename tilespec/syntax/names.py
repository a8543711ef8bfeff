"""Names: which may go into generated code, and which one was probably meant."""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Iterable, Mapping

__all__ = ["DTYPE_ALIASES", "Guesses", "closest", "is_safe_name"]

_SAFE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,79}")
_TAKEN = frozenset({"torch", "F", "math", "ct", "cuda", "True", "False", "None", "print", "launch", "import"})


DTYPE_ALIASES: Mapping[str, str] = {
    "bf16": "bfloat16",
    "double": "float64",
    "float": "float32",
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "half": "float16",
    "i8": "int8",
    "i32": "int32",
    "i64": "int64",
    "int": "int32",
    "long": "int64",
    "u8": "uint8",
    "fp8_e4m3": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
    "float8_e4m3": "float8_e4m3fn",
}
"""Spellings that mean exactly one dtype; the formatter writes the canonical name."""


def is_safe_name(name: str) -> bool:
    """Whether a name can stand in generated code: an ASCII identifier, no keyword, no leading underscore.

    Nor what tile extents of generated kernels are called.
    """
    return (
        bool(_SAFE.fullmatch(name))
        and not keyword.iskeyword(name)
        and name not in _TAKEN
        and "__" not in name
        and name != "TMA_STORE"
        and not name.startswith("BLOCK_")
    )


def closest(name: str, candidates: Iterable[str], *, fold: bool = False) -> str | None:
    """Return the candidate that `name` was probably meant to be: at most a third of its letters differ, or one.

    With `fold`, case does not count.
    """
    wanted = name.lower() if fold else name
    best: tuple[int, str] | None = None
    for candidate in candidates:
        shorter = min(len(wanted), len(candidate))
        # Any two names of one letter are one edit apart, which says nothing.
        limit = max(1, shorter // 3) if shorter > 2 else 0
        if abs(len(candidate) - len(wanted)) > limit:
            continue
        gap = _distance(wanted, candidate.lower() if fold else candidate, limit)
        if gap <= limit and (best is None or gap < best[0]):
            best = (gap, candidate)
    return best[1] if best else None


class Guesses:
    """Suggestions for one file: after the first hundred nobody reads them, and a hostile file can't ask for millions.

    Names that are compared count, not only names that are asked about: in a file of thousands of kernels, a guess is long
    work.
    """

    def __init__(self, most: int = 100, comparisons: int = 20_000) -> None:
        self.left = most
        self.comparisons = comparisons

    def closest(self, name: str, candidates: Iterable[str]) -> str | None:
        """Return what `closest` returns, None once too much was asked for."""
        self.left -= 1
        if self.left < 0 or self.comparisons <= 0:
            return None
        looked_at = list(itertools.islice(candidates, min(2000, self.comparisons)))
        self.comparisons -= len(looked_at)
        return closest(name, looked_at)


def _distance(left: str, right: str, limit: int) -> int:
    """Return the edit distance with swaps of neighbours, or more than `limit` as soon as it is out of reach."""
    if len(left) > 80 or len(right) > 80:
        return limit + 1
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for row, a in enumerate(left, 1):
        current = [row]
        for column, b in enumerate(right, 1):
            cost = min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (a != b))
            if row > 1 and column > 1 and a == right[column - 2] and left[row - 2] == b:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before, previous = previous, current
    return previous[-1]
