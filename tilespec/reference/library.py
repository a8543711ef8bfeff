"""The torch side of the reference language: what listed names mean on tensors and symbolic sizes.

One library serves tracing (fake tensors, symbolic sizes) and evaluation (real tensors). `widen=True` turns every floating
dtype that a cast or a factory names into float64, except the fp8 ones, whose rounding is part of the meaning.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch
from torch import SymBool, SymFloat, SymInt, Tensor
from torch.nn import functional

from tilespec.diagnostics import Rule
from tilespec.reference import allow
from tilespec.reference.check import Program
from tilespec.reference.evaluator import FunctionRef, MethodRef, Stop, Value
from tilespec.reference.own import OWN, interpolation
from tilespec.rules import reference as rules

__all__ = ["RAISED", "TorchLibrary"]

RAISED = (
    RuntimeError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError, AssertionError, MemoryError,
)  # fmt: skip
"""What torch raises on arguments that it rejects."""

_WIDENED = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})
_CASTS = {
    "half": torch.float16, "bfloat16": torch.bfloat16, "float": torch.float32, "double": torch.float64,
    "int": torch.int32, "long": torch.int64, "short": torch.int16, "char": torch.int8, "byte": torch.uint8,
    "bool": torch.bool,
}  # fmt: skip
_INFO = frozenset({"torch.finfo", "torch.iinfo"})
_TRAINING = {
    "torch.dropout": (2, "train", True),
    "torch.alpha_dropout": (2, "train", True),
    "torch.rrelu": (3, "training", False),
    "torch.nn.functional.dropout": (2, "training", True),
    "torch.nn.functional.dropout1d": (2, "training", True),
    "torch.nn.functional.dropout2d": (2, "training", True),
    "torch.nn.functional.dropout3d": (2, "training", True),
    "torch.nn.functional.alpha_dropout": (2, "training", False),
    "torch.nn.functional.feature_alpha_dropout": (2, "training", False),
}
"""Random functions: where their training flag stands, its name and its default."""


_STATISTICS = {
    "torch.nn.functional.batch_norm": ("training", False),
    "torch.nn.functional.instance_norm": ("use_input_stats", True),
}
"""Functions that write running statistics when they use those of the batch: the flag, at position 5, and its default."""

_FORMULAS = frozenset({"torch.nn.functional.scaled_dot_product_attention"})
"""Functions whose implementations in torch differ: some add `-inf` to a masked score, so that one of infinity makes the row
NaN. The golden is what the formula says."""


def _module(path: str) -> object:
    return {
        "torch": torch,
        "torch.nn.functional": functional,
        "torch.special": torch.special,
        "torch.linalg": torch.linalg,
        "math": math,
    }[path]


@dataclass
class TorchLibrary:
    """Meaning of the language on torch values."""

    program: Program
    widen: bool = False
    explain: Callable[[BaseException, ast.AST, Sequence[Value]], Rule] | None = None
    decide: Callable[[SymBool, ast.AST], bool] | None = None
    define: Callable[[str, Sequence[Value]], Value] | None = None
    after: Callable[[ast.AST], None] | None = None
    """While tracing: told of every expression that torch computed."""
    whole: Callable[[Callable[..., Value], Sequence[Value]], Value] | None = None
    """While tracing: record one ATen call as it stands."""

    # values

    def constant(self, path: str) -> Value:
        """Return the constant or dtype that `path` names, or a reference to the function."""
        module, _, name = path.rpartition(".")
        value = getattr(_module(module), name)
        if isinstance(value, int | float | torch.dtype | torch.memory_format | torch.layout):
            return value
        return FunctionRef(path)

    def attribute(self, owner: Value, name: str, node: ast.AST) -> Value:
        """Return an attribute of a tensor, a shape, a dtype or a result with names."""
        if isinstance(owner, torch.finfo | torch.iinfo):
            if name in allow.INFO_ATTRIBUTES and hasattr(owner, name):
                return getattr(owner, name)
        elif isinstance(owner, Tensor):
            if name in allow.ATTRIBUTES and name not in {"values", "indices"}:
                with self._guarded(node, [owner]):
                    return getattr(owner, name)
            if name in allow.METHODS:
                return MethodRef(owner, name)
        elif isinstance(owner, torch.Size) and name == "numel":
            return MethodRef(owner, name)
        elif (isinstance(owner, torch.dtype) and name in {"is_floating_point", "itemsize"}) or (
            isinstance(owner, tuple) and name in {"values", "indices"} and hasattr(owner, name)
        ):
            return getattr(owner, name)
        raise Stop(rules.UnknownFunction(f".{name}"), node)

    # calls

    def call(self, path: str, args: Sequence[Value], kwargs: Mapping[str, Value], node: ast.AST) -> Value:
        """Call a listed function."""
        self._check_random(path, args, kwargs, node)
        module, _, name = path.rpartition(".")
        if module == "math":
            return self._math(name, args, kwargs, node)
        function = getattr(_module(module), name)
        if path not in _INFO:
            args, kwargs = self._arguments(args, kwargs)
        if path in _STATISTICS:
            args, kwargs = _without_running(path, args, kwargs)
        with self._guarded(node, args):
            if self.whole is not None:
                one = interpolation(*args, **kwargs) if name == "interpolate" else None
                if one is not None:
                    return self.whole(*one)
                function = OWN.get(path, function)
            elif self.widen and path in _FORMULAS:
                function = OWN[path]
            result = function(*args, **kwargs)
        return self._result(result, node)

    def method(
        self, owner: Value, name: str, args: Sequence[Value], kwargs: Mapping[str, Value], node: ast.AST
    ) -> Value:
        """Call a listed method."""
        if isinstance(owner, torch.Size):
            return math.prod(owner)
        if name == "item":
            raise Stop(rules.DataDependentControl(self._text(node)), node)
        if name in _CASTS:
            name, args = "to", [_CASTS[name]]
        args, kwargs = self._arguments(args, kwargs)
        if name == "to":
            args = [value for value in args if not isinstance(value, torch.device | str)]
            if not args and not kwargs:
                return owner
        with self._guarded(node, [owner, *args]):
            function = getattr(owner, name)
            if self.whole is not None and f"Tensor.{name}" in OWN:
                function = partial(OWN[f"Tensor.{name}"], owner)
            result = function(*args, **kwargs)
        return self._result(result, node)

    def _arguments(
        self, args: Sequence[Value], kwargs: Mapping[str, Value]
    ) -> tuple[list[Value], dict[str, Value]]:
        # Where a tensor lives is the evaluator's business: the reference says what is computed.
        named = {
            name: self._widened(value)
            for name, value in kwargs.items()
            if name not in {"device", "non_blocking"}
        }
        return [self._widened(value) for value in args], named

    def _widened(self, value: Value) -> Value:
        if self.widen and isinstance(value, torch.dtype) and value in _WIDENED:
            return torch.float64
        return list(value) if isinstance(value, range) else value

    def _result(self, value: Value, node: ast.AST) -> Value:
        if isinstance(value, Tensor) and value.is_complex():
            raise Stop(rules.ReferenceRaises(self._text(node), "complex numbers are not supported"), node)
        if isinstance(value, Tensor) and value.dim() > allow.LIMITS["axes"]:
            raise Stop(rules.ReferenceLimit("axes of a tensor", allow.LIMITS["axes"]), node)
        if isinstance(value, SymInt):
            if int(value.node.hint).bit_length() > allow.LIMITS["size bits"]:
                raise Stop(rules.ReferenceLimit("bits in a size", allow.LIMITS["size bits"]), node)
            if value.node.expr.count_ops() > allow.LIMITS["size terms"]:
                raise Stop(rules.ReferenceLimit("terms in a size", allow.LIMITS["size terms"]), node)
        return value

    def _check_random(
        self, path: str, args: Sequence[Value], kwargs: Mapping[str, Value], node: ast.AST
    ) -> None:
        name = self._text(node.func) if isinstance(node, ast.Call) else path
        if path in _TRAINING:
            position, keyword, default = _TRAINING[path]
            training = args[position] if len(args) > position else kwargs.get(keyword, default)
            if training is not False:
                raise Stop(rules.RandomOperation(name), node)
        dropout = args[4] if len(args) > _DROPOUT else kwargs.get("dropout_p", 0.0)
        if path == "torch.nn.functional.scaled_dot_product_attention" and dropout != 0.0:
            raise Stop(rules.RandomOperation(name), node)

    def _math(self, name: str, args: Sequence[Value], kwargs: Mapping[str, Value], node: ast.AST) -> Value:
        for value in args:
            if isinstance(value, Tensor):
                raise Stop(rules.DataDependentControl(self._text(node)), node)
        symbolic = any(isinstance(value, SymInt | SymFloat) for value in args)
        with self._guarded(node, args):
            if not symbolic:
                if any(
                    isinstance(value, int) and value.bit_length() > allow.LIMITS["integer bits"]
                    for value in args
                ):
                    raise Stop(rules.ReferenceLimit("bits in an integer", allow.LIMITS["integer bits"]), node)
                return getattr(math, name)(*args, **kwargs)
            if name in {"floor", "ceil", "trunc"}:
                return getattr(math, name)(*args) if name != "trunc" else torch.sym_int(args[0])
            if name == "pow":
                return self.binary(operator.pow, args[0], args[1], node)
            if name == "prod":
                return math.prod(*args, **kwargs)
            if self.define is not None and not kwargs:
                return self.define(name, args)
        raise Stop(rules.ReferenceRaises(self._text(node), f"`math.{name}` does not work on sizes"), node)

    # operators

    def binary(self, op: Callable[[Value, Value], Value], left: Value, right: Value, node: ast.AST) -> Value:
        """Apply an operator to numbers or tensors."""
        if (
            op is operator.pow
            and isinstance(left, SymInt)
            and isinstance(right, int)
            and abs(right) > _SIZE_POWER
        ):
            raise Stop(rules.ReferenceLimit("as the power of a size", _SIZE_POWER), node)
        if isinstance(left, torch.dtype) or isinstance(right, torch.dtype):
            return (
                op(left, right)
                if op in {operator.eq, operator.ne}
                else self._refuse(node, "a dtype is not a number")
            )
        with self._guarded(node, [left, right]):
            result = op(left, right)
        if result is NotImplemented or isinstance(result, complex):
            self._refuse(node, "the result is not a real number")
        return self._result(result, node)

    def unary(self, op: Callable[[Value], Value], operand: Value, node: ast.AST) -> Value:
        """Apply an operator to a number or tensor."""
        with self._guarded(node, [operand]):
            result = op(operand)
        return self._result(result, node)

    def subscript(self, owner: Value, index: Value, node: ast.AST) -> Value:
        """Index a tensor."""
        if not isinstance(owner, Tensor):
            self._refuse(node, "only tensors and tuples can be indexed")
        with self._guarded(node, [owner]):
            result = owner[index]
        return self._result(result, node)

    def assign(self, owner: Value, index: Value, value: Value, node: ast.AST) -> Value:
        """Return `owner` with `owner[index]` replaced by `value`; `owner` itself stays."""
        if not isinstance(owner, Tensor):
            self._refuse(node, "only elements of a tensor can be assigned")
        with self._guarded(node, [owner]):
            return _replace(owner, list(index) if isinstance(index, tuple) else [index], value)

    def update(self, target: Value, value: Value, node: ast.AST) -> Value:
        """Return `value` as `target op= ...` would store it: in the dtype and shape of the target."""
        if not isinstance(target, Tensor):
            return value
        with self._guarded(node, [target, value]):
            if isinstance(value, Tensor) and value.dim() != target.dim():
                self._refuse(node, "an in-place update cannot change the shape")
            return value if value.dtype == target.dtype else value.to(target.dtype)

    def truth(self, value: Value, node: ast.AST) -> bool:
        """Decide a condition; tensors don't decide anything."""
        if isinstance(value, Tensor):
            raise Stop(rules.DataDependentControl(self._text(node)), node)
        if isinstance(value, SymInt | SymFloat):
            value = value != 0
        if isinstance(value, SymBool):
            if self.decide is not None:
                return self.decide(value, node)
            self._refuse(node, "the size is not known")
        if not (value is None or isinstance(value, bool | int | float | str | tuple | list | range)):
            self._refuse(node, "this is not a condition")
        return bool(value)

    def builtin(self, name: str, args: Sequence[Value], node: ast.AST) -> Value:  # noqa: PLR0912 (a row of cases)
        """Apply a builtin where numbers may be symbolic."""
        first = args[0]
        if name == "len" and isinstance(first, Tensor):
            with self._guarded(node, args):
                return first.shape[0]
        if name == "bool":
            return self.truth(first, node)
        if isinstance(first, Tensor):
            if name == "abs":
                return self.unary(operator.abs, first, node)
            raise Stop(rules.DataDependentControl(self._text(node)), node)
        if not all(isinstance(value, bool | int | float | SymInt | SymFloat) for value in args):
            self._refuse(node, f"`{name}` takes numbers")
        symbolic = any(isinstance(value, SymInt | SymFloat) for value in args)
        with self._guarded(node, args):
            match name:
                case "index":
                    if not isinstance(first, int):
                        self._refuse(node, "the number of passes depends on a size or is no integer")
                    return first
                case "int":
                    return torch.sym_int(first) if symbolic else int(first)
                case "float":
                    return torch.sym_float(first) if symbolic else float(first)
                case "min":
                    return torch.sym_min(*args) if symbolic else min(*args)
                case "max":
                    return torch.sym_max(*args) if symbolic else max(*args)
                case "abs":
                    return abs(first)
                case "round":
                    return round(*args)
        return self._refuse(node, f"`{name}` does not take these arguments")

    def shares(self, left: Value, right: Value) -> bool:
        """Whether two values are tensors on the same memory."""
        if isinstance(right, tuple | list):
            return any(self.shares(left, item) for item in right)
        if not isinstance(left, Tensor) or not isinstance(right, Tensor):
            return False
        one, other = left.untyped_storage(), right.untyped_storage()
        return bool(one._cdata == other._cdata)  # noqa: SLF001 (no public identity)

    # failures

    def _text(self, node: ast.AST) -> str:
        return self.program.text(node)

    def _refuse(self, node: ast.AST, reason: str) -> Value:
        raise Stop(rules.ReferenceRaises(self._text(node), reason), node)

    @contextmanager
    def _guarded(self, node: ast.AST, operands: Sequence[Value]) -> Iterator[None]:
        try:
            yield
            if self.after is not None:
                self.after(node)
        except RecursionError:
            raise
        except RAISED as error:
            if self.explain is not None:
                raise Stop(self.explain(error, node, operands), node) from error
            reason = str(error).strip().split("\n")[0] or type(error).__name__
            raise Stop(rules.ReferenceRaises(self._text(node), reason), node) from error


