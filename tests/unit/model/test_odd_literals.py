"""Odd literals in references are no warnings of Python: those would end up on a user's terminal."""

from __future__ import annotations

import warnings

from tilespec.coverage.operations import _function
from tilespec.diagnostics import SourceText
from tilespec.model.types import ReferenceText
from tilespec.model.wiring import end_to_end_parameters


def test_parameters_of_a_reference_with_an_odd_literal():
    text = "def reference_all(x):\n    return x * 1if x is 2 else 0x1for\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reference = ReferenceText(source=SourceText("f", text), text=text, first_line=1)
        assert end_to_end_parameters(reference) in {("x",), ()}
        assert _function("F.relu(1if x else 2)") == "relu"
        assert _function("F.relu(x...") is None


def test_a_reference_of_any_length_is_bounded():
    text = "def reference_all(x):\n" + "    x = x\n" * 30_000
    assert end_to_end_parameters(ReferenceText(source=SourceText("f", text), text=text, first_line=1)) == ()
