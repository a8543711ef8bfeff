# mypy: disable-error-code="no-any-unimported,misc,no-untyped-call,type-arg,no-any-return"
# pyright: basic
"""Field values through the Lark grammar: the one module that knows Lark.

The tree is built while Lark reduces, so nesting costs no Python stack, and operators are counted, so an expression
that no reader would write is refused before anything walks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, cast

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.exceptions import VisitError

from tilespec._resources import resource
from tilespec.diagnostics import Span
from tilespec.syntax.nodes import (
    Binary,
    Call,
    DimLine,
    DimNode,
    ExactSize,
    Keep,
    Name,
    Negate,
    Number,
    OperationNode,
    OrderNode,
    Parallel,
    RangeNode,
    ScalarNode,
    Sequence,
    SetNode,
    Setting,
    ShapeNode,
    Symbol,
    TypeLine,
)

__all__ = ["RawAttribute", "RawTensor", "Start", "ValueFault", "parse_value"]

Start = Literal[
    "entry", "operations", "names", "order", "dim_line", "types", "settings", "keep", "sum", "shape"
]
STARTS = ("entry", "operations", "names", "order", "dim_line", "types", "settings", "keep", "sum", "shape")
_MOST_OPERATORS = 200
_LONGEST_NUMBER = 40

_SPOKEN = {
    "NAME": "a name",
    "ID": "a kernel id",
    "WORDS": "an operation",
    "NUMBER": "a number",
    "STRING": 'a reason in `"`',
    "FUNCTION": "`min(`",
    "SCALAR": "`scalar`",
    "SHAPE": "`shape=`",
    "IN": "`in`",
    "_STEP": "`step`",
    "_BECAUSE": "`because`",
    "_ARROW": "`->`",
    "_BARS": "`||`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "COMMA": "`,`",
    "COLON": "`:`",
    "EQUAL": "`=`",
    "$END": "the end of the field",
}
_QUIET = {
    "REMARK", "VBAR", "PLUS", "MINUS", "STAR", "STARS", "SLASH", "SLASHES", "PERCENT", "FUNCTION", "SEMICOLON",
    "VALUES", "FROM", "__ANON_0", "DOT",
}  # fmt: skip
"""Tokens that `expected` leaves out: naming every operator helps nobody."""


@dataclass(frozen=True, slots=True)
class ValueFault(Exception):  # noqa: N818 - it carries a finding to the parser, it is no crash
    """A value does not follow the grammar: what was found at `span` and what could stand there instead."""

    span: Span
    found: str
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RawAttribute:
    """`key=value` of a tensor, before the parser knows whether the key is one."""

    key: Name
    value: ShapeNode | RangeNode | Name
    span: Span


@dataclass(frozen=True, slots=True)
class RawTensor:
    """A tensor entry as a row of attributes."""

    name: Name
    attributes: tuple[RawAttribute, ...]
    remark: Name | None
    span: Span


class _Build(Transformer):
    """Makes nodes out of tokens; spans are relative to the text plus `base`."""

    def __init__(self) -> None:
        super().__init__()
        self.base = 0
        self.operators = 0

    def start(self, base: int) -> None:
        """Forget the last value."""
        self.base, self.operators = base, 0

    def span(self, token: Token) -> Span:
        """Return where a token stands."""
        begin = self.base + (token.start_pos or 0)
        return Span(begin, begin + len(token))

    def name(self, token: Token) -> Name:
        """Return a token as a name."""
        return Name(str(token), self.span(token))

    def remark_of(self, token: Token) -> Name:
        """Return a remark without its parentheses; the span keeps them."""
        return Name(" ".join(str(token)[1:-1].split()), self.span(token))

    def count(self, at: Span) -> None:
        """Count one operator and refuse too many."""
        self.operators += 1
        if self.operators > _MOST_OPERATORS:
            raise ValueFault(at, f"more than {_MOST_OPERATORS} operators", ("a shorter expression",))

    def number(self, children: list[Token]) -> Number:
        text, span = str(children[0]), self.span(children[0])
        if len(text) > _LONGEST_NUMBER:
            raise ValueFault(span, f"a number of {len(text)} digits", ("a shorter number",))
        whole = text.replace("_", "").isdigit()
        return Number(int(text) if whole else float(text), text, span)

    def symbol(self, children: list[Token]) -> Symbol:
        return Symbol(str(children[0]), self.span(children[0]))

    def group(self, children: list[Any]) -> Any:  # noqa: ANN401 - any node in parentheses is itself
        return children[0]

    def negate(self, children: list[Any]) -> Negate:
        span = self.span(children[0]).to(children[1].span)
        self.count(span)
        return Negate(children[1], span)

    def binary(self, children: list[Any]) -> Binary:
        left, operator, right = children
        span = left.span.to(right.span)
        self.count(span)
        return Binary(str(operator), left, right, span)

    def call(self, children: list[Any]) -> Call:
        span = self.span(children[0]).to(self.span(children[-1]))
        self.count(span)
        return Call(str(children[0]), tuple(self.nodes(children[1:])), span)

    def nodes(self, children: list[Any]) -> list[Any]:
        """Return the children that are nodes, not tokens."""
        return [child for child in children if not isinstance(child, Token)]

    def bracketed(self, children: list[Any]) -> Span:
        """Return the span from the first to the last token."""
        return self.span(children[0]).to(self.span(children[-1]))

    def shape(self, children: list[Any]) -> ShapeNode:
        return ShapeNode(tuple(self.nodes(children)), self.bracketed(children))

    numbers = shape

    def dotted(self, children: list[Token]) -> Name:
        return Name(".".join(children), self.span(children[0]).to(self.span(children[-1])))

    def limits(self, children: list[Any]) -> RangeNode:
        dots = next(index for index, child in enumerate(children) if isinstance(child, Token))
        span = self.place(children[0]).to(self.place(children[-1]))
        low = children[0] if dots else None
        high = children[-1] if dots < len(children) - 1 else None
        return RangeNode(low, high, None, span)

    def place(self, item: Any) -> Span:  # noqa: ANN401 - a token or any node
        """Return the span of a token or node."""
        return self.span(item) if isinstance(item, Token) else item.span

    def shape_attribute(self, children: list[Any]) -> RawAttribute:
        key = self.name(children[0])
        return RawAttribute(key, children[1], key.span.to(children[1].span))

    name_attribute = shape_attribute
    values_attribute = shape_attribute

    def scalar(self, children: list[Any]) -> ScalarNode:
        name, kind = self.name(children[0]), self.name(children[2])
        rest = children[3:]
        default = next((item for item in rest if not isinstance(item, Token)), None)
        remark = next((self.remark_of(item) for item in rest if isinstance(item, Token)), None)
        return ScalarNode(name, kind, default, name.span.to(self.place(children[-1])), remark)

    def tensor(self, children: list[Any]) -> RawTensor:
        name = self.name(children[0])
        remark = self.remark_of(children[-1]) if isinstance(children[-1], Token) else None
        return RawTensor(
            name, tuple(self.nodes(children[1:])), remark, name.span.to(self.place(children[-1]))
        )

    def operation(self, children: list[Token]) -> OperationNode:
        name = self.name(children[0])
        label = self.remark_of(children[1]) if len(children) > 1 else None
        return OperationNode(name, label, name.span.to(self.span(children[-1])))

    def operations(self, children: list[OperationNode]) -> tuple[OperationNode, ...]:
        return tuple(children)

    def names(self, children: list[Token]) -> tuple[Name, ...]:
        return tuple(self.name(child) for child in children if child.type == "ID")

    def step(self, children: list[Token]) -> Name:
        return self.name(children[0])

    def parallel(self, children: list[OrderNode]) -> OrderNode:
        if len(children) == 1:
            return children[0]
        return Parallel(tuple(children), children[0].span.to(children[-1].span))

    def sequence(self, children: list[OrderNode]) -> OrderNode:
        if len(children) == 1:
            return children[0]
        return Sequence(tuple(children), children[0].span.to(children[-1].span))

    def order(self, children: list[OrderNode]) -> OrderNode:
        return children[0]

    def dim_range(self, children: list[Any]) -> DimLine:
        name, limits = self.name(children[0]), children[1]
        if len(children) > 2:
            limits = RangeNode(limits.low, limits.high, children[2], limits.span.to(children[2].span))
        return DimLine(name, limits, name.span.to(limits.span))

    def dim_set(self, children: list[Any]) -> DimLine:
        name = self.name(children[0])
        return DimLine(name, children[1], name.span.to(children[1].span))

    def set(self, children: list[Any]) -> SetNode:
        return SetNode(tuple(self.nodes(children)), self.bracketed(children))

    def dim_size(self, children: list[Any]) -> DimLine:
        name, size = self.name(children[0]), cast("DimNode", children[1])
        return DimLine(name, ExactSize(size, size.span), name.span.to(size.span))

    def types(self, children: list[TypeLine]) -> tuple[TypeLine, ...]:
        return tuple(children)

    def type_line(self, children: list[Any]) -> TypeLine:
        name, members = self.name(children[0]), tuple(self.nodes(children))
        return TypeLine(name, members, name.span.to(members[-1].span))

    def settings(self, children: list[Setting]) -> tuple[Setting, ...]:
        return tuple(children)

    def setting(self, children: list[Any]) -> Setting:
        key, values = self.name(children[0]), children[1:]
        pairs = tuple(item for item in values if isinstance(item, tuple))
        value = pairs if pairs or not values else values[0]
        last = pairs[-1][1].span if pairs else values[0].span if values else key.span
        return Setting(key, value, key.span.to(last))

    def pair(self, children: list[Token]) -> tuple[Name, Name]:
        return self.name(children[0]), self.name(children[1])

    def keep(self, children: list[Token]) -> Keep:
        names = tuple(self.name(child) for child in children if child.type == "WORDS")
        reasons = [Name(str(child)[1:-1], self.span(child)) for child in children if child.type == "STRING"]
        last = reasons[0].span if reasons else names[-1].span
        return Keep(names, reasons[0] if reasons else None, names[0].span.to(last))


_BUILD = _Build()


@lru_cache(maxsize=1)
def parser() -> Lark:
    """Return the LALR parser, built on first use: most files never need more than the parser's short cuts."""
    text = (resource("grammar") / "tilespec.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer="contextual", start=list(STARTS), transformer=_BUILD)


def plain_parser() -> Lark:
    """Return the parser that makes Lark's own trees, for tests that generate text from the grammar."""
    text = (resource("grammar") / "tilespec.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer="contextual", start=list(STARTS))


def parse_value(start: Start, text: str, base: int) -> Any:  # noqa: ANN401 - the node depends on `start`
    """Parse a field value that begins at offset `base` of the file.

    Raises:
        ValueFault: the text does not follow the grammar.
    """
    _BUILD.start(base)
    try:
        return parser().parse(text, start=start)
    except VisitError as error:
        if isinstance(error.orig_exc, ValueFault):
            raise error.orig_exc from None
        raise
    except UnexpectedToken as error:
        raise _fault(error, error.token, base, text) from None
    except UnexpectedCharacters as error:
        raise _fault(error, None, base, text) from None


def _fault(error: UnexpectedInput, token: Token | None, base: int, text: str) -> ValueFault:
    found = (getattr(error, name, None) for name in ("accepts", "expected", "allowed"))
    accepted = next((kinds for kinds in found if kinds), ())
    expected = tuple(sorted({_SPOKEN[kind] for kind in accepted if kind in _SPOKEN and kind not in _QUIET}))
    if token is not None and token.type == "$END":
        end = base + len(text.rstrip())
        return ValueFault(Span(max(base, end - 1), max(end, base)), "the end of the field", expected)
    if token is not None:
        begin = base + (token.start_pos or 0)
        return ValueFault(Span(begin, begin + len(token)), f"`{token}`", expected)
    begin = min(cast("int", error.pos_in_stream), max(len(text) - 1, 0))
    return ValueFault(Span(base + begin, base + begin + 1), f"`{text[begin : begin + 1]}`", expected)
