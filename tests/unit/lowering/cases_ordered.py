"""Cases of scans, sorting, indexing, losses and interpolation."""

# pyright: basic
# A table of short lambdas: naming the type of each parameter would hide what the case is.

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from tests.unit.lowering.inputs import Case, positive, real, unit, whole


def scans() -> Iterator[Case]:
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


def sorts() -> Iterator[Case]:
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


def gathers() -> Iterator[Case]:
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


def losses() -> Iterator[Case]:
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


def resizes() -> Iterator[Case]:
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
