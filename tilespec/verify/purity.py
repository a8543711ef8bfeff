"""Shows that a forward path computes in kernels only: records the ATen calls that it makes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tilespec.diagnostics import Rule
from tilespec.rules.verify import ComputeLeftToTorch
from tilespec.verify.check import arguments, call_arguments
from tilespec.verify.load import Runner
from tilespec.verify.subject import Case

__all__ = ["ALLOWED", "Recorder", "impurities"]

ALLOWED = frozenset(
    [
        "empty",
        "empty_like",
        "empty_strided",
        "new_empty",
        "new_empty_strided",
        "zeros",
        "zeros_like",
        "new_zeros",
        "ones",
        "ones_like",
        "new_ones",
        "full",
        "full_like",
        "new_full",
        "fill_",
        "zero_",
        "view",
        "_unsafe_view",
        "_reshape_alias",
        "reshape",
        "as_strided",
        "alias",
        "detach",
        "expand",
        "permute",
        "transpose",
        "t",
        "squeeze",
        "unsqueeze",
        "select",
        "slice",
        "narrow",
        "split",
        "split_with_sizes",
        "unbind",
        "unfold",
        "diagonal",
        "movedim",
        "view_as_real",
        "lift_fresh",
        "clone",
        "contiguous",
        "cat",
        "stack",
    ]
)
"""Allocation, views and rearrangement, concatenation: what may stand between kernels."""

_PACKAGE = Path(__file__).resolve().parent.parent


class Recorder(TorchDispatchMode):
    """Collects the ATen calls that generated code makes itself; those inside a kernel launch are not its own."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ops: list[str] = []

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - the types that torch gives this hook
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - see above
        """Note `func` and run it."""
        if not _in_launch():
            self.ops.append(str(func))
        run: Callable[..., Any] = func
        return run(*args, **(kwargs or {}))


def _in_launch() -> bool:
    """Whether the call comes from the tile interpreter, which stands for the GPU and computes with torch."""
    frame = sys._getframe(2)  # noqa: SLF001 - the documented way to ask who calls
    inside = _PACKAGE / "interpret"
    while frame.f_back is not None:
        name = frame.f_code.co_filename
        # `host.py` stands for torch itself and passes on what a launcher asks of it.
        if name.startswith(str(inside)) and name != str(inside / "host.py"):
            return True
        frame = frame.f_back
    return False


def _base(op: str) -> str:
    """Return `add` for `aten.add.Tensor`."""
    return op.split(".")[1] if op.startswith("aten.") and "." in op else op


def impurities(runner: Runner, case: Case) -> Iterator[Rule]:
    """Yield a finding for each kind of ATen call in the forward path that computes."""
    tensors, scalars = call_arguments(runner, arguments(case, runner.torch_device))
    recorder = Recorder()
    with torch.no_grad(), recorder:
        runner.call(*tensors, **scalars)
    for op in dict.fromkeys(recorder.ops):
        if _base(op) not in ALLOWED:
            yield ComputeLeftToTorch(op, runner.subject.name)
