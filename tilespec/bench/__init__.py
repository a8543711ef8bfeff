"""Times generated kernels against eager and `torch.compile` on a GPU."""

from __future__ import annotations

from tilespec.bench.report import BenchReport, HostRow, Row, markdown
from tilespec.bench.run import BenchOptions, bench_packages, bench_paths

__all__ = ["BenchOptions", "BenchReport", "HostRow", "Row", "bench_packages", "bench_paths", "markdown"]
