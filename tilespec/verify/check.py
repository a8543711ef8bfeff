"""Runs one case: builds the arguments, launches twice, and looks at everything a wrong kernel could get wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from tilespec.diagnostics import Rule
from tilespec.rules.verify import (
    InputModified,
    LaunchFailed,
    OutOfBoundsWrite,
    OutputNotFresh,
    UnstableResult,
    UnwrittenOutput,
    WrongOutputForm,
)
from tilespec.verify.compare import compare, place
from tilespec.verify.guard import Guard, unwritten
from tilespec.verify.inputs import make_tensor, strided
from tilespec.verify.load import Runner, launched_blocks
from tilespec.verify.nudge import REFUSALS, Nudge
from tilespec.verify.subject import Case, Reference, TensorCase

__all__ = ["CaseResult", "arguments", "blocks_of", "call_arguments", "exact_float32", "run_case"]


@dataclass(frozen=True)
class CaseResult:
    """What a case showed. `fault` None and `refused` None is a pass; `refused` says why the reference can't run it."""

    ratio: float = 0.0
    fault: Rule | None = None
    refused: str | None = None


@contextmanager
def exact_float32(*, sums: bool = True) -> Iterator[None]:
    """Keep float32 products of torch in float32: no tf32, and with `sums` no reduced-precision sums of 16-bit products."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = (
        matmul.allow_tf32,
        cudnn.allow_tf32,
        matmul.allow_fp16_reduced_precision_reduction,
        matmul.allow_bf16_reduced_precision_reduction,
    )
    matmul.allow_tf32 = cudnn.allow_tf32 = False
    if sums:
        matmul.allow_fp16_reduced_precision_reduction = matmul.allow_bf16_reduced_precision_reduction = False
    try:
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before[:2]
        matmul.allow_fp16_reduced_precision_reduction, matmul.allow_bf16_reduced_precision_reduction = before[
            2:
        ]


def _tensor(item: TensorCase, device: str) -> Tensor:
    dtype: torch.dtype = getattr(torch, item.dtype)
    values = make_tensor(item.shape, dtype, item.kind, item.seed, device, item.low, item.high, item.other)
    return values if item.layout is None else strided(values, item.layout.stride, item.layout.offset)


def arguments(case: Case, device: str) -> dict[str, Tensor | float | int | bool]:
    """Build the arguments of a case on `device`."""
    made: dict[str, Tensor | float | int | bool] = {item.name: _tensor(item, device) for item in case.tensors}
    made.update(case.scalars)
    return made


def call_arguments(
    runner: Runner, values: Mapping[str, Tensor | float | int | bool]
) -> tuple[list[Tensor], dict[str, Tensor | float | int | bool]]:
    """Split arguments as the function takes them: by name where its parameters have these names, else in order."""
    subject = runner.subject
    if runner.by_name:
        return [], {item.name: values[item.name] for item in subject.inputs}
    tensors = [value for item in subject.tensors if isinstance(value := values[item.name], Tensor)]
    return tensors, {item.name: values[item.name] for item in subject.scalars}


def _bits(tensor: Tensor) -> Tensor:
    """Return the elements as bytes, in order: NaN compares equal to itself there."""
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def _memory(tensor: Tensor) -> Tensor:
    """Return all memory that a tensor is a view of, as bytes: what lies between its elements may not change either."""
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())


def _references(
    reference: Reference, values: Mapping[str, Tensor | float | int | bool]
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]] | str:
    """Evaluate eager and golden; the text of the error when the reference refuses these sizes."""
    try:
        found = reference(values, False), reference(values, True)  # noqa: FBT003 - the flag is the whole question
    except torch.OutOfMemoryError:
        raise
    except REFUSALS as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
    # Attention of torch 2.11 returns None on a GPU for a batch of nothing.
    if not all(isinstance(result, Tensor) for results in found for result in results):
        return "it gives no tensor at these sizes"
    return found


def _form(runner: Runner, results: tuple[Tensor, ...], eager: tuple[Tensor, ...]) -> Rule | None:
    if len(results) != len(eager):
        return WrongOutputForm("the number of results", str(len(results)), str(len(eager)))
    for name, result, wanted in zip(_names(runner, len(eager)), results, eager, strict=True):
        if tuple(result.shape) != tuple(wanted.shape):
            return WrongOutputForm(
                f"the shape of `{name}`", str(tuple(result.shape)), str(tuple(wanted.shape))
            )
        if result.dtype != wanted.dtype:
            return WrongOutputForm(f"the dtype of `{name}`", str(result.dtype)[6:], str(wanted.dtype)[6:])
    return None


def _names(runner: Runner, count: int) -> list[str]:
    names = [item.name for item in runner.subject.outputs]
    return names if len(names) == count else [f"result{position}" for position in range(count)]


def _launch(
    runner: Runner, values: Mapping[str, Tensor | float | int | bool], guard: Guard
) -> tuple[Tensor, ...] | str:
    tensors, scalars = call_arguments(runner, values)
    try:
        with guard:
            result = runner.call(*tensors, **scalars)
        if runner.device == "cuda":
            torch.cuda.synchronize()
    except Exception as error:  # noqa: BLE001 - whatever generated code raises is the finding
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
    return result if isinstance(result, tuple) else (result,)


def _overrun(guard: Guard) -> Rule | None:
    for position, allocation in enumerate(guard.allocations):
        found = allocation.overrun()
        if found is not None:
            return OutOfBoundsWrite(f"allocation {position + 1} of the launch", *found)
    return None


def _shares(
    runner: Runner, results: tuple[Tensor, ...], values: Mapping[str, Tensor | float | int | bool]
) -> Rule | None:
    allowed = runner.subject.inplace
    for name, result in zip(_names(runner, len(results)), results, strict=True):
        for other, value in values.items():
            if isinstance(value, Tensor) and other not in allowed and _overlap(result, value):
                return OutputNotFresh(name, f"the input `{other}`")
    return None


def _overlap(left: Tensor, right: Tensor) -> bool:
    if left.numel() == 0 or right.numel() == 0:
        return False
    return left.untyped_storage().data_ptr() == right.untyped_storage().data_ptr()


def blocks_of(runner: Runner, case: Case) -> int:
    """Return how many blocks the interpreter would run; 0 when the launcher refuses the case, which `run_case` reports."""
    tensors, named = call_arguments(runner, arguments(case, runner.torch_device))
    try:
        return launched_blocks(lambda: runner.call(*tensors, **named))
    except Exception:  # noqa: BLE001 - whatever generated code raises comes again when the case runs
        return 0


def run_case(runner: Runner, case: Case, *, twice: bool = True) -> CaseResult:
    """Run one case; the first fault found is the one reported, ordered from cause to symptom.

    `twice` launches a second time and compares the bits.
    """
    with exact_float32(), torch.no_grad():
        return _run(runner, case, twice=twice)


def _run(runner: Runner, case: Case, *, twice: bool) -> CaseResult:
    subject, device = runner.subject, runner.torch_device
    values = arguments(case, device)
    pristine = {name: value.clone() if isinstance(value, Tensor) else value for name, value in values.items()}
    references = _references(subject.reference, pristine)
    if isinstance(references, str):
        return CaseResult(refused=references)
    eager, golden = references
    memory = {
        name: _memory(value).clone()
        for name, value in values.items()
        if isinstance(value, Tensor) and name not in subject.inplace
    }
    first_guard = Guard(runner.folder)
    results = _launch(runner, values, first_guard)
    if isinstance(results, str):
        return CaseResult(fault=LaunchFailed(results))
    fault = (
        _form(runner, results, eager)
        or _overrun(first_guard)
        or _changed(values, memory)
        or _shares(runner, results, values)
    )
    if fault is not None:
        return CaseResult(fault=fault)
    names = _names(runner, len(results))
    for name, result in zip(names, results, strict=True):
        allocation = first_guard.find(result)
        if allocation is None:
            continue
        missing = unwritten(result, allocation)
        # A NaN that was computed may have the very bits of the pattern: only what should be a number counts.
        for wanted in (golden[names.index(name)], eager[names.index(name)]):
            if wanted.dtype.is_floating_point:
                missing &= ~wanted.isnan()
        if bool(missing.any()):
            at = int(missing.reshape(-1).to(torch.uint8).argmax())
            return CaseResult(fault=UnwrittenOutput(name, place(tuple(result.shape), at), int(missing.sum())))
    kept = [_bits(result).clone() for result in results]
    again = _again(runner, case, names, results, kept) if twice else None
    if isinstance(again, OutputNotFresh):
        return CaseResult(fault=again)
    ratio, nudge = 0.0, Nudge(subject.reference, pristine, subject.chain)
    for position, (name, result) in enumerate(zip(names, results, strict=True)):
        found = compare(
            name,
            result,
            golden[position],
            eager[position],
            subject.numerics.tolerance,
            nudge,
            position,
        )
        ratio = max(ratio, found.ratio)
        if found.fault is not None:
            return CaseResult(ratio, found.fault)
    return CaseResult(ratio, again)


def _changed(values: Mapping[str, Tensor | float | int | bool], memory: Mapping[str, Tensor]) -> Rule | None:
    for name, before in memory.items():
        value = values[name]
        if isinstance(value, Tensor) and not torch.equal(_memory(value), before):
            return InputModified(name)
    return None


def _again(
    runner: Runner, case: Case, names: list[str], results: tuple[Tensor, ...], kept: list[Tensor]
) -> Rule | None:
    """Launch a second time: same bits, other memory, and the first results left alone."""
    values = arguments(case, runner.torch_device)
    second = _launch(runner, values, Guard(runner.folder))
    if isinstance(second, str):
        return LaunchFailed(f"{second} (on the second launch only)")
    fault: Rule | None = None
    for name, before, old, new in zip(names, kept, results, second, strict=True):
        if _overlap(old, new):
            return OutputNotFresh(name, "the result of an earlier launch")
        bits = _bits(new)
        different = bits != before
        if fault is None and bool(different.any()):
            at = int(different.to(torch.uint8).argmax()) // new.element_size()
            fault = UnstableResult(name, place(tuple(new.shape), at))
    return fault
