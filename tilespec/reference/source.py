"""The forward pass of `Source: model.py:FFN`: imported and traced, which runs the code of that file.

Only for files that the reader trusts, and only when asked: nothing here is safe against its author.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import io
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tilespec.diagnostics import Diagnostic
from tilespec.model.types import ScalarSpec, SpecFile, TensorSpec
from tilespec.reference.check import check, plain_text
from tilespec.reference.graph import Graph
from tilespec.reference.signature import Signature
from tilespec.reference.trace import trace_callable
from tilespec.rules.package import SourceUnusable

__all__ = ["trace_source"]


class _UnusableError(Exception):
    """Why the forward pass can't be had, in words for the reader."""


def trace_source(
    spec: SpecFile, *, types: Mapping[str, str] | None = None
) -> tuple[Graph | None, list[Diagnostic]]:
    """Import and trace the forward pass that `Source` names; the graph is None when a finding is an error.

    Parameters of the function, and of a module its own parameters and buffers too, are composition inputs by name.
    """
    place = spec.source_path or ""
    path, _, qualifier = place.rpartition(":")
    inputs = {item.name: item for kernel in spec.kernels for item in kernel.inputs}
    try:
        forward, names = _forward(_load(Path(spec.source.path).parent / path, qualifier), inputs)
    except _UnusableError as error:
        return None, [SourceUnusable(place, str(error)).at(spec.source, spec.source_span)]
    signature = Signature(
        "forward", tuple(inputs[name] for name in names), None, spec.source_span or spec.kernels[0].span
    )
    program, _ = check(
        plain_text(f"def forward({', '.join(names)}):\n    return {names[0] if names else '0'}\n")
    )
    assert program is not None  # noqa: S101 (a parameter list and a return)
    graph, found = trace_callable(spec, program, signature, forward, types=types)
    # What the tracer says about a place is about code that isn't in the spec: it is said of the `Source` line.
    return graph, [
        SourceUnusable(place, item.message).at(spec.source, spec.source_span) if graph is None else item
        for item in found
        if graph is None or item.source is spec.source
    ]


def _load(path: Path, qualifier: str) -> object:
    if path.suffix != ".py" or not path.is_file():
        message = f"there is no Python file {path.as_posix()}"
        raise _UnusableError(message)
    loader = importlib.util.spec_from_file_location(f"tilespec_source_{path.stem}", path)
    if loader is None or loader.loader is None:
        message = f"{path.as_posix()} can't be loaded"
        raise _UnusableError(message)
    module = importlib.util.module_from_spec(loader)
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            loader.loader.exec_module(module)
            found: object = module
            for name in qualifier.split("."):
                found = getattr(found, name)
    except (Exception, SystemExit) as error:  # the file may do anything
        message = f"importing it fails: {_words(error)}"
        raise _UnusableError(message) from error
    finally:
        sys.path.remove(folder)
    return found


def _forward(
    found: object, inputs: Mapping[str, TensorSpec | ScalarSpec]
) -> tuple[Callable[[Mapping[str, Any]], Any], list[str]]:
    """Return what computes the forward pass from arguments by name, and these names."""
    if isinstance(found, type) and issubclass(found, nn.Module):
        try:
            with torch.device("meta"):
                found = found()
        except Exception as error:  # the class may do anything
            message = f"it can't be made without arguments: {_words(error)}"
            raise _UnusableError(message) from error
    if isinstance(found, nn.Module):
        return _of_module(found, inputs)
    if not callable(found):
        message = "it is no function and no module"
        raise _UnusableError(message)
    function = found
    names = _parameters(function, inputs)
    return lambda arguments: function(**{name: arguments[name] for name in names}), names


def _of_module(
    module: nn.Module, inputs: Mapping[str, TensorSpec | ScalarSpec]
) -> tuple[Callable[[Mapping[str, Any]], Any], list[str]]:
    module.eval()
    names = _parameters(module.forward, inputs)
    own: dict[str, str] = {}
    for full in dict([*module.named_parameters(), *module.named_buffers()]):
        known = [name for name in (full, full.replace(".", "_"), full.rpartition(".")[2]) if name in inputs]
        if not known:
            message = f"no kernel has an input for its parameter `{full}`, called `{full.replace('.', '_')}`"
            raise _UnusableError(message)
        own[full] = known[0]

    def forward(arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401 (what a module returns)
        state = {full: arguments[name] for full, name in own.items()}
        given = {name: arguments[name] for name in names}
        return torch.func.functional_call(module, state, kwargs=given)

    return forward, list(dict.fromkeys([*names, *own.values()]))


def _parameters(function: Callable[..., Any], inputs: Mapping[str, TensorSpec | ScalarSpec]) -> list[str]:
    names = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in inputs:
            names.append(parameter.name)
        elif parameter.default is inspect.Parameter.empty:
            message = f"no kernel has an input for its parameter `{parameter.name}`"
            raise _UnusableError(message)
    return names


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}".rstrip(": ")
