"""Read reference code: parse it, and refuse every construct and name that the language does not have.

Nothing runs here. `check` hands back a `Program` only when the whole text is inside the language.
"""

from __future__ import annotations

import ast
import difflib
import warnings
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from tilespec.diagnostics import Diagnostic, Rule, SourceText, Span
from tilespec.model.types import ReferenceText
from tilespec.reference import allow
from tilespec.rules import reference as rules

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Parameter", "Program", "check", "plain_text"]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a reference function; `default` is None when it has none."""

    name: str
    default: ast.expr | None
    node: ast.arg


@dataclass(frozen=True)
class Program:
    """Checked reference code: its functions by name, in the order of the text."""

    reference: ReferenceText
    functions: dict[str, ast.FunctionDef] = field(hash=False)
    # By the identity of nodes of `functions`, which live as long as this does.
    _spans: dict[int, Span | None] = field(default_factory=dict, hash=False, compare=False, repr=False)
    _texts: dict[int, str] = field(default_factory=dict, hash=False, compare=False, repr=False)
    _made: list[ast.AST] = field(default_factory=list, hash=False, compare=False, repr=False)

    def span(self, node: ast.AST) -> Span | None:
        """Return where `node` stands in the file."""
        if id(node) not in self._spans:
            self._made.append(node)
            self._spans[id(node)] = _span(self.reference, node)
        return self._spans[id(node)]

    def text(self, node: ast.AST) -> str:
        """Return the source of `node` on one line, shortened to what a message can hold."""
        if id(node) not in self._texts:
            self._made.append(node)
            self._texts[id(node)] = self._written(node)
        return self._texts[id(node)]

    def _written(self, node: ast.AST) -> str:
        written = ast.get_source_segment(self.reference.text, node) or ast.unparse(node)
        written = " ".join(written.split())
        return written if len(written) <= _SHOWN else f"{written[: _SHOWN - 3]}..."

    def parameters(self, function: str) -> tuple[Parameter, ...]:
        """Return the parameters of `function` in order."""
        arguments = self.functions[function].args
        named = [*arguments.posonlyargs, *arguments.args]
        gap = len(named) - len(arguments.defaults)
        defaults: list[ast.expr | None] = [None] * gap + list(arguments.defaults)
        named += arguments.kwonlyargs
        defaults += arguments.kw_defaults
        return tuple(
            Parameter(node.arg, default, node) for node, default in zip(named, defaults, strict=True)
        )


_SHOWN = 60

_STATEMENTS: dict[type[ast.AST], str] = {
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.ClassDef: "a class",
    ast.AsyncFunctionDef: "`async def`",
    ast.While: "`while`",
    ast.With: "`with`",
    ast.AsyncWith: "`async with`",
    ast.AsyncFor: "`async for`",
    ast.Try: "`try`",
    ast.TryStar: "`try`",
    ast.Raise: "`raise`",
    ast.Delete: "`del`",
    ast.Global: "`global`",
    ast.Nonlocal: "`nonlocal`",
    ast.Match: "`match`",
}

_EXPRESSIONS: dict[type[ast.AST], str] = {
    ast.Lambda: "`lambda`",
    ast.Dict: "a dict",
    ast.Set: "a set",
    ast.SetComp: "a set comprehension",
    ast.DictComp: "a dict comprehension",
    ast.NamedExpr: "`:=`",
    ast.Await: "`await`",
    ast.Yield: "`yield`",
    ast.YieldFrom: "`yield from`",
    ast.JoinedStr: "an f-string",
    ast.FormattedValue: "an f-string",
}

_REFUSED: dict[type[ast.AST], str] = {**_STATEMENTS, **_EXPRESSIONS}

_ADVICE = {
    "an import": "delete it: `torch`, `F` and `math` are there already",
    "`while`": "use `for i in range(n)`",
    "`with`": "delete it: references never track gradients or autocast",
    "`lambda`": "write a `def` beside the reference",
    "a class": "write functions; parameters and buffers are inputs of the kernel",
    "`try`": "a reference that raises is a finding",
    "`raise`": "a reference that raises is a finding",
}

