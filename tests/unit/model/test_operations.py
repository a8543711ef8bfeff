from __future__ import annotations

import pytest

from tilespec.model.dtypes import DTYPES, canonical_dtype, suggest_dtype
from tilespec.model.operations import OPERATIONS, find_operation, suggest_operation


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("layernorm", "layer_norm"),
        ("LayerNorm", "layer_norm"),
        ("F.layer_norm", "layer_norm"),
        ("torch.nn.functional.gelu", "gelu"),
        ("bias add", "bias_add"),
        ("batch-norm", "batch_norm"),
        ("conv", "conv2d"),
        ("Swish", "silu"),
    ],
)
def test_names_and_aliases(written: str, name: str) -> None:
    entry = find_operation(written)
    assert entry is not None
    assert entry.name == name


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("layer_nrom", "layer_norm"),
        ("fused_softmax", "softmax"),
        ("matmull", "matmul"),
        ("sofmtax", "softmax"),
        ("qwertyuiop", None),
    ],
)
def test_near_misses_are_suggested(written: str, name: str | None) -> None:
    assert find_operation(written) is None
    assert suggest_operation(written) == name


def test_a_name_is_used_once() -> None:
    names = [name for entry in OPERATIONS.values() for name in (entry.name, *entry.aliases)]
    assert sorted({name for name in names if names.count(name) > 1}) == []


@pytest.mark.parametrize(
    ("name", "ops", "satisfied"),
    [
        ("layer_norm", {"native_layer_norm"}, True),
        ("layer_norm", {"mean", "sub", "pow", "sqrt", "div", "mul", "add"}, True),
        ("layer_norm", {"mean", "sub"}, False),
        ("silu", {"sigmoid", "mul"}, True),
        ("matmul", {"addmm"}, True),
        ("matmul", {"add"}, False),
        ("softmax", {"exp", "sum", "div", "amax", "sub"}, True),
    ],
)
def test_patterns(name: str, ops: set[str], satisfied: bool) -> None:  # noqa: FBT001 - a case
    assert OPERATIONS[name].satisfied_by(frozenset(ops)) == satisfied


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("fp16", "float16"),
        ("half", "float16"),
        ("torch.bfloat16", "bfloat16"),
        ("BF16", "bfloat16"),
        ("long", "int64"),
        ("flaot16", None),
    ],
)
def test_dtypes(written: str, name: str | None) -> None:
    assert canonical_dtype(written) == name


def test_dtype_suggestions_are_dtypes() -> None:
    assert suggest_dtype("flaot16") == "float16"
    assert suggest_dtype("float8") in DTYPES
    assert suggest_dtype("fp8") in DTYPES
    assert suggest_dtype("xyzzy") is None
