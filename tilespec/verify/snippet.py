"""Prints a failing case as a script that needs the built package and torch, nothing else of this tool on a GPU."""

from __future__ import annotations

import inspect

from tilespec.model.types import ScalarSpec, TensorSpec
from tilespec.verify import inputs
from tilespec.verify.load import Runner
from tilespec.verify.subject import Case, TensorCase

__all__ = ["snippet"]

_CALL = """\
results = module.{function}({call})
results = results if isinstance(results, tuple) else (results,)
print(*results, sep="\\n")
"""
_COMPARISON = """\
wide = [v.double() if torch.is_tensor(v) and v.is_floating_point() else v for v in [{values}]]
expected = reference.{reference}(*wide)
expected = expected if isinstance(expected, tuple) else (expected,)
for result, golden in zip(results, expected, strict=True):
    print(golden)
    if result.numel():
        print("largest difference:", (result.double() - golden.double()).abs().max().item())
"""


def snippet(runner: Runner, case: Case, message: str) -> str:
    """Return a Python script that builds the arguments of `case`, launches, and prints result and golden."""
    subject = runner.subject
    lines = [f"# {line}" for line in (f"{subject.name}: {message}", case.describe())]
    lines += ["import importlib", "import sys", "from pathlib import Path", "", "import torch", ""]
    if runner.device == "interpreter":
        lines += ["from tilespec.interpret import load_package", ""]
    lines += [
        f"package = Path({str(runner.folder)!r})",
        f"device = {runner.torch_device!r}",
        "",
        "",
        inspect.getsource(inputs.make_tensor),
        "",
        inspect.getsource(inputs.strided),
        "",
        "sys.path.insert(0, str(package.parent))",
    ]
    path = subject.module.resolve().relative_to(runner.folder)
    dotted = ".".join(path.with_suffix("").parts)
    if runner.device == "cuda":
        lines += [f'module = importlib.import_module(f"{{package.name}}.{dotted}")']
    else:
        lines += [f"module = load_package(package, module={dotted!r})"]
    lines += ['reference = importlib.import_module(f"{package.name}.reference")', ""]
    lines += [_tensor(item) for item in case.tensors]
    lines += [f"{name} = {value!r}" for name, value in case.scalars]
    lines.append(
        _CALL.format(
            function=subject.function, call=", ".join(_passed(runner, item) for item in subject.inputs)
        )
    )
    if subject.reference_name:
        values = ", ".join(item.name for item in subject.inputs)
        lines.append(_COMPARISON.format(values=values, reference=subject.reference_name))
    return "\n".join(lines)


def _passed(runner: Runner, item: TensorSpec | ScalarSpec) -> str:
    return f"{item.name}={item.name}" if runner.by_name or isinstance(item, ScalarSpec) else item.name


def _tensor(item: TensorCase) -> str:
    bounds = "" if item.low is None else f", low={item.low!r}, high={item.high!r}"
    if item.other is not None:
        bounds += f", other={item.other!r}"
    made = f"make_tensor({item.shape!r}, torch.{item.dtype}, {item.kind!r}, {item.seed}, device{bounds})"
    if item.layout is not None:
        made = f"strided({made}, {item.layout.stride!r}, {item.layout.offset})"
    return f"{item.name} = {made}"
