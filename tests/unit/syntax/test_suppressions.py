from __future__ import annotations

import time

import pytest

from tilespec.diagnostics import SourceText
from tilespec.model import build_model
from tilespec.syntax import apply_suppressions, parse

KERNEL = """KERNEL SPEC: double
Operations: [scale]
Inputs:
  - x: shape=(N,), dtype=flaot32
Outputs:
  - y: shape=(N,), dtype=float32
"""
COMMENT = "# tilespec: ignore[{codes}] because"


def found(text: str) -> list[str]:
    tree, findings = parse(SourceText("a", text))
    return [finding.code for finding in apply_suppressions(tree, findings + build_model(tree)[1])]


def test_without() -> None:
    assert found(KERNEL) == ["TS114", "TS301"]


@pytest.mark.parametrize(
    ("place", "codes", "left"),
    [
        ("KERNEL SPEC", "TS114", ["TS301"]),
        ("KERNEL SPEC", "TS114, TS301", []),
        ("Inputs", "TS301", ["TS114"]),
        ("  - x", "TS301", ["TS114"]),
        ("Outputs", "TS301", ["TS114", "TS301", "TS122"]),
        ("Operations", "TS114", ["TS114", "TS122", "TS301"]),
    ],
)
def test_a_line_of_its_own_covers_what_follows(place: str, codes: str, left: list[str]) -> None:
    text = KERNEL.replace(place, f"{COMMENT.format(codes=codes)}\n{place}", 1)
    assert sorted(found(text)) == sorted(left)


def test_at_the_end_of_a_line_it_covers_the_line() -> None:
    text = KERNEL.replace("flaot32", f"flaot32  {COMMENT.format(codes='TS301')}")
    assert found(text) == ["TS114"]


def test_the_rule_between_kernels_does_not_part_them() -> None:
    assert found(f"{COMMENT.format(codes='TS114')}\n---\n{KERNEL}") == ["TS301"]


def test_the_innermost_of_several_suppressions_counts() -> None:
    comment = COMMENT.format(codes="TS301")
    text = KERNEL.replace("Operations", "Description: Doubles.\nOperations").replace(
        "Inputs:", f"{comment}\nInputs:"
    )
    tree, findings = parse(SourceText("a", f"{comment}\n{text}"))
    left = apply_suppressions(tree, findings + build_model(tree)[1])
    assert [(item.code, item.span.start if item.span else None) for item in left] == [("TS122", 19)]


def test_many_suppressions_take_time_in_proportion() -> None:
    block = f"{COMMENT.format(codes='TS301')}\n"
    times = []
    for count in (1_000, 8_000):
        source = SourceText("a.tilespec", block * count + KERNEL)
        begun = time.process_time()
        tree, findings = parse(source)
        apply_suppressions(tree, (findings + build_model(tree)[1]) * count)
        times.append(time.process_time() - begun)
    # Eight times as many: a walk over all of them for each would take 64 times as long.
    assert times[1] < 30 * times[0]
