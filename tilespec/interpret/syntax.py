"""Python syntax that device code can't have, found before it runs.

The interpreter runs any Python, so what the compiler refuses as syntax is looked for in the tree. Arguments of
`static_eval` and `static_iter` are host Python and may be anything.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["Fault", "assigned_names", "called_name", "faults", "is_static"]

_STATIC: Final = ("static_eval", "static_iter")
_NEVER: Final = (
    ast.Assert,
    ast.AsyncFor,
    ast.AsyncFunctionDef,
    ast.AsyncWith,
    ast.Await,
    ast.ClassDef,
    ast.Delete,
    ast.Dict,
    ast.DictComp,
    ast.Global,
    ast.Import,
    ast.ImportFrom,
    ast.List,
    ast.ListComp,
    ast.Match,
    ast.NamedExpr,
    ast.Nonlocal,
    ast.Set,
    ast.SetComp,
    ast.Try,
    ast.TryStar,
    ast.Yield,
    ast.YieldFrom,
)


@dataclass(frozen=True)
class Fault:
    """A node that device code can't have."""

    node: ast.AST
    message: str


def called_name(node: ast.AST | None) -> str:
    """Return the last part of the name that a call calls."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def is_static(node: ast.AST | None) -> bool:
    """Whether a node is a call whose argument the host computes."""
    return called_name(node) in _STATIC


def _children(node: ast.AST) -> Iterator[ast.AST]:
    if is_static(node):
        return
    yield from ast.iter_child_nodes(node)


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []


def _jumps(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Find what leaves an unrolled loop early; loops inside have their own break and continue."""
    waiting: list[tuple[ast.AST, bool]] = [(node, False) for node in body]
    while waiting:
        node, inner = waiting.pop()
        if isinstance(node, ast.Return) or (isinstance(node, (ast.Break, ast.Continue)) and not inner):
            yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            nested = inner or isinstance(node, (ast.For, ast.While))
            waiting.extend((child, nested) for child in ast.iter_child_nodes(node))


def _own(node: ast.AST) -> Iterator[Fault]:
    """Yield the faults of one node, children left out."""
    if isinstance(node, _NEVER):
        yield Fault(node, f"Unsupported syntax: {type(node).__name__}")
    if isinstance(node, (ast.For, ast.While)) and node.orelse:
        yield Fault(node, f"'{type(node).__name__.lower()}-else' is not supported")
    if isinstance(node, ast.For) and called_name(node.iter) == "static_iter":
        for jump in _jumps(node.body):
            yield Fault(jump, f"{type(jump).__name__} in a for loop with static_iter() is not supported")
    if isinstance(node, ast.Raise) and called_name(node.exc) != "static_exception":
        yield Fault(node, "Raised exception must be wrapped in static_exception()")
    if isinstance(node, ast.GeneratorExp) and any(
        called_name(each.iter) != "static_iter" for each in node.generators
    ):
        yield Fault(node, "All iterables in a tuple comprehension must be wrapped in static_iter()")
    for target in _targets(node):
        for part in ast.walk(target):
            if isinstance(part, ast.Starred) or (part is target and isinstance(part, ast.Attribute)):
                yield Fault(node, f"Unsupported syntax: {type(part).__name__} as the target of an assignment")


def faults(function: ast.FunctionDef) -> list[Fault]:
    """Return the faults in the body of one function, in the order of lines; nested functions are part of it."""
    found: list[Fault] = []
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        found.extend(_own(node))
        waiting.extend(_children(node))
    return sorted(
        found, key=lambda fault: (getattr(fault.node, "lineno", 0), getattr(fault.node, "col_offset", 0))
    )


def assigned_names(body: list[ast.stmt]) -> tuple[str, ...]:
    """Return the names that statements assign, functions inside left out."""
    names: set[str] = set()
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        waiting.extend(ast.iter_child_nodes(node))
    return tuple(sorted(names))
