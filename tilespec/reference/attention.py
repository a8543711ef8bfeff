"""Attention as mathematics: what `scaled_dot_product_attention` computes, in products and a softmax."""

from __future__ import annotations

import torch
from torch import SymFloat, Tensor

__all__ = ["scaled_dot_product_attention"]


def scaled_dot_product_attention(  # noqa: PLR0913 (torch's signature)
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,  # noqa: FBT001, FBT002 (torch's signature)
    scale: float | SymFloat | None = None,
    enable_gqa: bool = False,  # noqa: FBT001, FBT002 (torch's signature)
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
    factor = query.size(-1) ** -0.5 if scale is None else scale
    scores = query @ key.transpose(-2, -1) * factor
    if is_causal:
        kept = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool, device=query.device).tril()
        scores = scores.masked_fill(kept.logical_not(), float("-inf"))
    elif attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(attn_mask.logical_not(), float("-inf"))
    elif attn_mask is not None:
        scores = scores + attn_mask
    return torch.softmax(scores, -1) @ value


def _repeat_heads(tensor: Tensor, times: int) -> Tensor:
    *lead, heads, length, width = tensor.shape
    repeated = tensor.unsqueeze(-3).expand(*lead, heads, times, length, width)
    return repeated.reshape(*lead, heads * times, length, width)
