"""The benchmark runs and measures something believable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

SPEC = Path(__file__).resolve().parents[2] / "specs" / "softmax.tilespec"


def test_times_and_host_times_of_a_package(tmp_path: Path):
    from tilespec.bench import BenchOptions, bench_packages, markdown
    from tilespec.pipeline import BuildOptions, build_paths

    build_paths([SPEC], BuildOptions(out=tmp_path))
    options = BenchOptions(sizes={"M": 4096, "N": 1024}, seconds=0.2, compiled=False, commit="none")
    report = bench_packages([(SPEC, tmp_path / SPEC.stem)], options)
    data = json.loads(json.dumps(report.as_json()))
    assert {row["kernel"] for row in data["kernels"]} == {"softmax_rows", "softmax.forward"}
    assert all(row["times"]["tilespec"]["median"] > 0 for row in data["kernels"])
    (host,) = data["host"]
    assert host["launches"] >= 1
    assert host["ratio"] > 0
    assert "softmax_rows" in markdown(data)
