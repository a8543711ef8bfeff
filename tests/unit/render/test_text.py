"""Expressions as text have the parentheses that they need, and blocks the indentation."""

from __future__ import annotations

import ast
import itertools

import pytest

from tilespec.render.text import Block, Text, atom, binary, call, prefix, tuple_text

A, B, C = atom("a"), atom("b"), atom("c")
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "<", "=="]


def bracketed(code: str) -> str:
    """Return an expression with a pair of parentheses around each operation."""
    names = {
        ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
        ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.Lt: "<", ast.Eq: "==",
    }  # fmt: skip

    def write(node: ast.expr) -> str:
        if isinstance(node, ast.BinOp):
            return f"({write(node.left)}{names[type(node.op)]}{write(node.right)})"
        if isinstance(node, ast.Compare):
            assert len(node.ops) == 1, "a chained comparison"
            return f"({write(node.left)}{names[type(node.ops[0])]}{write(node.comparators[0])})"
        if isinstance(node, ast.UnaryOp):
            return f"(-{write(node.operand)})"
        assert isinstance(node, ast.Name)
        return node.id

    return write(ast.parse(code, mode="eval").body)


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product(OPERATORS, OPERATORS)))
def test_two_operators(outer: str, inner: str):
    left = binary(outer, binary(inner, A, B), C)
    assert bracketed(left.code) == f"((a{inner}b){outer}c)"
    right = binary(outer, A, binary(inner, B, C))
    # Only bitwise operators may be regrouped: sums and products round.
    if outer == inner and outer in {"&", "|", "^"}:
        assert "(" not in right.code
    else:
        assert bracketed(right.code) == f"(a{outer}(b{inner}c))"


def test_a_prefix_binds_tighter_than_a_product():
    assert bracketed(prefix("-", binary("+", A, B)).code) == "(-(a+b))"
    assert binary("*", prefix("-", A), B).code == "-a * b"
    assert bracketed(binary("**", prefix("-", A), B).code) == "((-a)**b)"


def test_loose_text_gets_parentheses_where_it_must():
    loose = Text("a if b else c", 0)
    assert binary("+", loose, A).code == "(a if b else c) + a"
    assert loose.at_least(100) == "(a if b else c)"
    assert call("f", loose, A).code == "f(a if b else c, a)"


@pytest.mark.parametrize(("items", "code"), [(["a"], "(a,)"), (["a", "b"], "(a, b)"), ([], "()")])
def test_tuples(items: list[str], code: str):
    assert tuple_text(items) == code


def test_blocks_nest():
    block = Block()
    block.line("a = 1")
    inner = block.nest("for i in range(3):")
    inner.line("b = i")
    inner.line("")
    inner.nest("if b:").line("c = b")
    block.line("d = 2")
    assert list(block.lines()) == [
        "a = 1",
        "for i in range(3):",
        "    b = i",
        "",
        "    if b:",
        "        c = b",
        "d = 2",
    ]
