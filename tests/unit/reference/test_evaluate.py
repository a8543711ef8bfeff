"""The golden widens floats and keeps other roundings; eager evaluation is torch itself."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from tests.unit.reference.making import kernel
from tilespec.reference.evaluate import EvaluationError, evaluate


def test_the_golden_is_float64_through_casts_and_factories():
    code = """
def reference_t(x):
    y = x.half().to(torch.bfloat16).float()
    y = y + torch.ones(x.shape[-1], dtype=torch.float32) / 3 + torch.arange(x.shape[-1]) / 7
    return F.softmax(y, dim=-1, dtype=torch.float16)
"""
    x = torch.rand(2, 5, dtype=torch.float32)
    (found,) = evaluate(code, {"x": x}, widen=True)
    wide = x.double()
    expected = functional.softmax(wide + 1 / 3 + torch.arange(5, dtype=torch.float64) / 7, -1)
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_fp8_and_integer_casts_keep_their_rounding():
    code = "def reference_t(x):\n    return x.to(torch.float8_e4m3fn).float(), x.to(torch.int8)\n"
    x = torch.tensor([1.0 + 1 / 32, 2.7])
    rounded, whole = evaluate(code, {"x": x}, widen=True)
    assert rounded.dtype == torch.float64
    assert rounded.tolist() == x.to(torch.float8_e4m3fn).double().tolist()
    assert whole.tolist() == [1, 2]


def test_eager_keeps_the_dtypes():
    code = "def reference_t(x):\n    return (x.half() + 1).sum(-1)\n"
    x = torch.rand(3, 300)
    (found,) = evaluate(code, {"x": x}, widen=False)
    assert found.dtype == torch.float16
    assert torch.equal(found, (x.half() + 1).sum(-1))


def test_scalars_take_the_declared_value():
    entry = kernel(
        "t",
        ["x: N float32", "k: float = 3.0"],
        ["y: N float32"],
        "def reference_t(x, k):\n    return x * k\n",
    )
    (found,) = evaluate(entry, {"x": torch.ones(2)}, widen=False)
    assert found.tolist() == [3.0, 3.0]
    (found,) = evaluate(entry, {"x": torch.ones(2), "k": 5.0}, widen=False)
    assert found.tolist() == [5.0, 5.0]


def test_inputs_are_never_written():
    code = "def reference_t(x):\n    x += 1\n    x[0] = 7.0\n    return x\n"
    x = torch.zeros(3)
    (found,) = evaluate(code, {"x": x}, widen=False)
    assert found.tolist() == [7.0, 1.0, 1.0]
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_the_default_dtype_is_put_back():
    with pytest.raises(EvaluationError, match="fails"):
        evaluate("def reference_t(x):\n    return x @ x\n", {"x": torch.ones(2, 3)}, widen=True)
    assert torch.get_default_dtype() == torch.float32


def test_what_check_refuses_is_not_evaluated():
    with pytest.raises(EvaluationError, match="not part of the reference language"):
        evaluate("def reference_t(x):\n    import os\n    return x\n", {"x": torch.ones(2)}, widen=False)


def test_running_statistics_are_not_written():
    code = "def reference_t(x, m, v):\n    return F.batch_norm(x, m, v, training=True)\n"
    x, mean, var = torch.rand(4, 3), torch.zeros(3), torch.ones(3)
    (found,) = evaluate(code, {"x": x, "m": mean, "v": var}, widen=False)
    torch.testing.assert_close(found, functional.batch_norm(x, None, None, training=True))
    assert mean.tolist() == [0.0] * 3
    assert var.tolist() == [1.0] * 3


def test_what_a_mask_hides_does_not_reach_the_golden():
    # One of torch's implementations adds -inf to the score of a hidden key, and inf - inf is NaN.
    code = "def reference_t(q, k, v):\n    return F.scaled_dot_product_attention(q, k, v, is_causal=True)\n"
    q, k, v = torch.ones(1, 2, 4), torch.ones(1, 2, 4), torch.ones(1, 2, 4)
    k[0, 1] = float("inf")
    with sdpa_kernel(SDPBackend.MATH):
        (found,) = evaluate(code, {"q": q, "k": k, "v": v}, widen=True)
    assert torch.equal(found[0, 0], v[0, 0].double())
    assert found[0, 1].isnan().all()
