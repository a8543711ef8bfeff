"""Watches the allocations of a launch: fills them with a pattern and puts guard bands around them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

__all__ = ["Allocation", "Guard", "unwritten"]

_BAND = 512
"""Bytes on either side: a multiple of the alignment that torch gives, so that guarded tensors are aligned alike."""
_STAND_IN = str(Path(__file__).resolve().parent.parent / "interpret" / "host.py")
_FLOAT, _OTHER = 0xFF, 0xA5
"""0xFF is NaN in every float type; 0xA5 is an integer nobody computes and no valid bool."""


@dataclass(frozen=True)
class Allocation:
    """One allocation of a launch: `memory` is all of it as bytes, the tensor lies between the bands."""

    memory: Tensor
    size: int
    pattern: int
    poisoned: bool

    @property
    def storage(self) -> int:
        """Address of the memory, to find the allocation that a tensor lies in."""
        return self.memory.untyped_storage().data_ptr()

    def overrun(self) -> tuple[str, int] | None:
        """Return the side and the number of bytes that a write went out of bounds, or None."""
        before = self.memory[:_BAND] != self.pattern
        after = self.memory[_BAND + self.size :] != self.pattern
        if not bool(before.any() | after.any()):
            return None
        if bool(after.any()):
            return "after", int(after.nonzero().max()) + 1
        return "before", _BAND - int(before.nonzero().min())


class Guard(TorchFunctionMode):
    """Replaces `torch.empty`, `empty_like`, `empty_strided`, `new_empty`, `zeros`, … called from files below `folder`.

    Other code, the interpreter's own included, allocates as before.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = str(folder)
        self.allocations: list[Allocation] = []

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - the type that torch gives this hook
        """Run `func`, then move what it allocated between guard bands."""
        made = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") not in _ALLOCATORS or not isinstance(made, Tensor):
            return made
        if not self._called_by_generated_code():
            return made
        return self._guarded(made, filled="empty" not in func.__name__)

    def _called_by_generated_code(self) -> bool:
        frame = sys._getframe(2)  # noqa: SLF001 - the documented way to ask who calls
        # The interpreter puts one frame of its own between a launcher and torch.
        while frame.f_code.co_filename == _STAND_IN and frame.f_back is not None:
            frame = frame.f_back
        return frame.f_code.co_filename.startswith(self._folder)

    def _guarded(self, made: Tensor, *, filled: bool) -> Tensor:
        span = sum((size - 1) * step for size, step in zip(made.shape, made.stride(), strict=True)) + 1
        size = (span if made.numel() else 0) * made.element_size()
        pattern = _FLOAT if made.dtype.is_floating_point else _OTHER
        memory = torch.full((size + 2 * _BAND,), pattern, dtype=torch.uint8, device=made.device)
        # A storage offset in elements needs the band to be a whole number of elements: 512 is, for all dtypes.
        typed = memory[: (size + 2 * _BAND) // made.element_size() * made.element_size()].view(made.dtype)
        tensor = typed.as_strided(made.shape, made.stride(), _BAND // made.element_size())
        if filled:
            tensor.copy_(made)
        self.allocations.append(Allocation(memory, size, pattern, poisoned=not filled))
        return tensor

    def find(self, tensor: Tensor) -> Allocation | None:
        """Return the allocation that `tensor` lies in."""
        address = tensor.untyped_storage().data_ptr()
        return next((item for item in self.allocations if item.storage == address), None)


_ALLOCATORS = frozenset(
    [
        "empty",
        "empty_like",
        "empty_strided",
        "new_empty",
        "new_empty_strided",
        "zeros",
        "zeros_like",
        "new_zeros",
        "full",
        "full_like",
        "new_full",
        "ones",
        "ones_like",
    ]
)


def unwritten(tensor: Tensor, allocation: Allocation) -> Tensor:
    """Return where every byte of an element of `tensor` still holds the pattern, as a bool tensor of its shape."""
    if not allocation.poisoned or tensor.numel() == 0:
        return torch.zeros(tensor.shape, dtype=torch.bool, device=tensor.device)
    flat = tensor.contiguous().reshape(-1).view(torch.uint8)
    return (flat == allocation.pattern).reshape(*tensor.shape, tensor.element_size()).all(-1)
