"""What a run leaves behind: a script that shows the failure, JSON, and the API that generated tests call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tilespec.pipeline import BuildOptions, build_paths
from tilespec.progress import Progress, Silent
from tilespec.verify import VerifyOptions, VerifyReport, run, verify_packages, verify_paths
from tilespec.verify.package import load_package
from tilespec.verify.subject import Arguments
from tilespec.verify.testing import check_composed, check_kernel

SPEC = """\
KERNEL SPEC: scale_rows
Description: Scales x by the mean of its row.
Operations: [mean, mul]
Inputs:
  - x: shape=(M, N), dtype=float32
Outputs:
  - y: shape=(M, N), dtype=float32
Dependencies: none
PyTorch Reference:
def reference_scale_rows(x):
    return x * x.mean(dim=1, keepdim=True)
---
KERNEL SPEC: shift
Description: Adds one.
Operations: [add]
Inputs:
  - y: shape=(M, N), dtype=float32
Outputs:
  - z: shape=(M, N), dtype=float32
Dependencies: [scale_rows]
PyTorch Reference:
def reference_shift(y):
    return y + 1
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("reports")
    spec = folder / "rows.tilespec"
    spec.write_text(SPEC)
    report = build_paths([spec], BuildOptions(out=folder / "build"))
    assert [item.message for item in report.findings] == []
    return spec, folder / "build" / "rows"


def _with_bug(built: tuple[Path, Path], folder: Path) -> tuple[Path, Path]:
    spec, package = built
    wrong = folder / package.name
    for path in package.rglob("*"):
        if path.is_file() and path.suffix in {".py", ".json"}:
            target = wrong / path.relative_to(package)
            target.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text()
            if path.name == "shift.py":
                text = _add_two(text)
            target.write_text(text)
    return spec, wrong


def _add_two(text: str) -> str:
    assert " + 1" in text
    return text.replace(" + 1.0", " + 2.0").replace(" + 1\n", " + 2\n")


def test_package_passes_and_says_so(built: tuple[Path, Path]):
    report = verify_packages([built], VerifyOptions(device="interpreter", cases=8))
    assert report.ok
    assert [item.kernel for item in report.kernels] == ["scale_rows", "shift", "rows.forward"]
    assert all(item.cases == 8 for item in report.kernels)
    data = json.loads(json.dumps(report.as_json()))
    assert data["ok"] is True
    assert data["seed"] == 0
    assert {item["status"] for item in data["kernels"]} == {"passed"}
    assert "rows.forward" in report.table()


def test_a_chain_moves_what_kernels_hand_on(built: tuple[Path, Path]):
    package, _ = load_package(*built)
    assert package is not None
    assert package.composed is not None
    assert package.composed.chain is not None
    x = torch.tensor([[1.0, 3.0]])
    handed = []

    def double(values: Arguments) -> Arguments:
        handed.append(list(values))
        return {name: value * 2 for name, value in values.items()}

    (result,) = package.composed.chain({"x": x}, double)
    assert handed == [[], ["y"]]
    assert torch.equal(result, torch.tensor([[5.0, 13.0]]))


def test_equal_seeds_give_equal_reports(built: tuple[Path, Path]):
    options = VerifyOptions(device="interpreter", cases=5, kernels=("scale_rows",), seed=3)
    first, second = (verify_packages([built], options) for _ in range(2))
    assert [replace(item, seconds=0.0) for item in first.kernels] == [
        replace(item, seconds=0.0) for item in second.kernels
    ]


def test_failure_is_a_script_that_runs_and_shows_it(built: tuple[Path, Path], tmp_path: Path):
    report = verify_packages([_with_bug(built, tmp_path)], VerifyOptions(device="interpreter", cases=8))
    assert not report.ok
    failed = {item.kernel: item for item in report.kernels if item.status == "failed"}
    assert set(failed) == {"shift", "rows.forward"}
    shift = failed["shift"]
    assert shift.findings[0].code == "TS801"
    assert shift.case is not None
    assert shift.script is not None
    script = tmp_path / "show.py"
    script.write_text(shift.script)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
    )
    assert "largest difference: 1" in done.stdout or "largest difference: 0.99" in done.stdout


