"""What operations compute, against values worked out by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

Run = Callable[..., None]


def numbers(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


def test_tiles_are_counted_in_tiles_and_ragged_ones_are_padded(run: Run) -> None:
    x, y = torch.arange(6.0), torch.zeros(4)
    run("ct.store(y, 0, ct.load(x, 1, 4, padding_mode=ct.PaddingMode.NEG_INF))", x=x, y=y)
    assert y.tolist() == [4.0, 5.0, -torch.inf, -torch.inf]


def test_what_a_store_has_outside_is_dropped(run: Run) -> None:
    y = torch.zeros(6)
    run("ct.store(y, 1, ct.arange(4, dtype=ct.float32, start=1))", y=y)
    assert y.tolist() == [0.0, 0.0, 0.0, 0.0, 1.0, 2.0]


def test_order_permutes_the_axes_of_tile_space(run: Run) -> None:
    x = torch.arange(32.0).reshape(4, 8)
    y = torch.zeros(4, 2)
    run("ct.store(y, (0, 0), ct.load(x, (1, 0), (4, 2), order=(1, 0)))", x=x, y=y)
    assert torch.equal(y, x.T[4:8, 0:2])


def test_a_strided_view_is_read_and_written_through_its_strides(run: Run) -> None:
    x = torch.arange(32.0).reshape(4, 8)[:, ::2]
    y = torch.zeros(8, 4)[::2].T
    run("ct.store(y, (0, 0), ct.load(x, (0, 0), (4, 4)) + 1)", x=x, y=y)
    assert torch.equal(y, x + 1)


def test_gather_takes_a_negative_index_as_outside(run: Run) -> None:
    x, y = numbers(10, 20, 30, 40), torch.zeros(4)
    run("ct.store(y, 0, ct.gather(x, ct.arange(4, dtype=ct.int32) * 2 - 2, padding_value=-1))", x=x, y=y)
    assert y.tolist() == [-1.0, 10.0, 30.0, -1.0]


def test_gather_broadcasts_its_indices(run: Run) -> None:
    x, y = torch.arange(16.0).reshape(4, 4), torch.zeros(2, 4)
    run(
        """
        r = ct.arange(2, dtype=ct.int32)[:, None] + 1
        c = ct.arange(4, dtype=ct.int32)[None, :]
        ct.store(y, (0, 0), ct.gather(x, (r, c), mask=c < 3, padding_value=9.0))
        """,
        x=x,
        y=y,
    )
    assert y.tolist() == [[4.0, 5.0, 6.0, 9.0], [8.0, 9.0, 10.0, 9.0]]


def test_scatter_drops_what_is_masked_or_outside(run: Run) -> None:
    y = torch.zeros(4)
    run(
        """
        i = ct.arange(4, dtype=ct.int32)
        ct.scatter(y, i + 1, i + 1.0, mask=i != 1)
        """,
        y=y,
    )
    assert y.tolist() == [0.0, 1.0, 0.0, 3.0]


def test_atomics_return_old_values_and_count_every_update(run: Run) -> None:
    y, old = torch.zeros(2, dtype=torch.int32), torch.zeros(8, dtype=torch.int32)
    run(
        """
        i = ct.arange(8, dtype=ct.int32)
        ct.store(old, 0, ct.atomic_add(y, i // 6, 1))
        """,
        y=y,
        old=old,
    )
    assert y.tolist() == [6, 2]
    assert sorted(old[:6].tolist()) == [0, 1, 2, 3, 4, 5]


def test_compare_and_swap_takes_one_of_many(run: Run) -> None:
    y = torch.zeros(1, dtype=torch.int32)
    run("ct.atomic_cas(y, ct.zeros((4,), ct.int32), 0, ct.arange(4, dtype=ct.int32) + 1)", y=y)
    assert y.item() in (1, 2, 3, 4)


def test_half_arithmetic_rounds_after_every_operation(run: Run) -> None:
    x, y = numbers(2048.0, dtype=torch.float16), torch.zeros(1, dtype=torch.float16)
    run("t = ct.load(x, 0, 1)\nct.store(y, 0, (t + 1.0) - 2048.0)", x=x, y=y)
    assert y.item() == 0.0


def test_a_constant_is_rounded_to_the_dtype_it_meets(run: Run) -> None:
    x, y = numbers(3.0, dtype=torch.bfloat16), torch.zeros(1, dtype=torch.bfloat16)
    run("ct.store(y, 0, ct.load(x, 0, 1) * 0.1)", x=x, y=y)
    assert y.item() == (torch.tensor(0.1).bfloat16() * 3).item()


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("a + 1", "float16"),
        ("a * 2.5", "float16"),
        ("i * 2.5", "float32"),
        ("i + a", "float16"),
        ("b + a", "float16"),
        ("b * 2", "int32"),
        ("-b", "int32"),
        ("i / i", "float32"),
        ("i + n", "int32"),
        ("a * f", "float32"),
        ("a * n", "float16"),
        ("ct.where(b, 1, 2)", "int32"),
        ("ct.where(b, a, 0)", "float16"),
        ("ct.sum(b)", "int32"),
        ("ct.exp(i)", "float32"),
        ("ct.exp(a)", "float16"),
        ("i == i", "bool_"),
        ("a @ a", "float16"),
        ("ct.argmax(a, axis=1)", "int32"),
        ("ct.int16(5)", "int16"),
        ("i.astype(ct.int8) + 100", "int8"),
        ("i // 2", "int32"),
        ("ct.full((4,), 1, ct.uint32) * 2", "uint32"),
    ],
)
def test_promotion(run: Run, expression: str, dtype: str) -> None:
    run(
        f"""
        a = ct.zeros((4, 4), ct.float16)
        i = ct.ones((4, 4), ct.int32)
        b = i > 0
        ct.static_assert(({expression}).dtype == ct.{dtype}, f"{{({expression}).dtype}}")
        """,
        n=1,
        f=1.0,
    )


def test_integers_wrap(run: Run) -> None:
    y = torch.zeros(4, dtype=torch.int64)
    run(
        """
        a = ct.full((1,), 127, ct.int8) + 1
        b = ct.full((1,), 0, ct.uint32) - 1
        c = ct.full((1,), 2147483647, ct.int32) * 2
        d = ct.int16(70000)
        ct.store(y, 0, a.astype(ct.int64))
        ct.store(y, 1, b.astype(ct.int64))
        ct.store(y, 2, c.astype(ct.int64))
        ct.store(y, 3, d)
        """,
        y=y,
    )
    assert y.tolist() == [-128, 4294967295, -2, 4464]


def test_unsigned_64_bit_values_compare_and_divide_as_unsigned(run: Run) -> None:
    y = torch.zeros(4, dtype=torch.float64)
    run(
        """
        a = ct.full((1,), 0, ct.uint64) - 1
        ct.store(y, 0, (a > 1).astype(ct.float64))
        ct.store(y, 1, (a // 4294967296).astype(ct.float64))
        ct.store(y, 2, (a >> 60).astype(ct.float64))
        ct.store(y, 3, a.astype(ct.float64))
        """,
        y=y,
    )
    assert y.tolist() == [1.0, 4294967295.0, 15.0, 2.0**64]


def test_division_rounds_down_and_the_rest_has_the_sign_of_the_divisor(run: Run) -> None:
    x = numbers(-7, 7, -7, 7, dtype=torch.int32)
    d = numbers(2, -2, -2, 2, dtype=torch.int32)
    q, r = torch.zeros_like(x), torch.zeros_like(x)
    run(
        """
        a, b = ct.load(x, 0, 4), ct.load(d, 0, 4)
        ct.store(q, 0, a // b)
        ct.store(r, 0, a % b)
        """,
        x=x,
        d=d,
        q=q,
        r=r,
    )
    assert q.tolist() == [-4, -4, 3, 3]
    assert r.tolist() == [1, -1, -1, 1]


def test_ceil_division(run: Run) -> None:
    x = numbers(-7, 7, 8, 2147483647, dtype=torch.int32)
    y, z = torch.zeros_like(x), torch.zeros(2, dtype=torch.int32)
    run(
        """
        ct.store(y, 0, ct.cdiv(ct.load(x, 0, 4), 4))
        ct.store(z, 0, ct.cdiv(n, 4))
        ct.store(z, 1, ct.cdiv(-n, 4))
        """,
        x=x,
        y=y,
        z=z,
        n=7,
    )
    assert y.tolist() == [-1, 2, 2, 536870912]
    assert z.tolist() == [2, -1]


def test_casts_truncate_and_narrow(run: Run) -> None:
    x = numbers(-1.75, 1.75, 300.0, 2.5)
    i, h = torch.zeros(4, dtype=torch.int32), torch.zeros(4, dtype=torch.bfloat16)
    c = torch.zeros(4, dtype=torch.int8)
    run(
        """
        t = ct.load(x, 0, 4)
        ct.store(i, 0, t.astype(ct.int32))
        ct.store(h, 0, t.astype(ct.bfloat16))
        ct.store(c, 0, t.astype(ct.int32).astype(ct.int8))
        """,
        x=x,
        i=i,
        h=h,
        c=c,
    )
    assert i.tolist() == [-1, 1, 300, 2]
    assert torch.equal(h, x.bfloat16())
    assert c.tolist() == [-1, 1, 44, 2]


def test_nan_loses_unless_it_propagates(run: Run) -> None:
    x, y = numbers(torch.nan, 1.0, torch.nan, torch.nan), torch.zeros(8)
    run(
        """
        t = ct.load(x, 0, 4)
        ct.store(y, 0, ct.max(t))
        ct.store(y, 1, ct.max(t, propagate_nan=True))
        ct.store(y, 2, ct.min(ct.extract(t, 1, 2)))
        ct.store(y, 3, ct.max(ct.extract(t, 1, 2)))
        ct.store(y, 1, ct.maximum(t, 0.0))
        """,
        x=x,
        y=y,
    )
    assert y[0] == 1.0
    assert y[2:4].tolist() == [torch.inf, -torch.inf]
    assert y[4:].tolist() == [0.0, 1.0, 0.0, 0.0]


def test_comparisons_with_nan(run: Run) -> None:
    x, y = numbers(torch.nan), torch.zeros(4)
    run(
        """
        t = ct.load(x, 0, 1)
        ct.store(y, 0, (t == t).astype(ct.float32))
        ct.store(y, 1, (t != t).astype(ct.float32))
        ct.store(y, 2, (t < 1).astype(ct.float32))
        ct.store(y, 3, ct.isnan(t).astype(ct.float32))
        """,
        x=x,
        y=y,
    )
    assert y.tolist() == [0.0, 1.0, 0.0, 1.0]


def test_argmax_takes_the_first_of_equals_and_ranks_nan_last(run: Run) -> None:
    x = torch.tensor([[1.0, 3.0, 3.0, torch.nan], [torch.nan, 5.0, 6.0, 6.0]])
    y = torch.zeros(2, dtype=torch.int32)
    z = torch.zeros(2, dtype=torch.int32)
    run(
        """
        t = ct.load(x, (0, 0), (2, 4))
        ct.store(y, 0, ct.argmax(t, axis=1))
        ct.store(z, 0, ct.argmin(t, axis=1, propagate_nan=True))
        """,
        x=x,
        y=y,
        z=z,
    )
    assert y.tolist() == [1, 2]
    assert z.tolist() == [3, 0]


def test_a_half_sum_is_rounded_at_every_step(run: Run) -> None:
    x, y = torch.ones(4096, dtype=torch.float16), torch.zeros(1, dtype=torch.float16)
    x[0] = 4096.0
    run("ct.store(y, 0, ct.sum(ct.load(x, 0, 4096)))", x=x, y=y)
    assert y.item() != 8191.0
    assert abs(y.item() - 8191.0) <= 16.0


def test_an_int8_sum_wraps(run: Run) -> None:
    x, y = torch.full((4,), 100, dtype=torch.int8), torch.zeros(1, dtype=torch.int8)
    run("ct.store(y, 0, ct.sum(ct.load(x, 0, 4)))", x=x, y=y)
    assert y.item() == 400 - 512


def test_sums_over_axes(run: Run) -> None:
    x = torch.arange(32.0).reshape(2, 4, 4)
    y, z = torch.zeros(4), torch.zeros(2, 1, 4)
    run(
        """
        t = ct.load(x, (0, 0, 0), (2, 4, 4))
        ct.store(y, 0, ct.sum(t, axis=(0, 2)))
        ct.store(z, (0, 0, 0), ct.prod(t + 1, axis=1, keepdims=True))
        """,
        x=x,
        y=y,
        z=z,
    )
    assert torch.equal(y, x.sum((0, 2)))
    assert torch.equal(z, (x + 1).prod(1, keepdim=True))


def test_running_sums_both_ways(run: Run) -> None:
    x, y, z = numbers(1, 2, 3, 4), torch.zeros(4), torch.zeros(4)
    run(
        "t = ct.load(x, 0, 4)\nct.store(y, 0, ct.cumsum(t))\nct.store(z, 0, ct.cumsum(t, reverse=True))",
        x=x,
        y=y,
        z=z,
    )
    assert y.tolist() == [1.0, 3.0, 6.0, 10.0]
    assert z.tolist() == [10.0, 9.0, 7.0, 4.0]


def test_a_scan_of_pairs_solves_a_linear_recurrence(run: Run) -> None:
    a, b = torch.rand(1, 16, generator=torch.Generator().manual_seed(0)), torch.arange(16.0).reshape(1, 16)
    y = torch.zeros(1, 16)
    run(
        """
        def step(a0, b0, a1, b1):
            return a0 * a1, b0 * a1 + b1

        s, t = ct.load(a, (0, 0), (1, 16)), ct.load(b, (0, 0), (1, 16))
        ct.store(y, (0, 0), ct.scan((s, t), 1, step, (1.0, 0.0))[1])
        """,
        a=a,
        b=b,
        y=y,
    )
    expected, carried = [], 0.0
    for factor, term in zip(a[0].tolist(), b[0].tolist(), strict=True):
        carried = carried * factor + term
        expected.append(carried)
    torch.testing.assert_close(y[0], torch.tensor(expected))


def test_a_reduction_with_a_function(run: Run) -> None:
    x, y = torch.arange(16.0).reshape(2, 8), torch.zeros(2)
    run("ct.store(y, 0, ct.reduce(ct.load(x, (0, 0), (2, 8)), 1, lambda a, b: a + b, 0.0))", x=x, y=y)
    assert torch.equal(y, x.sum(1))


def test_tf32_keeps_ten_bits_and_rounds_ties_to_even(run: Run) -> None:
    x = numbers(1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-10, torch.inf)
    y = torch.zeros(4)
    run("ct.store(y, 0, ct.load(x, 0, 4).astype(ct.tfloat32).astype(ct.float32))", x=x, y=y)
    assert y.tolist() == [1.0, 1 + 2**-9, 1 + 2**-10, torch.inf]


def test_products_accumulate_in_the_accumulator(run: Run) -> None:
    a = torch.randn(4, 32, generator=torch.Generator().manual_seed(0)).half()
    b = torch.randn(32, 8, generator=torch.Generator().manual_seed(1)).half()
    y, z = torch.zeros(4, 8), torch.zeros(4, 8, dtype=torch.float16)
    run(
        """
        s, t = ct.load(a, (0, 0), (4, 32)), ct.load(b, (0, 0), (32, 8))
        ct.store(y, (0, 0), ct.mma(s, t, ct.ones((4, 8), ct.float32)))
        ct.store(z, (0, 0), s @ t)
        """,
        a=a,
        b=b,
        y=y,
        z=z,
    )
    exact = a.double() @ b.double()
    torch.testing.assert_close(y.double(), exact + 1, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(z.double(), exact, rtol=1e-3, atol=1e-2)


def test_int8_products_are_exact(run: Run) -> None:
    a, y = torch.full((16, 64), -128, dtype=torch.int8), torch.zeros(16, 16, dtype=torch.int32)
    run(
        """
        s = ct.load(a, (0, 0), (16, 64))
        ct.store(y, (0, 0), ct.mma(s, s.transpose(), ct.zeros((16, 16), ct.int32)))
        """,
        a=a,
        y=y,
    )
    assert (y == 64 * 128 * 128).all()


def test_float8_is_stored_and_multiplied(run: Run) -> None:
    x, y = numbers(*[0.3] * 16).reshape(4, 4), torch.zeros(4, 4)
    e = torch.zeros(4, 4, dtype=torch.float8_e4m3fn)
    run(
        """
        t = ct.load(x, (0, 0), (4, 4)).astype(ct.float8_e4m3fn)
        ct.store(e, (0, 0), t)
        ct.store(y, (0, 0), ct.mma(t, t, ct.zeros((4, 4), ct.float32)))
        """,
        x=x,
        y=y,
        e=e,
    )
    held = x.to(torch.float8_e4m3fn).float()
    assert torch.equal(e.float(), held)
    torch.testing.assert_close(y, held @ held)


@pytest.mark.parametrize(("name", "largest"), [("float8_e4m3fn", 448.0), ("float8_e5m2", 57344.0)])
def test_a_cast_to_float8_saturates(run: Run, name: str, largest: float) -> None:
    x, y = numbers(1e6, -torch.inf, torch.nan, 1.0), torch.zeros(4)
    run(f"ct.store(y, 0, ct.load(x, 0, 4).astype(ct.{name}).astype(ct.float32))", x=x, y=y)
    assert y[[0, 1, 3]].tolist() == [largest, -largest, 1.0]
    assert y[2].isnan()


def test_rearrangements(run: Run) -> None:
    x = torch.arange(32.0).reshape(4, 8)
    y, z = torch.zeros(2, 8, 2), torch.zeros(8, 8)
    run(
        """
        t = ct.load(x, (0, 0), (4, 8))
        ct.store(y, (0, 0, 0), ct.permute(t.reshape((2, 2, -1)), (0, 2, 1)))
        u = ct.cat((t, t + 100), 0)
        ct.store(z, (0, 0), ct.insert(u, (0, 1), ct.zeros((4, 4), ct.float32)))
        """,
        x=x,
        y=y,
        z=z,
    )
    assert torch.equal(y, x.reshape(2, 2, 8).permute(0, 2, 1))
    joined = torch.cat((x, x + 100))
    joined[0:4, 4:8] = 0
    assert torch.equal(z, joined)


def test_windows_that_overlap(run: Run) -> None:
    x, y = torch.arange(8.0), torch.zeros(4)
    run(
        """
        w = x.tiled_view(4, padding_mode=ct.PaddingMode.ZERO, traversal_steps=2)
        ct.store(y, 0, w.load(ct.bid(0) + 1))
        """,
        x=x,
        y=y,
    )
    assert y.tolist() == [2.0, 3.0, 4.0, 5.0]


def test_a_slice_bounds_loads(run: Run) -> None:
    x, y = torch.arange(8.0), torch.zeros(4)
    run("ct.store(y, 0, ct.load(x.slice(0, 1, n), 0, 4, padding_mode='ZERO'))", x=x, y=y, n=3)
    assert y.tolist() == [1.0, 2.0, 0.0, 0.0]


def test_every_block_runs_once_in_any_order(run: Run) -> None:
    y = torch.zeros(2, 3, 4, dtype=torch.int32)
    run(
        """
        i, j, l = ct.bid(0), ct.bid(1), ct.bid(2)
        ct.store(y, (i, j, l), (i * ct.num_blocks(1) + j) * ct.num_blocks(2) + l + 1)
        """,
        y=y,
        grid=(2, 3, 4),
    )
    assert y.reshape(-1).tolist() == list(range(1, 25))


def test_a_loop_makes_its_constants_strict(run: Run) -> None:
    h, y = torch.ones(4, dtype=torch.float16), torch.zeros(1)
    run(
        """
        total = 0.0
        for _ in range(3):
            total = total + ct.sum(ct.load(h, 0, 4))
        ct.static_assert(total.dtype == ct.float32)
        ct.store(y, 0, total)
        """,
        h=h,
        y=y,
    )
    assert y.item() == 12.0


@pytest.mark.parametrize("name", ["int16", "int64", "uint8", "float64", "bool"])
def test_other_dtypes_pass_through(run: Run, name: str) -> None:
    x = torch.tensor([0, 1, 1, 0]).to(getattr(torch, name))
    y = torch.zeros_like(x)
    run("ct.store(y, 0, ct.load(x, 0, 4))", x=x, y=y)
    assert torch.equal(x, y)


def test_unsigned_arrays_keep_their_values(run: Run) -> None:
    x = torch.tensor([0, 1, 2**31, 2**32 - 1]).to(torch.uint32)
    y, z = torch.zeros(4, dtype=torch.uint32), torch.zeros(4, dtype=torch.float64)
    run("t = ct.load(x, 0, 4)\nct.store(y, 0, t)\nct.store(z, 0, t.astype(ct.float64))", x=x, y=y, z=z)
    assert torch.equal(x.to(torch.int64), y.to(torch.int64))
    assert z.tolist() == [0.0, 1.0, 2.0**31, 2.0**32 - 1]
