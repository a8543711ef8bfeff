"""How each operation of the registry is written in a reference, where its operands alone say what it computes.

An operation that isn't here has arguments which no field of the format gives: a stride, a window, a permutation.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["AXIS", "BINARY", "GATED", "LOSSES", "NORMS", "REDUCTIONS", "ROLES", "UNARY", "WITHOUT_RECIPE"]

UNARY: Mapping[str, str] = MappingProxyType(
    {
        **{
            name: f"F.{name}({{}})"
            for name in (
                "relu", "relu6", "elu", "celu", "selu", "gelu", "silu", "mish", "softplus", "softsign", "tanhshrink",
                "softshrink", "hardshrink",
            )
        },
        **{
            name: f"torch.{name}({{}})"
            for name in (
                "sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos",
                "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "erf", "floor", "ceil", "round", "trunc", "sign",
                "square", "sigmoid",
            )
        },
        "neg": "-{}",
        "abs": "torch.abs({})",
        "log_sigmoid": "F.logsigmoid({})",
        "hard_sigmoid": "F.hardsigmoid({})",
        "hard_swish": "F.hardswish({})",
        "hard_tanh": "F.hardtanh({})",
        "leaky_relu": "F.leaky_relu({})",
    }
)  # fmt: skip
"""One operand, a result of the same shape."""

BINARY: Mapping[str, str] = MappingProxyType(
    {
        "add": "{} + {}",
        "bias_add": "{} + {}",
        "sub": "{} - {}",
        "mul": "{} * {}",
        "scale": "{} * {}",
        "div": "{} / {}",
        "pow": "{} ** {}",
        "maximum": "torch.maximum({}, {})",
        "minimum": "torch.minimum({}, {})",
        "atan2": "torch.atan2({}, {})",
    }
)
"""Two operands that broadcast; the second may be a scalar, except where torch takes tensors only."""

GATED: Mapping[str, str] = MappingProxyType({"swiglu": "F.silu({}) * {}", "geglu": "F.gelu({}) * {}"})
"""A gate and what it multiplies, in this order."""

AXIS: Mapping[str, str] = MappingProxyType(
    {
        "softmax": "torch.softmax({}, dim={})",
        "log_softmax": "torch.log_softmax({}, dim={})",
        "softmin": "F.softmin({}, dim={})",
        "cumsum": "torch.cumsum({}, dim={})",
        "cumprod": "torch.cumprod({}, dim={})",
    }
)
"""One operand and an axis, a result of the same shape; softmax and its kin take the last axis unless told."""

REDUCTIONS: Mapping[str, str] = MappingProxyType(
    {
        name: f"{{}}.{method}(dim={{}}{{}})"
        for name, method in (
            ("sum", "sum"),
            ("mean", "mean"),
            ("max", "amax"),
            ("min", "amin"),
            ("var", "var"),
            ("std", "std"),
            ("logsumexp", "logsumexp"),
        )
    }
)
"""One operand; the axes follow from the shape of the result."""

NORMS = frozenset({"layer_norm", "rms_norm"})
"""One operand, optionally a weight, a bias and `eps`, over the axes of the weight, else the last."""

LOSSES: Mapping[str, str] = MappingProxyType(
    {
        "cross_entropy": "F.cross_entropy({}, {})",
        "mse_loss": "F.mse_loss({}, {})",
        "l1_loss": "F.l1_loss({}, {})",
        "smooth_l1_loss": "F.smooth_l1_loss({}, {})",
    }
)
"""A prediction and a target; the mean of all elements."""

ROLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "weight": ("weight", "gamma", "scale", "w", "g"),
        "bias": ("bias", "beta", "shift", "b"),
        "residual": ("residual", "skip", "shortcut", "identity"),
        "eps": ("eps", "epsilon"),
        "gate": ("gate",),
        "scale": ("scale", "alpha", "factor", "scaling"),
        "slope": ("slope", "negative_slope", "alpha"),
        "low": ("low", "min", "lower", "min_val", "min_value"),
        "high": ("high", "max", "upper", "max_val", "max_value"),
    }
)
"""Names by which an input says which operand it is."""

WITHOUT_RECIPE = MappingProxyType(
    {
        "conv": "a stride, a padding and a dilation",
        "max_pool": "a window and a stride",
        "avg_pool": "a window and a stride",
        "interpolate": "a mode and a size",
        "permute": "an order of axes",
        "transpose": "two axes",
        "reshape": "a shape",
        "cat": "an axis",
        "split": "an axis and sizes",
        "where": "a condition",
        "compare": "a comparison",
        "dropout": "a probability, and draws random numbers",
        "pad": "widths",
        "group_norm": "a number of groups",
        "norm": "an order and axes",
        "topk": "a number of elements",
    }
)
"""What an operation needs beside its operands, by how its name begins."""
