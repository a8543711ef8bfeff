"""The host side of a kernel file: how sizes follow from shapes, and what a launch refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.unit.render.kernels import planned, rendered
from tilespec.interpret import InterpreterError, load_module
from tilespec.ir.nodes import Tensor
from tilespec.model.dims import Expr, sym
from tilespec.render.launcher import bind_symbols

A, B, C, D = (sym(name) for name in "ABCD")


def tensor(name: str, *shape: Expr) -> Tensor:
    return Tensor(name, shape, "float32")


@pytest.mark.parametrize(
    ("tensors", "equations", "bound"),
    [
        ([tensor("x", A, B)], {}, {"A": "x.shape[0]", "B": "x.shape[1]"}),
        ([tensor("x", A), tensor("y", A, B)], {}, {"A": "x.shape[0]", "B": "y.shape[1]"}),
        # A plain dim is preferred to one that must be solved, wherever it stands.
        ([tensor("x", 2 * A), tensor("y", A)], {}, {"A": "y.shape[0]"}),
        ([tensor("x", 2 * A)], {}, {"A": "x.shape[0] // (2)"}),
        ([tensor("x", 2 * A + 1)], {}, {"A": "(x.shape[0] - (1)) // (2)"}),
        ([tensor("x", A + 3)], {}, {"A": "(x.shape[0] - (3))"}),
        ([tensor("x", A * B), tensor("y", B)], {}, {"B": "y.shape[0]", "A": "x.shape[0] // (B)"}),
        ([tensor("x", A + B), tensor("y", B)], {}, {"B": "y.shape[0]", "A": "(x.shape[0] - (B))"}),
        (
            [tensor("x", A), tensor("y", A * B * C), tensor("z", A * B)],
            {},
            {"A": "x.shape[0]", "B": "z.shape[0] // (A)", "C": "y.shape[0] // (A*B)"},
        ),
        ([tensor("x", A)], {"B": 4 * A}, {"A": "x.shape[0]", "B": "4*A"}),
        ([tensor("x", A * B)], {"B": Expr.wrap(8)}, {"B": "8", "A": "x.shape[0] // (B)"}),
        ([tensor("x", Expr.wrap(3))], {}, {}),
        ([], {}, {}),
    ],
)
def test_sizes_follow_from_shapes(tensors: list[Tensor], equations: dict[str, Expr], bound: dict[str, str]):
    found = bind_symbols(tensors, equations)
    assert not isinstance(found, str)
    assert dict(found) == bound


def test_each_size_follows_from_earlier_ones():
    tensors = [tensor("x", A * B * C), tensor("y", A * B), tensor("z", A)]
    found = bind_symbols(tensors, {})
    assert [name for name, _ in found] == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("tensors", "missing"),
    [
        ([tensor("x", A * B)], "A"),
        ([tensor("x", A // 2)], "A"),
        ([tensor("x", A, B + C)], "B"),
        ([tensor("x", A * A)], "A"),
    ],
)
def test_a_size_that_follows_from_nothing_is_named(tensors: list[Tensor], missing: str):
    assert bind_symbols(tensors, {}) == missing


@pytest.fixture
def product(tmp_path: Path) -> ModuleType:
    plan = planned(lambda x, w: x @ w, torch.ones(6, 10), torch.ones(10, 8))
    path = tmp_path / "product.py"
    path.write_text(rendered(plan))
    return load_module(path)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda x, w: (x[0], w), ValueError, r"x0: expected 2 dims \(6, 10\), got shape \(10,\)"),
        (lambda x, w: (x[:, :9], w), ValueError, r"x0: dim 1 \(10\) is 9, expected 10"),
        (lambda x, w: (x, w[:, :7]), ValueError, r"x1: dim 1 \(8\) is 7, expected 8"),
        (lambda x, w: (x.double(), w), TypeError, r"x0: expected torch\.float32, got torch\.float64"),
        (lambda x, w: (x, w.half()), TypeError, r"x1: expected torch\.float32, got torch\.float16"),
        (lambda x, w: (x.to("meta"), w), ValueError, "x0: expected a tensor on"),
        (lambda x, w: (x, w.to("meta")), ValueError, "x1: expected a tensor on"),
        (lambda x, w: (x, w.requires_grad_()), ValueError, "x1: requires grad"),
    ],
)
def test_a_launch_refuses(
    product: ModuleType, change: Callable[..., tuple[torch.Tensor, ...]], error: type[Exception], message: str
):
    arguments = change(torch.ones(6, 10), torch.ones(10, 8))
    with pytest.raises(error, match=message):
        product.launch(*arguments)


def test_a_refused_shape_is_refused_again(product: ModuleType):
    product.launch(torch.ones(6, 10), torch.ones(10, 8))
    for _ in range(2):
        with pytest.raises(ValueError, match="dim 1"):
            product.launch(torch.ones(6, 9), torch.ones(10, 8))


def test_grad_is_refused_after_a_plain_call_of_the_same_shape(product: ModuleType):
    x, w = torch.ones(6, 10), torch.ones(10, 8)
    product.launch(x, w)
    # What depends on shapes is not checked again; `ct.launch` itself refuses such a tensor.
    with pytest.raises(InterpreterError, match="requires grad"):
        product.launch(x.requires_grad_(), w)


def test_strides_don_t_matter(product: ModuleType):
    x, w = torch.randn(10, 6, generator=torch.Generator().manual_seed(0)).t(), torch.ones(10, 16)[:, ::2]
    torch.testing.assert_close(product.launch(x, w), x @ w)


@pytest.mark.parametrize(
    ("shape", "dtype", "rule"),
    [
        ((4, 8), torch.float32, "True"),
        ((3, 3), torch.float32, "False"),
        ((5, 16), torch.uint8, "True"),
        ((5, 3), torch.bool, "False"),
    ],
)
def test_tma_stores_want_multiples_of_16_bytes(shape: tuple[int, ...], dtype: torch.dtype, rule: str):
    text = rendered(planned(lambda x: x.clone().flip(0), torch.ones(shape, dtype=dtype)))
    assert f"TMA_STORE = {rule}" in text


def test_tiles_of_float32_products_are_narrower_before_sm_90():
    x, w = torch.ones(200, 64), torch.ones(64, 200)
    text = rendered(planned(lambda x, w: x @ w, x, w))
    assert "ampere = torch.cuda.get_device_capability(x0.device)[0] < 9" in text
    assert "BLOCK_N = 64 if ampere else 128" in text
    assert "ampere" not in rendered(planned(lambda x, w: x @ w, x[:, :40], w[:40, :50]))
    assert "ampere" not in rendered(planned(lambda x, w: x @ w, x.half(), w.half()))
