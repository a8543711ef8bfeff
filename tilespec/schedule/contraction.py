"""Matrix products on tensor cores, with what is computed before and after them."""

from __future__ import annotations

from dataclasses import replace

from tilespec.ir.nodes import Contract, Program, Reduce, postorder
from tilespec.model.dims import AxisAtom, Expr, product
from tilespec.schedule.common import (
    folded_axes,
    has_scan,
    make_plan,
    merged,
    named,
    orient,
    replace_products,
    slides,
    stored_axes,
    unit_strides,
)
from tilespec.schedule.plan import AxisPlan, Cover, Decline, KernelPlan, Role
from tilespec.schedule.skip import skip_zeros

__all__ = ["contraction"]


_MmaTile = tuple[str, int, int, int, tuple[tuple[str, int], ...], int | None]
_AMPERE_COLUMNS = 64
"""Columns of a tile of float32 products before sm_90: with 128 of them a thread spills 792 bytes (tileiras 13.4, sm_80)."""
_LEAST = 16
"""Elements of a tile along each of its axes, at least."""
_OPERANDS = frozenset({"float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"})


def contraction(program: Program, dealt: AxisAtom | None = None) -> list[KernelPlan] | Decline:
    """Schedule matrix products with prologue and epilogue: `ct.mma` on tiles, a loop over the depth.

    `dealt` is the grid axis of a split product, whose blocks share the steps of the depth.
    """
    program = merged(program)
    if not _products(program):
        return Decline("contraction", "it has no contraction")
    if has_scan(program):
        return Decline("contraction", "it scans")
    found = _find_axes(program)
    if isinstance(found, Decline):
        return found
    row, column, depth = found
    program, (row, column, depth) = named(program, {row: "m", column: "n", depth: "k"})
    stored, depths = stored_axes(program), folded_axes(program)
    turned: dict[Contract, Contract] = {}
    for product_ in _products(program):
        oriented = orient(product_, row, column)
        if oriented is None or depth not in product_.axes:
            return Decline("contraction", "its products have different rows, columns or depth")
        turned[product_] = oriented
    program = replace_products(program, turned)
    for node in postorder(store.value for store in program.stores):
        if isinstance(node, Reduce) and set(node.axes) & set(stored):
            return Decline("contraction", "it reduces over an axis that is stored")
    products = _products(program)
    if any(orient(item, row, column) is None for item in products):
        return Decline("contraction", "its products have different rows, columns or depth")
    steps = [item for item in depths if item != depth]
    counts: dict[AxisAtom, Expr] = {}
    if len(_folds(program)) == 1:
        bare, counts = skip_zeros(products[0], [*steps, depth], {row, column, depth})
        program = replace_products(program, {products[0]: bare})
        products = [bare]
    core = tuple((item, row, column, depth) for item in products)
    plans: list[KernelPlan] = []
    tiles = _mma_tiles(products[0].operand, len(products))
    for name, rows_, columns_, depth_, hints, least in tiles if dealt is None else tiles[-1:]:
        axes: list[AxisPlan] = [AxisPlan(item, Role.SCALAR) for item in stored if item not in {row, column}]
        axes.append(AxisPlan(row, Role.TILE, Cover(rows_, least=_LEAST)))
        narrow = _AMPERE_COLUMNS if products[0].operand == "float32" else 0
        axes.append(AxisPlan(column, Role.TILE, Cover(columns_, least=_LEAST, ampere=narrow)))
        axes += [AxisPlan(item, Role.STEP, count=counts.get(item)) for item in steps]
        axes.append(
            AxisPlan(depth, Role.LOOP, Cover(depth_, least=_LEAST), count=counts.get(depth), dealt=dealt)
        )
        plan = make_plan(
            "contraction",
            program,
            axes,
            [(row, column), (row, depth), (depth, column)],
            name,
            hints=hints,
            condition=None if least is None else product(item.extent for item in stored) - least,
        )
        plans.append(replace(plan, tensor_core=core, swizzle=(row, column, 8)))
        room = None if plan.condition is None else plan.condition.value
        if room is not None and room < 0:
            plans.pop()
        elif room is not None or plan.condition is None:
            plans[-1] = replace(plans[-1], condition=None)
            break
    return plans


def _products(program: Program) -> list[Contract]:
    return [node for node in postorder(store.value for store in program.stores) if isinstance(node, Contract)]


def _folds(program: Program) -> list[Reduce | Contract]:
    nodes = postorder(store.value for store in program.stores)
    return [node for node in nodes if isinstance(node, Reduce | Contract)]


def _find_axes(program: Program) -> tuple[AxisAtom, AxisAtom, AxisAtom] | Decline:
    """Return the axes of the first product that get tiles: the innermost of its rows, columns and depth."""
    first = _products(program)[0]
    if first.operand not in _OPERANDS:
        return Decline("contraction", f"tensor cores do not multiply {first.operand}")
    left = first.left.free - first.right.free - first.bound
    right = first.right.free - first.left.free - first.bound
    if not left or not right:
        return Decline("contraction", "one operand is a vector: the product is a reduction")
    stored = stored_axes(program)
    if not left & set(stored) or not right & set(stored):
        return Decline("contraction", "an operand's axes are not stored")
    # Columns lie next to each other in memory.
    row, column = sorted(
        (_longest([item for item in stored if item in side]) for side in (left, right)), key=stored.index
    )
    unit = unit_strides(program)
    # Steps of a sliding window come one at a time; what is contracted in tiles has a dim of its own.
    whole = [item for item in first.axes if not slides(program, item)] or list(first.axes)
    depth = max(whole, key=lambda item: (unit[item], item.extent.value or 1 << 30, first.axes.index(item)))
    return row, column, depth


def _longest(axes: list[AxisAtom]) -> AxisAtom:
    """Return the innermost axis that fills a tile, else the longest one."""
    return max(enumerate(axes), key=lambda item: (min(item[1].extent.value or _LEAST, _LEAST), item[0]))[1]


def _mma_tiles(operand: str, products: int) -> list[_MmaTile]:
    """Return name, rows, columns, depth, hints and the least output elements of each variant.

    Two accumulators share the registers of one. The large tile pays when there are enough of them to fill a GPU.
    """
    if operand == "float32":
        return [("matmul", 128, 128, 32, (("num_worker_warps", 8),), None)]
    if operand == "float64":
        return [("matmul", 32, 32, 16, (), None)]
    large = 128 * 256 * 264
    if products > 1:
        return [
            ("large", 128, 128, 64, (("num_worker_warps", 8),), large),
            ("small", 128, 64, 64, (("occupancy", 2),), None),
        ]
    return [
        ("large", 128, 256, 64, (("num_worker_warps", 8),), large),
        ("small", 128, 128, 64, (("occupancy", 2),), None),
    ]
