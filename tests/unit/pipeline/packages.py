"""Packages of small specs, built into a temporary folder and loaded for the tile interpreter."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from tilespec.diagnostics import Diagnostic
from tilespec.interpret import load_package
from tilespec.pipeline import BuildOptions, build_paths

__all__ = ["DOUBLE", "TWO_STEPS", "build", "forward_of", "spec_text"]


def spec_text(
    kernel_id: str,
    inputs: dict[str, str],
    outputs: dict[str, str],
    operations: str,
    body: str | None,
    *,
    description: str = "A kernel.",
    dependencies: str = "none",
) -> str:
    """Return a kernel spec; `inputs` and `outputs` map names to what stands after the colon."""
    lines = [
        f"KERNEL SPEC: {kernel_id}",
        f"Description: {description}",
        f"Operations: [{operations}]",
        "Inputs:",
    ]
    lines += [f"  - {name}: {text}" for name, text in inputs.items()]
    lines += ["Outputs:", *(f"  - {name}: {text}" for name, text in outputs.items())]
    lines.append(f"Dependencies: {dependencies}")
    if body is not None:
        lines += ["PyTorch Reference:", f"def reference_{kernel_id}({', '.join(inputs)}):"]
        lines += [f"    {line}" for line in body.splitlines()]
    return "\n".join([*lines, ""])


DOUBLE = spec_text(
    "double", {"x": "shape=(N,), dtype=float32"}, {"y": "shape=(N,), dtype=float32"}, "mul", "return x * 2"
)
TWO_STEPS = "\n---\n".join(
    (
        spec_text(
            "scaled",
            {"x": "shape=(M, N), dtype=float32"},
            {"y": "shape=(M, N), dtype=float32"},
            "mul",
            "return x * 3",
        ),
        spec_text(
            "totals",
            {"y": "shape=(M, N), dtype=float32, from=scaled.y"},
            {"total": "shape=(M,), dtype=float32"},
            "sum",
            "return y.sum(dim=-1)",
            dependencies="[scaled]",
        ),
    )
)


def build(text: str, folder: Path, name: str = "probe") -> tuple[Path, list[Diagnostic]]:
    """Write a spec file into `folder`, build it below `folder / "build"` and return the package and what was found."""
    spec = folder / f"{name}.tilespec"
    spec.write_text(text)
    report = build_paths([spec], BuildOptions(out=folder / "build"))
    return report.files[0].folder, report.findings


def forward_of(package: Path) -> ModuleType:
    """Load the composed module of a package."""
    return load_package(package)
