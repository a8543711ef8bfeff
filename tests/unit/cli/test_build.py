from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tilespec.cli.app import app
from tilespec.cli.packages import parse_sizes

SPEC = """\
KERNEL SPEC: double
Description: Doubles.
Operations: [mul]

Inputs:
  - x: shape=(N,), dtype=float16

Outputs:
  - y: shape=(N,), dtype=float16

Dependencies: none

PyTorch Reference:
def reference_double(x):
    return x * 2
"""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def status(result: Result) -> str:
    (built,) = json.loads(result.stdout)["files"]
    return built["status"]


def codes(result: Result) -> list[str]:
    return [finding["code"] for finding in json.loads(result.stdout)["findings"]]


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "double.tilespec"
    path.write_text(SPEC)
    return path


def test_building_again_and_after_a_change(spec: Path, tmp_path: Path):
    out = tmp_path / "build"
    command = ("build", spec, "--out", out, "--json")
    assert status(run(*command)) == "built"
    kernel = out / "double" / "kernels" / "double.py"
    before = kernel.read_text()
    assert "import tilespec" not in before
    assert status(run(*command)) == "unchanged"
    assert run(*command, "--check").exit_code == 0
    spec.write_text(SPEC.replace("x * 2", "x * 3"))
    stale = run(*command, "--check")
    assert (stale.exit_code, status(stale), codes(stale)) == (1, "stale", ["TS721"])
    assert kernel.read_text() == before
    assert status(run(*command)) == "built"
    assert kernel.read_text() != before


def test_an_edited_kernel_is_stale(spec: Path, tmp_path: Path):
    out = tmp_path / "build"
    run("build", spec, "--out", out)
    kernel = out / "double" / "kernels" / "double.py"
    before = kernel.read_text()
    kernel.write_text(before + "# by hand\n")
    assert run("build", spec, "--out", out, "--check").exit_code == 1
    run("build", spec, "--out", out)
    assert kernel.read_text() == before


def test_progress_goes_to_stderr_and_names_files(spec: Path, tmp_path: Path):
    result = run("build", spec, "--out", tmp_path / "build")
    assert f"build 1/1: {spec.as_posix()}: built" in result.stderr
    assert result.stdout.splitlines()[-1] == "no findings in 1 file"


def test_an_output_folder_that_is_a_file(spec: Path, tmp_path: Path):
    (tmp_path / "build").write_text("in the way")
    result = run("build", spec, "--out", tmp_path / "build", "--json")
    assert (result.exit_code, codes(result)) == (1, ["TS921"])


@pytest.mark.usefixtures("spec")
def test_one_bad_file_does_not_stop_the_others(tmp_path: Path):
    (tmp_path / "bad.tilespec").write_text("")
    result = run("build", tmp_path, "--out", tmp_path / "build", "--json")
    assert result.exit_code == 1
    assert [item["status"] for item in json.loads(result.stdout)["files"]] == ["failed", "built"]
    assert codes(result) == ["TS104"]


def test_showing_how_a_kernel_came_about(spec: Path):
    result = run("show", spec)
    assert result.exit_code == 0
    for title in ("## Trace", "## Tile program", "## Schedule", "## Code"):
        assert title in result.stdout
    assert run("show", spec, "--kernel", "double").stdout == result.stdout
    assert run("show", spec, "--kernel", "triple").exit_code == 2


def test_verifying_in_the_interpreter(spec: Path, tmp_path: Path):
    command = (
        "verify",
        spec,
        "--device",
        "interpreter",
        "--cases",
        "3",
        "--out",
        tmp_path / "build",
        "--json",
    )
    result = run(*command)
    document = json.loads(result.stdout)
    assert (result.exit_code, document["ok"], document["findings"]) == (0, True, [])
    assert {kernel["kernel"] for kernel in document["kernels"]} == {"double", "double.forward"}
    assert run(*command, "--kernel", "triple").exit_code == 2


@pytest.mark.parametrize("command", [("verify", "--device", "cuda"), ("bench",)])
def test_what_needs_a_gpu_says_so(command: tuple[str, ...], spec: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    result = run(*command, spec, "--json")
    assert (result.exit_code, codes(result)) == (1, ["TS913"])


@pytest.mark.parametrize("size", ["N", "N=", "N=many", "=4", "N=-1"])
def test_a_size_is_a_name_and_a_number(size: str, spec: Path):
    assert run("bench", spec, "--size", size).exit_code == 2


def test_sizes_may_be_joined():
    assert parse_sizes(["B=8, S=2048", "D=64"]) == {"B": 8, "S": 2048, "D": 64}
