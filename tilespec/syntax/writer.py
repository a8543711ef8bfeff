"""Nodes as canonical text: what the formatter puts on a line."""

from __future__ import annotations

from tilespec.syntax.names import DTYPE_ALIASES
from tilespec.syntax.nodes import (
    BenchRow,
    Call,
    DimLine,
    DimNode,
    InputNode,
    Keep,
    Name,
    Negate,
    Number,
    OperationNode,
    OrderNode,
    Parallel,
    RangeNode,
    ScalarNode,
    Sequence,
    SetNode,
    Setting,
    ShapeNode,
    Symbol,
    TypeLine,
)

__all__ = [
    "bench_text",
    "dim_line_text",
    "dim_text",
    "entry_text",
    "keep_text",
    "names_text",
    "operations_text",
    "order_text",
    "settings_text",
    "type_text",
]

_STRENGTH = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2, "/": 2, "**": 4}
_TIGHT = {"*", "**"}


def dim_text(node: DimNode, strength: int = 0) -> str:
    """Write an expression; parentheses only where it needs them, `*` without blanks."""
    if isinstance(node, Number):
        return node.text
    if isinstance(node, Symbol):
        return node.name
    if isinstance(node, Call):
        return f"{node.function}({', '.join(dim_text(each) for each in node.arguments)})"
    if isinstance(node, Negate):
        text = f"-{dim_text(node.operand, 3)}"
        return f"({text})" if strength > 3 else text
    own = _STRENGTH[node.op]
    # All operators group to the left but the power, whose left side may not even be a sign.
    left = dim_text(node.left, own + 1 if node.op == "**" else own)
    right = dim_text(node.right, 3 if node.op == "**" else own + 1)
    text = f"{left}{node.op}{right}" if node.op in _TIGHT else f"{left} {node.op} {right}"
    return f"({text})" if own < strength else text


def shape_text(node: ShapeNode) -> str:
    """Write a shape, a lone dim with its comma."""
    dims = [dim_text(dim) for dim in node.dims]
    return f"({dims[0]},)" if len(dims) == 1 else f"({', '.join(dims)})"


def range_text(node: RangeNode) -> str:
    """Write `low..high step n`."""
    low = dim_text(node.low) if node.low is not None else ""
    high = dim_text(node.high) if node.high is not None else ""
    step = f" step {dim_text(node.step)}" if node.step is not None else ""
    return f"{low}..{high}{step}"


def _remark(remark: Name | None) -> str:
    return f" ({remark.text})" if remark else ""


def _dtype(name: str, types: frozenset[str]) -> str:
    bare = name.removeprefix("torch.")
    return bare if bare in types else DTYPE_ALIASES.get(bare.lower(), bare)


def entry_text(node: InputNode, types: frozenset[str]) -> str:
    """Write a tensor or scalar; `types` are the type variables of the file, which no dtype alias hides."""
    if isinstance(node, ScalarNode):
        kind = node.kind.text
        default = f" = {_default(node.default)}" if node.default is not None else ""
        return f"{node.name.text}: scalar {kind}{default}{_remark(node.remark)}"
    parts = []
    if node.shape is not None:
        parts.append(f"shape={shape_text(node.shape)}")
    if node.dtype is not None:
        parts.append(f"dtype={_dtype(node.dtype.text, types)}")
    for key, value in (("from", node.origin), ("inplace", node.inplace), ("layout", node.layout)):
        if value is not None:
            parts.append(f"{key}={value.text}")
    if node.values is not None:
        parts.append(f"values={range_text(node.values)}")
    return f"{node.name.text}: {', '.join(parts)}{_remark(node.remark)}"


def _default(node: DimNode) -> str:
    if isinstance(node, Symbol) and node.name.lower() in {"true", "false"}:
        return node.name.capitalize()
    return dim_text(node)


def operations_text(operations: tuple[OperationNode, ...]) -> str:
    """Write the list of operations, as the author names them."""
    return f"[{', '.join(' '.join(each.name.text.split()) + _remark(each.label) for each in operations)}]"


def names_text(names: tuple[Name, ...]) -> str:
    """Write a list of ids, or `none`."""
    return f"[{', '.join(name.text for name in names)}]" if names else "none"


def order_text(node: OrderNode) -> str:
    """Write an execution order; a sequence beside others stands in parentheses."""
    if isinstance(node, Name):
        return node.text
    if isinstance(node, Parallel):
        return " || ".join(
            f"({order_text(step)})" if not isinstance(step, Name) else step.text for step in node.steps
        )
    steps = [
        f"({order_text(step)})" if isinstance(step, Sequence) else order_text(step) for step in node.steps
    ]
    return " -> ".join(steps)


def dim_line_text(node: DimLine) -> str:
    """Write one line of `Dims`."""
    rule = node.rule
    if isinstance(rule, RangeNode):
        return f"{node.name.text}: {range_text(rule)}"
    if isinstance(rule, SetNode):
        return f"{node.name.text}: in {{{', '.join(dim_text(member) for member in rule.members)}}}"
    return f"{node.name.text}: = {dim_text(rule.size)}"


def type_text(node: TypeLine) -> str:
    """Write `T in {float16, bfloat16}`."""
    members = ", ".join(_dtype(member.text, frozenset()) for member in node.members)
    return f"{node.name.text} in {{{members}}}"


def settings_text(settings: tuple[Setting, ...]) -> str:
    """Write `key=value, key=value`."""
    return ", ".join(f"{setting.key.text}={_value_text(setting)}" for setting in settings)


def _value_text(setting: Setting) -> str:
    value = setting.value
    if isinstance(value, tuple):
        return f"[{', '.join(f'{name.text}: {how.text}' for name, how in value)}]"
    if isinstance(value, ShapeNode):
        return shape_text(value)
    if isinstance(value, Name):
        return value.text
    text = dim_text(value)
    return DTYPE_ALIASES.get(text, text) if setting.key.text == "accumulate" else text


def bench_text(row: BenchRow) -> str:
    """Write one named shape."""
    label = f"{row.label.text}: " if row.label else ""
    return f"{label}{settings_text(row.settings)}"


def keep_text(keep: Keep) -> str:
    """Write `[dropout] because "inference only"`."""
    reason = f' because "{keep.reason.text}"' if keep.reason else ""
    return f"[{', '.join(name.text for name in keep.names)}]{reason}"
