"""From a traced graph to a tile program: the stage itself."""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from tilespec.diagnostics import Diagnostic, Findings, SourceText
from tilespec.ir.axes import name_axes, split, unify
from tilespec.ir.build import axis_expr, cast
from tilespec.ir.nodes import Contract, Load, Program, Reduce, Scan, Store, Tensor, own_nodes, postorder
from tilespec.lowering.call import Call, CannotLowerError, Result, convert
from tilespec.lowering.registry import REGISTRY
from tilespec.lowering.simplify import simplify
from tilespec.lowering.values import Index, Value, compute_dtype
from tilespec.model.dims import ONE, ZERO, AxisAtom
from tilespec.reference.graph import Graph, Ref
from tilespec.rules.lowering import KernelTooLarge, UnsupportedOp

__all__ = ["NumericsLike", "lower"]

_DTYPES = frozenset(
    {"float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"}
    | {"int8", "int16", "uint8", "int32", "int64", "bool"}
)


_FOLDING = frozenset({"contraction", "convolution", "joins", "norms", "reductions", "scans", "softmax"})
"""Families whose every call is one at least."""
_FRAMES_PER_CALL = 8
MOST_FOLDS = 32
"""Reductions, contractions and scans of one kernel: real ones have a few, and scheduling looks at them pair by pair."""
MOST_NODES = 4000
"""Nodes of one kernel before it is simplified."""


@contextmanager
def _deep_calls(count: int) -> Generator[None]:
    """Let the pull through a chain of `count` values nest: each asks its operand."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + count * _FRAMES_PER_CALL)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class NumericsLike(Protocol):
    """What lowering reads of a kernel's `Numerics`."""

    @property
    def approximate(self) -> Mapping[str, str]:
        """Functions that may be replaced by a cheaper formula: `{"gelu": "tanh"}`."""
        ...


@own_nodes()
def lower(
    graph: Graph,
    *,
    numerics: NumericsLike | None = None,
    source: SourceText | None = None,
    outputs: Sequence[str] | None = None,
) -> tuple[Program | None, list[Diagnostic]]:
    """Turn a traced graph into a tile program with unified, named axes.

    `source` is the spec that findings point into. `outputs` names the stored tensors (`out` or `out0, out1, ...` when
    absent). The result is None when there is a finding.
    """
    findings = Findings()
    text = source or SourceText(graph.name, "")
    approximate = {} if numerics is None else dict(numerics.approximate)
    folding = [node for node in graph.nodes if _folds(node.op)]
    if len(folding) > MOST_FOLDS:
        rule = KernelTooLarge(len(folding), "reductions, contractions and joins", MOST_FOLDS)
        return None, [rule.at(text, folding[MOST_FOLDS].span)]
    values = _call_all(graph, approximate, text, findings)
    if findings.has_errors:
        return None, findings.items
    names = list(outputs or _default_names(graph))
    try:
        with _deep_calls(len(graph.nodes)):
            stores = [
                _store(graph, values, ref, name, number)
                for number, (ref, name) in enumerate(zip(graph.outputs, names, strict=True))
            ]
    except CannotLowerError as error:
        findings.add(error.finding.at(text, error.span))
        return None, findings.items
    inputs = tuple(Tensor(name, meta.shape, meta.dtype) for name, meta in graph.inputs)
    program = Program(graph.name, inputs, graph.scalars, tuple(stores))
    nodes = list(postorder(store.value for store in stores))
    for count, what, most in (
        (
            sum(isinstance(node, Reduce | Contract | Scan) for node in nodes),
            "reductions, contractions and joins",
            MOST_FOLDS,
        ),
        (len(nodes), "steps", MOST_NODES),
    ):
        if count > most:
            last = next((node.span for node in reversed(graph.nodes) if node.span is not None), None)
            findings.add(KernelTooLarge(count, what, most).at(text, last))
            return None, findings.items
    return canonical(program), findings.items


def _folds(op: str) -> bool:
    """Whether a call becomes a reduction, a contraction, a scan or a join at least."""
    rule = REGISTRY.find(op)
    return rule is not None and rule.__module__.rpartition(".")[2] in _FOLDING


def canonical(program: Program) -> Program:
    """Simplify, split, unify and name: the form that schedules read.

    Splitting comes before unification, which compares whole axes; names come last, since the other passes need every
    axis apart.
    """
    program = simplify(program)
    program = simplify(split(program))
    return name_axes(simplify(unify(program)))


def _default_names(graph: Graph) -> list[str]:
    count = len(graph.outputs)
    taken = {name for name, _ in graph.inputs} | {name for name, _ in graph.scalars}
    stem = "out"
    while any(name.startswith(stem) for name in taken):
        stem += "_"
    return [stem] if count == 1 else [f"{stem}{number}" for number in range(count)]


def _call_all(
    graph: Graph, approximate: Mapping[str, str], text: SourceText, findings: Findings
) -> dict[str, Result]:
    values: dict[str, Result] = {}
    parameters = dict(graph.scalars)
    for name, meta in graph.inputs:
        values[name] = _input(Tensor(name, meta.shape, meta.dtype))
    for node in graph.nodes:
        rule = REGISTRY.find(node.op)
        call = Call(node, values, parameters, approximate)
        bad = [meta.dtype for meta in node.results if meta.dtype not in _DTYPES]
        if rule is None:
            findings.add(REGISTRY.refusal(node.op).at(text, node.span))
        elif bad:
            why = f"its result is `{bad[0]}`, a dtype that kernels don't compute with"
            remedy = "use real floating dtypes, integers and bool; a complex number is two real tensors"
            findings.add(UnsupportedOp(call.op, why, remedy).at(text, node.span))
        else:
            try:
                values[node.name] = rule(call)
                continue
            except CannotLowerError as error:
                findings.add(error.finding.at(text, error.span))
        # A stand-in, so that the calls after this one are still looked at.
        values[node.name] = tuple(_missing(call, number) for number in range(len(node.results)))
    return values


def _missing(call: Call, number: int) -> Value:
    def refuse(_: Index) -> Load:
        call.refuse("an operand has no kernel", "see the finding on the operand")

    meta = call.node.results[number]
    return Value(meta.shape, meta.dtype, refuse)


def _input(tensor: Tensor) -> Value:
    kind = compute_dtype(tensor.dtype)
    return Value(tensor.shape, tensor.dtype, lambda index: cast(Load(tensor.dtype, tensor, index), kind))


def _store(graph: Graph, values: Mapping[str, Result], ref: Ref, name: str, number: int) -> Store:
    meta = graph.meta(ref)
    found = values[ref.name]
    value = found[ref.index or 0] if isinstance(found, tuple) else found
    index = tuple(
        ZERO if size == ONE else axis_expr(AxisAtom(f"@o{number}.{dim}", size))
        for dim, size in enumerate(meta.shape)
    )
    node = convert(value.at(index), compute_dtype(meta.dtype))
    axes = tuple(item.axis for item in index if item.axis is not None)
    return Store(Tensor(name, meta.shape, meta.dtype), index, node, axes)
