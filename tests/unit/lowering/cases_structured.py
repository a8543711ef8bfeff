"""Cases of norms, products, convolutions, pooling and recurrent cells."""

# pyright: basic
# A table of short lambdas: naming the type of each parameter would hide what the case is.

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from tests.unit.lowering.inputs import Case, positive, real, whole


def norms() -> Iterator[Case]:
    yield "layer-norm", lambda a, w, b: F.layer_norm(a, (5,), w, b), (real(3, 4, 5), real(5), real(5))
    yield (
        "layer-norm-two",
        lambda a, w, b: F.layer_norm(a, (4, 5), w, b),
        (real(3, 4, 5), real(4, 5), real(4, 5)),
    )
    yield "layer-norm-plain", lambda a: F.layer_norm(a, (5,)), (real(3, 5, dtype=torch.float16),)
    yield "rms-norm", lambda a, w: F.rms_norm(a, (5,), w, eps=1e-6), (real(3, 5), real(5))
    yield "rms-norm-eps", lambda a, w: F.rms_norm(a, (5,), w), (real(3, 5), real(5))
    yield (
        "rms-written",
        lambda a, w: a * torch.rsqrt(a.pow(2).mean(-1, keepdim=True) + 1e-6) * w,
        (real(3, 5), real(5)),
    )
    yield "group-norm", lambda a, w, b: F.group_norm(a, 2, w, b), (real(3, 6, 5), real(6), real(6))
    yield "group-norm-2d", lambda a: F.silu(F.group_norm(a, 3)), (real(2, 6, 4, 5),)
    yield "instance-norm", F.instance_norm, (real(2, 3, 4, 5),)
    yield (
        "instance-norm-affine",
        lambda a, w, b: F.instance_norm(a, weight=w, bias=b),
        (real(2, 3, 4), real(3), real(3)),
    )
    yield (
        "batch-norm",
        lambda a, w, b: F.batch_norm(a, None, None, w, b, training=True),
        (real(4, 3, 5), real(3), real(3)),
    )
    yield "batch-norm-eval", F.batch_norm, (real(4, 3, 5), real(3), positive(3), real(3), real(3))  # fmt: skip
    yield (
        "batch-norm-linear",
        lambda a, w: F.batch_norm(a @ w, None, None, training=True),
        (real(7, 3), real(3, 5)),
    )
    yield "softmax", lambda a: torch.softmax(a, 1), (real(3, 4, 5),)
    yield "softmax-half", lambda a: torch.softmax(a, -1), (real(3, 4, dtype=torch.float16),)
    yield (
        "softmax-dtype",
        lambda a: torch.softmax(a, -1, dtype=torch.float32),
        (real(3, 4, dtype=torch.float16),),
    )
    yield "log-softmax", lambda a: torch.log_softmax(a, 0), (real(3, 4, 5),)
    yield "softmin", lambda a: F.softmin(a, 1), (real(3, 4),)
    yield "local-response", lambda a: F.local_response_norm(a, 3), (real(2, 6, 4),)
    yield "renorm", lambda a: torch.renorm(a, 2, 0, 1.0), (real(4, 5),)