_ALLOWED: tuple[type[ast.AST], ...] = (
    ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For,
    ast.If, ast.Assert, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp,
    ast.Compare, ast.Call, ast.keyword, ast.Constant, ast.Attribute, ast.Subscript, ast.Starred, ast.Name, ast.List,
    ast.Tuple, ast.Slice, ast.ListComp, ast.GeneratorExp, ast.comprehension, ast.expr_context, ast.boolop, ast.operator,
    ast.unaryop, ast.cmpop,
)  # fmt: skip


@lru_cache(maxsize=1024)
def _every_name() -> frozenset[str]:
    names = set(allow.METHODS | allow.ATTRIBUTES | allow.INFO_ATTRIBUTES)
    for offered in allow.MODULES.values():
        names |= offered
    return frozenset(names | {"append"})


def plain_text(text: str) -> ReferenceText:
    """Wrap bare code, such as one expression, as reference text of its own."""
    return ReferenceText(source=SourceText("<text>", text), text=text, first_line=1)


def _span(reference: ReferenceText, node: ast.AST) -> Span | None:
    if not isinstance(node, ast.stmt | ast.expr | ast.arg | ast.keyword | ast.alias):
        return None
    line, end_line, end_column = node.lineno, node.end_lineno, node.end_col_offset
    if end_line is None or end_column is None:
        return None
    lines = reference.text.split("\n")

    def column(number: int, offset: int) -> int:
        # `ast` counts bytes of UTF-8; spans count characters.
        return len(lines[number - 1].encode()[:offset].decode(errors="ignore"))

    return reference.span(line, column(line, node.col_offset), end_line, column(end_line, end_column))


@lru_cache(maxsize=512)
def _check(
    path: str, text: str, whole: str, first_line: int, indent: int
) -> tuple[Program | None, tuple[Diagnostic, ...]]:
    reference = ReferenceText(source=SourceText(path, whole), text=text, first_line=first_line, indent=indent)
    return _Checker(reference).run()


def check(reference: ReferenceText) -> tuple[Program | None, list[Diagnostic]]:
    r"""Parse and check `reference`; the program is None when a finding is an error.

    >>> program, findings = check(plain_text("def reference_a(x):\n    return x + 1"))
    >>> sorted(program.functions), findings
    (['reference_a'], [])
    """
    source = reference.source
    program, found = _check(source.path, reference.text, source.text, reference.first_line, reference.indent)
    return program, list(found)


