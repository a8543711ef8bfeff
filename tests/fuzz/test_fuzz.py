"""A short run of the fuzzer; `tests/fuzz/run.py` is the long one."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.mutate import corpus, mutated
from tests.fuzz.targets import lint_bytes, parse_bytes

TEXTS = corpus()


def test_there_is_a_corpus():
    assert len(TEXTS) > 50


@settings(
    max_examples=400, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(st.integers(0, 2**32))
def test_mutated_files_parse_to_findings(seed: int):
    choose = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    parse_bytes(mutated(TEXTS, choose).encode())


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(
    st.binary(max_size=400) | st.text(max_size=400).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes_parse_to_findings(data: bytes):
    parse_bytes(data)


@pytest.mark.parametrize("seed", range(12))
def test_mutated_files_lint_to_findings(seed: int):
    # Only files that still model reach the later stages: take the first that does.
    from tilespec.diagnostics import SourceText
    from tilespec.model import build_model
    from tilespec.syntax import parse

    choose = random.Random(f"lint {seed}")  # noqa: S311 - to be repeated, not to be secret
    specs = [text for text in TEXTS if not text.startswith("#")] + TEXTS[:3]
    for _ in range(200):
        text = mutated(specs, choose)
        if build_model(parse(SourceText("fuzz", text))[0])[0] is not None:
            break
    lint_bytes(text.encode())
