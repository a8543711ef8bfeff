"""A product of exponentials of a product, in one pass over the keys."""

from __future__ import annotations

from dataclasses import replace

from tilespec.ir.nodes import Compute, Const, Contract, Index, Node, Program, postorder
from tilespec.model.dims import ONE, AxisAtom, Expr, const
from tilespec.schedule.common import (
    folded_axes,
    has_scan,
    make_plan,
    merged,
    named,
    orient,
    replace_products,
    stored_axes,
)
from tilespec.schedule.online import find_online
from tilespec.schedule.plan import AxisPlan, Cover, Decline, KernelPlan, Role

__all__ = ["attention"]


_HEAD_LIMIT = 256


def attention(program: Program) -> list[KernelPlan] | Decline:
    """Schedule a contraction of exponentials of another one: scores stay in registers, one loop over the keys.

    The rows of scores are tiled, the head dims are whole tiles, and the keys are looped over with an online softmax.
    """
    program = merged(program)
    nodes = list(postorder(store.value for store in program.stores))
    products = [node for node in nodes if isinstance(node, Contract)]
    if len(products) != 2:
        return Decline("attention", "it is not a product of a product")
    if has_scan(program):
        return Decline("attention", "it scans")
    scores, outer = products
    keys = outer.axes
    if len(keys) != 1 or len(scores.axes) != 1 or not any(node is scores for node in postorder([outer])):
        return Decline("attention", "it is not a product of a product")
    if find_online([store.value for store in program.stores]).get(outer) is None:
        return Decline("attention", "its outer product is not one of exponentials less their maximum")
    key, inner = keys[0], scores.axes[0]
    stored = stored_axes(program)
    probabilities, values = (
        (outer.left, outer.right)
        if any(node is scores for node in postorder([outer.left]))
        else (outer.right, outer.left)
    )
    rows = [item for item in stored if item in probabilities.free and item not in values.free]
    columns = [item for item in stored if item in values.free and item not in probabilities.free]
    if not rows or not columns or set(folded_axes(program)) != {key, inner}:
        return Decline("attention", "its rows and columns are not those of two products")
    program, (row, column, key, inner) = named(
        program, {rows[-1]: "m", columns[-1]: "d", key: "n", inner: "e"}
    )
    nodes = list(postorder(store.value for store in program.stores))
    scores, outer = (node for node in nodes if isinstance(node, Contract))
    core = []
    for node, places in ((scores, (row, key)), (outer, (row, column))):
        oriented = orient(node, *places)
        if oriented is None or node.operand not in {"float16", "bfloat16", "float32"}:
            return Decline("attention", "tensor cores can't take its products")
        core.append((node, oriented))
    program = replace_products(program, {core[0][0]: core[0][1]})
    scores, outer = (
        node for node in postorder(store.value for store in program.stores) if isinstance(node, Contract)
    )
    oriented = orient(outer, row, column)
    assert oriented is not None  # noqa: S101 - it was a moment ago
    program = replace_products(program, {outer: oriented})
    scores, outer = (
        node for node in postorder(store.value for store in program.stores) if isinstance(node, Contract)
    )
    wide = scores.operand == "float32"
    stored = stored_axes(program)
    outside = [AxisPlan(item, Role.SCALAR) for item in stored if item not in {row, column}]
    outside.append(AxisPlan(row, Role.TILE, Cover(64 if wide else 128, least=16)))
    until = _last_key(scores, program, row, key)
    keys_plan = AxisPlan(key, Role.LOOP, Cover(32 if wide else 128, least=16), until=until, peeled=True)
    heads = {
        "online": [
            AxisPlan(column, Role.FULL, Cover(least=16)),
            AxisPlan(inner, Role.FULL, Cover(least=16)),
        ],
        # Blocks share the columns of a wide head, and each adds up all of its scores, part by part.
        "wide_head": [
            AxisPlan(column, Role.TILE, Cover(_HEAD_LIMIT, least=16)),
            AxisPlan(inner, Role.LOOP, Cover(64, least=16)),
        ],
    }
    room = const(_HEAD_LIMIT) - column.extent - inner.extent + _HEAD_LIMIT
    plans = [
        replace(
            make_plan(
                "attention",
                program,
                [*outside, *head, keys_plan],
                [(row, column), (row, key), (key, column), (row, inner), (inner, key)],
                name,
                hints=(("num_worker_warps", 8),),
                condition=room if name == "online" else None,
            ),
            tensor_core=((scores, row, key, inner), (outer, row, column, key)),
        )
        for name, head in heads.items()
    ]
    if room.value is None:
        return plans
    return [replace(plans[0], condition=None)] if room.value >= 0 else plans[1:]


def _last_key(
    scores: Contract, program: Program, row: AxisAtom, key: AxisAtom
) -> tuple[AxisAtom, Expr, Node] | None:
    """Return the offset from a row beyond which every score is -inf, and the causal mask that makes it so."""
    masks: list[Compute] = []
    for node in postorder(store.value for store in program.stores):
        if not isinstance(node, Compute) or not any(item is scores for item in postorder([node])):
            continue
        candidates = [node] if node.op == "where" else list(node.args) if node.op == "add" else []
        masks += [item for item in candidates if isinstance(item, Compute) and item.op == "where"]
    for mask in masks:
        test, _, other = mask.args
        if not (isinstance(other, Const) and other.value == float("-inf") and isinstance(test, Compute)):
            continue
        if (
            test.op not in {"le", "lt"}
            or not isinstance(test.args[0], Index)
            or not isinstance(test.args[1], Const)
        ):
            continue
        # A key is seen when its distance from the row, plus a constant, is at most the limit.
        split = test.args[0].expr.linear()
        if split is None or set(split[0]) != {row, key} or split[0][key] != ONE or split[0][row] != -ONE:
            continue
        limit = int(test.args[1].value) - (1 if test.op == "lt" else 0)
        return row, const(limit) - split[1], mask
    return None
