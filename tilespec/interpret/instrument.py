"""Marks that the loader adds to the syntax tree of a module. Line numbers stay; on the host the marks do nothing.

- `for x in it` → `for x in __tile_loop__(it)`: only ranges and `static_iter` can be looped over on a device.
- `static_eval(e)`, `static_iter(e)` → `static_eval(lambda: e)`: the argument is host Python.
- `not x` → `__tile_not__(x)`: elementwise on a tile.
"""

from __future__ import annotations

import ast
from typing import Any, Final

from tilespec.interpret import arithmetic, device

__all__ = ["HELPERS", "instrument"]

HELPERS: Final[dict[str, Any]] = {
    "__tile_loop__": device.loop_iterable,
    "__tile_not__": arithmetic.logical_not,
}
"""Names that the marks use; the loader adds them to the builtins of a module."""

_STATIC: Final = ("static_eval", "static_iter")


class _Marker(ast.NodeTransformer):
    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = _call("__tile_loop__", node.iter)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _call("__tile_not__", node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _STATIC and len(node.args) == 1:
            empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            node.args = [ast.copy_location(ast.Lambda(args=empty, body=node.args[0]), node.args[0])]
        return node


def _call(name: str, argument: ast.expr) -> ast.Call:
    function = ast.copy_location(ast.Name(id=name, ctx=ast.Load()), argument)
    return ast.copy_location(ast.Call(func=function, args=[argument], keywords=[]), argument)


def instrument(tree: ast.Module) -> ast.Module:
    """Return the tree with marks."""
    return ast.fix_missing_locations(_Marker().visit(tree))
