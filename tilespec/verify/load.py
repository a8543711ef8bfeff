"""Brings a generated function to run: on the GPU as it is, on the CPU through the tile interpreter."""

from __future__ import annotations

import importlib
import inspect
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Literal

import torch
from torch import Tensor

from tilespec.interpret import load_package, recording
from tilespec.verify.subject import Subject

__all__ = [
    "Device",
    "Runner",
    "device_label",
    "import_generated",
    "launched_blocks",
    "load_runner",
    "pick_device",
]

Device = Literal["auto", "cuda", "interpreter"]


@dataclass(frozen=True)
class Runner:
    """A subject ready to run.

    `torch_device` is where its tensors live, `folder` where its generated code lies; `by_name` says whether its
    parameters are called as the spec calls them.
    """

    subject: Subject
    module: ModuleType
    call: Callable[..., Tensor | tuple[Tensor, ...]]
    torch_device: str
    folder: Path
    by_name: bool

    @property
    def device(self) -> str:
        """`cuda` or `interpreter`."""
        return "cuda" if self.torch_device == "cuda" else "interpreter"


def launched_blocks(launch: Callable[[], object]) -> int:
    """Return how many blocks the launches inside `launch` have, without running them; interpreter only."""
    with recording(dry=True) as records:
        launch()
    return sum(math.prod(record.grid) for record in records)


def pick_device(device: Device) -> str:
    """Resolve `auto`: the GPU if there is one that torch can use."""
    if device != "auto":
        return device
    return "cuda" if torch.cuda.is_available() else "interpreter"


def device_label(device: str) -> str:
    """Name the device in reports."""
    return torch.cuda.get_device_name() if device == "cuda" else "tile interpreter (CPU)"


def load_runner(subject: Subject, device: str) -> Runner:
    """Import the generated module for `device` (`cuda` or `interpreter`).

    Raises:
        ImportError: the module or something that it imports is missing.
        AttributeError: the module has no such function.
    """
    path = subject.module.resolve()
    folder = path.parent.parent if path.parent.name == "kernels" else path.parent
    if device == "cuda":
        module = import_generated(path, folder)
    else:
        middle = "kernels." if path.parent.name == "kernels" else ""
        module = load_package(folder, module=f"{middle}{path.stem}", allow_alias=bool(subject.inplace))
    call = getattr(module, subject.function)
    named = {
        parameter.name
        for parameter in inspect.signature(call).parameters.values()
        if parameter.kind is not inspect.Parameter.POSITIONAL_ONLY
    }
    by_name = named >= {item.name for item in subject.inputs}
    return Runner(subject, module, call, "cuda" if device == "cuda" else "cpu", folder, by_name)


def import_generated(path: Path, folder: Path, *, fresh: bool = False) -> ModuleType:
    """Import a file of the generated package in `folder`, under a name that can't clash with an installed package.

    With `fresh` the whole package is imported anew and the modules that others hold stay as they are.
    """
    folder = folder.resolve()
    package = f"_tilespec_build.{folder.name}"
    places = {"_tilespec_build": folder.parent, package: folder, f"{package}.kernels": folder / "kernels"}
    for name, directory in places.items():
        known = sys.modules.get(name)
        if known is None or list(known.__path__) != [str(directory)] or (fresh and name != "_tilespec_build"):
            made = ModuleType(name)
            made.__path__ = [str(directory)]
            sys.modules[name] = made
            for stale in [item for item in sys.modules if item.startswith(f"{name}.")]:
                del sys.modules[stale]
    parts = path.resolve().relative_to(folder).with_suffix("").parts
    return importlib.import_module(".".join((package, *parts)))
