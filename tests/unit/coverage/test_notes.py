"""Notes that demand other numerics than there are."""

from __future__ import annotations

import pytest

from tilespec.coverage import examine
from tilespec.diagnostics import SourceText
from tilespec.model import build_model
from tilespec.syntax import parse


def messages(note: str, *, code: str = "F.gelu(x @ w)", numerics: str = "") -> list[str]:
    text = f"""KERNEL SPEC: k
Description: A product and GELU.
Operations: [matmul, gelu]
Inputs:
  - x: shape=(B, D), dtype=float16
  - w: shape=(D, N), dtype=float16
Outputs:
  - y: shape=(B, N), dtype=float16
{numerics}
PyTorch Reference:
def reference_k(x, w):
    return {code}
Notes:
- {note}
"""
    tree, _ = parse(SourceText("k.tilespec", text))
    spec, _ = build_model(tree)
    assert spec is not None
    found = [item for item in examine(spec).findings if item.code == "TS430"]
    for item in found:
        assert item.span is not None
        assert text[item.span.start : item.span.end].startswith(note[:10])
    return [item.message for item in found]


TANH = 'F.gelu(x @ w, approximate="tanh")'


@pytest.mark.parametrize(
    ("note", "part", "options"),
    [
        ("Use the tanh approximation of GELU", "the tanh form of GELU", {}),
        ("GELU: tanh formula", "the tanh form of GELU", {}),
        ("Use exact GELU", "the erf form of GELU", {"code": TANH}),
        ("Use the erf GELU", "`Numerics` chooses the tanh form", {"numerics": "Numerics: approximate=[gelu: tanh]"}),
        ("Use a float16 accumulator for speed", "a float16 accumulator", {}),
        ("Accumulate in fp64", "a float64 accumulator", {}),
        ("Use float32 accumulator", "a float32 accumulator", {"numerics": "Numerics: accumulate=float16"}),
        ("Use TF32 for the product", "TF32 is off", {}),
    ],
)  # fmt: skip
def test_a_demand_that_is_not_met_is_a_warning(note: str, part: str, options: dict[str, str]):
    (message,) = messages(note, **options)
    assert part in message


@pytest.mark.parametrize(
    ("note", "options"),
    [
        ("GELU can use the approximate tanh formula for speed", {}),
        ("Don't use the tanh GELU", {}),
        ("Use the tanh approximation of GELU", {"code": TANH}),
        ("Use the tanh approximation of GELU", {"numerics": "Numerics: approximate=[gelu: tanh]"}),
        ("Use float32 accumulator for matmul, cast output to float16", {}),
        ("Accumulate in float32 and round to float16 once", {}),
        ("Compute mean and variance in float32 for numerical stability", {}),
        ("Never use TF32 here", {}),
        ("x" * 5000 + " gelu", {}),
    ],
)
def test_what_is_met_allowed_or_denied_is_left_alone(note: str, options: dict[str, str]):
    assert messages(note, **options) == []
