"""Marks that the loader adds to the syntax tree of a module. Line numbers stay; on the host the marks do nothing.

- `for x in it` → `for x in __tile_loop__(it)`: only ranges and `static_iter` can be looped over on a device.
- `static_eval(e)`, `static_iter(e)` → `static_eval(lambda: e)`: the argument is host Python.
- `not x` → `__tile_not__(x)`: elementwise on a tile.
- a function with syntax that device code can't have starts with a call that refuses it there.
- a loop is surrounded by checks that the variables which it carries keep their type.
"""

from __future__ import annotations

import ast
from typing import Any, Final

from tilespec.interpret import bits, carried, device, state
from tilespec.interpret.errors import TileSyntaxError
from tilespec.interpret.syntax import assigned_names, faults, is_static

__all__ = ["HELPERS", "instrument"]


def _refuse(message: str) -> None:
    if state.current is not None:
        raise TileSyntaxError(message)


HELPERS: Final[dict[str, Any]] = {
    "__tile_enter__": carried.enter,
    "__tile_loop__": device.loop_iterable,
    "__tile_not__": bits.logical_not,
    "__tile_refuse__": _refuse,
    "__tile_settle__": carried.settle,
}
"""Names that the marks use; the loader adds them to the builtins of a module."""


class _Marker(ast.NodeTransformer):
    def __init__(self) -> None:
        self._loops = 0
        self._depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        found = faults(node) if self._depth == 0 else []
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1
        if found:
            documented = ast.get_docstring(node, clean=False) is not None
            refusal = _statement(f"__tile_refuse__({found[0].message!r})", found[0].node)
            node.body.insert(1 if documented else 0, refusal)
        return node

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        self.generic_visit(node)
        unrolled = is_static(node.iter)
        node.iter = _call("__tile_loop__", node.iter)
        return [node] if unrolled else self._guard(node)

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        self.generic_visit(node)
        return self._guard(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _call("__tile_not__", node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if is_static(node) and len(node.args) == 1:
            empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            node.args = [ast.copy_location(ast.Lambda(args=empty, body=node.args[0]), node.args[0])]
        return node

    def _guard(self, loop: ast.For | ast.While) -> list[ast.stmt]:
        """Surround a loop with checks of what it carries."""
        names = [name for name in assigned_names(loop.body) if not name.startswith("__tile_")]
        if not names or self._depth == 0:
            return [loop]
        self._loops += 1
        held = f"__tile_carried_{self._loops}"
        check = f"if {held} is not None: {held}.check(locals())"
        before = [_statement(f"{held} = __tile_enter__({tuple(names)!r}, locals())", loop)]
        before += [
            _statement(
                f"if {held} is not None and {held}.holds({name!r}): {name} = __tile_settle__({name})", loop
            )
            for name in names
        ]
        loop.body.insert(0, _statement(check, loop))
        return [*before, loop, _statement(check, loop)]


def _call(name: str, argument: ast.expr) -> ast.Call:
    function = ast.copy_location(ast.Name(id=name, ctx=ast.Load()), argument)
    return ast.copy_location(ast.Call(func=function, args=[argument], keywords=[]), argument)


def _statement(text: str, place: ast.AST) -> ast.stmt:
    """Make a statement that a traceback shows at the line of `place`."""
    statement = ast.parse(text).body[0]
    for node in ast.walk(statement):
        if hasattr(node, "lineno"):
            ast.copy_location(node, place)
    return statement


def instrument(tree: ast.Module) -> ast.Module:
    """Return the tree with marks."""
    marked: ast.Module = ast.fix_missing_locations(_Marker().visit(tree))
    return marked
