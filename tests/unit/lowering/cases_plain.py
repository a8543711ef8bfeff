"""Cases of pointwise math, views, joins, reductions and creation."""

# pyright: basic
# A table of short lambdas: naming the type of each parameter would hide what the case is.

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from tests.unit.lowering.inputs import Case, positive, real, unit, whole

_UNARY = "exp exp2 expm1 sigmoid sin cos tan atan sinh cosh tanh asinh erf erfc floor ceil round trunc neg abs sign sgn square frac"
_POSITIVE = "log log2 log10 log1p sqrt rsqrt reciprocal logit"
_UNIT = "asin acos atanh"
_ACTIVATIONS = (
    "relu relu6 silu mish softplus elu selu celu gelu hardswish hardsigmoid hardtanh leaky_relu logsigmoid softsign "
    "tanhshrink softshrink hardshrink"
)


def unary() -> Iterator[Case]:
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


def binary() -> Iterator[Case]:
    x = real(3, 5)
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
    yield "to-fp8", lambda a: a.to(torch.float8_e4m3fn).to(torch.float32) * 2, (x,)
    yield "from-fp8", lambda a: a.float() + 1, (x.to(torch.float8_e5m2),)
    yield "pow-int-11", lambda a: a**11, (whole(-9, 9, 3, 5),)
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


def bits_and_choices() -> Iterator[Case]:
    x = real(3, 5)
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


def views() -> Iterator[Case]:
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
    yield "diag-sum", torch.trace, (real(4, 5),)
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


def joins() -> Iterator[Case]:
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


def reductions() -> Iterator[Case]:
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


def creations() -> Iterator[Case]:
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
