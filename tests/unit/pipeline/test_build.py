"""Building: the same input gives the same bytes, an unchanged package is left alone, a stale one is noticed."""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.unit.pipeline.packages import DOUBLE, TWO_STEPS
from tilespec.build.digest import text_digest
from tilespec.pipeline import BuildOptions, build_paths, check_file

END_TO_END = """
---
## Composition Notes
def reference_all(x):
    return (x * 3).sum(dim=-1)
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "probe.tilespec"
    path.write_text(TWO_STEPS)
    return path


def build(spec: Path, out: Path, *, check: bool = False) -> tuple[str, list[str]]:
    report = build_paths([spec], BuildOptions(out=out, check=check))
    return report.files[0].status, [finding.code for finding in report.findings]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def undated(files: dict[str, bytes]) -> dict[str, str]:
    """Return texts without the digest of the tool: its sources may be edited while tests run in several processes."""
    return {name: re.sub(r'"digest": "\w+"', "", data.decode()) for name, data in files.items()}


def test_the_same_input_gives_the_same_bytes(spec: Path, tmp_path: Path):
    for out in ("one", "two"):
        assert build(spec, tmp_path / out) == ("built", [])
    first, second = contents(tmp_path / "one"), contents(tmp_path / "two")
    assert first == second
    assert set(first) == {
        "probe/__init__.py",
        "probe/composed.py",
        "probe/kernels/__init__.py",
        "probe/kernels/scaled.py",
        "probe/kernels/totals.py",
        "probe/manifest.json",
        "probe/reference.py",
        "probe/test_probe.py",
    }


def built_there(path: str) -> dict[str, str]:
    out = Path(path)
    build(out.parent / "probe.tilespec", out)
    return undated(contents(out))


def test_another_process_with_other_hashing_gives_the_same_bytes(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PYTHONHASHSEED", "12345")
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        there = pool.submit(built_there, os.fspath(tmp_path / "there"))
        build(spec, tmp_path / "here")
        assert undated(contents(tmp_path / "here")) == there.result()


def test_building_again_touches_nothing(spec: Path, tmp_path: Path):
    out = tmp_path / "build"
    build(spec, out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    assert build(spec, out) == ("unchanged", [])
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == before


def test_check_writes_nothing_and_says_what_is_stale(spec: Path, tmp_path: Path):
    out = tmp_path / "build"
    assert build(spec, out, check=True) == ("stale", ["TS721"])
    assert not out.exists()
    build(spec, out)
    assert build(spec, out, check=True) == ("unchanged", [])
    before = contents(out)
    spec.write_text(TWO_STEPS.replace("* 3", "* 4"))
    assert build(spec, out, check=True) == ("stale", ["TS721"])
    assert contents(out) == before
    spec.write_text(TWO_STEPS)
    kernel = out / "probe" / "kernels" / "scaled.py"
    kernel.write_text(kernel.read_text() + "\n")
    assert build(spec, out, check=True) == ("stale", ["TS721"])
    assert build(spec, out) == ("built", [])
    assert contents(out) == before


def test_a_kernel_that_left_the_spec_leaves_the_package(spec: Path, tmp_path: Path):
    build(spec, tmp_path / "build")
    spec.write_text(DOUBLE)
    assert build(spec, tmp_path / "build") == ("built", [])
    kernels = tmp_path / "build" / "probe" / "kernels"
    assert sorted(path.name for path in kernels.glob("*.py")) == ["__init__.py", "double.py"]


def test_a_spec_with_errors_leaves_the_package(spec: Path, tmp_path: Path):
    out = tmp_path / "build"
    build(spec, out)
    before = contents(out)
    spec.write_text(TWO_STEPS.replace("return x * 3", "return z * 3"))
    status, codes = build(spec, out)
    assert (status, codes) == ("failed", ["TS404"])
    assert contents(out) == before


def test_a_folder_that_can_not_be_written_is_a_finding(spec: Path, tmp_path: Path):
    # A file where the folder should be fails for root, too, whom permissions don't stop.
    (tmp_path / "build").write_text("in the way\n")
    assert build(spec, tmp_path / "build") == ("failed", ["TS921"])


def build_there(place: tuple[str, str]) -> str:
    spec, out = place
    return build(Path(spec), Path(out))[0]


def test_two_builds_at_once_leave_one_whole_package(spec: Path, tmp_path: Path):
    out = tmp_path / "build"
    place = (os.fspath(spec), os.fspath(out))
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        assert set(pool.map(build_there, [place, place])) <= {"built", "unchanged"}
    manifest = json.loads((out / "probe" / "manifest.json").read_text())
    found = {name.removeprefix("probe/"): text_digest(data.decode()) for name, data in contents(out).items()}
    assert manifest["files"] == {name: value for name, value in found.items() if name != "manifest.json"}
    build(spec, tmp_path / "alone")
    assert undated(contents(out)) == undated(contents(tmp_path / "alone"))


def test_the_manifest_says_what_was_built(spec: Path, tmp_path: Path):
    out = tmp_path / "build"
    spec.write_text(TWO_STEPS + END_TO_END)
    build(spec, out)
    manifest = json.loads((out / "probe" / "manifest.json").read_text())
    assert manifest["order"] == ["scaled", "totals"]
    assert manifest["outputs"] == [["totals", "total"]]
    (edge,) = (item for item in manifest["wiring"] if item["producer"] is not None)
    assert (edge["producer"], edge["output"], edge["consumer"], edge["input"]) == (
        "scaled",
        "y",
        "totals",
        "y",
    )
    assert not edge["inferred"]
    assert set(manifest["files"]) == set(contents(out / "probe")) - {"manifest.json"}
    assert {item["op"]: item["kernels"] for item in manifest["coverage"]} == {
        "mul": ["scaled"],
        "sum": ["totals"],
    }
    for kernel in ("scaled", "totals"):
        launches = manifest["kernels"][kernel]["targets"]["sm_90"]
        source = (out / "probe" / "kernels" / f"{kernel}.py").read_text()
        for launch in launches:
            assert f"{launch['function']}(" in source or f"{launch['function']} = " in source
            assert {item["kind"] for item in launch["arguments"]} <= {"array", "scalar", "constant"}
        assert manifest["kernels"][kernel]["schedule"][0]["family"] in {"pointwise", "reduction"}


def test_what_was_built_before_leaves_no_trace(tmp_path: Path):
    first, second = tmp_path / "first.tilespec", tmp_path / "second.tilespec"
    first.write_text(TWO_STEPS)
    second.write_text("# Lines of the second file are other lines.\n\n\n" + TWO_STEPS)
    # The programs of the first file stay alive, and equal ones are made for the second.
    kept = check_file(first)
    build(second, tmp_path / "after")
    assert kept.programs
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(build, second, tmp_path / "alone").result()
    assert undated(contents(tmp_path / "after")) == undated(contents(tmp_path / "alone"))


def test_equal_kernels_of_one_file_show_their_own_lines(tmp_path: Path):
    spec = tmp_path / "probe.tilespec"
    kernels = [
        DOUBLE.replace("double", name).replace("x * 2", "x.sum() * 2 + x").replace("[mul]", "[sum, mul, add]")
        for name in ("one", "two")
    ]
    spec.write_text("---\n".join(kernels))
    assert build(spec, tmp_path / "build")[0] == "built"
    found = [
        re.findall(r"# (\d+): return", (tmp_path / "build" / "probe" / "kernels" / f"{name}.py").read_text())
        for name in ("one", "two")
    ]
    assert all(found)
    assert set(found[0]).isdisjoint(found[1])
