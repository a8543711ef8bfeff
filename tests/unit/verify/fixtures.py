"""A hand-written package in the form that `build` gives, and the bugs that are planted in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from tilespec.diagnostics import SourceText, Span
from tilespec.model.dims import sym
from tilespec.model.types import TensorSpec
from tilespec.verify.subject import Subject

LINEAR = '''\
"""linear: y = x @ w + b, then the sum of every row of y."""

import cuda.tile as ct
import torch


@ct.kernel
def linear_kernel(x, w, b, y, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    m, n = ct.bid(0), ct.bid(1)
    total = ct.full((TM, TN), 0.0, dtype=ct.float32)
    for k in range(ct.cdiv(x.shape[1], TK)):
        left = ct.load(x, (m, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(w, (k, n), (TK, TN), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)
    bias = ct.load(b, (n,), (TN,), padding_mode=ct.PaddingMode.ZERO)
    total = total + bias.astype(ct.float32)
    ct.store(y, (m, n), total.astype(y.dtype))


@ct.kernel
def rows_kernel(y, s, TM: ct.Constant[int], TN: ct.Constant[int]):
    m = ct.bid(0)
    total = ct.full((TM,), 0.0, dtype=ct.float32)
    for n in range(ct.cdiv(y.shape[1], TN)):
        part = ct.load(y, (m, n), (TM, TN), padding_mode=ct.PaddingMode.ZERO)
        total = total + ct.sum(part.astype(ct.float32), axis=1)
    ct.store(s, (m,), total.astype(s.dtype))


def launch(x, w, b):
    """Return `(y, s)`: x (M, K), w (K, N), b (N,), y (M, N), s (M,)."""
    for name, tensor, rank in (("x", x, 2), ("w", w, 2), ("b", b, 1)):
        if tensor.dim() != rank:
            raise ValueError(f"{name}: expected {rank} dims, got {tensor.dim()}")
        if tensor.dtype != torch.float16:
            raise TypeError(f"{name}: expected float16, got {tensor.dtype}")
    M, K = x.shape
    if w.shape[0] != K:
        raise ValueError(f"w: expected {K} in dim 0, got {w.shape[0]}")
    N = w.shape[1]
    if b.shape[0] != N:
        raise ValueError(f"b: expected {N} in dim 0, got {b.shape[0]}")
    y = torch.empty((M, N), dtype=x.dtype, device=x.device)
    s = torch.empty((M,), dtype=x.dtype, device=x.device)
    if M == 0:
        return y, s
    stream = torch.cuda.current_stream()
    TM, TN, TK = 16, 16, 16
    if N > 0:
        ct.launch(stream, (ct.cdiv(M, TM), ct.cdiv(N, TN)), linear_kernel, (x, w, b, y, TM, TN, TK))
    ct.launch(stream, (ct.cdiv(M, TM),), rows_kernel, (y, s, TM, TN))
    return y, s
'''


def linear(values: Mapping[str, Tensor | float | int | bool], widen: bool) -> tuple[Tensor, ...]:  # noqa: FBT001
    x, w, b = (value for value in values.values() if isinstance(value, Tensor))
    if widen:
        x, w, b = x.double(), w.double(), b.double()
    y = x @ w + b
    return y, y.sum(dim=1)


def tensor(name: str, *dims: str, dtype: str = "float16", inplace: str | None = None) -> TensorSpec:
    span = Span(0, 0)
    return TensorSpec(
        name=name,
        shape=tuple(sym(dim) for dim in dims),
        dtype=dtype,
        span=span,
        shape_span=span,
        dtype_span=span,
        inplace=inplace,
    )


RELU = '''\
"""relu: y = x where x is not below 0."""

import cuda.tile as ct
import torch


@ct.kernel
def relu_kernel(x, y, TM: ct.Constant[int], TN: ct.Constant[int]):
    m, n = ct.bid(0), ct.bid(1)
    value = ct.load(x, (m, n), (TM, TN), padding_mode=ct.PaddingMode.ZERO)
    value = ct.where(value < 0.0, 0.0, value)
    ct.store(y, (m, n), value.astype(y.dtype))


def launch(x):
    """Return y (M, N) for x (M, N)."""
    if x.dim() != 2:
        raise ValueError(f"x: expected 2 dims, got {x.dim()}")
    if x.dtype != torch.float32:
        raise TypeError(f"x: expected float32, got {x.dtype}")
    M, N = x.shape
    y = torch.empty((M, N), dtype=x.dtype, device=x.device)
    if M > 0 and N > 0:
        ct.launch(torch.cuda.current_stream(), (ct.cdiv(M, 8), ct.cdiv(N, 32)), relu_kernel, (x, y, 8, 32))
    return y
'''


def relu(values: Mapping[str, Tensor | float | int | bool], widen: bool) -> tuple[Tensor, ...]:  # noqa: FBT001
    (x,) = (value for value in values.values() if isinstance(value, Tensor))
    return ((x.double() if widen else x).relu(),)


def _write(folder: Path, name: str, source: str, reference: str) -> Path:
    kernels = folder / "planted" / "kernels"
    kernels.mkdir(parents=True)
    (folder / "planted" / "__init__.py").write_text("")
    (folder / "planted" / "reference.py").write_text(reference)
    module = kernels / f"{name}.py"
    module.write_text(source)
    return module


def linear_subject(folder: Path, source: str = LINEAR) -> Subject:
    """Write a package with this source below `folder` and return it as a subject."""
    reference = (
        "import torch\n\n\ndef reference_linear(x, w, b):\n    y = x @ w + b\n    return y, y.sum(dim=1)\n"
    )
    return Subject(
        name="linear",
        module=_write(folder, "linear", source, reference),
        function="launch",
        source=SourceText("linear.tilespec", "KERNEL SPEC: linear\n"),
        span=Span(0, 11),
        inputs=(tensor("x", "M", "K"), tensor("w", "K", "N"), tensor("b", "N")),
        outputs=(tensor("y", "M", "N"), tensor("s", "M")),
        reference=linear,
        tiles=(16,),
        reference_name="reference_linear",
    )


def relu_subject(folder: Path, source: str = RELU) -> Subject:
    """Write a package with this source below `folder` and return it as a subject."""
    reference = "import torch\n\n\ndef reference_relu(x):\n    return torch.relu(x)\n"
    return Subject(
        name="relu",
        module=_write(folder, "relu", source, reference),
        function="launch",
        source=SourceText("relu.tilespec", "KERNEL SPEC: relu\n"),
        span=Span(0, 11),
        inputs=(tensor("x", "M", "N", dtype="float32"),),
        outputs=(tensor("y", "M", "N", dtype="float32"),),
        reference=relu,
        tiles=(8, 32),
        reference_name="reference_relu",
    )
