"""Every op family as small functions with inputs: what a lowered program must compute as torch does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.unit.lowering import cases_ordered, cases_plain, cases_structured
from tests.unit.lowering.inputs import Case

__all__ = ["FAMILIES", "cases"]

FAMILIES: dict[str, Callable[[], Iterator[Case]]] = {
    "unary": cases_plain.unary,
    "binary": cases_plain.binary,
    "bits_and_choices": cases_plain.bits_and_choices,
    "views": cases_plain.views,
    "joins": cases_plain.joins,
    "reductions": cases_plain.reductions,
    "creations": cases_plain.creations,
    "norms": cases_structured.norms,
    "contractions": cases_structured.contractions,
    "convolutions": cases_structured.convolutions,
    "pools": cases_structured.pools,
    "cells": cases_structured.cells,
    "scans": cases_ordered.scans,
    "sorts": cases_ordered.sorts,
    "gathers": cases_ordered.gathers,
    "losses": cases_ordered.losses,
    "resizes": cases_ordered.resizes,
}


def cases() -> list[Case]:
    """Return every case, named `family/case`."""
    return [
        (f"{family}/{name}", make, inputs)
        for family, listed in FAMILIES.items()
        for name, make, inputs in listed()
    ]
