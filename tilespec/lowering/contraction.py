"""Matrix products in all their spellings, and attention."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tilespec.ir.build import cast, index_node, is_float, literal
from tilespec.ir.nodes import Node
from tilespec.lowering.call import Call, Rule, convert
from tilespec.lowering.softmax import softmax_of
from tilespec.lowering.values import Index, Value, broadcast_index
from tilespec.model.dims import ONE, Expr

__all__ = ["RULES"]


def _accumulator(dtype: str) -> str:
    if is_float(dtype):
        return "float64" if dtype == "float64" else "float32"
    return "int64" if dtype == "int64" else "int32"


def product_of(call: Call, left: Node, right: Node, over: Sequence[Expr], operand: str) -> Node:
    """Return the contraction of two nodes in the accumulator of `operand`."""
    kind = _accumulator(operand)
    return call.contract(convert(left, kind, call.span), convert(right, kind, call.span), over, operand)


def _matmul(call: Call, left: Value, right: Value, index: Index) -> Node:
    """Return `left @ right` at an index of the result, by torch's rules for any ranks."""
    inner = call.axis("k", left.shape[-1])
    rest = list(index)
    column = rest.pop() if right.rank > 1 else None
    row = rest.pop() if left.rank > 1 else None
    left_at = [*broadcast_index(left.shape[:-2], rest), *([] if row is None else [row]), inner]
    right_at = [*broadcast_index(right.shape[:-2], rest), inner, *([] if column is None else [column])]
    return product_of(call, left.at(left_at), right.at(right_at), (inner,), left.dtype)


def _mm(call: Call) -> Value:
    left, right = call.value(0), call.value(1)
    return call.result(lambda index: _matmul(call, left, right, index))


def _linear(call: Call) -> Value:
    value, weight, bias = call.value(0), call.value(1), call.optional(2, "bias")
    inner = call.axis("k", value.shape[-1])

    def fetch(index: Index) -> Node:
        column = index[-1:] if weight.rank == 2 else ()
        lead = index[:-1] if weight.rank == 2 else index
        node = product_of(call, value.at((*lead, inner)), weight.at((*column, inner)), (inner,), value.dtype)
        if bias is None:
            return node
        return call.do(
            "add", node, convert(bias.at(broadcast_index(bias.shape, index)), node.dtype, call.span)
        )

    return call.result(fetch)


def _addmm(call: Call) -> Value:
    """`beta * input + alpha * (a @ b)` for 2D, batched and vector operands."""
    base, left, right = call.value(0), call.value(1), call.value(2)
    beta, alpha = call.raw(3, "beta", 1), call.raw(4, "alpha", 1)

    def fetch(index: Index) -> Node:
        node = convert(_matmul(call, left, right, index), call.kind, call.span)
        if alpha != 1:
            node = call.do("mul", call.scalar(4, "alpha", 1, call.kind), node)
        if beta == 0:
            return node
        extra = convert(base.at(broadcast_index(base.shape, index)), call.kind, call.span)
        if beta != 1:
            extra = call.do("mul", call.scalar(3, "beta", 1, call.kind), extra)
        return call.do("add", node, extra)

    return call.result(fetch)


def _addbmm(call: Call) -> Value:
    base, left, right = call.value(0), call.value(1), call.value(2)
    batch, inner = call.axis("b", left.shape[0]), call.axis("k", left.shape[2])

    def fetch(index: Index) -> Node:
        node = product_of(
            call,
            left.at((batch, index[0], inner)),
            right.at((batch, inner, index[1])),
            (batch, inner),
            left.dtype,
        )
        extra = convert(base.at(broadcast_index(base.shape, index)), node.dtype, call.span)
        beta = call.scalar(3, "beta", 1, node.dtype)
        alpha = call.scalar(4, "alpha", 1, node.dtype)
        return call.do("add", call.do("mul", beta, extra), call.do("mul", alpha, node))

    return call.result(fetch)


def _outer(call: Call) -> Value:
    left, right = call.value(0), call.value(1)
    return call.result(
        lambda index: call.do(
            "mul",
            convert(left.at(index[:1]), call.kind, call.span),
            convert(right.at(index[1:]), call.kind, call.span),
        )
    )


def _scaled_mm(call: Call) -> Value:
    """fp8 product with scales for the operands, a whole tensor's or a row's."""
    left, right = call.value(0), call.value(1)
    scale_left, scale_right = call.value(2, "scale_a"), call.value(3, "scale_b")
    bias = call.optional(4, "bias")
    if call.optional(5, "scale_result") is not None:
        call.refuse("it scales its result", "multiply the result by the scale")

    def fetch(index: Index) -> Node:
        node = _matmul(call, left, right, index)
        for scale in (scale_left, scale_right):
            if scale.rank and scale.rank != 2:
                call.refuse("a scale is neither a number nor a column", "pass a scale of shape () or (M, 1)")
            node = call.do(
                "mul", node, convert(scale.at(broadcast_index(scale.shape, index)), node.dtype, call.span)
            )
        if bias is None:
            return node
        return call.do("add", node, convert(bias.at(index[1:]), node.dtype, call.span))

    return call.result(fetch)


