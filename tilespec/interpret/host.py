"""The stand-in for `torch` that generated launchers see: CPU tensors pass for device tensors.

Everything is torch's own but for `torch.cuda`, which describes a device that isn't there, and the functions that take
a device, which ignore a request for a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import torch

from tilespec.interpret import state
from tilespec.interpret.errors import TileTypeError

__all__ = ["torch_stand_in"]

_FACTORIES: Final = (
    "arange",
    "as_tensor",
    "empty",
    "empty_like",
    "empty_strided",
    "eye",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "tensor",
    "zeros",
    "zeros_like",
)
_PROPERTIES: Final = SimpleNamespace(
    name="interpreter",
    major=9,
    minor=0,
    multi_processor_count=4,
    total_memory=1 << 34,
    shared_memory_per_block_optin=232448,
    max_threads_per_multi_processor=2048,
    warp_size=32,
    L2_cache_size=50 << 20,
)


class _Stream:
    """What stands for the current stream: tensors of its device are the ones to launch on."""

    cuda_stream = 0
    device = torch.device("cpu")
    device_index = 0

    def synchronize(self) -> None:
        """Return at once: launches have run when they return."""


@contextmanager
def _device(*_args: object) -> Iterator[None]:
    yield


def _nothing(*_args: object, **_keywords: object) -> None:
    return None


def _cuda() -> ModuleType:
    module = ModuleType("torch.cuda")
    stream = _Stream()
    module.__dict__.update(
        {
            "Stream": _Stream,
            "current_device": lambda: 0,
            "current_stream": lambda *_args: stream,
            "default_stream": lambda *_args: stream,
            "device": _device,
            "device_count": lambda: 1,
            "get_device_capability": lambda *_args: (_PROPERTIES.major, _PROPERTIES.minor),
            "get_device_name": lambda *_args: _PROPERTIES.name,
            "get_device_properties": lambda *_args: _PROPERTIES,
            "is_available": lambda: True,
            "is_current_stream_capturing": lambda: False,
            "set_device": _nothing,
            "synchronize": _nothing,
        }
    )
    return module


def _is_gpu(place: object) -> bool:
    return isinstance(place, int) or str(place).startswith("cuda")


def _on_cpu(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **keywords: Any) -> Any:  # noqa: ANN401 - passed through
        place = keywords.get("device")
        if place is not None and _is_gpu(place):
            keywords["device"] = "cpu"
        return function(*args, **keywords)

    return call


class _Native(ModuleType):
    """`torch._C`, with the calls that read the current device and stream."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - an attribute of another module
        return getattr(torch._C, name)  # noqa: SLF001 - launchers use it to save host time


class _Torch(ModuleType):
    """`torch`, which device code can't use."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - an attribute of another module
        value = getattr(torch, name)
        if state.current is not None and not isinstance(value, torch.dtype):
            msg = f"torch.{name} is not supported in device code"
            raise TileTypeError(msg)
        return value


def torch_stand_in() -> Any:  # noqa: ANN401 - a module with torch's attributes
    """Make the module."""
    module = _Torch("torch")
    module.__dict__.update({name: _on_cpu(getattr(torch, name)) for name in _FACTORIES})
    native = _Native("torch._C")
    native.__dict__.update({"_cuda_getCurrentRawStream": lambda *_args: 0, "_cuda_getDevice": lambda: 0})
    module.__dict__.update({"_C": native, "cuda": _cuda()})
    return module