def contractions() -> Iterator[Case]:
    yield "mm", torch.mm, (real(3, 4), real(4, 5))
    yield "mm-half", torch.mm, (real(3, 4, dtype=torch.float16), real(4, 5, dtype=torch.float16))
    yield "mm-int", torch.mm, (whole(-5, 5, 3, 4, dtype=torch.int32), whole(-5, 5, 4, 5, dtype=torch.int32))
    yield "mv", torch.mv, (real(3, 4), real(4))
    yield "dot", torch.dot, (real(4), real(4))
    yield "outer", torch.outer, (real(3), real(4))
    yield "bmm", torch.bmm, (real(2, 3, 4), real(2, 4, 5))
    yield "matmul-3-2", torch.matmul, (real(2, 3, 4), real(4, 5))
    yield "matmul-4-4", torch.matmul, (real(2, 1, 3, 4), real(1, 3, 4, 5))
    yield "matmul-1-3", torch.matmul, (real(4), real(2, 4, 5))
    yield "matmul-one", torch.matmul, (real(3, 1), real(1, 5))
    yield "transposed", lambda a, b: a.T @ b.T, (real(4, 3), real(5, 4))
    yield "linear", F.linear, (real(2, 3, 4), real(5, 4), real(5))
    yield "addmm", lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), (real(5), real(3, 4), real(4, 5))
    yield "baddbmm", torch.baddbmm, (real(2, 3, 5), real(2, 3, 4), real(2, 4, 5))
    yield "addmv", torch.addmv, (real(3), real(3, 4), real(4))
    yield "addbmm", torch.addbmm, (real(3, 5), real(2, 3, 4), real(2, 4, 5))
    yield "einsum", lambda a, b: torch.einsum("bijl,lk->bijk", a, b), (real(2, 3, 2, 4), real(4, 5))
    yield (
        "einsum-batch",
        lambda a, b: torch.einsum("bhid,bhjd->bhij", a, b),
        (real(2, 2, 3, 4), real(2, 2, 5, 4)),
    )
    yield "tensordot", lambda a, b: torch.tensordot(a, b, 2), (real(2, 3, 4), real(3, 4, 5))
    yield "bilinear", F.bilinear, (real(3, 4), real(3, 5), real(2, 4, 5), real(2))
    yield "diagonal-matrix", lambda a, b: torch.diag(a) @ b, (real(3), real(3, 4))
    yield (
        "mlp",
        lambda x, g, u, d: (F.silu(x @ g) * (x @ u)) @ d + x,
        (real(3, 4), real(4, 6), real(4, 6), real(6, 4)),
    )
    yield "norm-linear", lambda x, g, w: F.rms_norm(x, (4,), g, 1e-6) @ w, (real(3, 4), real(4), real(4, 5))
    yield "square-residual", lambda x, w: F.layer_norm(x @ w + x, (4,)), (real(3, 4), real(4, 4))
    yield "covariance", lambda x: (x - x.mean(0)).T @ (x - x.mean(0)) / 4, (real(5, 3),)
    yield "gram", lambda x: x @ x.T, (real(5, 5),)
    yield "softmax-linear", lambda x, w: torch.softmax(x @ w, -1), (real(5, 4), real(4, 5))
    shape = (real(2, 3, 5, 4), real(2, 3, 6, 4), real(2, 3, 6, 4))
    yield "sdpa", F.scaled_dot_product_attention, shape
    yield "sdpa-causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (real(2, 3, 6, 4), real(2, 3, 6, 4), real(2, 3, 6, 4))  # fmt: skip
    yield (
        "sdpa-mask",
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m),
        (*shape, real(5, 6)),
    )
    yield (
        "sdpa-bool",
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m > -1),
        (*shape, real(5, 6)),
    )
    # A row of which nothing counts gives zeros, whether a mask leaves it so or the scores.
    nobody = torch.ones(5, 6).tril(-1)
    yield "sdpa-nothing-kept", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m > 0), (*shape, nobody)  # fmt: skip
    yield "sdpa-nothing-added", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m.log()), (*shape, nobody)  # fmt: skip
    yield "softmax-nothing", lambda m: torch.softmax(m.log(), -1), (nobody,)
    yield "sdpa-scale", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3), shape
    yield "sdpa-gqa", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), (real(2, 4, 5, 4), real(2, 2, 6, 4), real(2, 2, 6, 4))  # fmt: skip
    yield "attention", lambda q, k, v: torch.softmax(q @ k.mT / 2, -1) @ v, shape
    yield "relu-attention", lambda q, k, v: F.relu((q @ k.mT / 2).masked_fill(torch.ones(6, 6).triu(1) > 0, -math.inf)) @ v, (real(2, 6, 4), real(2, 6, 4), real(2, 6, 4))  # fmt: skip


