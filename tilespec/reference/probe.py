"""Try a traced reference at some small sizes: the trace speaks for all sizes, so each of them has to agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from tilespec.diagnostics import Diagnostic, Label
from tilespec.model.types import ScalarSpec, TensorSpec
from tilespec.reference.check import Program
from tilespec.reference.evaluator import Evaluator, Stop, Value
from tilespec.reference.library import TorchLibrary
from tilespec.reference.signature import Signature, last_return, shape_text
from tilespec.rules import reference as rules

__all__ = ["probe"]

Example = Callable[[TensorSpec | ScalarSpec, Mapping[str, int]], Value]


def probe(
    program: Program, signature: Signature, example: Example, samples: Sequence[Mapping[str, int]]
) -> list[Diagnostic]:
    """Return a finding for the first of `samples` at which the reference fails, or gives other shapes than declared."""
    for sizes in samples:
        with FakeTensorMode():
            library = TorchLibrary(program, whole=_call)
            arguments = {item.name: example(item, sizes) for item in signature.inputs}
            try:
                value = Evaluator(program, library).call(signature.entry, arguments)
            except Stop as stop:
                return [_failed(program, stop, sizes)]
        found = _compare(program, signature, value, sizes)
        if found is not None:
            return [found]
    return []


def _call(function: Callable[..., Any], args: Sequence[Value]) -> Value:
    return function(*args)


def _failed(program: Program, stop: Stop, sizes: Mapping[str, int]) -> Diagnostic:
    rule = stop.rule
    if isinstance(rule, rules.ReferenceRaises):
        rule = rules.ReferenceRaises(rule.expression, f"{rule.reason} (at {_text(sizes)})")
        return rule.at(program.reference.source, None if stop.node is None else program.span(stop.node))
    return stop.diagnostic(program)


def _compare(
    program: Program, signature: Signature, value: Value, sizes: Mapping[str, int]
) -> Diagnostic | None:
    values = value if isinstance(value, tuple | list) else (value,)
    for declared, tensor in zip(signature.outputs or (), values, strict=False):
        wanted = tuple(dim.evaluate(sizes) for dim in declared.shape)
        if isinstance(tensor, Tensor) and tuple(tensor.shape) != wanted:
            given = shape_text([int(size) for size in tensor.shape])
            rule = rules.OutputShapeMismatch(declared.name, shape_text(declared.shape), given, _text(sizes))
            span = program.span(last_return(program.functions[signature.entry]))
            label = Label(span or declared.span, "returned here")
            return rule.at(program.reference.source, declared.shape_span, label)
    return None


def _text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sorted(sizes.items()))
