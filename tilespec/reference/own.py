# ruff: noqa: A001, A002, ANN401, FBT001, FBT002 (the signatures are torch's)
"""Functions that a trace takes apart by their mathematics, where torch picks an implementation by device or writes in place.

Each has torch's signature and torch's result. Evaluation on real tensors calls torch itself, so tests hold the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import SymFloat, Tensor
from torch.nn import functional

__all__ = ["OWN", "interpolation"]


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | SymFloat | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Compute attention as torch does, without its choice of a fused kernel.

    Raises:
        ValueError: dropout is asked for, or both a mask and `is_causal`.
    """
    if dropout_p:
        message = "dropout is not supported"
        raise ValueError(message)
    if is_causal and attn_mask is not None:
        message = "is_causal and attn_mask exclude each other"
        raise ValueError(message)
    if enable_gqa:
        # Each key head serves a run of query heads.
        key = _repeat_heads(key, query.size(-3) // key.size(-3))
        value = _repeat_heads(value, query.size(-3) // value.size(-3))
    factor: Any = query.size(-1) ** -0.5 if scale is None else scale
    scores = torch.mul(query @ key.transpose(-2, -1), factor)
    if is_causal:
        kept = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool, device=query.device).tril()
        scores = scores.masked_fill(kept.logical_not(), float("-inf"))
    elif attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(attn_mask.logical_not(), float("-inf"))
    elif attn_mask is not None:
        scores = scores + attn_mask
    # A row without any key that counts gives zeros.
    weights: Tensor = torch.ops.aten._safe_softmax(scores, -1)  # noqa: SLF001 (the ATen op's name)
    return weights @ value


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | SymFloat | None = None,
) -> Tensor:
    """Normalise by the root mean square as torch does, which would build the value of `eps` into the trace."""
    dims = tuple(range(-len(normalized_shape), 0))
    if tuple(input.shape[len(input.shape) - len(normalized_shape) :]) != tuple(normalized_shape):
        message = f"normalized_shape {list(normalized_shape)} is not the end of the input's shape"
        raise ValueError(message)
    wide = input.float() if input.dtype in {torch.float16, torch.bfloat16} else input
    floor: Any = torch.finfo(wide.dtype).eps if eps is None else eps
    result = wide * torch.rsqrt(wide.pow(2).mean(dims, keepdim=True) + floor)
    return (result if weight is None else result * weight).to(input.dtype)


def _repeat_heads(tensor: Tensor, times: int) -> Tensor:
    *lead, heads, length, width = tensor.shape
    repeated = tensor.unsqueeze(-3).expand(*lead, heads, times, length, width)
    return repeated.reshape(*lead, heads * times, length, width)


