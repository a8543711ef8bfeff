from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tilespec.cli.doctor import machine as machines
from tilespec.cli.doctor.checks import abilities, check_machine
from tilespec.cli.doctor.machine import COMPILER_PACKAGES, Compiler, Gpu, Machine, Toolkit, toolkit_version
from tilespec.cli.doctor.probe import compile_complaint

PIP = Compiler("/venv/bin/tileiras", "13.4.92", "pip")
H200 = Gpu("NVIDIA H200", (9, 0), 143771)

# Everything is right on this one; the tests break one thing at a time.
GOOD = Machine(
    python=(3, 12, 1),
    packages={"torch": "2.11.0+cu130", "cuda-tile": "1.7.0", **dict.fromkeys(COMPILER_PACKAGES, "13.4.92")},
    torch_cuda="13.0",
    driver="580.65.06",
    gpus=(H200,),
    compiler=PIP,
)


def codes(machine: Machine, targets: tuple[str, ...] = ()) -> list[str]:
    return [finding.code for finding in check_machine(machine, targets)]


def test_nothing_to_say_about_a_good_machine():
    assert codes(GOOD, ("sm_80", "sm_90", "sm_100", "sm_120")) == []
    assert abilities([], GOOD) == {
        "build": "ready, with every target",
        "verify": "ready, on the GPU",
        "bench": "ready",
    }


@pytest.mark.parametrize(
    ("broken", "code", "words"),
    [
        ({"gpus": (), "driver": None}, "TS901", "`nvidia-smi` is not installed"),
        ({"gpus": (Gpu("Tesla T4", (7, 5), 15360),)}, "TS902", "`Tesla T4` has compute capability 7.5"),
        ({"driver": "570.124.06"}, "TS903", "the NVIDIA driver is 570.124.06"),
        ({"compiler": None, "packages": {"torch": "2.11.0", "cuda-tile": "1.7.0"}}, "TS904", "not installed"),
        ({"torch_cuda": None}, "TS907", "torch 2.11.0+cu130 is a build without CUDA"),
        ({"python": (3, 10, 4)}, "TS909", "this is Python 3.10.4"),
        (
            {"packages": {**GOOD.packages, "torch": "2.8.1"}},
            "TS910",
            "`torch` is 2.8.1, tilespec needs >=2.11",
        ),
        ({"packages": {**GOOD.packages, "cuda-tile": "1.8.0"}}, "TS910", "`cuda-tile` is 1.8.0"),
        ({"packages": {**GOOD.packages, "cuda-tile": "1.6.2"}}, "TS910", "`cuda-tile` is 1.6.2"),
        ({"compiler": replace(PIP, version="13.1.80", origin="PATH")}, "TS911", "is version 13.1.80"),
        ({"compile_complaint": "Return code 5"}, "TS912", "fails on a minimal kernel: Return code 5"),
    ],
)
def test_one_fault_gives_one_finding(broken: dict[str, object], code: str, words: str):
    findings = check_machine(replace(GOOD, **broken))
    assert [finding.code for finding in findings] == [code]
    assert words in findings[0].message


def test_a_missing_package_is_named():
    packages = {name: version for name, version in GOOD.packages.items() if name != "cuda-tile"}
    (finding,) = check_machine(replace(GOOD, packages=packages))
    assert (finding.code, finding.message) == ("TS914", "`cuda-tile` is not installed")
    assert finding.help == "`pip install 'cuda-tile>=1.7,<1.8'`"


def test_packages_of_different_releases():
    packages = {**GOOD.packages, "nvidia-nvvm": "13.2.51"}
    (finding,) = check_machine(replace(GOOD, packages=packages, compiler=None))
    assert finding.code == "TS905"
    assert "nvidia-nvvm 13.2.51" in finding.message
    assert "'nvidia-nvvm==13.4.*'" in (finding.help or "")


