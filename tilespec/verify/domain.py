"""Finds in a traced reference which values its inputs may take: indices in range, arguments of a logarithm positive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilespec.model.dims import Expr
from tilespec.reference.graph import Argument, Graph, Node, Ref
from tilespec.verify.subject import Bounds

__all__ = ["input_bounds"]

_INTEGERS = frozenset({"int8", "uint8", "int16", "int32", "int64"})
_THROUGH = frozenset(
    [
        "view",
        "_unsafe_view",
        "reshape",
        "expand",
        "permute",
        "transpose",
        "t",
        "squeeze",
        "unsqueeze",
        "select",
        "slice",
        "clone",
        "alias",
        "detach",
        "_to_copy",
        "to",
        "unfold",
        "flip",
        "cat",
        "stack",
        "contiguous",
        "lift_fresh_copy",
        "repeat",
        "convert_element_type",
        "constant_pad_nd",
        "where",
    ]
)
"""What moves or converts values without changing which they are."""

_POSITIVE = Bounds(0.05, 4.0)
_DOMAINS: dict[str, tuple[int, Bounds]] = {
    "log": (0, _POSITIVE),
    "log2": (0, _POSITIVE),
    "log10": (0, _POSITIVE),
    "sqrt": (0, _POSITIVE),
    "rsqrt": (0, _POSITIVE),
    "reciprocal": (0, Bounds(0.25, 4.0)),
    "log1p": (0, Bounds(-0.9, 4.0)),
    "asin": (0, Bounds(-1.0, 1.0)),
    "acos": (0, Bounds(-1.0, 1.0)),
    "atanh": (0, Bounds(-0.95, 0.95)),
    "acosh": (0, Bounds(1.05, 8.0)),
}
"""Argument and range in which an op is defined and not ill-conditioned."""

_KEEPS_SIGN = frozenset(
    {"sum", "mean", "amax", "amin", "cumsum", "add", "mul", "sqrt", "clamp", "clamp_min", "maximum"}
)
"""What gives positive numbers when all its operands are positive."""


_PRODUCTS = frozenset(
    [
        "_convolution",
        "_int_mm",
        "_scaled_dot_product_attention_math",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_mm",
        "_trilinear",
        "addbmm",
        "addmm",
        "addmv",
        "baddbmm",
        "bmm",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "convolution",
        "dot",
        "linear",
        "matmul",
        "mm",
        "mv",
        "outer",
        "scaled_dot_product_attention",
        "vdot",
    ]
)
"""What is computed by tensor cores."""


def _base(node: Node) -> str:
    return node.op.split(".")[1] if node.op.startswith("aten.") else node.op


def _refs(argument: Argument) -> Iterator[Ref]:
    if isinstance(argument, Ref):
        yield argument
    elif isinstance(argument, tuple):
        for item in argument:
            yield from _refs(item)


def input_bounds(graph: Graph) -> dict[str, Bounds]:
    """Return the inputs of `graph` whose values are bound by what they are used for."""
    nodes = {node.name: node for node in graph.nodes}
    inputs = {name: meta.dtype for name, meta in graph.inputs}
    found: dict[str, Bounds] = {}
    for node in graph.nodes:
        for ref, extent in _indices(node, graph):
            for name in _sources(ref, nodes, inputs, _THROUGH):
                if inputs[name] in _INTEGERS:
                    found[name] = Bounds(extent=_smaller(found.get(name), extent), other=_marker(graph, name))
        for ref, bounds in _domains(node):
            signs = _KEEPS_SIGN if (bounds.low or 0) > 0 else frozenset[str]()
            for name in _sources(ref, nodes, inputs, _THROUGH | signs):
                if inputs[name] not in _INTEGERS and inputs[name] != "bool":
                    found.setdefault(name, bounds)
    for name in _split(graph, nodes, inputs):
        found[name] = replace(found.get(name, Bounds()), finite=True)
    return found


def _split(graph: Graph, nodes: dict[str, Node], inputs: dict[str, str]) -> list[str]:
    """Return the inputs that a float32 product depends on.

    Tensor cores take float32 as a sum of tf32 parts, and an infinite number has none: its second part is NaN.
    """
    reached: dict[str, None] = {}
    pending = [
        ref
        for node in graph.nodes
        if _base(node) in _PRODUCTS
        for argument in node.args
        for ref in _refs(argument)
        if (inputs[ref.name] if ref.name in inputs else _dtype(nodes.get(ref.name), ref)) == "float32"
    ]
    while pending:
        ref = pending.pop()
        if ref.name in reached:
            continue
        reached[ref.name] = None
        node = nodes.get(ref.name)
        for argument in () if node is None else (*node.args, *(value for _, value in node.kwargs)):
            pending += _refs(argument)
    return [name for name, dtype in inputs.items() if name in reached and dtype not in _INTEGERS | {"bool"}]


def _dtype(node: Node | None, ref: Ref) -> str | None:
    """Return the dtype of a result; None for a scalar."""
    return None if node is None else node.results[ref.index or 0].dtype


def _smaller(known: Bounds | None, extent: Expr) -> Expr:
    return extent if known is None or known.extent is None else known.extent.minimum(extent)


def _marker(graph: Graph, name: str) -> int | None:
    """Return a number that an index is compared with: often one that means "leave this out"."""
    for node in graph.nodes:
        if (
            _base(node) in {"eq", "ne"}
            and node.args[0] == Ref(name)
            and isinstance(value := node.args[1], int)
        ):
            return value
    return None


def _sources(
    ref: Ref, nodes: dict[str, Node], inputs: dict[str, str], through: frozenset[str]
) -> Iterator[str]:
    """Yield the inputs that reach `ref` through ops of `through` only."""
    if ref.name in inputs:
        yield ref.name
        return
    node = nodes.get(ref.name)
    if node is None or _base(node) not in through:
        return
    for argument in node.args:
        for below in _refs(argument):
            yield from _sources(below, nodes, inputs, through)


def _domains(node: Node) -> Iterator[tuple[Ref, Bounds]]:
    base = _base(node)
    if base in _DOMAINS:
        at, bounds = _DOMAINS[base]
        if isinstance(ref := node.args[at], Ref):
            yield ref, bounds
    elif (
        base in {"div", "fmod", "remainder", "floor_divide"}
        and len(node.args) > 1
        and isinstance(ref := node.args[1], Ref)
    ):
        yield ref, Bounds(0.25, 4.0)
    elif (
        base == "pow"
        and isinstance(ref := node.args[0], Ref)
        and (isinstance(power := node.args[1], Ref) or (isinstance(power, float) and power != int(power)))
    ):
        yield ref, _POSITIVE


def _indices(node: Node, graph: Graph) -> Iterator[tuple[Ref, Expr]]:
    """Yield the operands of `node` that index something, with the extent that they index."""
    base, args = _base(node), node.args
    if base == "embedding" and isinstance(args[0], Ref) and isinstance(args[1], Ref):
        yield args[1], graph.meta(args[0]).shape[0]
    elif base in {
        "gather",
        "index_select",
        "scatter",
        "scatter_add",
        "scatter_reduce",
        "index_add",
        "index_copy",
    }:
        if isinstance(args[0], Ref) and isinstance(args[1], int) and isinstance(args[2], Ref):
            yield args[2], graph.meta(args[0]).shape[args[1]]
    elif (
        base in {"index", "_unsafe_index", "index_put"}
        and isinstance(args[0], Ref)
        and isinstance(args[1], tuple)
    ):
        shape = graph.meta(args[0]).shape
        for at, argument in enumerate(args[1]):
            if isinstance(argument, Ref):
                yield argument, shape[at]
    elif (
        base in {"nll_loss_forward", "nll_loss", "nll_loss2d_forward"}
        and isinstance(args[0], Ref)
        and isinstance(args[1], Ref)
    ):
        shape = graph.meta(args[0]).shape
        yield args[1], shape[1 if len(shape) > 1 else 0]
