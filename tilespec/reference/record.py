# ruff: noqa: ANN401 (values of torch and sympy, which are typed in part)
"""Record ATen calls: every call that torch dispatches while a reference is evaluated becomes a `Node`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch import SymBool, SymFloat, SymInt, Tensor
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils.weak import WeakIdKeyDictionary

from tilespec.diagnostics import Span
from tilespec.model.dims import Expr
from tilespec.reference.decompositions import decompositions
from tilespec.reference.graph import Argument, Graph, Node, Ref, TensorMeta
from tilespec.reference.symbols import SymbolTable

__all__ = ["OperationLimitError", "Recorder", "dtype_name"]

aten = torch.ops.aten


class OperationLimitError(RuntimeError):
    """More operations than a reference may have."""


def dtype_name(dtype: torch.dtype) -> str:
    """Return `float16` for `torch.float16`."""
    return str(dtype).removeprefix("torch.")


_FORWARDED = frozenset(
    {
        "aten.detach.default", "aten.alias.default", "aten.clone.default", "aten.contiguous.default",
        "aten.lift_fresh_copy.default", "aten.lift_fresh.default", "aten.lift.default",
    }
)  # fmt: skip
"""Calls that give their first argument back."""

_RESHAPES = frozenset(
    {"aten.view.default", "aten._unsafe_view.default", "aten.reshape.default", "aten.expand.default"}
)
_SAME_SHAPE = _RESHAPES | {"aten.slice.Tensor"}
"""Calls that are the identity when they keep the shape."""

_QUERIES = frozenset(
    {"aten.size.default", "aten.size.int", "aten.stride.default", "aten.stride.int", "aten.dim.default"}
)
_DROPPED_KEYWORDS = frozenset(
    {"device", "layout", "pin_memory", "memory_format", "non_blocking", "requires_grad"}
)
_CONSTANT_LIMIT = 256


@dataclass(frozen=True)
class Place:
    """The source expression being evaluated."""

    span: Span | None
    text: str


class Recorder(TorchDispatchMode):
    """A dispatch mode below the evaluator and above the fake tensors."""

    def __init__(
        self, table: SymbolTable, place: Callable[[], Place], reserved: Iterable[str], limit: int
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.table = table
        self.place = place
        self.limit = limit
        self.nodes: list[Node] = []
        self._refs: WeakIdKeyDictionary = WeakIdKeyDictionary()
        self._kept: list[Tensor] = []
        self._names: dict[str, int] = dict.fromkeys(reserved, 1)
        self._numbers: dict[sympy.Basic, Argument] = {}
        self._pinned: dict[float, sympy.Basic] = {}
        self._guards_seen = 0
        self.integer_scalars: frozenset[str] = frozenset()

    # inputs and outputs

    def add_input(self, tensor: Tensor, name: str) -> None:
        """Let `tensor` be the graph input `name`."""
        self._kept.append(tensor)
        self._refs[tensor] = Ref(name)

    def set_integer_scalars(self, names: Iterable[str]) -> None:
        """Name the symbols that are scalar parameters rather than sizes."""
        self.integer_scalars = frozenset(names)

    def ref(self, tensor: Tensor) -> Ref:
        """Return where `tensor` comes from.

        Raises:
            RuntimeError: it was made outside the recording.
        """
        found: Ref | None = self._refs.get(tensor)
        if found is None:
            message = "a tensor has no recorded origin"
            raise RuntimeError(message)
        return found

    def meta(self, tensor: Tensor) -> TensorMeta:
        """Return shape and dtype of `tensor`."""
        return TensorMeta(tuple(self.table.expr(size) for size in tensor.shape), dtype_name(tensor.dtype))

    # dispatch

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        name = str(func)
        if name.startswith(("prim.", "aten.sym_", "aten.is_")) or name in _QUERIES:
            return func(*args, **kwargs)
        if name == "aten.lift_fresh.default" and not _is_fake(args[0]):
            return self._constant(args[0])
        if name in _FORWARDED:
            return self._forward(func, args, kwargs)
        decomposition = decompositions().get(func)
        if decomposition is not None:
            with self:
                result = decomposition(*args, **kwargs)
            if result is not NotImplemented:
                return result
        with self:
            result = func.decompose(*args, **kwargs)
        if result is not NotImplemented:
            return result
        if func._schema.is_mutable:  # noqa: SLF001 (no public schema)
            return self._mutate(func, args, kwargs)
        return self._record(func, args, kwargs)

    def whole(self, func: Any, args: Sequence[Any]) -> Any:
        """Record one call without looking for its decomposition."""
        with _disable_current_modes() as modes, contextlib.ExitStack() as stack:
            for mode in modes:
                if mode is not self:
                    stack.enter_context(mode)
            return self._record(func, args, {})

    def _forward(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Tensor:
        result: Tensor = func(*args, **kwargs)
        self._refs[result] = self._refs[args[0]]
        return result

    def _record(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if len(self.nodes) >= self.limit:
            raise OperationLimitError
        result = func(*args, **kwargs)
        tensors = _tensors(result)
        if tensors is None:
            # A number computed from sizes, not from values.
            return result
        name = str(func)
        if name in {"aten._unsafe_view.default", "aten.reshape.default"}:
            name = "aten.view.default"
        given = args[0] if args and isinstance(args[0], Tensor) else None
        if given is not None and len(tensors) == 1 and self._is_identity(name, given, tensors[0]):
            self._refs[tensors[0]] = self.ref(given)
            return result
        if name in _RESHAPES:
            args, kwargs = [args[0], list(tensors[0].shape)], {}
        arguments = tuple(self._argument(value) for value in args)
        keywords = tuple(
            (key, self._argument(value))
            for key, value in kwargs.items()
            if key not in _DROPPED_KEYWORDS and value is not None
        )
        single = isinstance(result, Tensor)
        node = self._add(name, arguments, keywords, [self.meta(tensor) for tensor in tensors])
        for index, tensor in enumerate(tensors):
            self._refs[tensor] = Ref(node, None if single else index)
        return result

    def _is_identity(self, name: str, given: Tensor, result: Tensor) -> bool:
        if name == "aten._to_copy.default":
            return given.dtype == result.dtype
        return name in _SAME_SHAPE and self.meta(given) == self.meta(result)

    def _add(
        self,
        op: str,
        args: tuple[Argument, ...],
        kwargs: tuple[tuple[str, Argument], ...],
        results: Sequence[TensorMeta],
    ) -> str:
        stem = op.split(".")[1].strip("_")
        count = self._names.get(stem, 0)
        self._names[stem] = count + 1
        name = f"{stem}_{count}" if count else stem
        while count and name in self._names:
            count += 1
            name = f"{stem}_{count}"
        self._names[name] = self._names.get(name, 0) or 1
        place = self.place()
        self.nodes.append(Node(name, op, args, kwargs, tuple(results), place.span, place.text))
        return name

    def _mutate(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Tensor:
        """Record an in-place call as its functional twin; the tensor stands for the new value from then on."""
        target = args[0]
        packet, overload = str(func).removeprefix("aten.").split(".")
        if not packet.endswith("_") or not isinstance(target, Tensor) or self._is_shared(target):
            message = f"`{packet}` writes to memory that other tensors share"
            raise RuntimeError(message)
        functional = getattr(getattr(aten, packet[:-1]), overload)
        with self:
            result = functional(*args, **kwargs)
            if result.dtype != target.dtype:
                result = aten._to_copy.default(result, dtype=target.dtype)  # noqa: SLF001 (the ATen op's name)
        self._refs[target] = self.ref(result)
        return target

    def _is_shared(self, target: Tensor) -> bool:
        own = target.untyped_storage()._cdata  # noqa: SLF001 (no public identity)
        return any(
            other is not target and other.untyped_storage()._cdata == own  # noqa: SLF001 (no public identity)
            for other in list(self._refs.keys())
        )

    def _constant(self, value: Tensor) -> Tensor:
        """Record a literal tensor as filled tensors: numbers are all that a graph holds."""
        if value.numel() > _CONSTANT_LIMIT:
            raise OperationLimitError
        with unset_fake_temporarily():
            items = value.flatten().tolist()
        full, dtype = aten.full.default, value.dtype
        with self:
            if value.dim() == 0 or not items:
                made: Tensor = full(list(value.shape), items[0] if items else 0, dtype=dtype)
            else:
                made = aten.cat.default([full([1], item, dtype=dtype) for item in items]).view(value.shape)
        return made

    # arguments

    def _argument(self, value: Any) -> Argument:
        if isinstance(value, Tensor):
            number = getattr(value, "_wrapped_number", None)
            return self.ref(value) if number is None else self._argument(number)
        if isinstance(value, bool | str) or value is None:
            return value
        if isinstance(value, SymBool):
            return bool(value)
        if isinstance(value, SymInt):
            expr = self.table.expr(value)
            return Ref(expr.symbol) if expr.symbol in self.integer_scalars else _plain(expr)
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            return self._float(value)
        if isinstance(value, SymFloat):
            return self._number(value.node.expr)
        if isinstance(value, torch.dtype):
            return dtype_name(value)
        if isinstance(value, list | tuple):
            return tuple(self._element(item) for item in value)
        return str(value).removeprefix("torch.")

    def _element(self, value: Any) -> Argument:
        return _plain(self.table.expr(value)) if isinstance(value, SymInt) else self._argument(value)

    def _float(self, value: float) -> Argument:
        """Return a float argument; one that torch took from a symbolic float is that float again."""
        guards = self.table.env.guards
        for guard in guards[self._guards_seen :]:
            expr = guard.expr
            if isinstance(expr, sympy.Eq):
                for symbolic, number in ((expr.lhs, expr.rhs), (expr.rhs, expr.lhs)):
                    if isinstance(number, sympy.Float) and symbolic.free_symbols:
                        self._pinned[float(number)] = symbolic
        self._guards_seen = len(guards)
        if value in self._pinned:
            return self._number(self._pinned[value])
        return value

    def _number(self, value: sympy.Basic) -> Argument:
        """Return a symbolic float as a scalar parameter, a size, a number, or a chain of `scalar` nodes."""
        if value in self.table.scalars:
            return Ref(self.table.scalars[value])
        if value in self._numbers:
            return self._numbers[value]
        if value.is_number:
            number = float(value)
            return self._float(number)
        self._numbers[value] = self._scalar(value)
        return self._numbers[value]

    def _scalar(self, value: sympy.Basic) -> Argument:
        if value in self.table.defined:
            function, args = self.table.defined[value]
            return self._scalar_node(function, *args)
        if value in self.table.names:
            return self.table.expr(value)
        kind = type(value).__name__
        if kind == "ToFloat":
            return self.table.expr(value.args[0])
        if kind in {"Add", "Mul"}:
            first, *rest = sorted(value.args, key=str)
            total = self._number(first)
            for part in rest:
                total = self._scalar_node("add" if kind == "Add" else "mul", total, part)
            return total
        if kind in _SCALAR_FUNCTIONS:
            return self._scalar_node(_SCALAR_FUNCTIONS[kind], *value.args)
        return self.table.expr(value)

    def _scalar_node(self, function: str, *args: Any) -> Ref:
        converted = tuple(self._number(arg) if isinstance(arg, sympy.Basic) else arg for arg in args)
        return Ref(self._add(f"scalar.{function}", converted, (), [TensorMeta((), "float64")]))

    # result

    def graph(
        self,
        name: str,
        inputs: Sequence[tuple[str, TensorMeta]],
        scalars: Sequence[tuple[str, str]],
        outputs: Sequence[Ref],
    ) -> Graph:
        """Return what was recorded, without the calls that no output needs."""
        needed = {ref.name for ref in outputs}
        kept: list[Node] = []
        for node in reversed(self.nodes):
            if node.name in needed:
                kept.append(node)
                needed.update(ref.name for ref in _refs([*node.args, *(value for _, value in node.kwargs)]))
        return Graph(name, tuple(inputs), tuple(scalars), tuple(reversed(kept)), tuple(outputs))


_SCALAR_FUNCTIONS = {
    "Pow": "pow", "PowByNatural": "pow", "FloatPow": "pow", "FloatTrueDiv": "div", "IntTrueDiv": "div",
    "OpaqueUnaryFn_sqrt": "sqrt", "OpaqueUnaryFn_exp": "exp", "OpaqueUnaryFn_log": "log", "OpaqueUnaryFn_log2": "log2",
    "OpaqueUnaryFn_sin": "sin", "OpaqueUnaryFn_cos": "cos", "OpaqueUnaryFn_tanh": "tanh", "Max": "max", "Min": "min",
    "Abs": "abs", "Mod": "mod", "PythonMod": "mod",
}  # fmt: skip


def _plain(expr: Expr) -> Expr | int:
    return expr if expr.value is None else expr.value


def _is_fake(value: Tensor) -> bool:
    return hasattr(value, "fake_mode")


def _tensors(result: Any) -> list[Tensor] | None:
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, list | tuple) and result and all(isinstance(item, Tensor) for item in result):
        return list(result)
    return None


def _refs(values: Iterable[Argument]) -> Iterable[Ref]:
    for value in values:
        if isinstance(value, Ref):
            yield value
        elif isinstance(value, tuple):
            yield from _refs(value)
