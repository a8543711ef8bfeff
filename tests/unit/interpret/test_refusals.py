"""The interpreter and the compiler refuse the same kernels."""

from __future__ import annotations

import importlib.util
import textwrap
from pathlib import Path
from typing import Final

import pytest
import torch

from tilespec import interpret
from tilespec.assemble import Assembler, Assembly, Job

_SPEC = importlib.util.spec_from_file_location("refusals", Path(__file__).with_name("refusals.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
refusals = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(refusals)

ROWS: Final = {**refusals.REFUSED, **refusals.ACCEPTED}
ARGUMENTS: Final = [
    {"kind": "array", "name": "x", "dtype": "float32", "rank": 2},
    {"kind": "array", "name": "y", "dtype": "float32", "rank": 2},
    {"kind": "array", "name": "h", "dtype": "float16", "rank": 2},
    {"kind": "array", "name": "v", "dtype": "int32", "rank": 1},
    {"kind": "scalar", "name": "n", "dtype": "int32"},
    {"kind": "scalar", "name": "f", "dtype": "float32"},
]
ASSEMBLER_ONLY: Final = ("float padding of integers", "store of another rank")
"""Rows that the front end lets through."""


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("rows")
    written = {}
    for number, (name, body) in enumerate(ROWS.items()):
        written[name] = folder / f"row_{number}.py"
        written[name].write_text(refusals.BODY.replace("{body}", textwrap.indent(body, "    ")))
    return written


@pytest.fixture(scope="module")
def compiled(paths: dict[str, Path]) -> dict[str, Assembly]:
    jobs = [
        Job(path, "k", ARGUMENTS, "sm_90" if name in ASSEMBLER_ONLY else None) for name, path in paths.items()
    ]
    with Assembler(2) as assembler:
        return dict(zip(paths, assembler.compile_all(jobs), strict=True))


def interpreted(path: Path) -> interpret.InterpreterError | None:
    module = interpret.load_module(path)
    generator = torch.Generator().manual_seed(0)
    x, h = (torch.randn(16, 16, generator=generator) for _ in range(2))
    try:
        module.launch(x, torch.zeros(16, 16), h.half(), torch.arange(16, dtype=torch.int32), 5, 2.0)
    except interpret.InterpreterError as error:
        return error
    return None


@pytest.mark.parametrize("name", refusals.REFUSED)
def test_both_refuse(name: str, paths: dict[str, Path], compiled: dict[str, Assembly]) -> None:
    error = interpreted(paths[name])
    assert compiled[name].error is not None, "the compiler accepts this row"
    assert error is not None, compiled[name].error.message
    assert error.file == str(paths[name])
    assert error.line is not None


@pytest.mark.parametrize("name", refusals.ACCEPTED)
def test_both_accept(name: str, paths: dict[str, Path], compiled: dict[str, Assembly]) -> None:
    assert compiled[name].error is None
    assert interpreted(paths[name]) is None


def test_the_line_is_the_one_that_the_compiler_names(
    paths: dict[str, Path], compiled: dict[str, Assembly]
) -> None:
    """Few rows may differ: where one statement takes several lines, or the interpreter learns of a type later."""
    same = [
        name
        for name in refusals.REFUSED
        if (error := interpreted(paths[name])) is not None
        and (theirs := compiled[name].error) is not None
        and error.line == theirs.line
    ]
    assert len(same) >= 0.9 * len(refusals.REFUSED)