class _Checker:
    def __init__(self, reference: ReferenceText) -> None:
        self.reference = reference
        self.found: list[Diagnostic] = []

    def run(self) -> tuple[Program | None, tuple[Diagnostic, ...]]:
        tree = self._parse()
        if tree is None or not self._bounded(tree):
            return None, tuple(self.found)
        functions: dict[str, ast.FunctionDef] = {}
        for statement in tree.body:
            if isinstance(statement, ast.FunctionDef):
                functions[statement.name] = statement
            elif not _is_docstring(statement):
                self._statement_outside(statement)
        for node, inside in _walk(tree):
            self._node(node, inside=inside)
        for function in functions.values():
            self._names(function, frozenset(functions))
        self.found.sort(key=lambda item: item.sort_key)
        if self.found:
            return None, tuple(self.found)
        return Program(self.reference, functions), ()

    def _add(self, rule: Rule, node: ast.AST | None) -> None:
        span = self.reference.span(1, 0, 1, 0) if node is None else _span(self.reference, node)
        self.found.append(rule.at(self.reference.source, span))

    def _parse(self) -> ast.Module | None:
        text = self.reference.text
        if len(text) > allow.LIMITS["characters"]:
            self._add(rules.ReferenceLimit("characters", allow.LIMITS["characters"]), None)
            return None
        try:
            with warnings.catch_warnings():
                # `1if x else 2` and `"\\d"` parse with a warning, which is no concern of the caller's.
                warnings.simplefilter("ignore")
                return ast.parse(text)
        except SyntaxError as error:
            reason = (error.msg or "invalid syntax").rstrip(".")
            reason = reason[:1].lower() + reason[1:]
            count = text.count("\n") + 1
            line = min(max(error.lineno or 1, 1), count)
            width = len(text.split("\n")[line - 1])
            column = min(max((error.offset or 1) - 1, 0), width)
            span = self.reference.span(line, column, line, min(column + 1, width))
            self.found.append(rules.ReferenceSyntax(reason).at(self.reference.source, span))
        except (ValueError, RecursionError, MemoryError):
            self._add(rules.ReferenceSyntax("it is nested too deeply or holds a NUL byte"), None)
        return None

    def _bounded(self, tree: ast.Module) -> bool:
        count = 0
        pending: list[tuple[ast.AST, int]] = [(tree, 0)]
        while pending:
            node, depth = pending.pop()
            count += 1
            if depth > allow.LIMITS["nesting"]:
                self._add(rules.ReferenceLimit("levels of nesting", allow.LIMITS["nesting"]), node)
                return False
            if count > allow.LIMITS["nodes"]:
                self._add(rules.ReferenceLimit("syntax nodes", allow.LIMITS["nodes"]), node)
                return False
            pending.extend((child, depth + 1) for child in ast.iter_child_nodes(node))
        return True

    def _statement_outside(self, statement: ast.stmt) -> None:
        if type(statement) in _STATEMENTS:
            return  # `_node` names it.
        self._add(
            rules.ForbiddenConstruct(
                "a statement outside a function", "a reference block holds functions only"
            ),
            statement,
        )

    def _node(self, node: ast.AST, *, inside: bool) -> None:
        what = _REFUSED.get(type(node))
        if what is not None:
            self._add(rules.ForbiddenConstruct(what, _ADVICE.get(what)), node)
            return
        if not isinstance(node, _ALLOWED):
            if hasattr(node, "lineno"):
                self._add(rules.ForbiddenConstruct(f"`{type(node).__name__}`"), node)
            return
        if isinstance(node, ast.FunctionDef):
            self._function(node, inside=inside)
        elif isinstance(node, ast.Name):
            self._identifier(node.id, node)
        elif isinstance(node, ast.arg):
            self._identifier(node.arg, node)
        elif isinstance(node, ast.Attribute):
            self._attribute(node)
        elif isinstance(node, ast.Constant):
            self._constant(node)
        elif isinstance(node, ast.keyword) and node.arg is None:
            self._add(rules.ForbiddenConstruct("`**` in a call", "write the keyword arguments out"), node)
        elif isinstance(node, ast.keyword) and node.arg in _REFUSED_KEYWORDS:
            self._add(rules.ForbiddenConstruct(f"the argument `{node.arg}=`", "leave it out"), node)
        elif isinstance(node, ast.comprehension) and node.is_async:
            self._add(rules.ForbiddenConstruct("`async for`"), node.target)

    def _function(self, node: ast.FunctionDef, *, inside: bool) -> None:
        if inside:
            self._add(
                rules.ForbiddenConstruct("a function inside a function", "write it beside the reference"),
                node,
            )
        for decorator in node.decorator_list:
            self._add(rules.ForbiddenConstruct("a decorator", "delete it"), decorator)
        for star in (node.args.vararg, node.args.kwarg):
            if star is not None:
                self._add(
                    rules.ForbiddenConstruct("`*args` or `**kwargs`", "name every input of the kernel"), star
                )
        self._identifier(node.name, node)

    def _identifier(self, name: str, node: ast.AST) -> None:
        if not name.isascii():
            self._add(rules.ForbiddenConstruct("a name outside ASCII"), node)
        elif name.startswith("_") and name != "_":
            self._add(rules.ForbiddenConstruct(f"`{name}`, a name with a leading underscore,"), node)

    def _attribute(self, node: ast.Attribute) -> None:
        name = node.attr
        if not name.isascii() or name.startswith("_"):
            self._add(rules.ForbiddenConstruct(f"`.{name}`"), node)
            return
        path = dotted(node)
        if path is not None:
            if not _reachable(path):
                self._add(rules.UnknownFunction(_written(path), _nearest(path)), node)
            return
        if name not in _every_name():
            close = difflib.get_close_matches(name, sorted(allow.METHODS | allow.ATTRIBUTES), 1)
            self._add(rules.UnknownFunction(f".{name}", f".{close[0]}" if close else None), node)

    def _constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bytes | complex):
            self._add(rules.ForbiddenConstruct(f"a {type(value).__name__} literal"), node)
        elif isinstance(value, int) and value.bit_length() > allow.LIMITS["integer bits"]:
            self._add(rules.ReferenceLimit("bits in an integer", allow.LIMITS["integer bits"]), node)

    def _names(self, function: ast.FunctionDef, functions: frozenset[str]) -> None:
        """Report names that nothing in `function` can have bound."""
        bound = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
        bound |= {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        for name in sorted(bound & {"torch", "F", "math"}):
            self._add(rules.ForbiddenConstruct(f"another meaning for `{name}`"), function)
        known = bound | functions | allow.BUILTINS | {"torch", "F", "math"}
        for statement in function.body:
            for node in _evaluated(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in known:
                    if node.id.startswith("_") or not node.id.isascii():
                        continue  # Reported as a name of that kind.
                    close = difflib.get_close_matches(node.id, sorted(known), 1)
                    self._add(rules.UndefinedVariable(node.id, close[0] if close else None), node)
        for default in [*function.args.defaults, *function.args.kw_defaults]:
            for node in [] if default is None else ast.walk(default):
                if isinstance(node, ast.Name) and node.id not in {"torch", "F", "math", "float"}:
                    self._add(rules.UndefinedVariable(node.id), node)


_REFUSED_KEYWORDS = frozenset(
    {"out", "requires_grad", "generator", "pin_memory", "layout", "names", "key", "callback", "max_norm"}
)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _evaluated(statement: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below `statement` that are evaluated: annotations are read, never evaluated."""
    pending = [statement]
    while pending:
        node = pending.pop()
        yield node
        for name, value in ast.iter_fields(node):
            if name == "annotation":
                continue
            pending.extend(
                item for item in (value if isinstance(value, list) else [value]) if isinstance(item, ast.AST)
            )


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, bool]]:
    """Yield every node but annotations, with whether it is inside a function; nothing below a refused node."""
    pending: list[tuple[ast.AST, bool]] = [(child, False) for child in tree.body]
    while pending:
        node, inside = pending.pop()
        yield node, inside
        if type(node) in _STATEMENTS or type(node) in _EXPRESSIONS:
            continue
        if isinstance(node, ast.Attribute) and dotted(node) is not None:
            continue
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list", "type_params", "type_comment"}:
                continue
            children = value if isinstance(value, list) else [value]
            below = inside or isinstance(node, ast.FunctionDef)
            pending.extend((item, below) for item in children if isinstance(item, ast.AST))


def dotted(node: ast.expr) -> str | None:
    """Return `torch.nn.functional.gelu` for an attribute chain that starts at a module, `F` written out; else None."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in {"torch", "F", "math"}:
        return None
    names.append("torch.nn.functional" if node.id == "F" else node.id)
    return ".".join(reversed(names))


def _reachable(path: str) -> bool:
    """Whether every step of `path` is a module of the language, its member, or an attribute of that member."""
    parts = path.split(".")
    for end in range(2, len(parts) + 1):
        prefix = ".".join(parts[:end])
        if is_module(prefix):
            continue
        # `torch.float32.itemsize`: below a listed name only attributes of values follow.
        return is_listed(prefix) and all(part in allow.ATTRIBUTES for part in parts[end:])
    return True


def _written(path: str) -> str:
    return path.replace("torch.nn.functional", "F", 1)


def is_module(path: str) -> bool:
    """Whether `path` names a module of the language, or a package on the way to one."""
    return path in allow.MODULES or path == "torch.nn"


def is_listed(path: str) -> bool:
    """Whether `path` names a function or constant of the language."""
    module, _, name = path.rpartition(".")
    return name in allow.MODULES.get(module, frozenset())


def _nearest(path: str) -> str | None:
    module, _, name = path.rpartition(".")
    if module in {"nn.functional", "torch.functional"}:
        module = "torch.nn.functional"
    offered = allow.MODULES.get(module, frozenset())
    close = difflib.get_close_matches(name, sorted(offered), 1)
    shown = "F" if module == "torch.nn.functional" else module
    if close:
        return f"{shown}.{close[0]}"
    if name in allow.FUNCTIONAL:
        return f"F.{name}"
    return None
