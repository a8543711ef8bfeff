"""The kernel families: each looks at a prepared program and gives schedules for it, or says why not.

`reduction` takes every program: what has no better family runs there, with `gather` where no view fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tilespec.ir.nodes import Compute, Const, Contract, Index, Load, Node, Program, Reduce, Scan, postorder, rewrite
from tilespec.model.dims import ONE, AxisAtom, Expr, axis, const, product
from tilespec.schedule.online import find_online
from tilespec.schedule.plan import (
    AxisPlan,
    BlockRule,
    Cover,
    Decline,
    Fill,
    Fixed,
    KernelPlan,
    Role,
)
from tilespec.schedule.regroup import merge_axes, mergeable_groups, substitute_axes

__all__ = ["attention", "contraction", "merged", "pointwise", "reduction", "scan"]

_ROW_LIMIT = 16384
_NARROW_ROW = 4096
_COSTLY = frozenset("exp exp2 expm1 log log2 log1p log10 sigmoid tanh erf erfc pow sin cos tan".split())


def merged(program: Program) -> Program:
    """Merge every group of axes that all uses keep together."""
    while True:
        groups = mergeable_groups(program)
        if not groups:
            return program
        taken = {item.name for item in _axes(program)}
        name = _group_name(groups[0], taken)
        program, _ = merge_axes(program, groups[0], name)


def _group_name(group: Sequence[AxisAtom], taken: set[str]) -> str:
    name = "".join(item.name for item in group)
    if len(name) > 4:  # noqa: PLR2004 - a name to read aloud
        name = "row"
    while name in taken:
        name += "_"
    return name


def _axes(program: Program) -> list[AxisAtom]:
    found: list[AxisAtom] = []
    for store in program.stores:
        found += [item for item in store.axes if item not in found]
    for node in postorder(store.value for store in program.stores):
        if isinstance(node, Reduce | Contract):
            found += [item for item in node.axes if item not in found]
        elif isinstance(node, Scan) and node.axis not in found:
            found.append(node.axis)
    return found


def _folded(program: Program) -> list[AxisAtom]:
    found: list[AxisAtom] = []
    for node in postorder(store.value for store in program.stores):
        if isinstance(node, Reduce | Contract):
            found += [item for item in node.axes if item not in found]
    return found


def _stored(program: Program) -> list[AxisAtom]:
    found: list[AxisAtom] = []
    for store in program.stores:
        found += [item for item in store.axes if item not in found]
    return found


def _innermost(program: Program) -> Counter[AxisAtom]:
    """Count for each axis in how many loads and stores it has unit stride in the last dim."""
    counts: Counter[AxisAtom] = Counter()
    for node in postorder(store.value for store in program.stores):
        if isinstance(node, Load) and node.index:
            counts.update(_unit_axes(node.index[-1], len(node.index)))
    for store in program.stores:
        if store.index:
            counts.update(_unit_axes(store.index[-1], len(store.index)))
    return counts


def _unit_axes(index: object, weight: int) -> dict[AxisAtom, int]:
    if not isinstance(index, Expr):
        return {}
    split = index.linear()
    if split is None:
        return dict.fromkeys(index.axes, weight)
    return {item: weight for item, stride in split[0].items() if stride.value == 1}


def pointwise(program: Program) -> list[KernelPlan] | Decline:
    """Schedule a program without reductions: one tile of the innermost axes a block."""
    if _folded(program) or _has_scan(program):
        return Decline("pointwise", "it reduces or scans")
    program = merged(program)
    stored = _stored(program)
    unit = _innermost(program)
    if not stored:
        return [_plan("pointwise", program, [], [], "elementwise")]
    inner = max(stored, key=lambda item: (unit[item], stored.index(item)))
    others = [item for item in stored if item != inner]
    tiles = [inner]
    if others:
        # A transpose reads along one axis and writes along another: tile both.
        second = max(others, key=lambda item: (unit[item], stored.index(item)))
        tiles = sorted([second, inner], key=stored.index)
    plans: list[AxisPlan] = []
    inner_block = AxisPlan(inner, Role.TILE).block
    for item in stored:
        rule: BlockRule | None = None
        if item == inner:
            # With only unit stride along `inner` a wide tile; where two axes are walked, a square one.
            square = len(tiles) > 1 and any(unit[other] for other in tiles if other != inner)
            rule = Fixed(1024) if len(tiles) == 1 else Cover(64 if square else 1024)
        elif item in tiles:
            rule = Fill(2048, (inner_block,))
        plans.append(AxisPlan(item, Role.TILE if item in tiles else Role.SCALAR, rule))
    return [_plan("pointwise", program, plans, [tuple(tiles)], "elementwise")]


def _has_scan(program: Program) -> bool:
    return any(isinstance(node, Scan) for node in postorder(store.value for store in program.stores))


def _plan(  # noqa: PLR0913 - the parts of a plan
    family: str,
    program: Program,
    axes: Sequence[AxisPlan],
    frames: Sequence[tuple[AxisAtom, ...]],
    name: str,
    *,
    hints: tuple[tuple[str, int], ...] = (),
    condition: Expr | None = None,
) -> KernelPlan:
    grid = tuple(item.axis for item in axes if item.role.in_grid)
    return KernelPlan(
        name=name,
        family=family,
        program=program,
        axes=tuple(axes),
        frames=tuple(frames) or ((),),
        grid=grid,
        hints=hints,
        condition=condition,
    )


def reduction(program: Program, dealt: AxisAtom | None = None) -> list[KernelPlan] | Decline:
    """Schedule reductions and normalisations: whole rows in one tile where they fit, else loops over tiles.

    `dealt` is the grid axis of a split reduction, whose blocks share the steps of the outermost reduced axis.
    """
    if _has_scan(program):
        return Decline("reduction", "it scans")
    program = merged(program)
    folded = _folded(program)
    stored = [item for item in _stored(program) if item not in folded]
    unit = _innermost(program)
    everything = stored + folded
    inner = max(everything, key=lambda item: (unit[item], everything.index(item)))
    if inner in folded:
        return _row_reduction(program, stored, folded, inner, dealt)
    return _column_reduction(program, stored, folded, inner, dealt)


def _row_reduction(
    program: Program,
    stored: list[AxisAtom],
    folded: list[AxisAtom],
    inner: AxisAtom,
    dealt: AxisAtom | None,
) -> list[KernelPlan]:
    rows = [item for item in stored if item != dealt][-1:]
    # Short axes that never meet the row (the partial sums of a split reduction) are one tile everywhere.
    short = [item for item in folded if item != inner and _apart(program, item, inner)]
    rest = [item for item in folded if item != inner and item not in short]
    frame = (*rows, *short, *rest, inner)
    blocks = tuple(AxisPlan(item, Role.FULL).block for item in (*rest, inner))
    total = product(item.extent for item in (*rest, inner))
    plans: list[KernelPlan] = []
    if dealt is None:
        for limit, budget, hints in _row_tiles(program, inner):
            grid = [
                AxisPlan(item, Role.TILE, Fill(budget, blocks)) if item in rows else AxisPlan(item, Role.SCALAR)
                for item in stored
            ]
            full = [AxisPlan(item, Role.FULL, Cover()) for item in (*short, *rest, inner)]
            name = {_ROW_LIMIT: "wide_row", _NARROW_ROW: "row"}.get(limit, "narrow_row")
            plans.append(
                _plan(
                    "reduction",
                    program,
                    [*grid, *full],
                    [frame],
                    name,
                    hints=hints,
                    condition=const(limit) - total,
                )
            )
        if total.value is not None and total.value <= _ROW_LIMIT:
            fitting = next(item for item in plans if item.condition is not None and (item.condition.value or 0) >= 0)
            return [replace(fitting, condition=None)]
    looped = [
        AxisPlan(item, Role.TILE, Fill(4096, (AxisPlan(inner, Role.LOOP).block,)))
        if item in rows
        else AxisPlan(item, Role.SCALAR)
        for item in stored
    ]
    looped += [AxisPlan(item, Role.FULL, Cover()) for item in short]
    looped += [AxisPlan(item, Role.STEP) for item in rest]
    looped.append(AxisPlan(inner, Role.LOOP, Cover(4096)))
    looped = _deal(looped, program, dealt)
    plans.append(
        _plan("reduction", program, looped, [(*rows, *short, inner)], "long_row", hints=(("occupancy", 2),))
    )
    return plans


def _row_tiles(program: Program, inner: AxisAtom) -> list[tuple[int, int, tuple[tuple[str, int], ...]]]:
    """Return, for rows up to a limit, the elements of a block and its hints.

    From measurements on an H200 at 1024 and 4096 columns: rows that need exponentials are short of arithmetic, so narrow
    ones take smaller blocks, more at a time, and wider ones 8 warps.
    """
    costly = any(
        isinstance(node, Compute) and node.op in _COSTLY and inner in node.free
        for node in postorder(store.value for store in program.stores)
    )
    if costly:
        return [
            (1024, 4096, (("occupancy", 8),)),
            (_NARROW_ROW, 8192, (("num_worker_warps", 8), ("occupancy", 4))),
            (_ROW_LIMIT, 8192, (("num_worker_warps", 8),)),
        ]
    return [(_NARROW_ROW, 8192, (("occupancy", 4),)), (_ROW_LIMIT, 8192, (("occupancy", 1),))]


def _apart(program: Program, axis: AxisAtom, other: AxisAtom) -> bool:
    """Whether `axis` is short and no value depends on both axes at once."""
    extent = axis.extent.value
    return (
        extent is not None
        and extent <= _NARROW_ROW
        and not any({axis, other} <= node.free for node in postorder(store.value for store in program.stores))
    )


def _deal(axes: list[AxisPlan], program: Program, dealt: AxisAtom | None) -> list[AxisPlan]:
    """Let the blocks along `dealt` take turns at the outermost axis of the split reduction."""
    if dealt is None:
        return axes
    shared = program.stores[0].value.bound
    outer = next((item.axis for item in axes if item.role.in_loop and item.axis in shared), None)
    return [replace(item, dealt=dealt) if item.axis == outer else item for item in axes]


def _column_reduction(
    program: Program,
    stored: list[AxisAtom],
    folded: list[AxisAtom],
    inner: AxisAtom,
    dealt: AxisAtom | None,
) -> list[KernelPlan]:
    if not folded:
        return [
            _plan(
                "reduction",
                program,
                [AxisPlan(item, Role.TILE, Fixed(128)) if item == inner else AxisPlan(item, Role.SCALAR) for item in stored],
                [(inner,)],
                "column",
            )
        ]
    depth = folded[-1]
    axes = [
        AxisPlan(item, Role.TILE, Cover(128)) if item == inner else AxisPlan(item, Role.SCALAR) for item in stored
    ]
    axes += [AxisPlan(item, Role.STEP) for item in folded if item != depth]
    axes.append(AxisPlan(depth, Role.LOOP, Cover(32)))
    axes = _deal(axes, program, dealt)
    return [_plan("reduction", program, axes, [(depth, inner)], "column")]


def scan(program: Program) -> list[KernelPlan] | Decline:
    """Schedule running sums: a loop over the tiles of the scanned axis that carries the last value on."""
    program = merged(program)
    scans = [node for node in postorder(store.value for store in program.stores) if isinstance(node, Scan)]
    if not scans:
        return Decline("scan", "it does not scan")
    if _folded(program):
        return Decline("scan", "it also reduces")
    along = {(node.axis, node.reverse) for node in scans}
    if len(along) > 1 or any(node.at.axis != node.axis for node in scans):
        return Decline("scan", "it scans along several axes, or reads a scan elsewhere than where it stands")
    axis_, backward = along.pop()
    stored = _stored(program)
    unit = _innermost(program)
    others = [item for item in stored if item != axis_]
    inner = max(stored, key=lambda item: (unit[item], stored.index(item)))
    beside = inner if inner != axis_ else (others[-1] if others else None)
    plans = []
    for item in others:
        if item != beside:
            plans.append(AxisPlan(item, Role.SCALAR))
        elif inner == axis_:
            plans.append(AxisPlan(item, Role.TILE, Fill(4096, (AxisPlan(axis_, Role.LOOP).block,))))
        else:
            plans.append(AxisPlan(item, Role.TILE, Cover(128)))
    plans.append(AxisPlan(axis_, Role.LOOP, Cover(2048 if inner == axis_ else 64), backward=backward))
    frame = [axis_] if beside is None else [beside, axis_] if inner == axis_ else [axis_, beside]
    return [_plan("scan", program, plans, [tuple(frame)], "scan", hints=(("occupancy", 4),))]


def contraction(program: Program) -> list[KernelPlan] | Decline:  # noqa: PLR0911, C901 - one line a reason
    """Schedule matrix products with prologue and epilogue: `ct.mma` on tiles, a loop over the depth."""
    program = merged(program)
    nodes = list(postorder(store.value for store in program.stores))
    products = [node for node in nodes if isinstance(node, Contract)]
    if not products:
        return Decline("contraction", "it has no contraction")
    if _has_scan(program):
        return Decline("contraction", "it scans")
    stored = _stored(program)
    depths = _folded(program)
    first = products[0]
    if first.operand not in {"float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"}:
        return Decline("contraction", f"tensor cores do not multiply {first.operand}")
    left = first.left.free - first.right.free - first.bound
    right = first.right.free - first.left.free - first.bound
    if not left or not right:
        return Decline("contraction", "one operand is a vector: the product is a reduction")
    if stored and stored[-1] in left:
        left, right = right, left
    rows = [item for item in stored if item in left]
    columns = [item for item in stored if item in right]
    if not rows or not columns:
        return Decline("contraction", "an operand's axes are not stored")
    unit = _innermost(program)
    depth = max(first.axes, key=lambda item: (unit[item], first.axes.index(item)))
    program, (row, column, depth) = _named(program, {rows[-1]: "m", columns[-1]: "n", depth: "k"})
    stored, depths = _stored(program), _folded(program)
    products = [node for node in postorder(store.value for store in program.stores) if isinstance(node, Contract)]
    core = []
    for node in products:
        oriented = _orient(node, row, column)
        if oriented is None or depth not in node.axes:
            return Decline("contraction", "its products have different rows, columns or depth")
        core.append((oriented, row, column, depth))
    program = _replace_products(program, {old: new for old, (new, *_) in zip(products, core, strict=True)})
    nodes = list(postorder(store.value for store in program.stores))
    for node in nodes:
        if isinstance(node, Reduce) and not set(node.axes) <= set(depths):
            return Decline("contraction", "it reduces over an axis that is tiled")
        if isinstance(node, Reduce) and set(node.axes) & set(stored):
            return Decline("contraction", "it reduces over an axis that is stored")
    products = [node for node in nodes if isinstance(node, Contract)]
    core = [(node, row, column, depth) for node in products]
    if any(_orient(node, row, column) is None for node in products):
        return Decline("contraction", "its products have different rows, columns or depth")
    plans: list[KernelPlan] = []
    for name, rows_, columns_, depth_, hints, least in _mma_tiles(first.operand, len(products)):
        axes: list[AxisPlan] = [AxisPlan(item, Role.SCALAR) for item in stored if item not in {row, column}]
        axes.append(AxisPlan(row, Role.TILE, Cover(rows_, least=16)))
        axes.append(AxisPlan(column, Role.TILE, Cover(columns_, least=16)))
        axes += [AxisPlan(item, Role.STEP) for item in depths if item != depth]
        axes.append(AxisPlan(depth, Role.LOOP, Cover(depth_, least=16)))
        plan = _plan(
            "contraction",
            program,
            axes,
            [(row, column), (row, depth), (depth, column)],
            name,
            hints=hints,
            condition=None if least is None else product(item.extent for item in stored) - least,
        )
        plans.append(replace(plan, tensor_core=tuple(core), swizzle=(row, column, 8)))
        if plan.condition is None or (plan.condition.value or -1) >= 0:
            plans[-1] = replace(plans[-1], condition=None)
            break
    return plans


_HEAD_LIMIT = 256


def attention(program: Program) -> list[KernelPlan] | Decline:  # noqa: PLR0911 - one line a reason
    """Schedule a contraction of exponentials of another one: scores stay in registers, one loop over the keys.

    The rows of scores are tiled, the head dims are whole tiles, and the keys are looped over with an online softmax.
    """
    program = merged(program)
    nodes = list(postorder(store.value for store in program.stores))
    products = [node for node in nodes if isinstance(node, Contract)]
    if len(products) != 2:  # noqa: PLR2004 - scores and their product with the values
        return Decline("attention", "it is not a product of a product")
    if _has_scan(program):
        return Decline("attention", "it scans")
    scores, outer = products
    keys = outer.axes
    if len(keys) != 1 or len(scores.axes) != 1 or not any(node is scores for node in postorder([outer])):
        return Decline("attention", "it is not a product of a product")
    if find_online([store.value for store in program.stores]).get(outer) is None:
        return Decline("attention", "its outer product is not one of exponentials less their maximum")
    key, inner = keys[0], scores.axes[0]
    stored = _stored(program)
    probabilities, values = (
        (outer.left, outer.right)
        if any(node is scores for node in postorder([outer.left]))
        else (outer.right, outer.left)
    )
    rows = [item for item in stored if item in probabilities.free and item not in values.free]
    columns = [item for item in stored if item in values.free and item not in probabilities.free]
    if not rows or not columns or set(_folded(program)) != {key, inner}:
        return Decline("attention", "its rows and columns are not those of two products")
    program, (row, column, key, inner) = _named(
        program, {rows[-1]: "m", columns[-1]: "d", key: "n", inner: "e"}
    )
    nodes = list(postorder(store.value for store in program.stores))
    scores, outer = (node for node in nodes if isinstance(node, Contract))
    core = []
    for node, places in ((scores, (row, key)), (outer, (row, column))):
        oriented = _orient(node, *places)
        if oriented is None or node.operand not in {"float16", "bfloat16", "float32"}:
            return Decline("attention", "tensor cores can't take its products")
        core.append((node, oriented))
    program = _replace_products(program, {core[0][0]: core[0][1]})
    scores, outer = (
        node for node in postorder(store.value for store in program.stores) if isinstance(node, Contract)
    )
    oriented = _orient(outer, row, column)
    assert oriented is not None  # noqa: S101 - it was a moment ago
    program = _replace_products(program, {outer: oriented})
    scores, outer = (
        node for node in postorder(store.value for store in program.stores) if isinstance(node, Contract)
    )
    wide = scores.operand == "float32"
    stored = _stored(program)
    axes = [AxisPlan(item, Role.SCALAR) for item in stored if item not in {row, column}]
    axes.append(AxisPlan(row, Role.TILE, Cover(64 if wide else 128, least=16)))
    axes.append(AxisPlan(column, Role.FULL, Cover(least=16)))
    axes.append(AxisPlan(inner, Role.FULL, Cover(least=16)))
    until = _last_key(scores, program, row, key)
    axes.append(AxisPlan(key, Role.LOOP, Cover(32 if wide else 128, least=16), until=until))
    plan = _plan(
        "attention",
        program,
        axes,
        [(row, column), (row, key), (key, column), (row, inner), (inner, key)],
        "attention",
        hints=(("num_worker_warps", 8),),
        condition=const(_HEAD_LIMIT) - column.extent - inner.extent + _HEAD_LIMIT,
    )
    plan = replace(plan, tensor_core=((scores, row, key, inner), (outer, row, column, key)))
    if plan.condition is not None and (plan.condition.value or -1) >= 0:
        return [replace(plan, condition=None)]
    rest = reduction(program)
    return Decline("attention", rest.reason) if isinstance(rest, Decline) else [plan, *rest]


def _last_key(scores: Contract, program: Program, row: AxisAtom, key: AxisAtom) -> tuple[AxisAtom, Expr] | None:
    """Return the offset from a row beyond which every score is -inf: that of a causal mask."""
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
        if test.op not in {"le", "lt"} or not isinstance(test.args[0], Index) or not isinstance(test.args[1], Const):
            continue
        # key - row + c <= limit
        split = test.args[0].expr.linear()
        if split is None or set(split[0]) != {row, key} or split[0][key] != ONE or split[0][row] != -ONE:
            continue
        limit = int(test.args[1].value) - (1 if test.op == "lt" else 0)
        return row, const(limit) - split[1]
    return None


def _named(program: Program, names: dict[AxisAtom, str]) -> tuple[Program, list[AxisAtom]]:
    """Give axes the names of the field, where those are free."""
    taken = {item.name for item in _axes(program)}
    mapping = {item: axis(name, item.extent) for item, name in names.items() if name not in taken}
    renamed = [mapping[item].axis if item in mapping else item for item in names]
    return substitute_axes(program, mapping), [item for item in renamed if item is not None]


_MmaTile = tuple[str, int, int, int, tuple[tuple[str, int], ...], int | None]


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


def _orient(node: Contract, row: AxisAtom, column: AxisAtom) -> Contract | None:
    left, right = node.left.free, node.right.free
    if row in left and column in right and column not in left and row not in right:
        return node
    if row in right and column in left and column not in right and row not in left:
        return replace(node, left=node.right, right=node.left)
    return None


def _replace_products(program: Program, mapping: dict[Contract, Contract]) -> Program:
    memo: dict[Node, Node] = {}

    def change(node: Node) -> Node:
        return mapping.get(node, node) if isinstance(node, Contract) else node

    return replace(
        program,
        stores=tuple(replace(store, value=rewrite(store.value, change, memo)) for store in program.stores),
    )
