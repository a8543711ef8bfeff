"""Graphs of small functions, recorded at fixed sizes, for tests of lowering alone."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tilespec.reference.graph import Graph
from tilespec.reference.record import Place, Recorder
from tilespec.reference.symbols import SymbolTable


def record(function: Callable[..., object], *arguments: torch.Tensor, name: str = "probe") -> Graph:
    """Record what `function` calls for tensors like `arguments`; inputs are named `x0, x1, ...`."""
    table = SymbolTable({})
    recorder = Recorder(table, lambda: Place(None, name), (), 1_000)
    with FakeTensorMode(shape_env=table.env):
        inputs = [torch.empty_strided(item.shape, item.stride(), dtype=item.dtype) for item in arguments]
        names = [f"x{number}" for number in range(len(inputs))]
        for tensor, label in zip(inputs, names, strict=True):
            recorder.add_input(tensor, label)
        with recorder:
            result = function(*inputs)
        results = result if isinstance(result, list | tuple) else (result,)
        metas = [(label, recorder.meta(tensor)) for label, tensor in zip(names, inputs, strict=True)]
        return recorder.graph(name, metas, [], [recorder.ref(item) for item in results])
