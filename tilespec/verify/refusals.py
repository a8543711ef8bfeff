"""Launches with wrong arguments: the launcher has to refuse them and say which tensor is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from tilespec.diagnostics import Rule
from tilespec.model.dims import Expr
from tilespec.rules.verify import ArgumentAccepted
from tilespec.verify.check import arguments, call_arguments
from tilespec.verify.load import Runner
from tilespec.verify.subject import Case, Subject

__all__ = ["accepted_faults"]


def accepted_faults(runner: Runner, case: Case) -> Iterator[Rule]:
    """Yield a finding for every wrong argument that the launcher of `runner` does not refuse properly."""
    for position, tensor in enumerate(runner.subject.tensors):
        values = arguments(case, runner.torch_device)
        good = values[tensor.name]
        if not isinstance(good, Tensor):
            continue
        faults: dict[str, Tensor] = {"one dim too many": good.unsqueeze(0)}
        if tensor.dtype not in runner.subject.types:
            wrong = torch.int32 if good.dtype.is_floating_point else torch.float32
            faults["another dtype"] = torch.zeros(good.shape, dtype=wrong, device=good.device)
        for dim in _determined(runner.subject, position):
            shape = list(good.shape)
            shape[dim] += 1
            faults[f"dim {dim} one too large"] = torch.zeros(shape, dtype=good.dtype, device=good.device)
        if runner.device == "cuda":
            faults["memory on the CPU"] = good.cpu()
        for fault, bad in faults.items():
            outcome = _outcome(runner, {**values, tensor.name: bad})
            if outcome is not None:
                yield ArgumentAccepted(tensor.name, fault, outcome)


def _determined(subject: Subject, position: int) -> list[int]:
    """Return the dims of an input whose size follows from a literal or from another input."""
    others: set[str] = set()
    for at, other in enumerate(subject.tensors):
        if at != position:
            others.update(name for size in other.shape if (name := size.symbol) is not None)
    shape = subject.tensors[position].shape
    return [dim for dim, size in enumerate(shape) if size.value is not None or _within(size, others)]


def _within(size: Expr, names: set[str]) -> bool:
    return size.symbol is not None and size.symbol in names


def _outcome(runner: Runner, values: Mapping[str, Tensor | float | int | bool]) -> str | None:
    """Return what went wrong when the launcher was to refuse; None if it refused well.

    With two tensors that disagree, either may be called the wrong one, so any input's name will do.
    """
    tensors, scalars = call_arguments(runner, values)
    try:
        runner.call(*tensors, **scalars)
    except (TypeError, ValueError) as error:
        names = "|".join(re.escape(item.name) for item in runner.subject.tensors)
        if re.search(rf"\b({names})\b", str(error)):
            return None
        return f"refused without naming it: {type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001 - whatever generated code raises is the finding
        return f"refused by {type(error).__name__}, not by the launcher's own check"
    return "accepted"