@pytest.mark.parametrize(
    ("origin", "toolkit", "expected"),
    [
        ("PATH", "12.8", ["TS906"]),
        ("CUDA_HOME", "13.0", ["TS906"]),
        ("PATH", "13.4", []),
        ("PATH", None, []),
        # cuTile hides the variable from a compiler that came with pip, and from one in a default place.
        ("pip", "12.8", []),
        ("default", "12.8", []),
    ],
)
def test_an_older_cuda_home(origin: str, toolkit: str | None, expected: list[str]):
    machine = replace(
        GOOD,
        compiler=replace(PIP, origin=origin),
        toolkits=(Toolkit("CUDA_HOME", "/usr/local/cuda", toolkit),),
    )
    assert codes(machine) == expected


def test_a_known_cause_stands_for_the_failing_compile():
    machine = replace(
        GOOD,
        compiler=replace(PIP, origin="PATH"),
        toolkits=(Toolkit("CUDA_HOME", "/usr/local/cuda", "12.8"),),
        compile_complaint="Return code 5",
    )
    (finding,) = check_machine(machine)
    assert finding.code == "TS906"
    assert finding.help == "unset it: `unset CUDA_HOME`"
    assert "build: works, but every `--compile` fails with `Return code 5`" in finding.notes


def test_targets_that_the_compiler_lacks():
    assert codes(GOOD, ("sm_75", "sm_90", "hopper")) == ["TS908", "TS908"]


def test_the_worst_finding_decides_what_can_be_done():
    machine = replace(GOOD, driver="570.1", torch_cuda=None)
    able = abilities(check_machine(machine), machine)
    assert able["build"] == "ready, with every target"
    assert able["verify"] == "runs in the tile interpreter until the driver is updated"
    assert able["bench"] == "not possible until the driver is updated"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("include/cuda.h", "#define CUDA_VERSION 12080\n", "12.8"),
        ("version.json", '{"cuda": {"name": "CUDA SDK", "version": "13.0.1"}}', "13.0"),
        ("version.txt", "CUDA Version 10.2.89", "10.2"),
        ("README", "CUDA 13", None),
    ],
)
def test_the_version_of_a_toolkit_folder(tmp_path: Path, name: str, text: str, expected: str | None):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    assert toolkit_version(tmp_path) == expected


def fake_tool(folder: Path, name: str, script: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tool = folder / name
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)


def test_reading_gpus_from_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake_tool(tmp_path, "nvidia-smi", "echo '580.65.06, NVIDIA H200, 9.0, 143771'")
    monkeypatch.setenv("PATH", str(tmp_path))
    machine = machines.read_machine({"PATH": str(tmp_path)})
    assert machine.driver == "580.65.06"
    assert machine.gpus == (H200,)


def test_a_driver_that_does_not_answer_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake_tool(
        tmp_path, "nvidia-smi", "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18"
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    machine = machines.read_machine({"PATH": str(tmp_path)})
    assert machine.gpus == ()
    assert "Driver/library version mismatch" in machine.gpu_reason


def test_finding_the_compiler_in_path_and_in_cuda_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    version = "echo 'Cuda compilation tools, release 13.4, V13.4.92'"
    fake_tool(tmp_path / "first", "tileiras", version)
    fake_tool(tmp_path / "home" / "bin", "tileiras", version)
    monkeypatch.setattr(machines, "_installed", lambda _: None)
    in_path = machines.read_machine({"PATH": str(tmp_path / "first")})
    assert in_path.compiler == Compiler(str(tmp_path / "first" / "tileiras"), "13.4.92", "PATH")
    in_home = machines.read_machine({"PATH": str(tmp_path), "CUDA_HOME": str(tmp_path / "home")})
    assert in_home.compiler == Compiler(str(tmp_path / "home" / "bin" / "tileiras"), "13.4.92", "CUDA_HOME")
    assert in_home.toolkits == (Toolkit("CUDA_HOME", str(tmp_path / "home"), None),)


def test_the_compiler_of_this_environment_works():
    assert compile_complaint() is None