def convolutions() -> Iterator[Case]:
    one, two, three = real(2, 4, 9), real(2, 4, 7, 8), real(2, 4, 5, 4, 6)
    for name, x, weight in (
        ("1d", one, real(6, 4, 3)),
        ("2d", two, real(6, 4, 3, 2)),
        ("3d", three, real(6, 4, 2, 3, 2)),
    ):
        make = getattr(F, f"conv{name}")
        yield f"conv{name}", make, (x, weight, real(6))
        yield f"conv{name}-strided", lambda a, w, m=make: m(a, w, stride=2, padding=1), (x, weight)
        yield f"conv{name}-dilated", lambda a, w, m=make: m(a, w, padding=2, dilation=2), (x, weight)
    yield "conv2d-groups", lambda a, w: F.conv2d(a, w, groups=2, padding=1), (two, real(6, 2, 3, 3))
    yield "conv2d-depthwise", lambda a, w: F.conv2d(a, w, groups=4), (two, real(4, 1, 3, 3))
    yield "conv2d-depthwise-2", lambda a, w: F.conv2d(a, w, groups=4), (two, real(8, 1, 3, 3))
    yield "conv2d-pointwise", F.conv2d, (two, real(6, 4, 1, 1))
    yield "conv2d-same", lambda a, w: F.conv2d(a, w, padding="same"), (two, real(6, 4, 3, 2))
    yield "conv2d-asymmetric", lambda a, w: F.conv2d(a, w, stride=(2, 3), padding=(0, 2), dilation=(1, 2)), (two, real(6, 4, 3, 2))  # fmt: skip
    yield "conv2d-unbatched", F.conv2d, (real(4, 7, 8), real(6, 4, 3, 2))
    yield "conv2d-of-computed", lambda a, w: F.conv2d(F.relu(a), w, padding=1), (two, real(6, 4, 3, 3))
    yield "conv2d-half", F.conv2d, (two.half(), real(6, 4, 3, 3, dtype=torch.float16))
    yield "fold", lambda a: F.fold(a, (5, 6), (2, 3), stride=2, padding=1, dilation=1), (real(2, 12, 9),)
    yield "unfold-image", lambda a: F.unfold(a, (2, 3), stride=2, padding=1), (two,)
    yield "conv1d-causal", lambda a, w: F.conv1d(F.pad(a, (2, 0)), w), (one, real(6, 4, 3))
    for name, x, weight in (
        ("1d", one, real(4, 6, 3)),
        ("2d", two, real(4, 6, 3, 2)),
        ("3d", three, real(4, 6, 2, 3, 2)),
    ):
        make = getattr(F, f"conv_transpose{name}")
        yield f"convT{name}", make, (x, weight, real(6))
        yield (
            f"convT{name}-strided",
            lambda a, w, m=make: m(a, w, stride=2, padding=1, output_padding=1),
            (x, weight),
        )
    yield (
        "convT1d-dilated",
        lambda a, w: F.conv_transpose1d(a, w, stride=2, padding=1, dilation=2),
        (one, real(4, 6, 3)),
    )
    yield (
        "convT1d-coprime",
        lambda a, w: F.conv_transpose1d(a, w, stride=3, padding=1, dilation=2),
        (one, real(4, 6, 5)),
    )
    yield (
        "convT1d-common",
        lambda a, w: F.conv_transpose1d(a, w, stride=4, padding=2, dilation=6),
        (one, real(4, 6, 3)),
    )
    yield "convT2d-groups", lambda a, w: F.conv_transpose2d(a, w, stride=(2, 3), padding=(1, 2), dilation=(2, 1), groups=2), (two, real(4, 3, 3, 5))  # fmt: skip
    yield (
        "convT2d-stride-5",
        lambda a, w: F.conv_transpose2d(a, w, stride=5, padding=1, dilation=2),
        (two, real(4, 6, 3, 3)),
    )
    infinite = one.clone()
    infinite[0, 1, 4] = math.inf
    yield "convT1d-infinite", lambda a, w: F.conv_transpose1d(a, w, stride=2), (infinite, real(4, 6, 3).abs())


