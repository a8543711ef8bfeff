"""Numbers to tables: what a benchmark's raw result becomes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tilespec.bench.measure import Timing, captured_launches, gpu_times
from tilespec.bench.report import BenchReport, HostRow, Row, markdown
from tilespec.bench.run import BenchOptions, bench_sizes, composed_module, reference_function
from tilespec.model import build_model
from tilespec.pipeline import BuildOptions, build_paths
from tilespec.syntax import parse, read_source
from tilespec.verify.check import call_arguments
from tilespec.verify.load import load_runner
from tilespec.verify.package import load_package


def _row(**times: float) -> Row:
    timings = {name: Timing.of([value] * 5) for name, value in times.items()}
    return Row("f", "k", {"M": 8}, ("float16", "float16"), timings, bytes=4_000_000, operations=8_000_000)


def test_timing_is_a_median_and_a_spread():
    timing = Timing.of([1.0, 2.0, 3.0, 4.0, 100.0])
    assert timing.median == 3.0
    assert timing.low < 3.0 < timing.high
    assert timing.samples == 5
    assert Timing.of([2.0]) == Timing(2.0, 2.0, 2.0, 1)


def test_ratios_and_rates():
    row = _row(tilespec=2.0, eager=6.0)
    assert row.ratio("eager") == 3.0
    assert row.ratio("compile") is None
    assert row.bandwidth == 2.0
    assert row.rate == 4.0
    assert Row("f", "k", {}, (), {}, 0, 0).bandwidth is None


def test_page_follows_from_the_raw_numbers():
    host = HostRow("f", {"M": 8}, 3, Timing.of([26.0]), Timing.of([20.0]))
    report = BenchReport(
        {"card": "a card", "date": "2026-01-01", "commit": "abc"}, (_row(tilespec=2.0, eager=5.0),), (host,)
    )
    data = json.loads(json.dumps(report.as_json()))
    page = markdown(data)
    assert page == report.table()
    assert page.startswith("# a card, 2026-01-01\n")
    assert "- commit: abc" in page
    cells = [
        cell.strip()
        for cell in next(line for line in page.splitlines() if line.startswith("| k ")).split("|")
    ]
    assert cells[1:8] == ["k", "M=8", "float16", "2.0", "5.0", "", "2.50"]
    assert "1.30" in page


def test_launches_are_captured_and_given_back():
    import cuda.tile as ct

    before = ct.launch
    with captured_launches() as records:
        assert ct.launch is not before
    assert records == []
    assert ct.launch is before


def test_sizes_come_from_bench(repository: Path):
    spec = repository / "specs" / "ffn.tilespec"
    source, _ = read_source(spec)
    assert source is not None
    model, _ = build_model(parse(source)[0])
    assert model is not None
    package, _ = load_package(spec, repository / "nowhere")
    assert package is not None
    sizes = {"B": 8, "S": 2048, "D": 4096, "D_ff": 16384}
    for subject in package.kernels:
        (found,) = bench_sizes(model, subject, BenchOptions(sizes=sizes))
        assert found == {name: sizes[name] for name in subject.symbols}
    assert bench_sizes(model, package.kernels[0], BenchOptions(sizes={"B": 8})) == []


@pytest.mark.parametrize("name", ["ffn", "softmax"])
def test_the_composed_module_holds_all_but_the_first_tensor(name: str, repository: Path, tmp_path: Path):
    spec = repository / "specs" / f"{name}.tilespec"
    build_paths([spec], BuildOptions(out=tmp_path))
    package, _ = load_package(spec, tmp_path / name)
    assert package is not None
    subject = package.composed
    assert subject is not None
    runner = load_runner(subject, "interpreter")
    values = {
        item.name: torch.ones([3 for _ in item.shape], dtype=torch.float16) for item in subject.tensors
    } | {item.name: item.default for item in subject.scalars}
    tensors, named = call_arguments(runner, values)
    module, first = composed_module(runner.module, subject.function, tensors, named)
    assert first is values[subject.tensors[0].name]
    assert set(module.state_dict()) == {item.name for item in subject.tensors[1:]}
    assert torch.equal(module(first), runner.call(*tensors, **named))


@pytest.mark.gpu
def test_gpu_times():
    x = torch.ones(1 << 20, device="cuda")
    times = gpu_times({"add": lambda: x + 1, "again": lambda: x + 1}, seconds=0.1, rounds=20)
    assert times["add"].samples >= 5


@pytest.mark.parametrize(
    ("body", "wrapped"),
    [
        ("    return x + 1\n", False),
        ("    return x + torch.ones(x.shape[0])\n", True),
        ("    return helper(x)\n\n\ndef helper(x):\n    return torch.arange(x.shape[0]) + x\n", True),
    ],
)
def test_a_reference_that_makes_tensors_makes_them_on_the_gpu(body: str, *, wrapped: bool, tmp_path: Path):
    spec = tmp_path / "add.tilespec"
    spec.write_text(
        "KERNEL SPEC: add\nDescription: Adds.\nOperations: [add]\nInputs:\n  - x: shape=(M,), dtype=float32\n"
        "Outputs:\n  - y: shape=(M,), dtype=float32\nDependencies: none\nPyTorch Reference:\n"
        f"def reference_add(x):\n{body}"
    )
    assert [item.message for item in build_paths([spec], BuildOptions(out=tmp_path)).findings] == []
    package, _ = load_package(spec, tmp_path / "add")
    assert package is not None
    found = reference_function(package, package.kernels[0])
    assert found is not None
    assert hasattr(found, "__wrapped__") is wrapped