def test_kernel_that_cannot_be_imported_is_a_finding(built: tuple[Path, Path], tmp_path: Path):
    spec, package = _with_bug(built, tmp_path)
    (package / "kernels" / "shift.py").write_text("import nothing_of_this_name\n")
    report = verify_packages(
        [(spec, package)], VerifyOptions(device="interpreter", cases=2, kernels=("shift",))
    )
    assert [item.code for item in report.diagnostics] == ["TS811"]


def test_time_limit_is_reported_as_partial(built: tuple[Path, Path]):
    report = verify_packages([built], VerifyOptions(device="interpreter", cases=500, time_limit=0.0))
    assert {item.status for item in report.kernels} == {"partial"}
    assert not report.ok


def test_building_counts_towards_the_time_limit(built: tuple[Path, Path]):
    spec, package = built

    def build(*_arguments: object) -> tuple[list[tuple[Path, Path]], list[Any]]:
        time.sleep(0.2)
        return [(spec, package)], []

    options = VerifyOptions(device="interpreter", cases=2, time_limit=0.1)
    report = verify_paths([spec], options, build=build)
    assert {(item.status, item.cases) for item in report.kernels} == {("partial", 0)}


def test_a_kernel_that_never_ends_is_ended(
    built: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    spec, package = _with_bug(built, tmp_path)
    with (package / "kernels" / "shift.py").open("a") as stream:
        stream.write("\n\ndef launch(y):\n    while True:\n        pass\n")
    monkeypatch.setattr(run, "_GRACE", 1.0)
    options = VerifyOptions(device="interpreter", cases=2, jobs=2, composed=False, time_limit=15.0)
    before = time.monotonic()
    report = verify_packages([(spec, package)], options)
    assert time.monotonic() - before < 60
    ended = next(item for item in report.kernels if item.kernel == "shift")
    assert (ended.status, ended.cases) == ("partial", 0)
    assert "the time limit came first, while this case ran: M=" in ended.findings[0].message
    assert not report.ok


def test_kernels_in_processes_give_the_same_as_in_turn(built: tuple[Path, Path]):
    options = VerifyOptions(device="interpreter", cases=3)
    alone = verify_packages([built], options)
    together = verify_packages([built], replace(options, jobs=2))
    assert [(item.kernel, item.cases, item.ratio) for item in together.kernels] == [
        (item.kernel, item.cases, item.ratio) for item in alone.kernels
    ]


def test_generated_tests_call_this(built: tuple[Path, Path], tmp_path: Path):
    spec, package = built
    assert check_kernel(package, "shift", spec=spec, device="interpreter", cases=3).status == "passed"
    assert check_composed(package, spec=spec, device="interpreter", cases=3).status == "passed"
    _, wrong = _with_bug(built, tmp_path)
    with pytest.raises(AssertionError, match="TS801"):
        check_kernel(wrong, "shift", spec=spec, device="interpreter", cases=3)
    with pytest.raises(AssertionError, match="no kernel"):
        check_kernel(package, "other", spec=spec, device="interpreter", cases=3)


def test_verify_paths_builds_first(built: tuple[Path, Path]):
    spec, package = built
    asked: list[Path] = []

    def build(
        paths: object, folder: Path, progress: Progress
    ) -> tuple[list[tuple[Path, Path]], list[object]]:
        assert list(paths) == [spec]  # type: ignore[call-overload]
        assert isinstance(progress, Silent)
        asked.append(folder)
        return [(spec, package), (spec, folder / "never_built")], []

    options = VerifyOptions(device="interpreter", cases=1, kernels=("shift",), build_dir=Path("there"))
    report = verify_paths([spec], options, build=build)  # type: ignore[arg-type]
    assert asked == [Path("there")]
    assert isinstance(report, VerifyReport)
    assert report.ok


def test_a_process_that_dies_costs_one_kernel(built: tuple[Path, Path], tmp_path: Path):
    spec, package = _with_bug(built, tmp_path)
    kernel = package / "kernels" / "shift.py"
    kernel.write_text(kernel.read_text() + "\n\ndef launch(y):\n    import os\n\n    os._exit(3)\n")
    options = VerifyOptions(device="interpreter", cases=3, jobs=2, composed=False)
    report = verify_packages([(spec, package)], options)
    assert [(item.kernel, item.status) for item in report.kernels] == [
        ("scale_rows", "passed"),
        ("shift", "failed"),
    ]
    assert [item.code for item in report.diagnostics] == ["TS811"]
    assert "the process died" in report.diagnostics[0].message
