"""Evaluate a reference on real tensors: the golden (`widen=True`) and plain eager."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from tilespec.diagnostics import Diagnostic
from tilespec.model.types import Kernel, ReferenceText
from tilespec.reference.check import check, plain_text
from tilespec.reference.compose import entry_of
from tilespec.reference.evaluator import Evaluator, Stop
from tilespec.reference.library import TorchLibrary

__all__ = ["EvaluationError", "evaluate"]

_FLOATS = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})


class EvaluationError(Exception):
    """A reference that cannot be evaluated; `diagnostics` say why."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__("; ".join(item.message for item in diagnostics))
        self.diagnostics = diagnostics


def evaluate(
    reference: Kernel | ReferenceText | str,
    arguments: Mapping[str, Tensor | float | int | bool],
    *,
    widen: bool,
    entry: str | None = None,
) -> tuple[Tensor, ...]:
    """Evaluate `reference` on real tensors, on the device of the arguments.

    With `widen`, floating inputs, casts and factories are float64 throughout, so that the result is the golden; casts to
    fp8 and to integers keep their rounding. Without, it is what eager torch gives at the dtypes of the arguments.
    Scalars that `arguments` leaves out take the kernel's declared value, else the default in the signature.

    Raises:
        EvaluationError: the code is outside the language, or torch refuses it.
    """
    text, name, given = _entry(reference, entry)
    program, findings = check(text)
    if program is None:
        raise EvaluationError(findings)
    name = name or entry_of(program)
    values: dict[str, Any] = {**given, **arguments}
    device = next(
        (value.device for value in values.values() if isinstance(value, Tensor)), torch.device("cpu")
    )
    if widen:
        values = {key: _widened(value) for key, value in values.items()}
    evaluator = Evaluator(program, TorchLibrary(program, widen=widen))
    if name is None or name not in program.functions:
        raise EvaluationError([])
    try:
        with _environment(device, widen=widen):
            result = evaluator.call(name, values)
    except Stop as stop:
        raise EvaluationError([stop.diagnostic(program)]) from stop
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def _entry(
    reference: Kernel | ReferenceText | str, entry: str | None
) -> tuple[ReferenceText, str | None, dict[str, float | int | bool]]:
    if isinstance(reference, str):
        return plain_text(reference), entry, {}
    if isinstance(reference, ReferenceText):
        return reference, entry, {}
    if reference.reference is None:
        raise EvaluationError([])
    defaults = {item.name: item.default for item in reference.scalars if item.default is not None}
    return reference.reference, entry or f"reference_{reference.id}", defaults


def _widened(value: Any) -> Any:  # noqa: ANN401 (an argument of any kind)
    if isinstance(value, Tensor) and (value.dtype in _FLOATS or "float8" in str(value.dtype)):
        return value.to(torch.float64)
    return value


@contextmanager
def _environment(device: torch.device, *, widen: bool) -> Iterator[None]:
    """Give factories the device of the arguments and, for the golden, float64."""
    before = torch.get_default_dtype()
    try:
        with warnings.catch_warnings(), torch.no_grad(), torch.device(device):
            warnings.simplefilter("ignore")
            if widen:
                torch.set_default_dtype(torch.float64)
            yield
    finally:
        torch.set_default_dtype(before)
