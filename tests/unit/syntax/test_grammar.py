from __future__ import annotations

import pytest

from tilespec.diagnostics import SourceText
from tilespec.syntax.grammar import ValueFault, parse_value
from tilespec.syntax.parser import parse
from tilespec.syntax.writer import dim_text, order_text

KERNEL = """KERNEL SPEC: double
Description: Doubles a vector.
Operations: [{operations}]
Inputs:
  - {entry}
Outputs:
  - y: shape=(N,), dtype=float32
"""


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("2 * D", "2*D"),
        ("(W+2*P-K)//S+1", "(W + 2*P - K) // S + 1"),
        ("((A))", "A"),
        ("A-(B-C)", "A - (B - C)"),
        ("(A-B)-C", "A - B - C"),
        ("A//(B*C)", "A // (B*C)"),
        ("A*(B//C)", "A*(B // C)"),
        ("-(A+B)", "-(A + B)"),
        ("(-A)**2", "(-A)**2"),
        ("-A**2", "-A**2"),
        ("A**(B**C)", "A**B**C"),
        ("(A**B)**C", "(A**B)**C"),
        ("2**-1", "2**-1"),
        ("A*-B", "A*-B"),
        ("min( A,B )", "min(A, B)"),
        ("ceildiv(A, 2) % 3", "ceildiv(A, 2) % 3"),
    ],
)
def test_expressions_are_written_with_the_parentheses_they_need(written: str, canonical: str) -> None:
    assert dim_text(parse_value("sum", written, 0)) == canonical
    assert dim_text(parse_value("sum", canonical, 0)) == canonical


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("a->b||c->d", "a -> b || c -> d"),
        ("a → b", "a -> b"),
        ("(a -> b) || c", "(a -> b) || c"),
        ("((a || b)) -> c", "a || b -> c"),
        ("a", "a"),
    ],
)
def test_orders(written: str, canonical: str) -> None:
    assert order_text(parse_value("order", written, 0)) == canonical


@pytest.mark.parametrize(
    ("start", "text", "place", "found"),
    [
        ("entry", "x shape=(N,)", (2, 7), "`shape`"),
        ("entry", "x: shape=(N,) dtype=f", (14, 19), "`dtype`"),
        ("entry", "x: ?", (3, 4), "`?`"),
        ("order", "a ->", (3, 4), "the end of the field"),
        ("dim_line", "B 1", (2, 3), "`1`"),
        ("types", "T {f}", (2, 3), "`{`"),
    ],
)
def test_a_fault_points_at_what_does_not_fit(
    start: str, text: str, place: tuple[int, int], found: str
) -> None:
    with pytest.raises(ValueFault) as caught:
        parse_value(start, text, 0)  # type: ignore[arg-type]
    assert (caught.value.span.start, caught.value.span.end) == place
    assert caught.value.found == found
    assert caught.value.expected


@pytest.mark.parametrize(
    "entry",
    [
        "x: shape=(N,), dtype=float32",
        "x: shape=(N, M, 8), dtype=T",
        "x: shape=(), dtype=float32",
        "x: shape=( N , M ),  dtype=float16 (original  input)",
        "x : shape=(N), dtype=float16",
        "eps: scalar float = 1e-5",
        "eps: scalar float",
        "n: scalar int = 3",
    ],
)
def test_the_short_cut_makes_the_nodes_of_the_grammar(entry: str) -> None:
    quick, _ = parse(SourceText("a", KERNEL.format(entry=entry, operations="a, b")))
    # A comment at the end of the value sends it through the grammar.
    slow, _ = parse(SourceText("a", KERNEL.format(entry=entry + "#", operations="a, b")))
    assert (quick.kernels[0].inputs or ())[0] == (slow.kernels[0].inputs or ())[0]


def test_the_short_cut_of_lists_and_orders_makes_the_nodes_of_the_grammar() -> None:
    text = "Execution order: a -> b -> c{mark}\n" + KERNEL.format(
        entry="x: shape=(N,), dtype=T", operations="a, b"
    )
    quick, _ = parse(SourceText("a", text.format(mark="")))
    slow, _ = parse(SourceText("a", text.format(mark="#")))
    assert quick.summary.order == slow.summary.order
    assert quick.kernels[0].operations == parse_value(
        "operations", "[a, b]", quick.source.text.index("[a, b]")
    )
