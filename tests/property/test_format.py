"""Parse, format, parse: generated files keep their meaning, and any text ends in findings."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark

from tests.fuzz.meaning import meaning
from tilespec.diagnostics import SourceText
from tilespec.model import build_model
from tilespec.syntax import format_source, parse
from tilespec.syntax.grammar import parse_value, plain_parser
from tilespec.syntax.nodes import FileNode
from tilespec.syntax.writer import dim_text, order_text

SPECS = sorted((Path(__file__).resolve().parents[2] / "specs").glob("*.tilespec"))
LINES = sorted({line for path in SPECS for line in path.read_text(encoding="utf-8").split("\n")})


def tree_of(text: str) -> FileNode:
    return parse(SourceText("a.tilespec", text))[0]


def check_round_trip(text: str) -> bool:
    """Whether a text could be formatted; its canonical form then means the same and is itself."""
    out, _ = format_source(SourceText("a.tilespec", text))
    if out is None:
        return False
    assert format_source(SourceText("a.tilespec", out))[0] == out
    assert meaning(tree_of(out)) == meaning(tree_of(text))
    return True


names = st.from_regex(r"[a-z][a-z0-9]{0,6}(_[a-z0-9]{1,4})?", fullmatch=True).filter(
    lambda name: (
        name
        not in {
            "none",
            "def",
            "in",
            "step",
            "min",
            "max",
            "f",
            "is",
            "or",
            "and",
            "as",
            "if",
            "not",
            "for",
            "ct",
            "math",
        }
        and name
        not in {
            "try",
            "del",
            "from",
            "else",
            "elif",
            "with",
            "pass",
            "raise",
            "while",
            "yield",
            "class",
            "lambda",
            "print",
        }
    )
)
words = st.lists(st.from_regex(r"[a-zA-Z][a-z,.]{0,8}", fullmatch=True), min_size=1, max_size=8).map(" ".join)
symbols = st.sampled_from(["B", "S", "D", "D_ff", "H"])
sizes = st.recursive(
    st.one_of(symbols, st.integers(1, 4096).map(str)),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%", " * ", " + "]), inner).map("".join),
        inner.map("({})".format),
        st.tuples(inner, inner).map(lambda pair: f"max({pair[0]},{pair[1]})"),
    ),
    max_leaves=5,
)
dtypes = st.sampled_from(["float16", "half", "fp32", "torch.bfloat16", "T", "int64", "bool"])
remarks = st.one_of(st.just(""), words.map(" ({})".format))
attributes = st.lists(
    st.sampled_from(["from=a.y", "layout=channels_last", "values=-1..1", "values=0..2e3", "inplace=x"]),
    unique_by=lambda text: text.split("=")[0],
    max_size=2,
)


@st.composite
def tensors(draw: st.DrawFn) -> str:
    shape = draw(st.lists(sizes, max_size=4))
    comma = "," if len(shape) == 1 and draw(st.booleans()) else ""
    parts = [f"shape=({', '.join(shape)}{comma})", f"dtype={draw(dtypes)}", *draw(attributes)]
    if draw(st.booleans()):
        parts[0], parts[1] = parts[1], parts[0]
    return f"{draw(names)}: {draw(st.sampled_from([', ', ',', ',  ', ' | '])).join(parts)}{draw(remarks)}"


scalars = st.tuples(
    names, st.sampled_from(["float = 1e-5", "float = 1/8", "int = -3", "bool = true", "float"])
).map(lambda pair: f"{pair[0]}: scalar {pair[1]}")


@st.composite
def kernels(draw: st.DrawFn) -> str:
    bullet = draw(st.sampled_from(["  - ", "- ", "* ", "  • "]))
    comment = draw(st.sampled_from(["", "# note\n", "# tilespec: ignore[TS114] why\n"]))
    operations = draw(st.lists(st.tuples(names, remarks).map("".join), min_size=1, max_size=3))
    fields = [
        f"Description: {draw(words)}\n",
        f"Operations: [{', '.join(operations)}]\n",
        "Inputs:\n"
        + "".join(
            f"{bullet}{item}\n"
            for item in draw(st.lists(st.one_of(tensors(), scalars), min_size=1, max_size=3))
        ),
        "Outputs:\n"
        + "".join(f"{bullet}{item}\n" for item in draw(st.lists(tensors(), min_size=1, max_size=2))),
    ]
    optional = [
        f"Dependencies: {draw(st.sampled_from(['none', 'None', '[a, b]', 'a, b', '[]']))}\n",
        f"Shared with: {draw(st.sampled_from(['a', '[a, b]', 'none']))}\n",
        f"Dims:\n  B: {draw(sizes)}..{draw(sizes)}\n  S: in {{8, {draw(sizes)}}}\n",
        f"Types: T in {{half, {draw(dtypes)}}}\n",
        "Numerics: tf32=never, approximate=[gelu: tanh], tolerance=(1e-2, 0)\n",
        f"Bench: {draw(names)}: B=8, S={draw(st.integers(1, 99))}\n",
        'Keep in PyTorch: [dropout, bias add] because "idle # really"\n',
        "Notes:\n- " + draw(words) + "\n  - " + draw(words) + "\n  more\n",
        draw(
            st.sampled_from(
                [
                    "PyTorch Reference:\ndef reference_a(x):\n    # why\n\n    return x\n",
                    "PyTorch Reference:\n\n    def reference_a(x):\n        return x\n\n",
                    "PyTorch Reference:\n```python\ndef reference_a(x):\n    return x\n```\n",
                ]
            )
        ),
    ]
    fields += draw(st.lists(st.sampled_from(optional), unique=True))
    body = draw(st.permutations(fields))
    gap = draw(st.sampled_from(["", "\n"]))
    return f"{draw(st.sampled_from(['KERNEL SPEC: ', '## KERNEL SPEC: ']))}{draw(names)}\n" + gap.join(
        comment + each for each in body
    )


@st.composite
def files(draw: st.DrawFn) -> str:
    head = draw(
        st.sampled_from(
            [
                "",
                "# Title\n\n",
                "Dims:\n  B: 1..64\n\n",
                "Source: model.py:FFN\nBench: B=1\n",
                "Some words: here.\n\n---\n",
            ]
        )
    )
    summary = draw(
        st.sampled_from(
            [
                "",
                "## Decomposition Summary\nTotal kernels: 2\nParallel groups: a\n  and b\nExecution order: a->b||(c -> d)\n\n",
            ]
        )
    )
    separator = draw(st.sampled_from(["---\n", "---\n---\n", "\n", "---\n# about the next\n"]))
    tail = draw(
        st.sampled_from(
            [
                "",
                "---\n",
                "---\n## Composition Notes\nData flow: x -> a\n\ndef reference_all(x):\n    return x\n",
                "---\n## Composition Notes\n```python\ndef reference_all(x):\n    return x\n```\n## Completeness Check\nGaps: NONE\n",
            ]
        )
    )
    return head + summary + separator.join(draw(st.lists(kernels(), min_size=1, max_size=3))) + tail


def test_generated_files_survive_formatting() -> None:
    formatted: list[bool] = []

    @settings(max_examples=60)
    @given(files())
    def check(text: str) -> None:
        formatted.append(check_round_trip(text))

    check()
    # A generator whose files are refused would show nothing.
    assert sum(formatted) > len(formatted) * 0.8


expressions = st.recursive(
    st.one_of(symbols, st.integers(0, 99).map(str), st.just("1e-5")),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "**", " ** -", " * -"]), inner).map(
            "".join
        ),
        inner.map("({})".format),
        inner.map("-{}".format),
        st.tuples(inner, inner).map(lambda pair: f"ceildiv({pair[0]}, {pair[1]})"),
    ),
    max_leaves=8,
)


@settings(max_examples=200)
@given(expressions)
def test_expressions_survive(text: str) -> None:
    node = parse_value("sum", text, 0)
    assert meaning(parse_value("sum", dim_text(node), 0)) == meaning(node)


orders = st.recursive(
    st.sampled_from(["a", "b_2", "c-d"]),
    lambda inner: st.tuples(inner, st.sampled_from(["->", " -> ", "||", " || ", " → "]), inner).map(
        lambda parts: f"({parts[0]}{parts[1]}{parts[2]})"
    ),
    max_leaves=8,
)


@settings(max_examples=60)
@given(orders)
def test_orders_survive(text: str) -> None:
    node = parse_value("order", text, 0)
    assert meaning(parse_value("order", order_text(node), 0)) == meaning(node)


@settings(max_examples=60)
@given(from_lark(plain_parser(), start="entry"))
def test_entries_of_the_grammar_are_read_or_reported(text: str) -> None:
    body = "KERNEL SPEC: a\nDescription: A.\nOperations: [exp]\nInputs:\n  - {}\nOutputs:\n  - y: shape=(1,), dtype=float32\n"
    check_round_trip(body.format(" ".join(text.split("\n"))))


@st.composite
def damaged(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(SPECS)).read_text(encoding="utf-8")
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        upto = min(len(text), at + draw(st.integers(0, 60)))
        put = draw(
            st.one_of(
                st.text(max_size=8),
                st.sampled_from(LINES).map("\n{}\n".format),
                st.sampled_from(list("()[]{}#`'\"*-:|\n")),
            )
        )
        text = text[:at] + put + text[upto:]
    return text


@settings(max_examples=80)
@given(damaged())
def test_damaged_files_end_in_findings(text: str) -> None:
    text = text.replace("\r", "\n")
    tree, findings = parse(SourceText("a.tilespec", text))
    spec, more = build_model(tree)
    for finding in findings + more:
        assert finding.message
        if finding.span is not None:
            assert 0 <= finding.span.start <= finding.span.end <= len(text)
    if spec is not None:
        assert tree.complete
    check_round_trip(text)


@settings(max_examples=60)
@given(st.text(max_size=200))
def test_any_text_ends_in_findings(text: str) -> None:
    tree, findings = parse(SourceText("a.tilespec", text))
    assert findings or tree.kernels
