"""Sizes that are known to be multiples: `O` with a step of 64 is `64*O_64`.

A group normalisation of `O` features in 64 groups has groups of `O // 64`. Whether 64 of these are all of `O`, the program
alone can't say; `Dims` may. Then the features are an axis of groups and one of their members.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import gcd, lcm

from tilespec.ir.nodes import Contract, Program, Reduce, postorder
from tilespec.model.dims import Expr, OpAtom, sym
from tilespec.model.types import DimRange

__all__ = ["multiples"]


def multiples(program: Program, dims: Mapping[str, DimRange], taken: Collection[str]) -> dict[str, Expr]:
    """Return what takes the places of symbols that axes of a program divide, where `dims` says that leaves no rest.

    New symbols have names that aren't `taken`. Symbols in equations stay as they are.
    """
    equations = [item.equals for item in dims.values() if item.equals is not None]
    fixed = {name for expr in equations for name in expr.symbols}
    shapes = {dim.symbol for tensor in program.inputs for dim in tensor.shape}
    found: dict[str, Expr] = {}
    for name, divisor in sorted(_divisors(program).items()):
        limits = dims.get(name)
        if limits is None or limits.equals is not None or name in fixed or name not in shapes:
            continue
        step = gcd(*limits.choices) if limits.choices else gcd(limits.low, limits.step)
        if step % divisor == 0:
            new = f"{name}_{divisor}"
            while new in taken:
                new += "_"
            found[name] = divisor * sym(new)
    return found


def _divisors(program: Program) -> dict[str, int]:
    """Return the symbols that extents of axes divide by a number, and the least number that all of them divide."""
    extents = [item.extent for store in program.stores for item in store.axes]
    for node in postorder(store.value for store in program.stores):
        if isinstance(node, Reduce | Contract):
            extents += [item.extent for item in node.axes]
    found: dict[str, int] = {}
    for extent in extents:
        for atom in extent.atoms():
            divisor = atom.right.value if isinstance(atom, OpAtom) and atom.op == "//" else None
            symbol = atom.left.symbol if isinstance(atom, OpAtom) else None
            if divisor is not None and symbol is not None:
                found[symbol] = lcm(found.get(symbol, 1), divisor)
    return found