def pools() -> Iterator[Case]:
    one, two, three = real(2, 3, 11), real(2, 3, 9, 8), real(2, 3, 6, 7, 5)
    for name, x in (("1d", one), ("2d", two), ("3d", three)):
        biggest, mean = getattr(F, f"max_pool{name}"), getattr(F, f"avg_pool{name}")
        yield f"max{name}", lambda a, m=biggest: m(a, 2), (x,)
        yield f"max{name}-padded", lambda a, m=biggest: m(a, 3, stride=2, padding=1), (x,)
        yield f"max{name}-dilated", lambda a, m=biggest: m(a, 2, stride=1, dilation=2), (x,)
        yield f"max{name}-ceil", lambda a, m=biggest: m(a, 2, stride=2, ceil_mode=True), (x,)
        yield (
            f"max{name}-indices",
            lambda a, m=biggest: list(m(a, 3, stride=2, padding=1, return_indices=True)),
            (x,),
        )
        yield f"avg{name}", lambda a, m=mean: m(a, 2), (x,)
        yield f"avg{name}-padded", lambda a, m=mean: m(a, 3, stride=2, padding=1), (x,)
        yield (
            f"avg{name}-inner",
            lambda a, m=mean: m(a, 3, stride=2, padding=1, count_include_pad=False),
            (x,),
        )
        yield f"avg{name}-ceil", lambda a, m=mean: m(a, 2, stride=2, ceil_mode=True), (x,)
        adaptive_mean, adaptive_max = (
            getattr(F, f"adaptive_avg_pool{name}"),
            getattr(F, f"adaptive_max_pool{name}"),
        )
        yield f"adaptive-avg{name}-one", lambda a, m=adaptive_mean: m(a, 1), (x,)
        yield f"adaptive-avg{name}-ragged", lambda a, m=adaptive_mean: m(a, 3), (x,)
        yield f"adaptive-max{name}", lambda a, m=adaptive_max: m(a, 3), (x,)
        yield (
            f"adaptive-max{name}-indices",
            lambda a, m=adaptive_max: list(m(a, 3, return_indices=True)),
            (x,),
        )
    yield "adaptive-avg2d-whole", lambda a: F.adaptive_avg_pool2d(a, (3, 4)), (two,)
    yield "avg2d-divisor", lambda a: F.avg_pool2d(a, 2, divisor_override=3), (two,)
    yield "max2d-half", lambda a: F.max_pool2d(a, 2, padding=1), (two.half(),)
    yield "max2d-computed", lambda a: F.max_pool2d(torch.tanh(a), 3, padding=1), (two,)
    yield "lp-pool", lambda a: F.lp_pool2d(a.abs(), 2, 2), (two,)
    yield "pool-of-pool", lambda a: F.max_pool2d(F.avg_pool2d(a, 2), 2), (two,)


def cells() -> Iterator[Case]:
    x, h, c = real(3, 4), real(3, 5), real(3, 5)

    def lstm(*given: torch.Tensor) -> list[torch.Tensor]:
        x, h, c, w, u, b = given
        i, f, g, o = (x @ w + h @ u + b).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return [torch.sigmoid(o) * torch.tanh(c), c]

    def gru(*given: torch.Tensor) -> torch.Tensor:
        x, h, w, u = given
        a, b = (x @ w).chunk(3, 1), (h @ u).chunk(3, 1)
        r, z = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
        return (1 - z) * torch.tanh(a[2] + r * b[2]) + z * h

    yield "rnn-cell", lambda x, h, w: torch.tanh(torch.cat([x, h], 1) @ w), (x, h, real(9, 5))
    yield "lstm-cell", lstm, (x, h, c, real(4, 20), real(5, 20), real(20))
    yield "gru-cell", gru, (x, h, real(4, 15), real(5, 15))
