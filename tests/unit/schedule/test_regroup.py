"""Axes merge where every use keeps them together, and digits are put back into the number they are of."""

from __future__ import annotations

import pytest
import torch

from tests.unit.render.kernels import lowered
from tilespec.ir.evaluate import evaluate_program
from tilespec.ir.nodes import Load, Program, Store, Tensor
from tilespec.model.dims import Expr, axis, const, sym
from tilespec.schedule.common import axes_of, merged
from tilespec.schedule.regroup import linear_index, merge_axes, mergeable_groups, recombine, substitute_axes

P, Q, R = sym("P"), sym("Q"), sym("R")
x = axis("x", P * Q * R)
B, S, D = sym("B"), sym("S"), sym("D")
b, s, d = axis("b", B), axis("s", S), axis("d", D)


@pytest.mark.parametrize(
    ("expr", "whole"),
    [
        (x // Q * Q + x % Q, x),
        (x % Q + x // Q * Q + 3, x + 3),
        (2 * (x // Q) * Q + 2 * (x % Q), 2 * x),
        (x // (Q * R) * Q * R + x // R % Q * R + x % R, x),
        (x // Q * R + x % Q, x // Q * R + x % Q),
        (x // Q + x % Q, x // Q + x % Q),
        (x, x),
        (const(4), const(4)),
    ],
)
def test_recombine(expr: Expr, whole: Expr):
    assert recombine(expr) == whole


def test_a_linear_index_is_row_major():
    assert linear_index([b, s, d], [B, S, D]) == b * S * D + s * D + d
    assert linear_index([x // (Q * R), x // R % Q, x % R], [P, Q, R]) == x
    assert linear_index([], []) == const(0)


def copy(index: tuple[Expr, ...], *, shape: tuple[Expr, ...], out: tuple[Expr, ...]) -> Program:
    """Return `y[b, s, d] = x[index]`."""
    source, target = Tensor("x", shape, "float32"), Tensor("y", out, "float32")
    axes = tuple(item.axis for item in (b, s, d) if item.axis is not None)
    return Program("copy", (source,), (), (Store(target, (b, s, d), Load("float32", source, index), axes),))


def groups_of(program: Program) -> list[str]:
    return ["".join(item.name for item in group) for group in mergeable_groups(program)]


@pytest.mark.parametrize(
    ("index", "shape", "groups"),
    [
        ((b, s, d), (B, S, D), ["bsd"]),
        ((b, d, s), (B, D, S), []),
        ((s, d, b), (S, D, B), ["sd"]),
        ((b,), (B,), ["sd"]),
        ((d,), (D,), ["bs"]),
        ((b * S + s, d), (B * S, D), ["bsd"]),
        ((b, s, d + 1), (B, S, D + 1), ["bs"]),
        ((b, s, d), (B, S, D + 1), ["bs"]),
        ((b, s), (B, S), ["bs"]),
    ],
)
def test_which_axes_merge(index: tuple[Expr, ...], shape: tuple[Expr, ...], groups: list[str]):
    assert groups_of(copy(index, shape=shape, out=(B, S, D))) == groups


def test_merging_keeps_what_a_program_computes():
    x_in = torch.arange(24.0).reshape(2, 3, 4)
    program = copy((b, s, d), shape=(B, S, D), out=(B, S, D))
    whole, new = merge_axes(program, mergeable_groups(program)[0], "row")
    assert new.name == "row"
    assert new.extent == B * S * D
    sizes = {"B": 2, "S": 3, "D": 4}
    (found,) = evaluate_program(whole, {"x": x_in}, {}, sizes)
    torch.testing.assert_close(found, x_in)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.transpose(0, 1) + 1,
        lambda x: x.sum((1, 2)),
        lambda x: x.sum(1) * 2,
        lambda x: x.sum((0, 2), keepdim=True) + x,
        lambda x: x.reshape(6, 20).cumsum(1),
        lambda x: x.flatten().argmax(),
        lambda x: x.flip(2) + x,
        lambda x: x[:, 1:, :] - x[:, :-1, :],
        lambda x: torch.softmax(x, 1),
        lambda x: x.reshape(2, 3, 20) @ torch.ones(20, 7),
    ],
)
def test_merging_every_group_keeps_what_a_program_computes(make):  # noqa: ANN001 - a function of a tensor
    x_in = torch.linspace(-1.0, 2.0, 120).reshape(2, 3, 20)
    program = lowered(make, x_in)
    (found,) = evaluate_program(merged(program), {"x0": x_in}, {}, {})
    torch.testing.assert_close(found, make(x_in))
    assert len(axes_of(merged(program))) <= len(axes_of(program))


def test_substitution_replaces_bound_axes_by_their_digits():
    x_in = torch.arange(24.0).reshape(4, 6)
    program = lowered(lambda x: x.sum(1), x_in)
    bound = next(item for item in axes_of(program) if item not in program.stores[0].axes)
    high, low = axis("high", 2), axis("low", 3)
    split = substitute_axes(program, {bound: high * 3 + low})
    assert [item.name for item in axes_of(split)][-2:] == ["high", "low"]
    (found,) = evaluate_program(split, {"x0": x_in}, {}, {})
    torch.testing.assert_close(found, x_in.sum(1))


def test_a_merged_axis_indexes_the_dim_that_it_fills():
    program = copy((b, s * D + d), shape=(B, S * D), out=(B, S, D))
    whole, _ = merge_axes(program, axes_of(program)[1:], "row")
    (load,) = [store.value for store in whole.stores]
    assert isinstance(load, Load)
    assert [str(item) for item in load.index] == ["b", "row"]
