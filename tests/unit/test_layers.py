"""Imports point one way: down the list of stages."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

# A stage may import itself and what stands before it.
STAGES = (
    "diagnostics",
    "_resources",
    "progress",
    "child",
    "collector",
    "rules",
    "syntax",
    "model",
    "reference",
    "coverage",
    "ir",
    "lowering",
    "schedule",
    "render",
    "assemble",
    "build",
    "interpret",
    "verify",
    "bench",
    "pipeline",
    "cli",
    "__main__",
)
# What needs no torch has to start fast: these stages may not import it, not even inside a function.
WITHOUT_TORCH = ("rules", "syntax", "model", "lowering", "schedule", "render")

PACKAGE = Path(__file__).resolve().parents[2] / "tilespec"
FILES = sorted(PACKAGE.rglob("*.py"))


def imported(file: Path) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of everything that a file imports, also for type checkers only."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno} imports relatively"
            module = node.module or ""
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def stage_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_every_module_belongs_to_a_stage():
    assert {stage_of(file) for file in FILES} - {"__init__"} <= set(STAGES)
    assert len(FILES) > 20


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_imports_point_down(file: Path):
    stage = stage_of(file)
    allowed = STAGES[: STAGES.index(stage) + 1] if stage in STAGES else STAGES
    wrong = []
    for line, name in imported(file):
        parts = name.split(".")
        if parts[0] == "tilespec" and len(parts) > 1 and parts[1] in STAGES and parts[1] not in allowed:
            wrong.append(f"line {line} imports {name}")
        if parts[0] == "torch" and stage in WITHOUT_TORCH:
            wrong.append(f"line {line} imports torch")
    assert not wrong


def test_a_wrong_import_would_be_seen(tmp_path: Path):
    file = tmp_path / "module.py"
    file.write_text("def late():\n    from tilespec.verify import verify_paths\n")
    assert list(imported(file)) == [(2, "tilespec.verify.verify_paths")]
