"""What kind of work an ATen op is: allocation and views may stay outside kernels, all else is compute."""

from __future__ import annotations

from tilespec.reference.graph import Node

__all__ = ["ALLOCATION", "GLUE", "JOINS", "VIEWS", "base", "is_compute"]

ALLOCATION = frozenset(
    [
        "empty",
        "empty_like",
        "empty_strided",
        "empty_permuted",
        "new_empty",
        "zeros",
        "zeros_like",
        "new_zeros",
        "ones",
        "ones_like",
        "new_ones",
        "full",
        "full_like",
        "new_full",
        "scalar_tensor",
    ]
)
VIEWS = frozenset(
    [
        "view",
        "reshape",
        "expand",
        "permute",
        "transpose",
        "t",
        "squeeze",
        "unsqueeze",
        "slice",
        "select",
        "split",
        "split_with_sizes",
        "unbind",
        "diagonal",
        "alias",
        "detach",
        "clone",
        "contiguous",
        "unfold",
        "as_strided",
        "narrow",
        "flatten",
        "unflatten",
        "movedim",
        "view_as",
    ]
)
JOINS = frozenset(["cat", "stack"])
GLUE = frozenset(
    [
        "add",
        "sub",
        "rsub",
        "mul",
        "div",
        "neg",
        "reciprocal",
        "pow",
        "sqrt",
        "rsqrt",
        "abs",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log1p",
        "maximum",
        "minimum",
        "clamp",
        "clamp_min",
        "clamp_max",
        "where",
        "masked_fill",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "logical_and",
        "logical_or",
        "logical_not",
        "bitwise_and",
        "bitwise_or",
        "bitwise_not",
        "sum",
        "mean",
        "amax",
        "amin",
        "var",
        "var_mean",
        "square",
        "sign",
        "arange",
        "floor",
        "_to_copy",
        "isinf",
        "isnan",
        "any",
        "all",
        "scalar",
        "copysign",
    ]
)
"""Arithmetic of which larger operations are made when they are written out."""


def base(node: Node) -> str:
    """Return `mm` for `aten.mm.default`, `scalar` for arithmetic on scalars."""
    namespace, name, *_ = node.op.split(".")
    return "scalar" if namespace == "scalar" else name


def is_compute(node: Node) -> bool:
    """Whether a kernel has to perform this node."""
    return base(node) not in ALLOCATION | VIEWS | JOINS | {"scalar"}
