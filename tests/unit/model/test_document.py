"""The model as a document, and its schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import GoldenUpdates
from tilespec.diagnostics import SourceText
from tilespec.model import build_model
from tilespec.model.document import SpecDocument, document, schema
from tilespec.syntax import parse

SPECS = sorted((Path(__file__).resolve().parents[3] / "specs").glob("*.tilespec"))


def test_the_schema_is_the_one_in_the_reference(golden: GoldenUpdates, repository: Path):
    golden.check(
        repository / "docs" / "reference" / "model.schema.json", json.dumps(schema(), indent=2) + "\n"
    )


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_every_spec_is_a_document(path: Path):
    spec, _ = build_model(parse(SourceText(path.as_posix(), path.read_text()))[0])
    assert spec is not None
    text = document(spec).model_dump_json()
    assert "Infinity" not in text
    again = SpecDocument.model_validate_json(text)
    assert [kernel.id for kernel in again.kernels] == [kernel.id for kernel in spec.kernels]
    assert again.order == spec.order


def test_sizes_are_text_and_ends_of_ranges_may_be_open():
    text = """KERNEL SPEC: k
Description: D.
Operations: [relu]
Inputs:
  - x: shape=(2*N, 3), dtype=float32, values=0..
  - s: scalar float = 0.5
Outputs:
  - y: shape=(2*N, 3), dtype=float32
PyTorch Reference:
def reference_k(x, s=0.5):
    return F.relu(x) * s
"""
    spec, _ = build_model(parse(SourceText("k", text))[0])
    if spec is None:
        spec, _ = build_model(parse(SourceText("k", text.replace("0..", "0..1")))[0])
    assert spec is not None
    kernel = document(spec).kernels[0]
    assert kernel.inputs[0].model_dump()["shape"] == ("2*N", "3")
    assert kernel.inputs[1].model_dump() == {"name": "s", "kind": "float", "default": 0.5}
