"""Run a traced graph on real tensors: what the trace says, as torch computes it."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from tilespec.model.dims import Expr
from tilespec.reference.graph import Argument, Graph, Node, Ref

__all__ = ["call", "replay"]

_SCALARS: dict[str, Callable[..., float]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": operator.pow,
    "mod": operator.mod, "max": max, "min": min, "abs": abs,
}  # fmt: skip
_DTYPE_KEYWORDS = frozenset({"dtype"})


def replay(
    graph: Graph,
    tensors: Mapping[str, Tensor],
    scalars: Mapping[str, float | int | bool],
    sizes: Mapping[str, int],
    *,
    widen: bool = False,
) -> tuple[Tensor, ...]:
    """Run `graph`; with `widen`, floating dtypes but the fp8 ones are float64 throughout."""
    values: dict[str, Any] = {**tensors, **scalars}
    numbers = {**sizes, **{name: value for name, value in scalars.items() if isinstance(value, int)}}
    for node in graph.nodes:
        values[node.name] = call(node, values, numbers, widen=widen)
    return tuple(_resolve(ref, values) for ref in graph.outputs)


def call(node: Node, values: Mapping[str, Any], sizes: Mapping[str, int], *, widen: bool = False) -> Any:  # noqa: ANN401
    """Run one node on the values before it."""
    args = [_value(arg, values, sizes) for arg in node.args]
    if node.op.startswith("scalar."):
        name = node.op.removeprefix("scalar.")
        return (_SCALARS.get(name) or getattr(math, name))(*args)
    kwargs = {name: _value(arg, values, sizes) for name, arg in node.kwargs}
    for name in _DTYPE_KEYWORDS & kwargs.keys():
        kwargs[name] = _dtype(kwargs[name], widen=widen)
    namespace, packet, overload = node.op.split(".")
    if packet == "view":
        # The trace knows no memory layout: a view there is a change of shape.
        return torch.reshape(*args)
    function = getattr(getattr(getattr(torch.ops, namespace), packet), overload)
    return function(*_narrowed(args, widen=widen), **kwargs)


def _narrowed(args: Sequence[Any], *, widen: bool) -> list[Any]:
    """Return the arguments with names of dtypes as dtypes."""
    return [_dtype(arg, widen=widen) if isinstance(arg, str) and hasattr(torch, arg) else arg for arg in args]


def _dtype(name: Any, *, widen: bool) -> torch.dtype:  # noqa: ANN401 (a name or nothing)
    dtype: torch.dtype = getattr(torch, name)
    widened = widen and dtype.is_floating_point and "float8" not in name
    return torch.float64 if widened else dtype


def _resolve(ref: Ref, values: Mapping[str, Any]) -> Any:  # noqa: ANN401
    value = values[ref.name]
    return value if ref.index is None else value[ref.index]


def _value(argument: Argument, values: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:  # noqa: ANN401
    if isinstance(argument, Ref):
        return _resolve(argument, values)
    if isinstance(argument, Expr):
        return argument.evaluate(sizes)
    if isinstance(argument, tuple):
        return [_value(item, values, sizes) for item in argument]
    return argument
