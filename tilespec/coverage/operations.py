"""What a graph performs, in the names of the operation registry, against what `Operations` lists."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache

from tilespec.coverage.ops import ALLOCATION, GLUE, JOINS, VIEWS, base, is_compute
from tilespec.diagnostics import Diagnostic
from tilespec.model.operations import OPERATIONS, find_operation
from tilespec.model.types import Kernel, SpecFile
from tilespec.reference.check import check
from tilespec.reference.graph import Graph, Node
from tilespec.rules import reference as rules

__all__ = ["canonical", "check_operations", "named", "performed"]

_CANONICAL = {
    "mm": "matmul", "bmm": "matmul", "addmm": "matmul", "baddbmm": "matmul", "mv": "matmul", "dot": "matmul",
    "_softmax": "softmax", "_safe_softmax": "softmax", "_log_softmax": "log_softmax", "native_layer_norm": "layer_norm",
    "native_group_norm": "group_norm", "_native_batch_norm_legit": "batch_norm", "native_batch_norm": "batch_norm",
    "_native_batch_norm_legit_no_training": "batch_norm", "max_pool2d_with_indices": "max_pool2d",
    "max_pool3d_with_indices": "max_pool3d", "_adaptive_avg_pool2d": "adaptive_avg_pool2d",
    "_adaptive_avg_pool3d": "adaptive_avg_pool2d", "amax": "max", "amin": "min", "rsub": "sub", "_to_copy": "cast",
    "linalg_vector_norm": "norm", "masked_fill": "where", "index": "index_select", "index_put": "scatter",
    "constant_pad_nd": "pad", "reflection_pad1d": "pad", "reflection_pad2d": "pad", "replication_pad1d": "pad",
    "replication_pad2d": "pad", "slice_scatter": "copy", "select_scatter": "copy", "var_mean": "var",
    "embedding": "embedding", "hardtanh": "clamp",
}  # fmt: skip
_UNLISTED = ALLOCATION | VIEWS | JOINS | {"_to_copy", "scalar", "arange", "constant_pad_nd", "isnan", "isinf"}
"""What may go without saying: allocation, rearrangement, casts, positions."""


def canonical(node: Node) -> str:
    """Return the registry's name of what a node does."""
    name = base(node)
    if name == "convolution":
        rank = len(node.results[0].shape) - 2
        transposed = len(node.args) > _TRANSPOSED and node.args[_TRANSPOSED] is True
        return f"conv_transpose{rank}d" if transposed else f"conv{rank}d"
    if name in _CANONICAL:
        return _CANONICAL[name]
    if name.startswith(("upsample", "_upsample")):
        return "interpolate"
    entry = OPERATIONS.get(name) or find_operation(name)
    return name if entry is None else entry.name


_TRANSPOSED = 6


def named(node: Node) -> str:
    """Return the registry's name of the call that a node comes from: `silu` for each part of `F.silu(x)`."""
    for called in _called(node):
        entry = find_operation(called)
        if entry is not None:
            return entry.name
    return canonical(node)


def performed(graph: Graph) -> tuple[str, ...]:
    """Return the operations that `graph` performs, each once, in order; larger ones that it writes out are added.

    A graph with mean, variance and a root performs `mean`, ... and also `layer_norm`: both may be listed.
    """
    names = dict.fromkeys(canonical(node) for node in graph.nodes if is_compute(node))
    ops = frozenset(base(node) for node in graph.nodes)
    for name in _COMPOSITES:
        if name not in names and OPERATIONS[name].satisfied_by(ops):
            names[name] = None
    return tuple(names)


_COMPOSITES = tuple(
    name
    for name in (
        "gelu",
        "silu",
        "softmax",
        "log_softmax",
        "layer_norm",
        "rms_norm",
        "logsumexp",
        "cross_entropy",
    )
    if name in OPERATIONS
)


def check_operations(spec: SpecFile, kernel: Kernel, graph: Graph) -> list[Diagnostic]:
    """Compare `Operations` with what the reference performs."""
    ops = frozenset(base(node) for node in graph.nodes)
    own = _own_functions(kernel)
    findings: list[Diagnostic] = []
    listed: set[str] = set()
    names: set[str] = set()
    written_out = False
    for operation in kernel.operations:
        entry = find_operation(operation.name)
        if entry is None:
            # A name of the reference's own is right by definition; an unknown one was reported with the model.
            written_out = written_out or operation.name in own
            continue
        listed |= entry.aten | {entry.name}
        names |= {entry.name, *entry.aliases}
        written_out = (
            written_out or len(entry.patterns) > 1 or any(len(pattern) > 1 for pattern in entry.patterns)
        )
        if operation.name not in own and not entry.satisfied_by(ops) and not _is_folded(entry.name, ops):
            shown = tuple(name for name in performed(graph) if name not in _UNLISTED)
            findings.append(
                rules.OperationNotPerformed(operation.written, shown).at(spec.source, operation.span)
            )
    if not kernel.operations or own & {operation.name for operation in kernel.operations}:
        return findings
    reported: set[str] = set()
    for node in graph.nodes:
        name, operation_name = base(node), canonical(node)
        if name in _UNLISTED or name in listed or operation_name in listed or operation_name in reported:
            continue
        if (name in GLUE and written_out) or _called(node) & names:
            continue
        reported.add(operation_name)
        span = kernel.operations[-1].span
        findings.append(rules.OperationNotListed(operation_name).at(spec.source, span))
    return findings


def _called(node: Node) -> set[str]:
    """Return the function whose call torch took apart into this node: `cross_entropy` of `F.cross_entropy(...)`."""
    name = _function(node.origin)
    return set() if name is None else {name}


@lru_cache(maxsize=4096)
def _function(origin: str) -> str | None:
    """Return the name that an expression calls last: `tanh` of `F.gelu(x).tanh()`; None where it is no call."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call = ast.parse(origin, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        # A long expression is shortened for messages, and is no code then.
        return None
    return call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None


def _is_folded(name: str, ops: frozenset[str]) -> bool:
    """Whether an operation is there in a form that leaves no op of its own."""
    return name == "bias_add" and bool(
        ops & {"addmm", "convolution", "native_layer_norm", "native_group_norm"}
    )


def _own_functions(kernel: Kernel) -> frozenset[str]:
    if kernel.reference is None:
        return frozenset()
    program, _ = check(kernel.reference)
    return frozenset() if program is None else frozenset(program.functions)
