"""The completeness check is derived from the traces, and a hand-written one has to agree."""

from __future__ import annotations

import pytest

from tilespec.coverage import examine
from tilespec.coverage.completeness import summarise
from tilespec.diagnostics import SourceText
from tilespec.model import build_model
from tilespec.model.types import SpecFile
from tilespec.syntax import parse

FILE = """\
KERNEL SPEC: up
Description: Product, bias and activation.
Operations: [matmul, bias_add, silu]
Inputs:
  - x: shape=(B, D), dtype=float16
  - w: shape=(D, E), dtype=float16
  - b: shape=(E,), dtype=float16
Outputs:
  - h: shape=(B, E), dtype=float16
---
KERNEL SPEC: norm
Description: Layer normalisation.
Operations: [layer_norm]
Inputs:
  - h: shape=(B, E), dtype=float16
Outputs:
  - y: shape=(B, E), dtype=float16
Dependencies: [up]
---
## Composition Notes
def reference_all(x, w, b):
    h = F.silu(x @ w + b)
    return F.layer_norm(h, (h.shape[-1],))
"""


def model(text: str) -> SpecFile:
    tree, findings = parse(SourceText("f.tilespec", text))
    spec, more = build_model(tree)
    assert spec is not None, [*findings, *more]
    return spec


def faults(check: str, file: str = FILE) -> list[str]:
    found = examine(model(f"{file}## Completeness Check\n{check}")).findings
    assert {item.code for item in found} <= {"TS427", "TS428"}
    return [
        item.message.removeprefix("the completeness check is wrong: ")
        for item in found
        if item.code == "TS428"
    ]


RIGHT = [
    "Original forward-pass ops: [matmul, bias_add, silu, layer_norm]\nCovered by kernel specs: matmul -> up, bias_add -> up, silu -> up, layer_norm -> norm\nGaps: NONE\n",
    "Original forward-pass ops: matmul, add, swish, LayerNorm\nCovered by kernel specs:\n- up: matmul, bias add, silu\n- norm: layernorm\nGaps: none\n",
    "Covered by kernel specs:\n- matmul -> up\nAll else follows: see the design.\nGaps: NONE\n\nReviewed by hand.\n",
    "Gaps: NONE\nNothing is left, as the table above shows: it was checked.\n",
]


@pytest.mark.parametrize("check", RIGHT)
def test_a_right_check_passes(check: str):
    assert faults(check) == []


@pytest.mark.parametrize(
    ("check", "fault"),
    [
        ("Original forward-pass ops: [matmul, add, silu, layer_norm, softmax]\n", "the forward pass performs no `softmax`"),
        ("Original forward-pass ops: [matmul, add, silu]\n", "the list leaves out `layer_norm`"),
        ("Covered by kernel specs: matmul -> down\n", "there is no kernel `down`"),
        ("Covered by kernel specs: matmul -> norm\n", "`norm` performs no `matmul`"),
        ("Covered by kernel specs:\n- norm: layer_norm, silu\n", "`norm` performs no `silu`"),
        ("Covered by kernel specs: softmax -> up\n", "the forward pass performs no `softmax`"),
        ("Gaps: [silu]\n", "`up` performs `silu`, so it is no gap"),
        ("Gaps:\n- tanh\n", "nothing performs `tanh`, so it is no gap"),
    ],
)  # fmt: skip
def test_a_wrong_check_is_an_error(check: str, fault: str):
    assert faults(check) == [fault]


def test_each_fault_points_at_its_name():
    text = (
        f"{FILE}## Completeness Check\nOriginal forward-pass ops: [matmul, add, silu, softmax, layer_norm]\n"
    )
    (found,) = [item for item in examine(model(text)).findings if item.code == "TS428"]
    assert found.span is not None
    assert text[found.span.start : found.span.end] == "softmax"


def test_without_a_forward_pass_the_kernels_are_it():
    kernels = FILE[: FILE.index("## Composition")]
    assert faults("Original forward-pass ops: [matmul, add, silu, layer_norm]\n", kernels) == []
    assert faults("Covered by kernel specs: matmul -> norm\n", kernels) == ["`norm` performs no `matmul`"]


def test_the_derived_check_is_right():
    spec = model(FILE)
    examined = examine(spec)
    summary = summarise(spec, examined.graphs, examined.coverage)
    assert summary.whole
    assert summary.covered == (
        ("matmul", ("up",)), ("add", ("up",)), ("silu", ("up",)), ("layer_norm", ("norm",))
    )  # fmt: skip
    assert faults(summary.block.partition("\n")[2]) == []


def test_an_op_that_stays_in_pytorch_is_a_note_and_no_gap():
    text = FILE.replace(
        "return F.layer_norm(h, (h.shape[-1],))", "return F.layer_norm(h, (h.shape[-1],)).tanh()"
    )
    kept = 'Keep in PyTorch: [tanh] because "the caller has it"\n---\n' + text
    assert [item.code for item in examine(model(text)).findings if item.code != "TS427"] == ["TS420"]
    spec = model(kept)
    examined = examine(spec)
    (note,) = [item for item in examined.findings if item.code != "TS427"]
    assert (note.code, note.severity.value) == ("TS429", "note")
    assert note.message == "`tanh` of the forward pass stays in PyTorch: the caller has it"
    assert examined.proof is not None
    assert not examined.proof.proved
    assert summarise(spec, examined.graphs, examined.coverage).kept == (("tanh", "the caller has it"),)
