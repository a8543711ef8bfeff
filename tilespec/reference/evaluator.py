"""Run checked reference code: a tree walker over the syntax that `check` lets through.

The evaluator never hands reference code to Python. It knows numbers, strings, tuples, ranges and the values of its
`Library` (tensors, symbolic sizes), and does to them only what the language has. What it cannot do is a `Stop` with a rule.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from tilespec.diagnostics import Diagnostic, Label, Rule
from tilespec.reference import allow
from tilespec.reference.check import Program, dotted, is_listed, is_module
from tilespec.rules import reference as rules

__all__ = ["Evaluator", "FunctionRef", "Library", "MethodRef", "Stop", "Value"]

Value = Any
"""A value of the reference language. The language is dynamic: its checks are made here, not by a type checker."""


class Stop(Exception):  # noqa: N818 (it ends an evaluation; the finding is the error)
    """The end of an evaluation, with the finding that explains it."""

    def __init__(self, rule: Rule, node: ast.AST | None = None, *labels: Label) -> None:
        super().__init__(rule.message())
        self.rule = rule
        self.node = node
        self.labels = labels

    def diagnostic(self, program: Program) -> Diagnostic:
        """Bind the finding to its place in the file."""
        span = None if self.node is None else program.span(self.node)
        return self.rule.at(program.reference.source, span, *self.labels)


@dataclass(frozen=True)
class FunctionRef:
    """A listed function, by its full path."""

    path: str


@dataclass(frozen=True)
class MethodRef:
    """A listed method of a tensor-like value."""

    owner: Value
    name: str


@dataclass(frozen=True)
class _UserFunction:
    name: str


@dataclass(frozen=True)
class _Builtin:
    name: str


class _Return(Exception):  # noqa: N818 (control flow of the evaluated language)
    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class _Break(Exception):  # noqa: N818 (control flow of the evaluated language)
    pass


class _Continue(Exception):  # noqa: N818 (control flow of the evaluated language)
    pass


class Library(Protocol):
    """What gives meaning to functions, tensors and symbolic numbers."""

    def constant(self, path: str) -> Value:
        """Return the constant or dtype that `path` names, or a `FunctionRef`."""

    def attribute(self, owner: Value, name: str, node: ast.AST) -> Value:
        """Return an attribute of a library value."""

    def call(self, path: str, args: Sequence[Value], kwargs: Mapping[str, Value], node: ast.AST) -> Value:
        """Call a listed function."""

    def method(
        self, owner: Value, name: str, args: Sequence[Value], kwargs: Mapping[str, Value], node: ast.AST
    ) -> Value:
        """Call a listed method."""

    def binary(self, op: Callable[[Value, Value], Value], left: Value, right: Value, node: ast.AST) -> Value:
        """Apply a Python operator to numbers or library values."""

    def unary(self, op: Callable[[Value], Value], operand: Value, node: ast.AST) -> Value:
        """Apply a Python operator to a number or library value."""

    def subscript(self, owner: Value, index: Value, node: ast.AST) -> Value:
        """Index a library value."""

    def assign(self, owner: Value, index: Value, value: Value, node: ast.AST) -> Value:
        """Return `owner` with `owner[index]` replaced."""

    def update(self, target: Value, value: Value, node: ast.AST) -> Value:
        """Return what an augmented assignment stores in the place of `target`."""

    def truth(self, value: Value, node: ast.AST) -> bool:
        """Decide a condition."""

    def builtin(self, name: str, args: Sequence[Value], node: ast.AST) -> Value:
        """Apply `abs`, `int`, `float`, `bool`, `round`, `min` or `max` of two, or `len`, where numbers may be symbolic."""

    def shares(self, left: Value, right: Value) -> bool:
        """Whether two values are tensors on the same memory."""


_BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitOr: operator.or_, ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
}  # fmt: skip

_UNARY: dict[type[ast.unaryop], Callable[[Value], Value]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip

_COMPARE: dict[type[ast.cmpop], Callable[[Value, Value], Value]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip


@dataclass
class Evaluator:
    """Evaluates the functions of one program. `place` is the stack of expressions being evaluated, innermost last."""

    program: Program
    library: Library
    place: list[ast.expr] = field(default_factory=list)
    steps: int = 0
    passes: int = 0
    depth: int = 0
    running: list[str] = field(default_factory=list)
    frames: list[dict[str, Value]] = field(default_factory=list)

    def call(self, name: str, arguments: Mapping[str, Value]) -> Value:
        """Call function `name` with arguments by name; missing ones take their default.

        Raises:
            Stop: the code does what the language, or torch, does not allow.
        """
        try:
            return self._invoke(name, [], dict(arguments), self.program.functions[name])
        except RecursionError:
            rule = rules.ReferenceLimit("levels of calls", allow.LIMITS["call depth"])
            raise Stop(rule, self.program.functions[name]) from None

    def expression(self, node: ast.expr) -> Value:
        """Evaluate one expression that uses no local name."""
        return self._expr(node, {})

    # functions and statements

    def _invoke(self, name: str, args: Sequence[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
        if name in self.running:
            raise Stop(rules.ForbiddenConstruct(f"the recursion of `{name}`"), node)
        if len(self.running) >= allow.LIMITS["call depth"]:
            raise Stop(rules.ReferenceLimit("levels of calls", allow.LIMITS["call depth"]), node)
        parameters = self.program.parameters(name)
        scope: dict[str, Value] = {}
        if len(args) > len(parameters):
            raise self._fails(node, f"`{name}` takes {len(parameters)} arguments, got {len(args)}")
        for parameter, value in zip(parameters, args, strict=False):
            scope[parameter.name] = value
        for keyword, value in kwargs.items():
            if keyword in scope or keyword not in {parameter.name for parameter in parameters}:
                raise self._fails(node, f"`{name}` has no free parameter `{keyword}`")
            scope[keyword] = value
        for parameter in parameters:
            if parameter.name in scope:
                continue
            if parameter.default is None:
                raise self._fails(node, f"`{name}` lacks the argument `{parameter.name}`")
            scope[parameter.name] = self._expr(parameter.default, {})
        self.running.append(name)
        self.frames.append(scope)
        try:
            self._block(self.program.functions[name].body, scope)
        except _Return as result:
            return result.value
        finally:
            self.running.pop()
            self.frames.pop()
        return None

    def _block(self, body: Sequence[ast.stmt], scope: dict[str, Value]) -> None:
        for statement in body:
            self._statement(statement, scope)

    def _statement(self, node: ast.stmt, scope: dict[str, Value]) -> None:  # noqa: PLR0912 (a row of cases)
        self._step(node)
        match node:
            case ast.Return():
                raise _Return(None if node.value is None else self._expr(node.value, scope))
            case ast.Assign():
                value = self._expr(node.value, scope)
                for target in node.targets:
                    self._bind(target, value, scope)
            case ast.AnnAssign():
                if node.value is not None:
                    self._bind(node.target, self._expr(node.value, scope), scope)
            case ast.AugAssign():
                self._augment(node, scope)
            case ast.If():
                self._block(node.body if self._truth(node.test, scope) else node.orelse, scope)
            case ast.For():
                self._loop(node, scope)
            case ast.Assert():
                if not self._truth(node.test, scope):
                    raise self._fails(node.test, "the assertion does not hold")
            case ast.Expr():
                self._expr(node.value, scope)
            case ast.Pass():
                pass
            case ast.Break():
                raise _Break
            case ast.Continue():
                raise _Continue
            case _:
                raise Stop(rules.ForbiddenConstruct(f"`{type(node).__name__}`"), node)

    def _loop(self, node: ast.For, scope: dict[str, Value]) -> None:
        for item in self._iterate(self._expr(node.iter, scope), node.iter):
            self._pass(node)
            self._bind(node.target, item, scope)
            try:
                self._block(node.body, scope)
            except _Continue:
                continue
            except _Break:
                return
        self._block(node.orelse, scope)

    def _augment(self, node: ast.AugAssign, scope: dict[str, Value]) -> None:
        read = ast.copy_location(_as_load(node.target), node.target)
        target = self._expr(read, scope)
        value = self._expr(node.value, scope)
        place = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
        self.place.append(place)
        try:
            result = self._binary(type(node.op), target, value, place)
            result = self.library.update(target, result, place)
        finally:
            self.place.pop()
        if isinstance(node.target, ast.Name):
            self._unshared(node.target.id, target, scope, node)
        self._bind(node.target, result, scope)

    def _unshared(self, name: str, value: Value, scope: dict[str, Value], node: ast.AST) -> None:
        """Refuse to update a tensor that another name can see: here, updates make a new tensor."""
        for frame in self.frames:
            for other, held in frame.items():
                if (frame is not scope or other != name) and self.library.shares(value, held):
                    advice = f"write `{name} = ...` with a new tensor"
                    rule = rules.ForbiddenConstruct(
                        f"an in-place update of memory that `{other}` shares", advice
                    )
                    raise Stop(rule, node)

    def _bind(self, target: ast.expr, value: Value, scope: dict[str, Value]) -> None:
        match target:
            case ast.Name():
                scope[target.id] = value
            case ast.Tuple() | ast.List():
                self._unpack(target, value, scope)
            case ast.Subscript(value=ast.Name() as owner):
                held = self._name(owner, scope)
                self._unshared(owner.id, held, scope, target)
                self.place.append(target)
                try:
                    scope[owner.id] = self.library.assign(
                        held, self._index(target.slice, scope), value, target
                    )
                finally:
                    self.place.pop()
            case _:
                raise Stop(rules.ForbiddenConstruct("an assignment to this target"), target)

    def _unpack(self, target: ast.Tuple | ast.List, value: Value, scope: dict[str, Value]) -> None:
        items = list(self._iterate(value, target))
        starred = [index for index, item in enumerate(target.elts) if isinstance(item, ast.Starred)]
        if not starred:
            if len(items) != len(target.elts):
                raise self._fails(target, f"{len(target.elts)} names for {len(items)} values")
            for item, part in zip(target.elts, items, strict=True):
                self._bind(item, part, scope)
            return
        before, after = starred[0], len(target.elts) - starred[0] - 1
        if len(items) < before + after:
            raise self._fails(target, f"{len(target.elts)} names for {len(items)} values")
        stop = len(items) - after
        parts = [*items[:before], items[before:stop], *items[stop:]]
        for item, part in zip(target.elts, parts, strict=True):
            self._bind(item.value if isinstance(item, ast.Starred) else item, part, scope)

    # expressions

    def _expr(self, node: ast.expr, scope: dict[str, Value]) -> Value:
        self._step(node)
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._name(node, scope)
            case ast.Tuple():
                return tuple(self._elements(node.elts, scope))
            case ast.List():
                return self._elements(node.elts, scope)
            case ast.Slice():
                return self._index(node, scope)
            case ast.IfExp():
                return self._expr(node.body if self._truth(node.test, scope) else node.orelse, scope)
            case ast.BoolOp():
                return self._bool_op(node, scope)
            case ast.ListComp() | ast.GeneratorExp():
                return list(self._comprehend(node, 0, scope))
        self.place.append(node)
        try:
            return self._operation(node, scope)
        finally:
            self.place.pop()

    def _operation(self, node: ast.expr, scope: dict[str, Value]) -> Value:
        match node:
            case ast.BinOp():
                left, right = self._expr(node.left, scope), self._expr(node.right, scope)
                return self._binary(type(node.op), left, right, node)
            case ast.UnaryOp():
                operand = self._expr(node.operand, scope)
                if isinstance(node.op, ast.Not):
                    return not self.library.truth(operand, node)
                self._operand(operand, node)
                return self.library.unary(_UNARY[type(node.op)], operand, node)
            case ast.Compare():
                return self._compare(node, scope)
            case ast.Attribute():
                return self._attribute(node, scope)
            case ast.Subscript():
                owner = self._expr(node.value, scope)
                return self._subscript(owner, self._index(node.slice, scope), node)
            case ast.Call():
                return self._call(node, scope)
            case _:
                raise Stop(rules.ForbiddenConstruct(f"`{type(node).__name__}`"), node)

    def _elements(self, nodes: Sequence[ast.expr], scope: dict[str, Value]) -> list[Value]:
        values: list[Value] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values.extend(self._iterate(self._expr(node.value, scope), node))
            else:
                values.append(self._expr(node, scope))
        return values

    def _name(self, node: ast.Name, scope: dict[str, Value]) -> Value:
        if node.id in scope:
            return scope[node.id]
        if node.id in self.program.functions:
            return _UserFunction(node.id)
        if node.id in allow.BUILTINS:
            return _Builtin(node.id)
        raise Stop(rules.UndefinedVariable(node.id), node)

    def _bool_op(self, node: ast.BoolOp, scope: dict[str, Value]) -> Value:
        wanted = isinstance(node.op, ast.Or)
        value: Value = None
        for part in node.values:
            value = self._expr(part, scope)
            if self.library.truth(value, part) is wanted:
                return value
        return value

    def _comprehend(
        self, node: ast.ListComp | ast.GeneratorExp, level: int, scope: dict[str, Value]
    ) -> Iterator[Value]:
        if level == len(node.generators):
            yield self._expr(node.elt, scope)
            return
        generator = node.generators[level]
        inner = dict(scope)
        for item in self._iterate(self._expr(generator.iter, scope), generator.iter):
            self._pass(node)
            self._bind(generator.target, item, inner)
            if all(self._truth(test, inner) for test in generator.ifs):
                yield from self._comprehend(node, level + 1, inner)

    def _truth(self, node: ast.expr, scope: dict[str, Value]) -> bool:
        return self.library.truth(self._expr(node, scope), node)

    def _binary(self, kind: type[ast.operator], left: Value, right: Value, node: ast.expr) -> Value:
        if isinstance(left, tuple | list) or isinstance(right, tuple | list):
            return self._sequence(kind, left, right, node)
        self._operand(left, node)
        self._operand(right, node)
        if type(left) is int and type(right) is int:
            self._bounded(kind, left, right, node)
        return self.library.binary(_BINARY[kind], left, right, node)

    def _sequence(self, kind: type[ast.operator], left: Value, right: Value, node: ast.expr) -> Value:
        limit = allow.LIMITS["sequence length"]
        if kind is ast.Add and isinstance(left, tuple | list) and isinstance(right, tuple | list):
            if len(left) + len(right) > limit:
                raise Stop(rules.ReferenceLimit("elements in a sequence", limit), node)
            joined = [*left, *right]
            return joined if isinstance(left, list) else tuple(joined)
        if kind is ast.Mult and (type(left) is int or type(right) is int):
            items, times = (right, left) if type(left) is int else (left, right)
            if len(items) * times > limit:
                raise Stop(rules.ReferenceLimit("elements in a sequence", limit), node)
            return items * times
        raise self._fails(node, "these operands are not numbers or tensors")

    def _bounded(self, kind: type[ast.operator], left: int, right: int, node: ast.expr) -> None:
        bits = allow.LIMITS["integer bits"]
        large = {
            ast.Pow: left.bit_length() * max(right, 0) if abs(left) > 1 else 0,
            ast.LShift: left.bit_length() + right,
            ast.Mult: left.bit_length() + right.bit_length(),
        }.get(kind, 0)
        if large > bits:
            raise Stop(rules.ReferenceLimit("bits in an integer", bits), node)

    def _operand(self, value: Value, node: ast.AST) -> None:
        if value is None or isinstance(
            value, str | range | FunctionRef | MethodRef | _UserFunction | _Builtin
        ):
            shown = "None" if value is None else f"a {_kind(value)}"
            raise self._fails(node, f"{shown} is not a number or tensor")

    def _compare(self, node: ast.Compare, scope: dict[str, Value]) -> Value:
        left = self._expr(node.left, scope)
        result: Value = True
        for index, (kind, part) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self._expr(part, scope)
            result = self._compare_two(kind, left, right, node)
            if index + 1 < len(node.ops) and not self.library.truth(result, node):
                return False
            left = right
        return result

    def _compare_two(self, kind: ast.cmpop, left: Value, right: Value, node: ast.Compare) -> Value:
        if isinstance(kind, ast.Is | ast.IsNot):
            if right is not None and not isinstance(right, bool):
                raise Stop(rules.ForbiddenConstruct("`is` with anything but None, True or False"), node)
            return (left is right) is isinstance(kind, ast.Is)
        if isinstance(kind, ast.In | ast.NotIn):
            found = any(self._equal(left, item, node) for item in self._iterate(right, node))
            return found is isinstance(kind, ast.In)
        if isinstance(kind, ast.Eq | ast.NotEq) and not (_numeric(left) and _numeric(right)):
            return self._equal(left, right, node) is isinstance(kind, ast.Eq)
        self._operand(left, node)
        self._operand(right, node)
        if isinstance(left, tuple | list) or isinstance(right, tuple | list):
            raise self._fails(node, "sequences have no order here")
        return self.library.binary(_COMPARE[type(kind)], left, right, node)

    def _equal(self, left: Value, right: Value, node: ast.AST) -> bool:
        if isinstance(left, tuple | list) and isinstance(right, tuple | list):
            return len(left) == len(right) and all(
                self._equal(one, other, node) for one, other in zip(left, right, strict=True)
            )
        if left is None or right is None or isinstance(left, str) or isinstance(right, str):
            return type(left) is type(right) and bool(left == right)
        return self.library.truth(self.library.binary(operator.eq, left, right, node), node)

    def _attribute(self, node: ast.Attribute, scope: dict[str, Value]) -> Value:
        path = dotted(node)
        if path is not None and is_listed(path):
            return self.library.constant(path)
        if path is not None and (is_module(path) or is_module(path.rpartition(".")[0])):
            raise Stop(rules.UnknownFunction(path), node)
        owner = self._expr(node.value, scope)
        if isinstance(owner, list) and node.attr == "append":
            return MethodRef(owner, "append")
        if _kind(owner) != "value" or isinstance(owner, range):
            raise Stop(rules.UnknownFunction(f".{node.attr} of a {_kind(owner)}"), node)
        return self.library.attribute(owner, node.attr, node)

    def _index(self, node: ast.expr, scope: dict[str, Value]) -> Value:
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            return slice(*(None if part is None else self._expr(part, scope) for part in parts))
        if isinstance(node, ast.Tuple):
            found: list[Value] = []
            for item in node.elts:
                if isinstance(item, ast.Starred):
                    found.extend(self._iterate(self._expr(item.value, scope), item))
                else:
                    found.append(self._index(item, scope))
            return tuple(found)
        return self._expr(node, scope)

    def _subscript(self, owner: Value, index: Value, node: ast.Subscript) -> Value:
        if isinstance(owner, tuple | list | range):
            parts = (index.start, index.stop, index.step) if isinstance(index, slice) else (index,)
            if not all(part is None or type(part) is int for part in parts):
                raise self._fails(node, "the index is not an integer")
            try:
                return owner[index]
            except (IndexError, ValueError) as error:
                raise self._fails(node, str(error)) from None
        self._operand(owner, node)
        return self.library.subscript(owner, index, node)

    # calls

    def _call(self, node: ast.Call, scope: dict[str, Value]) -> Value:
        function = self._expr(node.func, scope)
        args = self._elements(node.args, scope)
        kwargs = {item.arg: self._expr(item.value, scope) for item in node.keywords if item.arg is not None}
        if isinstance(function, _UserFunction):
            return self._invoke(function.name, args, kwargs, node)
        if isinstance(function, _Builtin):
            if kwargs:
                raise self._fails(node, f"`{function.name}` takes no keyword arguments here")
            return self._builtin(function.name, args, node)
        for value in [*args, *kwargs.values()]:
            self._plain(value, node)
        if isinstance(function, MethodRef) and isinstance(function.owner, list):
            return self._append(function.owner, args, node)
        if isinstance(function, FunctionRef):
            return self.library.call(function.path, args, kwargs, node)
        if isinstance(function, MethodRef):
            return self.library.method(function.owner, function.name, args, kwargs, node)
        raise self._fails(node, "this is not a function")

    def _append(self, owner: list[Value], args: list[Value], node: ast.Call) -> None:
        if len(args) != 1 or _holds_list(args[0]):
            raise self._fails(node, "`append` takes one tensor, number or tuple")
        if len(owner) >= allow.LIMITS["sequence length"]:
            raise Stop(rules.ReferenceLimit("elements in a sequence", allow.LIMITS["sequence length"]), node)
        owner.append(args[0])

    def _plain(self, value: Value, node: ast.AST) -> None:
        """Hold that no function is passed into torch: there are no callbacks."""
        if isinstance(value, tuple | list):
            for item in value:
                self._plain(item, node)
        elif isinstance(value, FunctionRef | MethodRef | _UserFunction | _Builtin):
            raise Stop(rules.ForbiddenConstruct("a function as an argument"), node)

    def _builtin(self, name: str, args: list[Value], node: ast.Call) -> Value:  # noqa: C901, PLR0912 (a row of cases)
        try:
            match name, args:
                case "range", [_, *_]:
                    return self._range(args, node)
                case "len", [tuple() | list() | range() as items]:
                    return len(items)
                case (("tuple" | "list"), [items]):
                    found = list(self._iterate(items, node))
                    return tuple(found) if name == "tuple" else found
                case (("tuple" | "list"), []):
                    return () if name == "tuple" else []
                case "zip", _:
                    return list(zip(*(list(self._iterate(items, node)) for items in args), strict=False))
                case "enumerate", [items]:
                    return list(enumerate(self._iterate(items, node)))
                case "reversed", [items]:
                    return list(self._iterate(items, node))[::-1]
                case "sum", [items, *start]:
                    return self._sum(list(self._iterate(items, node)), start, node)
                case (("any" | "all"), [items]):
                    wanted = name == "any"
                    found = [self.library.truth(item, node) for item in self._iterate(items, node)]
                    return any(found) if wanted else all(found)
                case (("min" | "max"), _):
                    return self._extreme(name, args, node)
                case "pow", [left, right]:
                    return self._binary(ast.Pow, left, right, node)
                case "divmod", [left, right]:
                    return (
                        self._binary(ast.FloorDiv, left, right, node),
                        self._binary(ast.Mod, left, right, node),
                    )
                case "float", [str(text)] if len(text) <= _FLOAT_TEXT:
                    return float(text)
                case "round", [value, int(digits)] if abs(digits) <= _ROUND_DIGITS:
                    return self.library.builtin("round", [value, digits], node)
                case (("abs" | "int" | "float" | "bool" | "round" | "len"), [value]):
                    if name != "bool":
                        self._operand(value, node)
                    return self.library.builtin(name, args, node)
        except (TypeError, ValueError) as error:
            raise self._fails(node, str(error)) from None
        raise self._fails(node, f"`{name}` does not take these arguments")

    def _range(self, args: list[Value], node: ast.Call) -> range:
        bounds = [self.library.builtin("index", [value], node) for value in args]
        return range(*bounds)

    def _sum(self, items: list[Value], start: list[Value], node: ast.Call) -> Value:
        total = start[0] if start else 0
        for item in items:
            total = self._binary(ast.Add, total, item, node)
        return total

    def _extreme(self, name: str, args: list[Value], node: ast.Call) -> Value:
        items = list(self._iterate(args[0], node)) if len(args) == 1 else args
        if not items:
            raise self._fails(node, f"`{name}` of nothing")
        total = items[0]
        for item in items[1:]:
            self._operand(item, node)
            total = self.library.builtin(name, [total, item], node)
        return total

    # bounds

    def _iterate(self, value: Value, node: ast.AST) -> Iterator[Value]:
        if not isinstance(value, tuple | list | range):
            raise self._fails(
                node, f"a {_kind(value)} cannot be looped over; use `range`, a tuple or `.unbind()`"
            )
        limit = allow.LIMITS["sequence length"]
        if len(value) > limit:
            raise Stop(rules.ReferenceLimit("elements in a sequence", limit), node)
        return islice(iter(value), limit)

    def _pass(self, node: ast.AST) -> None:
        self.passes += 1
        if self.passes > allow.LIMITS["loop passes"]:
            raise Stop(rules.ReferenceLimit("passes of loops", allow.LIMITS["loop passes"]), node)

    def _step(self, node: ast.AST) -> None:
        self.steps += 1
        if self.steps > allow.LIMITS["steps"]:
            raise Stop(rules.ReferenceLimit("evaluation steps", allow.LIMITS["steps"]), node)

    def _fails(self, node: ast.AST, reason: str) -> Stop:
        return Stop(rules.ReferenceRaises(self.program.text(node), reason), node)


_FLOAT_TEXT = 32
_ROUND_DIGITS = 32


def _kind(value: Value) -> str:
    if isinstance(value, FunctionRef | MethodRef | _UserFunction | _Builtin):
        return "function"
    for kind, name in (
        (str, "string"),
        (bool, "bool"),
        (int, "number"),
        (float, "number"),
        (list, "list"),
        (range, "range"),
    ):
        if isinstance(value, kind):
            return name
    # Shapes and results with names (`x.max(1).values`) are tuples with attributes of their own.
    return "tuple" if type(value) is tuple else "value"


def _holds_list(value: Value) -> bool:
    # A list inside a list could hold itself.
    return isinstance(value, list) or (isinstance(value, tuple) and any(_holds_list(item) for item in value))


def _numeric(value: Value) -> bool:
    return not (value is None or isinstance(value, str | tuple | list | range) or _kind(value) == "function")


def _as_load(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Subscript):
        return ast.Subscript(target.value, target.slice, ast.Load())
    return target