def _trilinear(call: Call) -> Value:
    """Sum over some dims of the product of three tensors, each of which lacks some dims (`bilinear`)."""
    operands = [call.value(position) for position in range(3)]
    lacking = [
        tuple(int(size.value or 0) for size in call.sizes(position + 3, f"expand{position + 1}"))
        for position in range(3)
    ]
    summed = tuple(int(size.value or 0) for size in call.sizes(6, "sumdim"))
    rank = operands[0].rank + len(lacking[0])
    extents = [ONE] * rank
    for operand, gone in zip(operands, lacking, strict=True):
        kept = [dim for dim in range(rank) if dim not in gone]
        for dim, size in zip(kept, operand.shape, strict=True):
            extents[dim] = size if extents[dim] == ONE else extents[dim]
    axes = {dim: call.axis(f"d{dim}", extents[dim]) for dim in summed}

    def fetch(index: Index) -> Node:
        rest = list(index)
        full = [axes[dim] if dim in axes else rest.pop(0) for dim in range(rank)]
        parts = [
            operand.at(
                broadcast_index(operand.shape, [item for dim, item in enumerate(full) if dim not in gone])
            )
            for operand, gone in zip(operands, lacking, strict=True)
        ]
        left = call.do("mul", *(convert(part, call.kind, call.span) for part in parts[:2]))
        return product_of(call, left, parts[2], tuple(axes.values()), operands[2].dtype)

    return call.result(fetch)


# attention


def _attention(call: Call) -> Value | tuple[Value, ...]:
    query, key, value = call.value(0), call.value(1), call.value(2)
    flash = call.op.startswith("_scaled_dot_product_flash")
    mask = call.optional(5 if flash else 3, "attn_mask")
    causal = call.flag(4 if flash else 5, "is_causal")
    if call.number(3 if flash else 4, "dropout_p", 0.0):
        call.refuse("it drops values at random", "pass `dropout_p=0.0`")
    width = query.shape[-1]
    inner, position = call.axis("e", width), call.axis("s", key.shape[-2])
    shared = [(q // k) for q, k in zip(query.shape[:-2], key.shape[:-2], strict=True)]
    given = call.raw(6, "scale")

    def scores(lead: Sequence[Expr], group: Sequence[Expr], row: Expr) -> Node:
        node = product_of(
            call, query.at((*lead, row, inner)), key.at((*group, position, inner)), (inner,), query.dtype
        )
        if given is not None:
            scale = call.scalar(6, "scale", None, node.dtype)
        elif width.value is not None:
            scale = literal(node.dtype, 1 / math.sqrt(width.value))
        else:
            scale = call.do("rsqrt", cast(index_node(width), node.dtype))
        node = call.do("mul", node, scale)
        if causal:
            test = call.do("le", index_node(position), index_node(row))
            node = call.do("where", test, node, literal(node.dtype, -math.inf))
        if mask is not None:
            element = mask.at(broadcast_index(mask.shape, (*lead, row, position)))
            if mask.dtype == "bool":
                return call.do("where", element, node, literal(node.dtype, -math.inf))
            return call.do("add", node, convert(element, node.dtype, call.span))
        return node

    def fetch(index: Index) -> Node:
        *lead, row, column = index
        group = [item if size == ONE else item // size for item, size in zip(lead, shared, strict=True)]
        score = scores(lead, group, row)
        weight = softmax_of(call, score, score, position, safe=True)
        return product_of(call, weight, value.at((*group, position, column)), (position,), value.dtype)

    made = call.result(fetch)
    if len(call.node.results) == 1:
        return made

    def row_sum(index: Index) -> Node:
        *lead, row = index
        group = [item if size == ONE else item // size for item, size in zip(lead, shared, strict=True)]
        score = scores(lead, group, row)
        top = call.reduce("max", score, (position,))
        total = call.reduce("sum", call.do("exp", call.do("sub", score, top)), (position,))
        return call.do("add", top, call.do("log", total))

    return made, *(call.result(row_sum, number=number) for number in range(1, len(call.node.results)))


RULES: dict[str, Rule] = {
    "aten._int_mm": _mm,
    "aten._scaled_dot_product_attention_math": _attention,
    "aten._scaled_dot_product_flash_attention_for_cpu": _attention,
    "aten._scaled_mm": _scaled_mm,
    "aten._trilinear": _trilinear,
    "aten.addbmm": _addbmm,
    "aten.addmm": _addmm,
    "aten.addmv": _addmm,
    "aten.baddbmm": _addmm,
    "aten.bmm": _mm,
    "aten.dot": _mm,
    "aten.linear": _linear,
    "aten.matmul": _mm,
    "aten.mm": _mm,
    "aten.mv": _mm,
    "aten.outer": _outer,
    "aten.scaled_dot_product_attention": _attention,
    "aten.vdot": _mm,
}
