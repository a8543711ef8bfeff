"""The facts about a machine that decide what works on it, read without importing torch."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

__all__ = ["COMPILER_PACKAGES", "Compiler", "Gpu", "Machine", "Toolkit", "read_machine", "toolkit_version"]

COMPILER_PACKAGES = ("nvidia-cuda-tileiras", "nvidia-cuda-nvcc", "nvidia-nvvm")
"""cuTile takes `tileiras` from pip only if all of these share major and minor version."""

_TIMEOUT = 20.0


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as the driver lists it."""

    name: str
    capability: tuple[int, int]
    memory_mib: int


@dataclass(frozen=True, slots=True)
class Compiler:
    """The `tileiras` that cuTile would run. `origin` is `pip`, `PATH`, `CUDA_HOME` or `default`."""

    path: str
    version: str | None
    origin: str

    @property
    def reads_cuda_home(self) -> bool:
        """Whether cuTile hands `CUDA_HOME` on to it."""
        return self.origin in {"PATH", "CUDA_HOME"}


@dataclass(frozen=True, slots=True)
class Toolkit:
    """A toolkit that an environment variable names; `version` is None when the folder doesn't say."""

    variable: str
    path: str
    version: str | None


@dataclass(frozen=True)
class Machine:
    """One machine. Every field has the value of a machine with nothing installed, for tests to build on."""

    python: tuple[int, int, int] = (3, 11, 0)
    system: str = "Linux"
    packages: Mapping[str, str] = field(default_factory=dict)
    torch_cuda: str | None = None
    driver: str | None = None
    gpus: tuple[Gpu, ...] = ()
    gpu_reason: str = "`nvidia-smi` is not installed"
    compiler: Compiler | None = None
    toolkits: tuple[Toolkit, ...] = ()
    compile_complaint: str | None = None
    """What the compiler said of a minimal kernel; None when it was not tried, or when it worked."""


Run = Callable[[Sequence[str]], str]


def read_machine(environ: Mapping[str, str] | None = None) -> Machine:
    """Look at this machine. Runs `nvidia-smi` and `tileiras --version`, each with a time limit."""
    environ = os.environ if environ is None else environ
    driver, gpus, reason = _read_gpus(_run)
    packages = {
        name: found for name in ("torch", "cuda-tile", *COMPILER_PACKAGES) if (found := _installed(name))
    }
    major, minor, patch = (int(part) for part in (*platform.python_version_tuple()[:2], _patch()))
    return Machine(
        python=(major, minor, patch),
        system=platform.system(),
        packages=packages,
        torch_cuda=_torch_cuda(),
        driver=driver,
        gpus=gpus,
        gpu_reason=reason,
        compiler=_find_compiler(environ, packages),
        toolkits=_toolkits(environ),
    )


def toolkit_version(folder: Path) -> str | None:
    """Return the CUDA version of a toolkit folder, from its header or its version file."""
    header = folder / "include" / "cuda.h"
    try:
        if header.is_file():
            found = re.search(r"#define\s+CUDA_VERSION\s+(\d+)", header.read_text(errors="replace"))
            if found:
                number = int(found[1])
                return f"{number // 1000}.{number % 1000 // 10}"
        for name in ("version.json", "version.txt"):
            file = folder / name
            if file.is_file():
                found = re.search(
                    r'(?:"cuda"[^}]*?"version"\s*:\s*"|CUDA Version )(\d+\.\d+)', file.read_text()
                )
                if found:
                    return found[1]
    except OSError:
        return None
    return None


def _patch() -> str:
    found = re.match(r"\d+", platform.python_version_tuple()[2])
    return found[0] if found else "0"


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _torch_cuda() -> str | None:
    """Return the CUDA version that torch was built with. Importing torch to ask it takes seconds."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).with_name("version.py")
    if not file.is_file():
        return None
    found = re.search(r"^cuda\b[^=]*=\s*'([\d.]+)'", file.read_text(), re.MULTILINE)
    return found[1] if found else None


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(  # noqa: S603 - a fixed tool with fixed arguments
        command, capture_output=True, text=True, timeout=_TIMEOUT, check=True, errors="replace"
    )
    return done.stdout


def _read_gpus(run: Run) -> tuple[str | None, tuple[Gpu, ...], str]:
    """Return the driver's version, the GPUs, and why there is none."""
    query = "--query-gpu=driver_version,name,compute_cap,memory.total"
    try:
        listed = run(["nvidia-smi", query, "--format=csv,noheader,nounits"])
    except FileNotFoundError:
        return None, (), "`nvidia-smi` is not installed"
    except subprocess.TimeoutExpired:
        return None, (), f"`nvidia-smi` doesn't answer within {_TIMEOUT:.0f} s"
    except (subprocess.CalledProcessError, OSError) as error:
        output = getattr(error, "stdout", "") or getattr(error, "stderr", "") or str(error)
        return (
            None,
            (),
            f"`nvidia-smi` fails: {output.strip().splitlines()[0] if output.strip() else 'no output'}",
        )
    driver = None
    gpus = []
    for line in listed.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        capability = re.fullmatch(r"(\d+)\.(\d+)", cells[2]) if len(cells) == 4 else None
        if capability is None:
            continue
        driver = cells[0]
        memory = int(cells[3]) if cells[3].isdigit() else 0
        gpus.append(Gpu(cells[1], (int(capability[1]), int(capability[2])), memory))
    return driver, tuple(gpus), "" if gpus else "`nvidia-smi` lists none"


def _find_compiler(environ: Mapping[str, str], packages: Mapping[str, str]) -> Compiler | None:
    """Look where cuTile looks, in its order."""
    if len(
        {tuple(packages[name].split(".")[:2]) for name in COMPILER_PACKAGES if name in packages}
    ) == 1 and all(name in packages for name in COMPILER_PACKAGES):
        spec = find_spec("nvidia.cu13")
        for folder in (spec.submodule_search_locations or []) if spec else []:
            found = shutil.which("tileiras", path=str(Path(folder) / "bin"))
            if found:
                return Compiler(found, packages["nvidia-cuda-tileiras"], "pip")
    places = [("PATH", environ.get("PATH", ""))]
    if "CUDA_HOME" in environ:
        places.append(("CUDA_HOME", str(Path(environ["CUDA_HOME"]) / "bin")))
    defaults = sorted(Path("/usr/local").glob("cuda*/bin"))
    places.append(("default", os.pathsep.join(str(folder) for folder in defaults)))
    for origin, path in places:
        found = shutil.which("tileiras", path=path)
        if found:
            return Compiler(found, _compiler_version(found), origin)
    return None


def _compiler_version(path: str) -> str | None:
    try:
        found = re.search(r"\bV(\d+(?:\.\d+)+)", _run([path, "--version"]))
    except (subprocess.SubprocessError, OSError):
        return None
    return found[1] if found else None


def _toolkits(environ: Mapping[str, str]) -> tuple[Toolkit, ...]:
    return tuple(
        Toolkit(variable, environ[variable], toolkit_version(Path(environ[variable])))
        for variable in ("CUDA_HOME", "CUDA_PATH")
        if environ.get(variable)
    )
