"""The scalar operations of `Compute`: arity, dtype rule, meaning.

Meaning is torch's, on values: NaN propagates through `max` and `min`, integer division truncates or floors as named,
comparisons give bool. `render` maps each op to cuTile, `ir.evaluate` to torch; a test holds both to this table.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OPS", "ScalarOp"]


@dataclass(frozen=True, slots=True)
class ScalarOp:
    """One operation.

    `result` is `same` (dtype of the operands, which agree), `bool`, or `named` (the node's own dtype: `cast`).
    `kinds` are the operand kinds: `f` float32/float64, `i` integers, `b` bool.
    `where` has a bool first operand.
    """

    arity: int
    result: str
    kinds: str
    formula: str


def _table() -> dict[str, ScalarOp]:
    ops: dict[str, ScalarOp] = {}

    def add(names: str, arity: int, result: str, kinds: str) -> None:
        for entry in names.split():
            name, _, formula = entry.partition("=")
            ops[name] = ScalarOp(arity, result, kinds, formula)

    add("add=x+y sub=x-y mul=x*y max=max(x,y) min=min(x,y)", 2, "same", "fi")
    add("div=x/y pow=x**y atan2=atan2(x,y)", 2, "same", "f")
    add("floordiv=floor(x/y) mod=x-y*floor(x/y) truncdiv=trunc(x/y) fmod=x-y*trunc(x/y)", 2, "same", "fi")
    add("and=x&y or=x|y xor=x^y", 2, "same", "ib")
    add("shl=x<<y shr=x>>y", 2, "same", "i")
    add("eq=x==y ne=x!=y", 2, "bool", "fib")
    add("lt=x<y le=x<=y gt=x>y ge=x>=y", 2, "bool", "fi")
    add("where=c?x:y", 3, "same", "fib")
    add("not=~x", 1, "same", "ib")
    add("neg=-x abs=|x| sign=sign(x)", 1, "same", "fi")
    add("exp=e**x exp2=2**x expm1=e**x-1 log=ln(x) log2=log2(x) log10=log10(x) log1p=ln(1+x)", 1, "same", "f")
    add("sqrt=x**0.5 rsqrt=x**-0.5 reciprocal=1/x sigmoid=1/(1+e**-x)", 1, "same", "f")
    add("sin=sin(x) cos=cos(x) tan=tan(x) asin=asin(x) acos=acos(x) atan=atan(x)", 1, "same", "f")
    add("sinh=sinh(x) cosh=cosh(x) tanh=tanh(x) asinh=asinh(x) acosh=acosh(x) atanh=atanh(x)", 1, "same", "f")
    add(
        "erf=erf(x) erfc=1-erf(x) floor=floor(x) ceil=ceil(x) round=round-half-even(x) trunc=trunc(x)",
        1,
        "same",
        "f",
    )
    add("isnan=x!=x isinf=|x|==inf", 1, "bool", "f")
    add("cast=x", 1, "named", "fib")
    return ops


OPS = _table()
