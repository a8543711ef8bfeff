"""The registry and its refusals."""

from __future__ import annotations

import sys

import pytest
import torch

from tests.unit.lowering.graphs import record
from tilespec.lowering import lower
from tilespec.lowering.refusals import REFUSALS
from tilespec.lowering.registry import FAMILIES, REGISTRY, DuplicateRuleError, Registry

NOT_TRACED = {
    # Gradients, sizes and storage: a forward reference never records them.
    "_adaptive_avg_pool2d_backward", "avg_pool2d_backward", "convolution_backward", "embedding_dense_backward",
    "max_pool2d_with_indices_backward", "native_group_norm_backward", "native_layer_norm_backward", "resize_",
    "sym_is_contiguous", "sym_numel", "sym_storage_offset", "sym_stride",
}  # fmt: skip


def test_a_second_rule_for_an_op_is_an_error():
    registry = Registry().include("one", {"aten.mm": lambda call: call.value(0)})
    with pytest.raises(DuplicateRuleError, match=r"aten\.mm has a rule in one and in two"):
        registry.include("two", {"aten.mm": lambda call: call.value(0)})


def test_an_overload_is_found_by_its_own_rule_first():
    registry = Registry().include("f", {"aten.max": lambda _: (), "aten.max.dim": lambda call: call.value(0)})
    assert registry.find("aten.max.dim") is not registry.find("aten.max.default")
    assert registry.find("aten.absent.default") is None


def test_every_family_has_rules_and_no_op_is_also_refused():
    assert all(FAMILIES.values())
    ruled = {op.split(".")[1] for op, _ in REGISTRY}
    # `repeat_interleave` with a tensor of counts has a size that depends on values; with a number it has a kernel.
    assert ruled & set(REFUSALS) <= {"repeat_interleave", "pad"}


def test_every_core_op_has_a_rule_or_a_reason():
    missing = set()
    for full in torch._C._dispatch_get_all_op_names():
        namespace, _, name = full.partition("::")
        packet, _, overload = name.partition(".")
        op = (
            getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
            if namespace == "aten"
            else None
        )
        if op is None or torch.Tag.core not in op.tags or packet in NOT_TRACED or packet in REFUSALS:
            continue
        if REGISTRY.find(f"aten.{packet}.{overload or 'default'}") is None:
            missing.add(packet)
    assert missing == set()


def test_an_unknown_op_still_gets_a_reason_and_a_remedy():
    finding = REGISTRY.refusal("aten.unheard_of.default")
    assert "unheard_of" in finding.message()
    assert finding.help()


def test_four_hundred_calls_in_a_row_are_lowered():
    def chain(x: torch.Tensor) -> torch.Tensor:
        for _ in range(200):
            x = x * 0.5 + 1.0
        return x

    before = sys.getrecursionlimit()
    program, findings = lower(record(chain, torch.zeros(3)))
    assert program is not None
    assert findings == []
    assert sys.getrecursionlimit() == before
