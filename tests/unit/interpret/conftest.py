"""Writes kernels to files and runs them in the interpreter."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tilespec import interpret

HEADER = """
import math
import torch
import cuda.tile as ct


@ct.kernel
def k({names}):
{body}


def launch({names}, *, grid=(1,)):
    ct.launch(torch.cuda.current_stream(), grid, k, ({names},))
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], ModuleType]:
    """Load a module from its text."""
    numbers = iter(range(1000))

    def from_text(text: str, **options: object) -> ModuleType:
        path = tmp_path / f"kernels_{next(numbers)}.py"
        path.write_text(textwrap.dedent(text))
        return interpret.load_module(path, **options)

    return from_text


@pytest.fixture
def run(load: Callable[..., ModuleType]) -> Callable[..., None]:
    """Run the body of one kernel on named arguments."""

    def one(
        body: str, *, grid: tuple[int, ...] = (1,), seed: int = 0, **arguments: torch.Tensor | float
    ) -> None:
        indented = textwrap.indent(textwrap.dedent(body), "    ")
        module = load(HEADER.format(names=", ".join(arguments), body=indented), seed=seed)
        module.launch(*arguments.values(), grid=grid)

    return one