def _pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    if mode != "circular":
        return functional.pad(input, pad, mode, value)
    for index in range(len(pad) // 2):
        dim = -1 - index
        before, after = pad[2 * index], pad[2 * index + 1]
        parts = [input.narrow(dim, input.size(dim) - before, before)] if before else []
        parts.append(input)
        if after:
            parts.append(input.narrow(dim, 0, after))
        input = torch.cat(parts, dim) if len(parts) > 1 else input
    return input


def _max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    def two(value: Any, rest: int) -> tuple[Any, Any]:
        return rest, value[0] if isinstance(value, tuple | list) else value

    step = kernel_size if stride is None or stride == [] else stride
    pool: Callable[..., Any] = functional.max_pool2d
    result = pool(
        input.unsqueeze(-2), two(kernel_size, 1), two(step, 1), two(padding, 0), two(dilation, 1), ceil_mode,
        return_indices,
    )  # fmt: skip
    return tuple(part.squeeze(-2) for part in result) if return_indices else result.squeeze(-2)


def _kron(input: Tensor, other: Tensor) -> Tensor:
    rank = max(input.dim(), other.dim())
    left = [1] * (rank - input.dim()) + list(input.shape)
    right = [1] * (rank - other.dim()) + list(other.shape)
    one = input.reshape([size for pair in ((size, 1) for size in left) for size in pair])
    two = other.reshape([size for pair in ((1, size) for size in right) for size in pair])
    return (one * two).reshape([size * times for size, times in zip(left, right, strict=True)])


def _gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    if var.dim() < input.dim():
        var = var.unsqueeze(-1)
    var = var.clamp(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * _LOG_TAU
    return {"mean": loss.mean, "sum": loss.sum}[reduction]() if reduction != "none" else loss


_LOG_TAU = 1.8378770664093453


def _gates(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
) -> tuple[Tensor, Tensor]:
    return functional.linear(input, w_ih, b_ih), functional.linear(hx, w_hh, b_hh)


def _quarters(gates: Tensor, count: int) -> list[Tensor]:
    width = gates.size(-1) // count
    return [gates.narrow(-1, index * width, width) for index in range(count)]


def _lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    hidden, cell = hx
    one, two = _gates(input, hidden, w_ih, w_hh, b_ih, b_hh)
    enter, forget, new, out = _quarters(one + two, 4)
    cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
    return out.sigmoid() * cell.tanh(), cell


def _gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    one, two = _gates(input, hx, w_ih, w_hh, b_ih, b_hh)
    (reset, update, new), (reset2, update2, new2) = _quarters(one, 3), _quarters(two, 3)
    kept = (update + update2).sigmoid()
    fresh = (new + (reset + reset2).sigmoid() * new2).tanh()
    return (hx - fresh) * kept + fresh


def _rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    one, two = _gates(input, hx, w_ih, w_hh, b_ih, b_hh)
    return torch.tanh(one + two)


def _rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    one, two = _gates(input, hx, w_ih, w_hh, b_ih, b_hh)
    return torch.relu(one + two)


def _diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    if n > _DIFFERENCES:
        message = f"more than {_DIFFERENCES} differences in a row"
        raise ValueError(message)
    return torch.diff(input, n, dim, prepend, append)


_DIFFERENCES = 16


def _take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    if dim is None:
        return input.reshape(-1).gather(0, indices.reshape(-1))
    return input.gather(dim, indices)


OWN: Mapping[str, Callable[..., Any]] = {
    "torch.nn.functional.scaled_dot_product_attention": scaled_dot_product_attention,
    "torch.nn.functional.rms_norm": rms_norm,
    "torch.rms_norm": rms_norm,
    "torch.nn.functional.pad": _pad,
    "torch.nn.functional.max_pool1d": _max_pool1d,
    "torch.max_pool1d": _max_pool1d,
    "torch.nn.functional.gaussian_nll_loss": _gaussian_nll_loss,
    "torch.kron": _kron,
    "torch.lstm_cell": _lstm_cell,
    "torch.gru_cell": _gru_cell,
    "torch.rnn_tanh_cell": _rnn_tanh_cell,
    "torch.rnn_relu_cell": _rnn_relu_cell,
    "torch.diff": _diff,
    "Tensor.diff": _diff,
    "torch.take_along_dim": _take_along_dim,
    "Tensor.take_along_dim": _take_along_dim,
    "Tensor.kron": _kron,
}
"""By the path that the reader writes; methods stand under `Tensor`."""


def interpolation(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> tuple[Any, list[Any]] | None:
    """Return the one ATen call that `F.interpolate` makes, as `(op, arguments)`; None when it is made of several."""
    rank = input.dim() - 2
    name = _UPSAMPLE.get((mode, rank))
    if name is None or antialias or recompute_scale_factor or (size is None) == (scale_factor is None):
        return None

    def every(value: Any) -> list[Any] | None:
        if value is None:
            return None
        return list(value) if isinstance(value, tuple | list) else [value] * rank

    factors = every(scale_factor)
    arguments: list[Any] = [input, every(size)]
    if not mode.startswith("nearest"):
        arguments.append(bool(align_corners))
    arguments.append(None if factors is None else [float(factor) for factor in factors])
    return getattr(torch.ops.aten, name).vec, arguments


_UPSAMPLE = {
    ("nearest", 1): "upsample_nearest1d",
    ("nearest", 2): "upsample_nearest2d",
    ("nearest", 3): "upsample_nearest3d",
    ("nearest-exact", 1): "_upsample_nearest_exact1d",
    ("nearest-exact", 2): "_upsample_nearest_exact2d",
    ("nearest-exact", 3): "_upsample_nearest_exact3d",
    ("linear", 1): "upsample_linear1d",
    ("bilinear", 2): "upsample_bilinear2d",
    ("trilinear", 3): "upsample_trilinear3d",
}
