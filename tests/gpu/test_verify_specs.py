"""Every shipped spec on a real GPU: many cases a kernel, and the composed function."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

SPECS = sorted((Path(__file__).resolve().parents[2] / "specs").glob("*.tilespec"))
CASES = int(os.environ.get("TILESPEC_GPU_CASES", "60"))


def test_specs_are_there():
    assert SPECS


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_spec_passes_on_the_gpu(spec: Path, tmp_path_factory: pytest.TempPathFactory):
    from tilespec.pipeline import BuildOptions, build_paths
    from tilespec.verify import VerifyOptions, verify_packages

    # One folder for all runs of one session: the compiler's disk cache is keyed on the path of the source.
    out = tmp_path_factory.getbasetemp() / "build"
    built = build_paths([spec], BuildOptions(out=out))
    packages = [(item.spec, item.folder) for item in built.files]
    jobs = min(os.cpu_count() or 1, 8)
    report = verify_packages(packages, VerifyOptions(device="cuda", cases=CASES, jobs=jobs))
    scripts = [item.script for item in report.kernels if item.script]
    assert report.ok, "\n".join([report.table(), *(item.message for item in report.diagnostics), *scripts])
    assert all(item.cases == CASES for item in report.kernels)