def _without_running(
    path: str, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> tuple[list[Value], dict[str, Value]]:
    """Leave out running statistics where those of the batch are used: they are written, and not part of the result."""
    flag, default = _STATISTICS[path]
    given, named = list(args), dict(kwargs)
    if (given[_FLAG] if len(given) > _FLAG else named.get(flag, default)) is True:
        given[1:3] = [None] * len(given[1:3])
        named.update({name: None for name in ("running_mean", "running_var") if name in named})
    return given, named


_FLAG = 5
_DROPOUT = 4
_SIZE_POWER = 8


def _replace(owner: Tensor, index: list[Value], value: Value) -> Tensor:
    """Return `owner` with the elements under `index` replaced, without writing to it."""
    if Ellipsis in [item for item in index if not isinstance(item, Tensor)]:
        place = next(position for position, item in enumerate(index) if item is Ellipsis)
        missing = owner.dim() - (len(index) - 1)
        index = [*index[:place], *[slice(None)] * missing, *index[place + 1 :]]
    if any(isinstance(item, Tensor | list) for item in index):
        if not all(isinstance(item, Tensor) or item == slice(None) for item in index):
            message = "tensors and slices cannot be mixed in the target of an assignment"
            raise TypeError(message)
        indices = tuple(item if isinstance(item, Tensor) else None for item in index)
        replaced: Tensor = torch.ops.aten.index_put.default(owner, indices, _as_value(owner, value))
        return replaced
    return _replace_from(owner, index, 0, value)


def _replace_from(owner: Tensor, index: list[Value], dim: int, value: Value) -> Tensor:
    while index and isinstance(index[0], slice) and index[0] == slice(None):
        index, dim = index[1:], dim + 1
    if not index:
        return _as_value(owner, value).expand(owner.shape)
    head, rest = index[0], index[1:]
    if isinstance(head, slice):
        inner = owner[(*[slice(None)] * dim, head)]
        start, stop, step = head.start, head.stop, 1 if head.step is None else head.step
        return torch.slice_scatter(owner, _replace_from(inner, rest, dim + 1, value), dim, start, stop, step)
    if isinstance(head, int | SymInt) and not isinstance(head, bool):
        inner = owner.select(dim, head)
        return torch.select_scatter(owner, _replace_from(inner, rest, dim, value), dim, head)
    message = "the target of an assignment takes integers, slices and index tensors"
    raise TypeError(message)


def _as_value(owner: Tensor, value: Value) -> Tensor:
    if isinstance(value, Tensor):
        return value if value.dtype == owner.dtype else value.to(owner.dtype)
    return torch.full((), value, dtype=owner.dtype, device=owner.device)
