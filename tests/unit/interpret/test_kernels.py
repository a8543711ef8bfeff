"""Kernels of every family against PyTorch, and through the compiler for real targets."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest
import torch

from tilespec import interpret
from tilespec.assemble import Assembler

PATH: Final = Path(__file__).with_name("kernels.py")
TOLERANCES: Final = {torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
TARGETS: Final = ("sm_80", "sm_100", "sm_120")


@pytest.fixture(scope="module")
def kernels() -> ModuleType:
    return interpret.load_module(PATH)


def random(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def agree(got: torch.Tensor, expected: torch.Tensor, *, scale: float = 1.0) -> None:
    limit = TOLERANCES[got.dtype] * scale
    torch.testing.assert_close(got.double(), expected.double(), rtol=limit, atol=limit)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("shape", [(1, 1), (7, 100), (4, 128)])
def test_softmax(kernels: ModuleType, shape: tuple[int, int], dtype: torch.dtype) -> None:
    x = random(*shape, dtype=dtype)
    agree(kernels.softmax(x), torch.softmax(x.double(), 1))


@pytest.mark.parametrize("shape", [(3, 64), (2, 333), (1, 5)])
def test_softmax_in_chunks(kernels: ModuleType, shape: tuple[int, int]) -> None:
    x = random(*shape) * 10
    x[0, 0] = -torch.inf
    agree(kernels.softmax_online(x), torch.softmax(x.double(), 1))


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("shape", [(5, 96), (8, 256), (1, 3)])
def test_layer_norm(kernels: ModuleType, shape: tuple[int, int], dtype: torch.dtype) -> None:
    x, w, b = (
        random(*shape, dtype=dtype),
        random(shape[1], dtype=dtype, seed=1),
        random(shape[1], dtype=dtype, seed=2),
    )
    expected = torch.nn.functional.layer_norm(x.double(), shape[1:], w.double(), b.double(), 1e-5)
    agree(kernels.layer_norm(x, w, b), expected, scale=2.0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shape", [(1, 1, 1), (100, 70, 45), (64, 64, 32)])
def test_linear_relu(kernels: ModuleType, shape: tuple[int, int, int], dtype: torch.dtype) -> None:
    m, n, k = shape
    a, b, bias = random(m, k, dtype=dtype), random(k, n, dtype=dtype, seed=1), random(n, dtype=dtype, seed=2)
    agree(kernels.linear_relu(a, b, bias), torch.relu(a.double() @ b.double() + bias.double()), scale=4.0)


def test_linear_relu_in_tf32(kernels: ModuleType) -> None:
    a, b, bias = random(40, 50), random(50, 30, seed=1), random(30, seed=2)
    got = kernels.linear_relu(a, b, bias)
    exact = torch.relu(a.double() @ b.double() + bias.double())
    assert 1e-5 < (got - exact).abs().max() < 2e-2


def test_attention(kernels: ModuleType) -> None:
    q, k, v = (random(2, length, 16, dtype=torch.float16, seed=length) for length in (45, 39, 39))
    expected = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double())
    agree(kernels.attention(q, k, v), expected, scale=2.0)


@pytest.mark.parametrize("shape", [(2, 9, 17), (1, 1, 1), (1, 8, 32)])
def test_max_pool(kernels: ModuleType, shape: tuple[int, int, int]) -> None:
    x = random(*shape)
    x[0, 0, 0] = torch.nan
    expected = torch.nn.functional.max_pool2d(x, 3, stride=2, padding=1)
    torch.testing.assert_close(kernels.max_pool(x), expected, rtol=0, atol=0, equal_nan=True)


def test_cumsum(kernels: ModuleType) -> None:
    x = random(3, 50)
    agree(kernels.cumsum(x), torch.cumsum(x.double(), 1))


def test_column_sum(kernels: ModuleType) -> None:
    x = random(37, 50)
    agree(kernels.column_sum(x), x.double().sum(0))


def test_embedding(kernels: ModuleType) -> None:
    table, ids = random(10, 24, dtype=torch.float16), torch.tensor([3, 0, 9, 3, -1])
    expected = table[ids]
    expected[4] = 0
    assert torch.equal(kernels.embedding(table, ids), expected)


def test_dropout(kernels: ModuleType) -> None:
    kept = kernels.dropout(10_000, 0.7)
    assert abs(kept.float().mean().item() - 0.7) < 0.02
    assert torch.equal(kept, kernels.dropout(10_000, 0.7))


def launches() -> list[interpret.LaunchRecord]:
    """Run every launcher once and return what was launched."""
    module = interpret.load_module(PATH)
    half = torch.float16
    calls: list[Callable[[], object]] = [
        lambda: module.softmax(random(4, 100, dtype=half)),
        lambda: module.softmax_online(random(2, 100)),
        lambda: module.layer_norm(random(4, 96, dtype=half), random(96, dtype=half), random(96, dtype=half)),
        lambda: module.linear_relu(
            random(40, 40, dtype=half), random(40, 40, dtype=half), random(40, dtype=half)
        ),
        lambda: module.linear_relu(random(40, 40), random(40, 40), random(40)),
        lambda: module.attention(*(random(2, 20, 16, dtype=half) for _ in range(3))),
        lambda: module.max_pool(random(1, 8, 8)),
        lambda: module.cumsum(random(2, 20)),
        lambda: module.column_sum(random(20, 20)),
        lambda: module.embedding(random(4, 20), torch.tensor([1, 2])),
        lambda: module.dropout(100, 0.5),
    ]
    with interpret.recording() as records:
        for call in calls:
            call()
    return records


def test_every_kernel_compiles() -> None:
    """All for one target, the three that matter most for each, and the ragged variant of one."""
    records = launches()
    jobs = [interpret.job_of(record, "sm_90", aligned=True) for record in records]
    common = [
        record
        for record in records
        if record.kernel.name in ("softmax_rows", "layer_norm_rows", "matmul_tiles")
    ]
    jobs += [interpret.job_of(record, target, aligned=True) for record in common for target in TARGETS]
    jobs.append(interpret.job_of(records[0], "sm_90", aligned=False))
    with Assembler(2) as assembler:
        done = assembler.compile_all(jobs)
    assert {each.kernel: each.error for each in done if each.error is not None} == {}
    assert all(each.cubin_size for each in done)


@pytest.mark.gpu
def test_the_gpu_agrees() -> None:
    """The same source on a GPU, within one rounding step of the interpreter."""
    spec = importlib.util.spec_from_file_location("kernels_on_gpu", PATH)
    assert spec is not None
    assert spec.loader is not None
    real = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(real)
    mine = interpret.load_module(PATH)
    half = torch.float16
    cases: dict[str, tuple[torch.Tensor, ...]] = {
        "softmax": (random(7, 100, dtype=half),),
        "softmax_online": (random(3, 333),),
        "layer_norm": (random(5, 96, dtype=half), random(96, dtype=half), random(96, dtype=half)),
        "linear_relu": (random(100, 45, dtype=half), random(45, 70, dtype=half), random(70, dtype=half)),
        "attention": tuple(random(2, 40, 16, dtype=half, seed=seed) for seed in range(3)),
        "cumsum": (random(3, 50),),
        "column_sum": (random(37, 50),),
        "embedding": (random(10, 24), torch.tensor([1, 2, 9])),
    }
    for name, arguments in cases.items():
        on_gpu = getattr(real, name)(*(argument.cuda() for argument in arguments)).cpu()
        agree(getattr(mine, name)(*arguments), on_gpu)
