"""Cut reductions and products in two: blocks fold shares into a workspace, a launch behind them joins the shares.

    before   y[n] = x[n] / sqrt(sum n: x[n]*x[n])
    after    partial_1[share] = sum n: x[n]*x[n]        each block takes every `share`-th tile
             total_2 = sum part_1: partial_1[part_1]
             y[n] = x[n] / sqrt(total_2)

The order in which shares are joined is fixed: the same sizes give the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilespec.ir.build import axis_expr
from tilespec.ir.nodes import Load, Node, Program, Reduce, Store, Tensor, postorder, rewrite
from tilespec.model.dims import AxisAtom, Expr, axis, product

__all__ = ["Step", "store_totals"]

Step = tuple[Program, AxisAtom | None]
"""A program of one launch; for a share of a fold also the grid axis whose blocks take turns at its steps."""

_SHARES = 512
_LEAST_SHARE = 1024
"""At most this many blocks reduce shares of one value, and none fewer elements than that."""


def store_totals(program: Program, workspaces: list[Tensor], steps: list[Step]) -> Program:
    """Cut reductions to a single value: blocks reduce shares, what reads the value joins them.

    Where many blocks read it, one block joins the shares for all of them.
    """
    joins: list[Node] = []
    while True:
        total = next(
            (
                node
                for node in postorder(store.value for store in program.stores)
                if isinstance(node, Reduce) and not node.free and node not in joins
            ),
            None,
        )
        if total is None:
            break
        elements = product(item.extent for item in total.bound)
        shares = elements.ceildiv(_LEAST_SHARE).minimum(_SHARES).maximum(1)
        share = _atom("share", shares)
        workspace = _workspace("partial", (shares,), total, workspaces)
        steps.append((_storing(program, f"{program.name}_shares", [(workspace, (share,), total)]), share))
        # The joining axis has a name of its own: the next cut may read this sum in blocks that share another.
        part = _atom(f"part_{len(workspaces)}", shares)
        load = Load(total.dtype, workspace, (axis_expr(part),))
        join = Reduce(total.dtype, total.op, load, (part,), total.span)
        joins.append(join)
        program = _reading(program, [workspace], {total: join})
    if not joins or not any(store.axes for store in program.stores):
        return program
    stored = [(_workspace("total", (), join, workspaces), (), join) for join in joins]
    steps.append((_storing(program, f"{program.name}_totals", stored), None))
    read = {join: Load(join.dtype, tensor, ()) for tensor, _, join in stored}
    return _reading(program, [tensor for tensor, _, _ in stored], read)


def _atom(name: str, extent: Expr) -> AxisAtom:
    made = axis(name, extent).axis
    assert made is not None  # noqa: S101 - axis() makes one atom
    return made


def _workspace(stem: str, shape: tuple[Expr, ...], value: Node, workspaces: list[Tensor]) -> Tensor:
    """Return a workspace for values of a node, and add it to those that there are."""
    made = Tensor(f"{stem}_{len(workspaces) + 1}", shape, value.dtype)
    workspaces.append(made)
    return made


def _storing(
    program: Program, name: str, values: Sequence[tuple[Tensor, tuple[AxisAtom, ...], Node]]
) -> Program:
    """Return the program that stores values over axes, from what another one reads."""
    stores = tuple(
        Store(tensor, tuple(axis_expr(item) for item in axes), value, axes) for tensor, axes, value in values
    )
    return replace(program, name=name, stores=stores)


def _reading(program: Program, tensors: Sequence[Tensor], values: Mapping[Node, Node]) -> Program:
    """Return a program that reads tensors in the places of values."""
    memo = dict(values)
    stores = tuple(
        replace(store, value=rewrite(store.value, lambda node: node, memo)) for store in program.stores
    )
    return replace(program, inputs=(*program.inputs, *tensors), stores=stores)
