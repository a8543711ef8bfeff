"""Every op family as small functions with inputs: what a lowered program must compute as torch does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

Case = tuple[str, Callable[..., object], tuple[torch.Tensor, ...]]
_GENERATOR = torch.Generator().manual_seed(7)


def real(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=_GENERATOR).to(dtype)


def positive(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=_GENERATOR) + 0.1


def unit(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=_GENERATOR) * 1.8 - 0.9


def whole(low: int, high: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=_GENERATOR).to(dtype)


_UNARY = "exp exp2 expm1 sigmoid sin cos tan atan sinh cosh tanh asinh erf erfc floor ceil round trunc neg abs sign sgn square frac"
_POSITIVE = "log log2 log10 log1p sqrt rsqrt reciprocal logit"
_UNIT = "asin acos atanh"
_ACTIVATIONS = (
    "relu relu6 silu mish softplus elu selu celu gelu hardswish hardsigmoid hardtanh leaky_relu logsigmoid softsign "
    "tanhshrink softshrink hardshrink"
)


def _pointwise() -> Iterator[Case]:
    x = real(3, 5)
    for name in _UNARY.split():
        yield name, getattr(torch, name), (x,)
    for name in _POSITIVE.split():
        yield name, getattr(torch, name), (positive(3, 5) * 0.8,)
    for name in _UNIT.split():
        yield name, getattr(torch, name), (unit(3, 5),)
    for name in _ACTIVATIONS.split():
        yield name, getattr(F, name), (x * 3,)
    yield "acosh", torch.acosh, (positive(3, 5) + 1,)
    yield "gelu-tanh", lambda a: F.gelu(a, approximate="tanh"), (x,)
    yield "glu", F.glu, (real(3, 6),)
    yield "prelu", F.prelu, (real(2, 3, 4), real(3))
    yield "prelu-one", F.prelu, (real(2, 3, 4), real(1))
    yield "threshold", lambda a: F.threshold(a, 0.1, -2.0), (x,)
    yield "elu-alpha", lambda a: F.elu(a, 0.7), (x,)
    yield "softplus-beta", lambda a: F.softplus(a, beta=2.0, threshold=1.0), (x,)
    yield "add-broadcast", torch.add, (real(3, 1), real(5))
    yield "add-alpha", lambda a, b: torch.add(a, b, alpha=2), (real(3, 5), real(5))
    yield "sub-alpha", lambda a, b: torch.sub(a, b, alpha=0.5), (real(3, 5), real(5))
    yield "rsub", lambda a: 1.5 - a, (x,)
    yield "mul-int-float", lambda a, b: a * b, (whole(-5, 5, 3, 5), x)
    yield "add-half-single", lambda a, b: a + b, (real(3, 5, dtype=torch.float16), x)
    yield "add-half-scalar", lambda a: a + 1.25, (real(3, 5, dtype=torch.float16),)
    yield (
        "bf16",
        lambda a, b: torch.exp(a) * b,
        (real(3, 5, dtype=torch.bfloat16), real(5, dtype=torch.bfloat16)),
    )
    yield "double", lambda a: torch.tanh(a) * 3, (real(3, 5, dtype=torch.float64),)
    yield "div-int", torch.div, (whole(-9, 9, 3, 5), whole(1, 5, 3, 5))
    for mode in ("floor", "trunc"):
        yield (
            f"div-{mode}",
            lambda a, b, mode=mode: torch.div(a, b, rounding_mode=mode),
            (x * 5, positive(3, 5)),
        )
        yield f"div-{mode}-int", lambda a, b, mode=mode: torch.div(a, b, rounding_mode=mode), (whole(-9, 9, 3, 5), whole(1, 5, 3, 5))  # fmt: skip
    yield "floor-divide", lambda a, b: a // b, (whole(-9, 9, 3, 5), whole(1, 5, 3, 5))
    yield "remainder", torch.remainder, (x * 4, positive(3, 5))
    yield "remainder-int", lambda a: a % 3, (whole(-9, 9, 3, 5),)
    yield "fmod", torch.fmod, (x * 4, positive(3, 5))
    for exponent in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 2.5):
        yield f"pow-{exponent}", lambda a, e=exponent: a**e, (positive(3, 5),)
    yield "pow-tensor", torch.pow, (positive(3, 5), real(3, 5))
    yield "pow-base", lambda a: 2.0**a, (x,)
    yield "pow-int", lambda a: a**3, (whole(-4, 4, 3, 5),)
    yield "pow-int-4", lambda a: a**4, (whole(-4, 4, 3, 5),)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        yield f"{name}", getattr(torch, name), (whole(0, 3, 3, 5), whole(0, 3, 5))
        yield f"{name}-mixed", getattr(torch, name), (whole(0, 3, 3, 5), real(3, 5))
        yield (
            f"{name}-scalar",
            lambda a, name=name: getattr(torch, name)(a, 0.25),
            (real(3, 5, dtype=torch.float16),),
        )
    for name in (
        "maximum",
        "minimum",
        "atan2",
        "hypot",
        "copysign",
        "fmax",
        "fmin",
        "logaddexp",
        "heaviside",
        "xlogy",
    ):
        yield name, getattr(torch, name), (positive(3, 5), positive(3, 5))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        yield name, getattr(torch, name), (whole(0, 99, 3, 5), whole(0, 99, 3, 5))
        yield f"{name}-bool", getattr(torch, name), (real(3, 5) > 0, real(3, 5) > 0)
    yield "bitwise_not", torch.bitwise_not, (whole(0, 99, 3, 5),)
    yield "shift", lambda a: (a << 2) >> 1, (whole(0, 99, 3, 5),)
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield name, getattr(torch, name), (whole(0, 2, 3, 5), real(3, 5) > 0)
    yield "logical_not", torch.logical_not, (whole(0, 2, 3, 5),)
    yield "where", lambda c, a, b: torch.where(c > 0, a, b), (real(3, 1), x, real(5))
    yield "where-scalar", lambda c: torch.where(c > 0, c, 0.0), (real(3, 5, dtype=torch.float16),)
    yield "masked-fill", lambda a, m: a.masked_fill(m > 0, -math.inf), (x, real(3, 5))
    yield "clamp", lambda a: a.clamp(-0.5, 0.5), (x,)
    yield "clamp-min", lambda a: a.clamp(min=0.1), (x,)
    yield "clamp-max", lambda a: a.clamp(max=0.1), (x,)
    yield "clamp-tensor", torch.clamp, (x, real(5) - 1, real(5) + 1)
    yield "clamp-int", lambda a: a.clamp(-2, 2), (whole(-9, 9, 3, 5),)
    yield "lerp", torch.lerp, (real(3, 5), real(3, 5), real(3, 5))
    yield "addcmul", lambda a, b, c: torch.addcmul(a, b, c, value=0.5), (real(3, 5), real(3, 5), real(3, 5))
    yield (
        "addcdiv",
        lambda a, b, c: torch.addcdiv(a, b, c, value=0.5),
        (real(3, 5), real(3, 5), positive(3, 5)),
    )
    yield "nan-to-num", torch.nan_to_num, (torch.tensor([1.0, math.nan, math.inf, -math.inf]),)
    yield "nan-to-num-half", torch.nan_to_num, (torch.tensor([1.0, math.nan, math.inf, -math.inf]).half(),)
    for name in ("isnan", "isinf", "isfinite", "signbit"):
        yield name, getattr(torch, name), (torch.tensor([1.0, math.nan, math.inf, -math.inf, -0.0, 0.0]),)
    yield "sinc", torch.sinc, (torch.tensor([0.0, 0.3, -1.2]),)
    yield "deg2rad", torch.deg2rad, (x,)
    yield "rad2deg", torch.rad2deg, (x,)
    yield "to-int", lambda a: (a * 5).to(torch.int32), (x,)
    yield "to-bool", lambda a: a.to(torch.bool), (torch.tensor([0.0, 0.4, -2.0]),)
    yield "bool-sum", lambda a: (a > 0).float() * 2, (x,)
    yield (
        "int8-wrap",
        lambda a, b: a + b,
        (whole(-128, 127, 3, 5, dtype=torch.int8), whole(-128, 127, 3, 5, dtype=torch.int8)),
    )
    yield (
        "promote-int8-uint8",
        lambda a, b: a + b,
        (whole(-128, 127, 3, 5, dtype=torch.int8), whole(0, 255, 3, 5, dtype=torch.uint8)),
    )
    yield "zero-dim", lambda a, b: a * b, (real(3, 5, dtype=torch.float16), torch.tensor(0.3))
    yield "zero-dim-compare", lambda a, b: a < b, (whole(-3, 3, 3, 5), torch.tensor(0.3))
    yield "round-decimals", lambda a: torch.round(a, decimals=2), (x,)


def _views() -> Iterator[Case]:
    x = real(4, 6, 5)
    yield "view-merge", lambda a: a.reshape(24, 5), (x,)
    yield "view-split", lambda a: a.reshape(4, 2, 3, 5), (x,)
    yield "view-mixed", lambda a: a.reshape(8, 15), (x,)
    yield "view-crossing", lambda a: a.reshape(5, 24), (x,)
    yield "view-ones", lambda a: a.reshape(1, 4, 1, 30, 1), (x,)
    yield "view-flat-sum", lambda a: a.reshape(4, -1).sum(1), (x,)
    yield "permute", lambda a: a.permute(2, 0, 1), (x,)
    yield "transpose-view", lambda a: a.transpose(0, 1).reshape(6, 20), (x,)
    yield "heads", lambda a: a.reshape(4, 6, 5, 1).permute(0, 2, 1, 3).reshape(4, 30), (x,)
    yield "expand", lambda a: a.expand(4, 6, 5) + 1, (real(6, 1),)
    yield "slice", lambda a: a[1:, ::2, :-1], (x,)
    yield "slice-negative", lambda a: a[-2:, :, -3:-1], (x,)
    yield "select", lambda a: a[:, -1] + a[:, 0], (x,)
    yield "squeeze", lambda a: a.squeeze(1), (real(4, 1, 5),)
    yield "unsqueeze", lambda a: a.unsqueeze(-1) * a.unsqueeze(1), (real(4, 5),)
    yield "flip-none", lambda a: a.flip(()), (x,)
    yield "flip", lambda a: a.flip(0, 2), (x,)
    yield "roll", lambda a: a.roll(2, 1), (x,)
    yield "roll-flat", lambda a: a.roll(7), (x,)
    yield "roll-two", lambda a: a.roll((1, -2), (0, 2)), (x,)
    yield "repeat", lambda a: a.repeat(2, 3), (real(4, 5),)
    yield "repeat-more", lambda a: a.repeat(2, 1, 3), (real(4, 5),)
    yield "repeat-interleave", lambda a: a.repeat_interleave(3, 1), (real(4, 5),)
    yield "unfold", lambda a: a.unfold(1, 3, 2), (x,)
    yield "diagonal", lambda a: a.diagonal(1, 0, 1), (x,)
    yield "diag-sum", lambda a: torch.trace(a), (real(4, 5),)
    yield "split", lambda a: [p * 2 for p in a.split(4, 1)], (x,)
    yield "split-sizes", lambda a: list(a.split([1, 3, 2], 1)), (x,)
    yield "chunk", lambda a: a.chunk(2, 1)[1] * a.chunk(2, 1)[0], (x,)
    yield "unbind", lambda a: a.unbind(0)[2] + a.unbind(0)[1], (x,)
    yield "as-strided", lambda a: a.as_strided((3, 4), (5, 2), 1), (real(30),)
    yield "movedim", lambda a: a.movedim(0, -1), (x,)
    yield "rot90", lambda a: a.rot90(1, (0, 1)), (x,)
    yield "pixel-shuffle", lambda a: F.pixel_shuffle(a, 2), (real(2, 8, 3, 4),)
    yield "pixel-unshuffle", lambda a: F.pixel_unshuffle(a, 2), (real(2, 2, 6, 4),)
    yield (
        "channel-shuffle",
        lambda a: a.reshape(2, 3, 2, 4).transpose(1, 2).reshape(2, 6, 4),
        (real(2, 6, 4),),
    )
    yield (
        "rope",
        lambda a, c, s: a * c + torch.cat([-a[..., 4:], a[..., :4]], -1) * s,
        (real(2, 3, 8), real(3, 8), real(3, 8)),
    )
    yield (
        "rope-pairs",
        lambda a, c: torch.stack([a[..., ::2] * c, a[..., 1::2] * c], -1).flatten(-2),
        (real(2, 3, 8), real(3, 4)),
    )


def _joins() -> Iterator[Case]:
    x = real(3, 5)
    yield "cat", lambda a, b, c: torch.cat([a, b, c], 1), (real(3, 2), real(3, 4), real(3, 1))
    yield "cat-promote", lambda a, b: torch.cat([a, b]), (real(3, 2), whole(0, 9, 1, 2))
    yield "stack", lambda a, b: torch.stack([a, b, a + b], 1), (real(3, 5), real(3, 5))
    yield "cat-then-norm", lambda a, b: torch.softmax(torch.cat([a, b], 1), 1), (real(3, 2), real(3, 4))
    yield "pad", lambda a: F.pad(a, (1, 2)), (x,)
    yield "pad-value", lambda a: F.pad(a, (1, 2, 3, 0), value=0.5), (x,)
    yield "pad-crop", lambda a: F.pad(a, (-1, 2)), (x,)
    yield "pad-computed", lambda a, b: F.pad(a + b, (1, 2)), (x, real(3, 5))
    yield "pad-view", lambda a: F.pad(a.reshape(15), (1, 2)), (x,)
    yield "pad-reflect", lambda a: F.pad(a, (2, 3), mode="reflect"), (real(2, 3, 5),)
    yield "pad-reflect-2d", lambda a: F.pad(a, (2, 1, 1, 2), mode="reflect"), (real(2, 3, 4, 5),)
    yield "pad-replicate", lambda a: F.pad(a, (2, 3), mode="replicate"), (real(2, 3, 5),)
    yield "slice-scatter", lambda a, b: torch.slice_scatter(a, b, 1, 1, 3), (x, real(3, 2))
    yield "slice-scatter-step", lambda a, b: torch.slice_scatter(a, b, 1, 0, 5, 2), (x, real(3, 3))
    yield "select-scatter", lambda a, b: torch.select_scatter(a, b, 1, -2), (x, real(3))
    yield "diagonal-scatter", lambda a, b: torch.diagonal_scatter(a, b, 1), (x, real(3))
    yield "diag-embed", lambda a: torch.diag_embed(a, 1), (x,)
    yield "tril", torch.tril, (real(4, 5),)
    yield "triu", lambda a: torch.triu(a, 1), (real(2, 4, 5),)
    yield "triu-matmul", lambda a, b: torch.triu(a @ b), (real(4, 4), real(4, 4))


def _reductions() -> Iterator[Case]:
    x = real(3, 4, 5)
    for name in ("sum", "mean", "amax", "amin", "prod"):
        yield f"{name}-last", lambda a, n=name: getattr(a, n)(-1), (x,)
        yield f"{name}-first-kept", lambda a, n=name: getattr(a, n)(0, keepdim=True), (x,)
    for name in ("sum", "mean", "amax"):
        yield f"{name}-two", lambda a, n=name: getattr(a, n)((0, 2)), (x,)
    for name in ("sum", "mean", "max", "min", "prod"):
        yield f"{name}-all", lambda a, n=name: getattr(a, n)(), (x,)
    for name in ("max", "min"):
        yield f"{name}-dim", lambda a, n=name: list(getattr(a, n)(1)), (x,)
    for name in ("argmax", "argmin"):
        yield f"{name}-dim", lambda a, n=name: getattr(a, n)(1), (x,)
        yield f"{name}-all", lambda a, n=name: getattr(a, n)(), (x,)
        yield f"{name}-ties", lambda a, n=name: getattr(a, n)(1, keepdim=True), (whole(0, 2, 4, 9).float(),)
    yield "any", lambda a: (a > 1).any(1), (x,)
    yield "all", lambda a: (a > -1).all(-1), (x,)
    yield "any-all", lambda a: (a > 1).any(), (x,)
    yield "any-int", lambda a: a.any(1), (whole(0, 2, 3, 5),)
    yield "sum-int", lambda a: a.sum(1), (whole(-9, 9, 3, 5, dtype=torch.int32),)
    yield "sum-bool", lambda a: (a > 0).sum(), (x,)
    yield "mean-half", lambda a: a.mean(1), (real(3, 5, dtype=torch.float16),)
    yield "sum-dtype", lambda a: a.sum(1, dtype=torch.float32), (real(3, 5, dtype=torch.float16),)
    yield "count-nonzero", lambda a: torch.count_nonzero(a, 1), (whole(0, 2, 3, 5),)
    for name in ("var", "std"):
        yield f"{name}-last", lambda a, n=name: getattr(a, n)(-1), (x,)
        yield f"{name}-biased", lambda a, n=name: getattr(a, n)((0, 1), correction=0, keepdim=True), (x,)
        yield f"{name}-all", lambda a, n=name: getattr(a, n)(), (x,)
        yield f"{name}-unbiased-flag", lambda a, n=name: getattr(a, n)(1, unbiased=False), (x,)
    yield "var-mean", lambda a: list(torch.var_mean(a, 1)), (x,)
    for order in (0, 1, 2, 3, math.inf, -math.inf):
        yield f"norm-{order}", lambda a, o=order: torch.linalg.vector_norm(a, o, dim=-1), (x,)
    yield "norm-all", lambda a: a / a.norm(), (x,)
    yield "norm-fro", lambda a: torch.norm(a, p="fro"), (x,)
    yield "normalize", lambda a: F.normalize(a, dim=1), (x,)
    yield "logsumexp", lambda a: torch.logsumexp(a, 1), (x,)
    yield "logsumexp-inf", lambda a: torch.logsumexp(a, 1), (torch.tensor([[-math.inf, -math.inf], [math.inf, 1.0], [0.0, -math.inf]]),)  # fmt: skip
    yield "nansum", lambda a: torch.nansum(a, 1), (torch.tensor([[1.0, math.nan], [2.0, 3.0]]),)
    yield "aminmax", lambda a: list(torch.aminmax(a, dim=1)), (x,)
    yield "nan-max", lambda a: a.amax(1), (torch.tensor([[1.0, math.nan], [2.0, 3.0]]),)
    yield "max-of-one", lambda a: a.amax(1, keepdim=True), (real(3, 1),)
    yield "l1-norm", lambda a: a / a.abs().mean(1, keepdim=True), (x,)
    yield "dist", torch.dist, (real(3, 5), real(3, 5))
    yield "cosine", lambda a, b: F.cosine_similarity(a, b, dim=1), (x, real(3, 4, 5))
    yield "cdist", torch.cdist, (real(2, 3, 5), real(2, 4, 5))
    yield "cdist-1", lambda a, b: torch.cdist(a, b, p=1.0), (real(3, 5), real(4, 5))
    yield "pairwise", F.pairwise_distance, (real(3, 5), real(3, 5))


def _norms() -> Iterator[Case]:
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
    yield "instance-norm", lambda a: F.instance_norm(a), (real(2, 3, 4, 5),)
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
    yield "batch-norm-eval", lambda a, m, v, w, b: F.batch_norm(a, m, v, w, b), (real(4, 3, 5), real(3), positive(3), real(3), real(3))  # fmt: skip
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


def _contractions() -> Iterator[Case]:
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
    yield "sdpa-scale", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3), shape
    yield "sdpa-gqa", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), (real(2, 4, 5, 4), real(2, 2, 6, 4), real(2, 2, 6, 4))  # fmt: skip
    yield "attention", lambda q, k, v: torch.softmax(q @ k.mT / 2, -1) @ v, shape
    yield "relu-attention", lambda q, k, v: F.relu((q @ k.mT / 2).masked_fill(torch.ones(6, 6).triu(1) > 0, -math.inf)) @ v, (real(2, 6, 4), real(2, 6, 4), real(2, 6, 4))  # fmt: skip


def _convolutions() -> Iterator[Case]:
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


def _pools() -> Iterator[Case]:
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


def _scans() -> Iterator[Case]:
    x = real(3, 6)
    for name in ("cumsum", "cumprod", "logcumsumexp"):
        yield name, lambda a, n=name: getattr(torch, n)(a, 1), (x,)
        yield f"{name}-first", lambda a, n=name: getattr(torch, n)(a, 0), (x,)
    for name in ("cummax", "cummin"):
        yield name, lambda a, n=name: list(getattr(torch, n)(a, 1)), (whole(0, 4, 3, 7).float(),)
    yield "cumsum-int", lambda a: torch.cumsum(a, 1), (whole(-5, 5, 3, 6, dtype=torch.int32),)
    yield "cumsum-reverse", lambda a: a.flip(1).cumsum(1).flip(1), (x,)
    yield "cumsum-exclusive", lambda a: torch.cat([torch.zeros(3, 1), a[:, :-1].cumsum(1)], 1), (x,)
    yield "cumsum-masked", lambda a, m: torch.cumsum(a * (m > 0), 1), (x, real(3, 6))
    yield "cumsum-one", lambda a: torch.cumsum(a, 1), (real(3, 1),)
    yield "diff", lambda a: torch.diff(a, dim=1), (x,)
    yield (
        "segment-sum",
        lambda a: torch.exp(a.cumsum(-1).unsqueeze(-1) - a.cumsum(-1).unsqueeze(-2)).tril(),
        (x,),
    )


def _sorts() -> Iterator[Case]:
    x = real(3, 4, 9)
    with_nan = torch.tensor([[2.0, math.nan, -1.0, 2.0], [0.0, 5.0, 5.0, -3.0]])
    yield "sort", lambda a: list(torch.sort(a, -1)), (x,)
    yield (
        "sort-down",
        lambda a: list(torch.sort(a, dim=1, descending=True, stable=True)),
        (whole(0, 3, 3, 9),),
    )
    yield "sort-nan", lambda a: list(torch.sort(a, stable=True)), (with_nan,)
    yield "sort-nan-down", lambda a: list(torch.sort(a, descending=True, stable=True)), (with_nan,)
    yield "argsort", lambda a: torch.argsort(a, 0), (x,)
    yield "topk", lambda a: list(torch.topk(a, 3)), (x,)
    yield "topk-smallest", lambda a: list(torch.topk(a, 2, dim=1, largest=False)), (x,)
    yield "router", lambda a: list(torch.topk(torch.softmax(a, -1), 2)), (x,)
    yield "kthvalue", lambda a: list(torch.kthvalue(a, 3, 2)), (x,)
    yield "median", lambda a: list(torch.median(a, -1)), (x,)
    yield "median-nan", lambda a: torch.median(a, 1).values, (with_nan,)
    yield "median-flat", torch.median, (real(7),)
    yield "quantile", lambda a: torch.quantile(a, 0.3, dim=-1), (x,)
    yield "bucketize", torch.bucketize, (x, torch.tensor([-1.0, 0.0, 1.0]))
    yield (
        "bucketize-right",
        lambda a, b: torch.bucketize(a, b, right=True),
        (whole(0, 5, 9), torch.tensor([1, 2, 4])),
    )
    yield (
        "searchsorted",
        torch.searchsorted,
        (torch.tensor([[1.0, 2.0, 4.0], [0.0, 3.0, 5.0]]), real(2, 6) * 3),
    )


def _gathers() -> Iterator[Case]:
    x = real(5, 7)
    rows, columns = whole(0, 5, 4), whole(0, 7, 4)
    yield "embedding", lambda w, i: F.embedding(i, w), (x, whole(0, 5, 2, 3))
    yield "embedding-int32", lambda w, i: F.embedding(i, w), (x, whole(0, 5, 2, 3, dtype=torch.int32))
    yield "index-select", lambda a, i: a.index_select(1, i), (x, columns)
    yield "gather", lambda a, i: a.gather(1, i), (x, whole(0, 7, 5, 3))
    yield "gather-computed", lambda a, i: torch.log_softmax(a, 1).gather(1, i), (x, whole(0, 7, 5, 3))
    yield "take-along", lambda a, i: torch.take_along_dim(a, i, 1), (x, whole(0, 7, 5, 3))
    yield "index-one", lambda a, i: a[i], (x, whole(-5, 5, 4))
    yield "index-two", lambda a, i, j: a[i, j], (x, rows, columns)
    yield "index-second", lambda a, i: a[:, i], (x, whole(0, 7, 2, 3))
    yield "index-outer", lambda a, i, j: a[i.unsqueeze(1), j], (x, rows, columns)
    yield "index-apart", lambda a, i, j: a[i, :, j], (real(5, 3, 7), rows, columns)
    yield "index-computed", lambda a, i: torch.exp(a)[i] + 1, (x, rows)
    yield "one-hot", lambda i: F.one_hot(i, 7), (columns,)
    yield "scatter-value", lambda a, i: a.scatter(1, i, 2.0), (x, whole(0, 7, 5, 2))
    yield "scatter", lambda a, s: a.scatter(1, torch.arange(6, -1, -1).expand(5, 7), s), (x, real(5, 7))
    yield "scatter-add", lambda a, i, s: a.scatter_add(1, i, s), (x, whole(0, 7, 5, 9), real(5, 9))
    yield "scatter-add-short", lambda a, i, s: a.scatter_add(0, i, s), (x, whole(0, 5, 3, 4), real(3, 4))
    for how in ("sum", "prod", "mean", "amax", "amin"):
        yield (
            f"scatter-{how}",
            lambda a, i, s, h=how: a.scatter_reduce(1, i, s, h),
            (x, whole(0, 7, 5, 9), real(5, 9)),
        )
        yield f"scatter-{how}-new", lambda a, i, s, h=how: a.scatter_reduce(1, i, s, h, include_self=False), (x, whole(0, 7, 5, 9), real(5, 9))  # fmt: skip
    yield "index-add", lambda a, i, s: a.index_add(0, i, s), (x, whole(0, 5, 9), real(9, 7))
    yield "index-copy", lambda a, i, s: a.index_copy(0, i, s), (x, torch.tensor([3, 0]), real(2, 7))
    yield "index-put", lambda a, i, s: a.index_put((i,), s, accumulate=True), (x, whole(0, 5, 9), real(9, 7))
    yield "masked-write", lambda a, s: a.index_put((a < 0,), s), (x, torch.tensor(1.5))
    yield "index-put-value", lambda a, i, s: a.index_put((i,), s), (x, rows, torch.tensor(1.5))


def _creations() -> Iterator[Case]:
    x = real(3, 5)
    yield "arange", lambda a: a + torch.arange(5), (x,)
    yield "arange-step", lambda a: a * torch.arange(1, 11, 2), (x,)
    yield "arange-float", lambda a: a * torch.arange(0.0, 1.25, 0.25), (x,)
    yield "full", lambda a: a + torch.full((3, 5), 2.5), (x,)
    yield "zeros-ones", lambda a: torch.zeros_like(a) + torch.ones(5) * a, (x,)
    yield "eye", lambda a: torch.eye(5) + a[0], (x,)
    yield "linspace", lambda a: a * torch.linspace(0, 1, 5), (x,)
    yield "causal-mask", lambda a: a.masked_fill(torch.arange(5)[None, :] > torch.arange(3)[:, None], 0), (x,)
    yield "positions", lambda a: torch.outer(torch.arange(4).float(), a[0]), (x,)
    yield "copy", lambda a: a.clone(), (x,)
    yield "tril-ones", lambda a: a * torch.tril(torch.ones(3, 5)), (x,)


def _losses() -> Iterator[Case]:
    x, y = real(5, 7), real(5, 7)
    target = whole(0, 7, 5)
    yield "mse", F.mse_loss, (x, y)
    yield "mse-sum", lambda a, b: F.mse_loss(a, b, reduction="sum"), (x, y)
    yield "l1", F.l1_loss, (x, y)
    yield "smooth-l1", F.smooth_l1_loss, (x, y)
    yield "huber", lambda a, b: F.huber_loss(a, b, delta=0.7), (x, y)
    yield "hinge", lambda a, t: torch.clamp(1 - a * t, min=0).mean(), (x, real(5, 7).sign())
    yield "hinge-embedding", F.hinge_embedding_loss, (x, real(5, 7).sign())
    yield "kl", lambda a, b: F.kl_div(a.log_softmax(1), b.softmax(1), reduction="batchmean"), (x, y)
    yield "bce", F.binary_cross_entropy, (torch.sigmoid(x), torch.sigmoid(y))
    yield "bce-logits", F.binary_cross_entropy_with_logits, (x, torch.sigmoid(y))
    yield "cross-entropy", F.cross_entropy, (x, target)
    yield "cross-entropy-none", lambda a, t: F.cross_entropy(a, t, reduction="none"), (x, target)
    yield "cross-entropy-smooth", lambda a, t: F.cross_entropy(a, t, label_smoothing=0.1), (x, target)
    yield "cross-entropy-ignored", lambda a, t: F.cross_entropy(a, t, ignore_index=2), (x, target)
    yield "cross-entropy-weight", F.cross_entropy, (x, target, positive(7))
    yield "cross-entropy-soft", lambda a, b: F.cross_entropy(a, b.softmax(1)), (x, y)
    yield "cross-entropy-2d", F.cross_entropy, (real(2, 4, 3, 3), whole(0, 4, 2, 3, 3))
    yield "nll", lambda a, t: F.nll_loss(a.log_softmax(1), t, reduction="sum"), (x, target)
    yield "triplet", F.triplet_margin_loss, (x, y, real(5, 7))
    yield "cosine-embedding", F.cosine_embedding_loss, (x, y, real(5).sign())
    yield "margin-ranking", F.margin_ranking_loss, (x, y, real(5, 7).sign())
    yield "poisson", F.poisson_nll_loss, (x, positive(5, 7))
    yield "soft-margin", F.soft_margin_loss, (x, real(5, 7).sign())


def _resizes() -> Iterator[Case]:
    two = real(2, 3, 5, 4)
    yield "nearest-1d", lambda a: F.interpolate(a, scale_factor=2), (real(2, 3, 5),)
    yield "nearest-2d", lambda a: F.interpolate(a, scale_factor=2), (two,)
    yield "nearest-size", lambda a: F.interpolate(a, size=(7, 9)), (two,)
    yield "nearest-down", lambda a: F.interpolate(a, size=(3, 2)), (two,)
    yield "nearest-exact", lambda a: F.interpolate(a, size=(7, 9), mode="nearest-exact"), (two,)
    yield "nearest-3d", lambda a: F.interpolate(a, scale_factor=2), (real(1, 2, 2, 3, 4),)
    yield "linear", lambda a: F.interpolate(a, size=9, mode="linear"), (real(2, 3, 5),)
    yield "bilinear-resize", lambda a: F.interpolate(a, scale_factor=2, mode="bilinear"), (two,)
    yield (
        "bilinear-aligned",
        lambda a: F.interpolate(a, size=(9, 7), mode="bilinear", align_corners=True),
        (two,),
    )
    yield "bilinear-size", lambda a: F.interpolate(a, size=(7, 3), mode="bilinear"), (two,)
    yield "trilinear", lambda a: F.interpolate(a, scale_factor=2, mode="trilinear"), (real(1, 2, 2, 3, 4),)
    for mode in ("bilinear", "nearest"):
        yield (
            f"grid-{mode}",
            lambda a, g, m=mode: F.grid_sample(a, g, mode=m, align_corners=False),
            (two, unit(2, 3, 4, 2) * 1.3),
        )
    yield (
        "grid-border",
        lambda a, g: F.grid_sample(a, g, padding_mode="border", align_corners=True),
        (two, unit(2, 3, 4, 2) * 1.3),
    )
    yield "bicubic", lambda a: F.interpolate(a, scale_factor=2, mode="bicubic"), (two,)


def _cells() -> Iterator[Case]:
    x, h, c = real(3, 4), real(3, 5), real(3, 5)

    def lstm(x, h, c, w, u, b):
        i, f, g, o = (x @ w + h @ u + b).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return [torch.sigmoid(o) * torch.tanh(c), c]

    def gru(x, h, w, u):
        a, b = (x @ w).chunk(3, 1), (h @ u).chunk(3, 1)
        r, z = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
        return (1 - z) * torch.tanh(a[2] + r * b[2]) + z * h

    yield "rnn-cell", lambda x, h, w: torch.tanh(torch.cat([x, h], 1) @ w), (x, h, real(9, 5))
    yield "lstm-cell", lstm, (x, h, c, real(4, 20), real(5, 20), real(20))
    yield "gru-cell", gru, (x, h, real(4, 15), real(5, 15))


FAMILIES: dict[str, Callable[[], Iterator[Case]]] = {
    "pointwise": _pointwise,
    "view": _views,
    "join": _joins,
    "reduction": _reductions,
    "norm": _norms,
    "contraction": _contractions,
    "convolution": _convolutions,
    "pooling": _pools,
    "scan": _scans,
    "sort": _sorts,
    "gather": _gathers,
    "creation": _creations,
    "loss": _losses,
    "resize": _resizes,
    "cell": _cells,
}


def cases() -> list[Case]:
    """Return every case, named `family/case`."""
    return [
        (f"{family}/{name}", make, inputs)
        for family, listed in FAMILIES.items()
        for name, make, inputs in listed()
    ]
