"""Run a tile program with torch, one tensor a node, broadcast over its free axes: the oracle of tests.

Slow and hungry by design: every value is laid out over all of its axes. A load without `fill` that leaves its tensor
reads NaN (a sentinel for integers), so that a wrong index shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch

from tilespec.ir.build import axis_expr, is_float
from tilespec.ir.nodes import (
    Compute,
    Const,
    Contract,
    Index,
    Load,
    Node,
    Parameter,
    Program,
    Reduce,
    Scan,
    postorder,
)
from tilespec.ir.scalar_torch import APPLY
from tilespec.model.dims import AxisAtom, Expr, OpAtom, SymbolAtom

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["evaluate_program"]

_POISON = -(2**31) + 12345
Axes = tuple[AxisAtom, ...]
Laid = tuple["Tensor", Axes]
"""A tensor with one dim for each of its axes, in order of name."""


def evaluate_program(
    program: Program,
    tensors: Mapping[str, Tensor],
    scalars: Mapping[str, float],
    sizes: Mapping[str, int],
    *,
    widen: bool = False,
) -> tuple[Tensor, ...]:
    """Return the stored tensors in order; `widen` computes float32 in float64 and stores it so."""
    return _Evaluator(tensors, scalars, sizes, widen=widen).run(program)


def _sorted(axes: Iterable[AxisAtom]) -> Axes:
    return tuple(sorted(axes, key=lambda atom: atom.name))


class _Evaluator:
    def __init__(
        self,
        tensors: Mapping[str, Tensor],
        scalars: Mapping[str, float],
        sizes: Mapping[str, int],
        *,
        widen: bool,
    ) -> None:
        self.tensors = tensors
        self.scalars = scalars
        self.sizes = sizes
        self.widen = widen
        self.done: dict[Node, Laid] = {}

    def run(self, program: Program) -> tuple[Tensor, ...]:
        for node in postorder(store.value for store in program.stores):
            self.done[node] = self._node(node)
        results: list[Tensor] = []
        for store in program.stores:
            axes = _sorted(store.axes)
            value = self._spread(self.done[store.value], axes)
            shape = [size.evaluate(self.sizes) for size in store.tensor.shape]
            wide = self.widen and is_float(store.tensor.dtype)
            out = torch.zeros(shape, dtype=torch.float64 if wide else getattr(torch, store.tensor.dtype))
            hits = torch.zeros(shape, dtype=torch.int32)
            if not store.index:
                results.append(value.to(out.dtype))
                continue
            places = tuple(
                self._spread(self._expr(item), axes).expand(value.shape).reshape(-1) for item in store.index
            )
            flat = value.reshape(-1)
            out.index_put_(places, flat.to(out.dtype))
            hits.index_put_(places, torch.ones(flat.shape[0], dtype=torch.int32), accumulate=True)
            if not bool((hits == 1).all()):
                message = f"store {store.tensor.name} does not write each element once"
                raise ValueError(message)
            results.append(out)
        return tuple(results)

    def _dtype(self, name: str) -> torch.dtype:
        if self.widen and is_float(name) and not name.startswith("float8"):
            return torch.float64
        dtype: torch.dtype = getattr(torch, name)
        return dtype

    def _extent(self, atom: AxisAtom) -> int:
        return atom.extent.evaluate(self.sizes)

    def _spread(self, laid: Laid, axes: Axes) -> Tensor:
        value, own = laid
        position = {atom: number for number, atom in enumerate(own)}
        view = value.permute([position[atom] for atom in axes if atom in position])
        for number, atom in enumerate(axes):
            if atom not in position:
                view = view.unsqueeze(number)
        return view.expand([self._extent(atom) for atom in axes])

    def _expr(self, expr: Expr) -> Laid:
        axes = _sorted(expr.axes)
        total: Tensor = torch.zeros([self._extent(atom) for atom in axes], dtype=torch.int64)
        for monomial, value in expr.terms:
            part: Tensor = torch.tensor(value)
            for atom in monomial:
                part = part * self._atom(atom, axes)
            total = total + part
        return total, axes

    def _atom(self, atom: SymbolAtom | AxisAtom | OpAtom, axes: Axes) -> Tensor:
        if isinstance(atom, SymbolAtom):
            return torch.tensor(self.sizes[atom.name])
        if isinstance(atom, AxisAtom):
            return self._spread((torch.arange(self._extent(atom)), (atom,)), axes)
        left = self._spread(self._expr(atom.left), axes)
        right = self._spread(self._expr(atom.right), axes)
        if atom.op == "//":
            return torch.div(left, right, rounding_mode="floor")
        if atom.op == "%":
            return torch.remainder(left, right)
        return torch.minimum(left, right) if atom.op == "min" else torch.maximum(left, right)

    def _node(self, node: Node) -> Laid:
        if isinstance(node, Const):
            return torch.tensor(node.value, dtype=self._dtype(node.dtype)), ()
        if isinstance(node, Parameter):
            return torch.tensor(self.scalars[node.name], dtype=self._dtype(node.dtype)), ()
        if isinstance(node, Index):
            value, own = self._expr(node.expr)
            return value.to(self._dtype(node.dtype)), own
        if isinstance(node, Load):
            return self._load(node)
        axes = _sorted(node.free)
        if isinstance(node, Compute):
            args = [self._spread(self.done[item], axes) for item in node.args]
            if node.op == "cast":
                return args[0].to(self._dtype(node.dtype)), axes
            return APPLY[node.op](*args), axes
        if isinstance(node, Reduce):
            return self._reduce(node, axes), axes
        if isinstance(node, Contract):
            every = (*axes, *node.axes)
            left, right = (
                self._spread(self.done[node.left], every),
                self._spread(self.done[node.right], every),
            )
            where = list(range(len(axes), len(every)))
            return (left * right).sum(dim=where).to(self._dtype(node.dtype)), axes
        if isinstance(node, Scan):
            return self._scan(node, axes), axes
        message = f"{type(node).__name__} has no meaning"
        raise TypeError(message)

    def _load(self, node: Load) -> Laid:
        axes = _sorted(node.free)
        source = self.tensors[node.tensor.name]
        source = source.to(self._dtype(node.dtype)) if self.widen and is_float(node.dtype) else source
        shape = [self._extent(atom) for atom in axes]
        inside = torch.ones(shape, dtype=torch.bool)
        places: list[Tensor] = []
        for item, size in zip(node.index, source.shape, strict=True):
            laid = self._expr(item) if isinstance(item, Expr) else self.done[item]
            place = self._spread(laid, axes).to(torch.int64)
            inside = inside & (place >= 0) & (place < size)
            places.append(place.clamp(0, max(size - 1, 0)))
        if source.numel() == 0 and places:
            value = torch.zeros(shape, dtype=source.dtype)
        else:
            value = source[tuple(places)] if places else source
        if bool(inside.all()):
            return value, axes
        outside: float | bool = _POISON if node.fill is None else node.fill
        if node.fill is None and is_float(node.dtype):
            outside = float("nan")
        if node.fill is None and node.dtype in {"bool", "int8", "uint8", "int16"}:
            outside = True
        filler = torch.tensor(outside).to(value.dtype)
        return torch.where(inside, value, filler), axes

    def _reduce(self, node: Reduce, axes: Axes) -> Tensor:
        arg = self._spread(self.done[node.arg], (*axes, *node.axes))
        count = math.prod(self._extent(atom) for atom in node.axes)
        flat = arg.reshape([*(self._extent(atom) for atom in axes), count])
        if node.op in {"sum", "prod"}:
            total: Tensor = getattr(flat, node.op)(-1)
            return total.to(self._dtype(node.dtype))
        if node.op in {"any", "all"}:
            return flat.any(-1) if node.op == "any" else flat.all(-1)
        if flat.shape[-1] == 0:
            return torch.full(flat.shape[:-1], _identity(node), dtype=self._dtype(node.dtype))
        if node.op in {"argmax", "argmin"}:
            # torch gives no promise on ties; the first position of the best value, NaN first.
            keys = flat.to(torch.float64)
            best = keys.amax(-1, keepdim=True) if node.op == "argmax" else keys.amin(-1, keepdim=True)
            hit = torch.where(best.isnan(), keys.isnan(), keys == best)
            return hit.to(torch.int8).argmax(-1)
        return flat.amax(-1) if node.op == "max" else flat.amin(-1)

    def _scan(self, node: Scan, axes: Axes) -> Tensor:
        batch: Sequence[AxisAtom] = _sorted(set(axes) - {node.axis})
        order = (*batch, node.axis)
        value = self._spread(self.done[node.arg], order).to(self._dtype(node.dtype))
        value = value.flip(-1) if node.reverse else value
        if node.op in {"sum", "prod"}:
            value = (value.cumsum(-1) if node.op == "sum" else value.cumprod(-1)).to(self._dtype(node.dtype))
        else:
            value = value.cummax(-1).values if node.op == "max" else value.cummin(-1).values
        value = value.flip(-1) if node.reverse else value
        at = self._spread(self._expr(node.at), axes)
        grids = {atom: self._spread(self._expr(axis_expr(atom)), axes) for atom in axes}
        places = [grids[atom] for atom in batch]
        return value[(*places, at)] if value.numel() else value.sum(-1)


def _identity(node: Reduce) -> float:
    if is_float(node.dtype):
        return float("-inf") if node.op in {"max", "argmax"} else float("inf")
    limits = torch.iinfo(getattr(torch, node.dtype))
    return limits.min if node.op == "max" else limits.max if node.op == "min" else 0
