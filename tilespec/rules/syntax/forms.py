"""How the values of fields are written."""

from __future__ import annotations

__all__ = ["FORMS"]

FORMS = {
    "Total kernels": "write the number of kernels, as in `Total kernels: 3`",
    "PyTorch Reference": "write `def reference_<id>(...)` below the field name, or leave the field out",
    "Inputs": "write `name: shape=(B, D), dtype=float16` or `name: scalar float = 1e-5`",
    "Outputs": "write `name: shape=(B, D), dtype=float16`",
    "Operations": "write `[matmul, bias_add, gelu]`",
    "Dependencies": "write `none` or `[first_kernel, second_kernel]`",
    "Shared with": "write the id of a kernel, or a list of ids",
    "Execution order": "write ids joined by `->` (after) and `||` (side by side), as in `a -> b || c`",
    "Dims": "write `B: 1..64`, `D: 64..8192 step 64`, `D_ff: = 4*D` or `H: in {8, 16}`",
    "Types": "write `T in {float16, bfloat16}`",
    "Numerics": "write `accumulate=float32, tf32=never, approximate=[gelu: tanh], tolerance=(1e-2, 1e-2)`",
    "Bench": "write `B=8, S=2048`",
    "Source": "write `model.py:FFN`",
    "Keep in PyTorch": 'write `[dropout] because "inference only"`',
}
