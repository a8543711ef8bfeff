"""TS9xx: the machine, the toolchain, the file system, and faults of the tool itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule, Severity

__all__ = [
    "CompilerFails",
    "CompilerMissing",
    "CompilerTooOld",
    "DiskFull",
    "DriverTooOld",
    "EnvironmentRule",
    "GpuTooOld",
    "InternalError",
    "MismatchedCompilerPackages",
    "MissingPackage",
    "NoGpu",
    "NoSpecFiles",
    "NoUsableGpu",
    "OlderCudaHome",
    "TorchWithoutCuda",
    "UnsupportedPackage",
    "UnsupportedPython",
    "UnsupportedTarget",
    "UnwritablePath",
]


@dataclass(frozen=True)
class EnvironmentRule(Rule):
    """A property of the machine. `build`, `verify` and `bench` say what is left of each; empty means all of it."""

    build: ClassVar[str] = ""
    verify: ClassVar[str] = ""
    bench: ClassVar[str] = ""

    @classmethod
    def effects(cls) -> dict[str, str]:
        """Return what the finding means for each of `build`, `verify` and `bench`."""
        return {"build": cls.build, "verify": cls.verify, "bench": cls.bench}


@dataclass(frozen=True)
class NoGpu(EnvironmentRule):
    """No NVIDIA GPU that the driver lists.

    Everything but timing works without one: kernels are built, compiled for every target, and run in the tile
    interpreter, which executes the generated source on the CPU. On a machine that has a GPU, the usual causes are a
    missing driver, a container started without GPU access, and `CUDA_VISIBLE_DEVICES` set to nothing.
    """

    code: ClassVar[str] = "TS901"
    name: ClassVar[str] = "no-gpu"
    severity: ClassVar[Severity] = Severity.NOTE
    verify: ClassVar[str] = "runs in the tile interpreter"
    bench: ClassVar[str] = "not possible"
    reason: str

    def message(self) -> str:
        return f"no NVIDIA GPU is visible: {self.reason}"


@dataclass(frozen=True)
class GpuTooOld(EnvironmentRule):
    """A GPU whose compute capability is below 8.0.

    cuTile kernels run on compute capability 8.0 (Ampere) and newer. An older GPU can't launch them, whatever the
    driver; kernels can still be built and compiled here for newer GPUs.
    """

    code: ClassVar[str] = "TS902"
    name: ClassVar[str] = "gpu-too-old"
    verify: ClassVar[str] = "runs in the tile interpreter; this GPU can't launch a kernel"
    bench: ClassVar[str] = "not possible on this GPU"
    gpu: str
    capability: str

    def message(self) -> str:
        return f"`{self.gpu}` has compute capability {self.capability}, cuTile needs 8.0"


@dataclass(frozen=True)
class DriverTooOld(EnvironmentRule):
    """An NVIDIA driver older than r580.

    cuTile kernels are CUDA 13 code, which needs a driver of the r580 branch or newer. With an older driver a launch fails
    when the compiled kernel is loaded.
    """

    code: ClassVar[str] = "TS903"
    name: ClassVar[str] = "driver-too-old"
    verify: ClassVar[str] = "runs in the tile interpreter until the driver is updated"
    bench: ClassVar[str] = "not possible until the driver is updated"
    found: str

    def message(self) -> str:
        return f"the NVIDIA driver is {self.found}, cuTile needs 580"

    def help(self) -> str | None:
        return "install a driver of the r580 branch or newer"


@dataclass(frozen=True)
class CompilerMissing(EnvironmentRule):
    """`tileiras`, the compiler behind cuTile, can't be found.

    It is looked for in the pip packages `nvidia-cuda-tileiras`, `nvidia-cuda-nvcc` and `nvidia-nvvm` (all three), then in
    `PATH`, in `$CUDA_HOME/bin` and in `/usr/local/cuda`. Kernels are generated without it; it is needed to compile them,
    also when a kernel is launched on a GPU for the first time.
    """

    code: ClassVar[str] = "TS904"
    name: ClassVar[str] = "compiler-missing"
    severity: ClassVar[Severity] = Severity.WARNING
    build: ClassVar[str] = "works, but not `--compile`"
    verify: ClassVar[str] = "runs in the tile interpreter"
    bench: ClassVar[str] = "not possible"

    def message(self) -> str:
        return "`tileiras` is not installed"

    def help(self) -> str | None:
        return "install it: `pip install 'tilespec[compile]'`"


@dataclass(frozen=True)
class MismatchedCompilerPackages(EnvironmentRule):
    """The pip packages of the compiler come from different CUDA releases.

    `nvidia-cuda-tileiras`, `nvidia-cuda-nvcc` and `nvidia-nvvm` have to share major and minor version. If they don't,
    cuTile ignores all three and takes another `tileiras`, or none.
    """

    code: ClassVar[str] = "TS905"
    name: ClassVar[str] = "mismatched-compiler-packages"
    build: ClassVar[str] = "works, but `--compile` uses another `tileiras`, if there is one"
    verify: ClassVar[str] = "on a GPU, kernels are compiled by another `tileiras`, if there is one"
    bench: ClassVar[str] = "measures what another `tileiras` compiled"
    versions: tuple[tuple[str, str], ...]

    def message(self) -> str:
        listed = ", ".join(f"{package} {version}" for package, version in self.versions)
        return f"the compiler packages differ in version: {listed}"

    def help(self) -> str | None:
        newest = max((version for _, version in self.versions), key=_numbers)
        release = ".".join(newest.split(".")[:2])
        pins = " ".join(f"'{package}=={release}.*'" for package, _ in self.versions)
        return f"install one release of all: `pip install {pins}`"


@dataclass(frozen=True)
class OlderCudaHome(EnvironmentRule):
    """`CUDA_HOME` or `CUDA_PATH` names a toolkit older than the compiler.

    A `tileiras` that doesn't come from pip takes libnvvm and ptxas from the toolkit that the variable names. With an older
    toolkit every compile then fails with `Return code 5`, `failed to compile Tile IR program` and no location, whatever
    the kernel. A `tileiras` from pip isn't affected.
    """

    code: ClassVar[str] = "TS906"
    name: ClassVar[str] = "older-cuda-home"
    build: ClassVar[str] = "works, but every `--compile` fails with `Return code 5`"
    verify: ClassVar[str] = "on a GPU, every kernel fails to compile with `Return code 5`"
    bench: ClassVar[str] = "not possible: every kernel fails to compile"
    variable: str
    path: str
    found: str
    compiler: str

    def message(self) -> str:
        return f"`{self.variable}` is `{self.path}`, CUDA {self.found}, but `tileiras` is {self.compiler}"

    def help(self) -> str | None:
        return f"unset it: `unset {self.variable}`"


@dataclass(frozen=True)
class TorchWithoutCuda(EnvironmentRule):
    """A PyTorch without CUDA on a machine that has an NVIDIA GPU.

    Tracing and the tile interpreter use the CPU build as it is. Tensors on the GPU, and so `verify --device cuda` and
    `bench`, need a CUDA build of PyTorch.
    """

    code: ClassVar[str] = "TS907"
    name: ClassVar[str] = "torch-without-cuda"
    severity: ClassVar[Severity] = Severity.WARNING
    verify: ClassVar[str] = "runs in the tile interpreter; the GPU stays unused"
    bench: ClassVar[str] = "not possible"
    found: str

    def message(self) -> str:
        return f"torch {self.found} is a build without CUDA, and this machine has a GPU"

    def help(self) -> str | None:
        return "install a CUDA 13 build of torch"


@dataclass(frozen=True)
class UnsupportedTarget(EnvironmentRule):
    """A compile target that `tileiras` has no code generator for.

    Targets are named after compute capabilities: `sm_80` is Ampere, `sm_89` Ada, `sm_90` Hopper, `sm_100` and `sm_120`
    Blackwell. Turing (`sm_75`) and older are not supported by cuTile.
    """

    code: ClassVar[str] = "TS908"
    name: ClassVar[str] = "unsupported-target"
    build: ClassVar[str] = "works, but not `--compile` for this target"
    verify: ClassVar[str] = "not possible on a GPU of this kind"
    bench: ClassVar[str] = "not possible on a GPU of this kind"
    target: str
    supported: tuple[str, ...]

    def message(self) -> str:
        return f"`{self.target}` is not a target of `tileiras`"

    def help(self) -> str | None:
        return f"take one of {', '.join(f'`{name}`' for name in self.supported)}"


@dataclass(frozen=True)
class UnsupportedPython(EnvironmentRule):
    """A Python older than 3.11."""

    code: ClassVar[str] = "TS909"
    name: ClassVar[str] = "unsupported-python"
    build: ClassVar[str] = "not possible"
    verify: ClassVar[str] = "not possible"
    bench: ClassVar[str] = "not possible"
    found: str

    def message(self) -> str:
        return f"this is Python {self.found}, tilespec needs 3.11"


@dataclass(frozen=True)
class UnsupportedPackage(EnvironmentRule):
    """A package that tilespec needs is not of a version that it knows.

    Generated kernels use the `cuda.tile` API of one minor release, and tracing uses `torch.export`, whose graphs change
    between releases: another version may work, but nothing here has been tested with it.
    """

    code: ClassVar[str] = "TS910"
    name: ClassVar[str] = "unsupported-package"
    build: ClassVar[str] = "may fail"
    verify: ClassVar[str] = "may fail"
    bench: ClassVar[str] = "may fail"
    package: str
    found: str
    needed: str

    def message(self) -> str:
        return f"`{self.package}` is {self.found}, tilespec needs {self.needed}"

    def help(self) -> str | None:
        return f"`pip install '{self.package}{self.needed}'`"


@dataclass(frozen=True)
class CompilerTooOld(EnvironmentRule):
    """A `tileiras` older than 13.3.

    Generated kernels use features of Tile IR 13.3: the target `sm_90`, the hint `num_worker_warps`, and approximate
    exponentials. An older compiler refuses them.
    """

    code: ClassVar[str] = "TS911"
    name: ClassVar[str] = "compiler-too-old"
    build: ClassVar[str] = "works, but `--compile` fails"
    verify: ClassVar[str] = "runs in the tile interpreter; kernels don't compile for a GPU"
    bench: ClassVar[str] = "not possible"
    path: str
    found: str

    def message(self) -> str:
        return f"`{self.path}` is version {self.found}, tilespec needs 13.3"

    def help(self) -> str | None:
        return "install a newer one: `pip install 'tilespec[compile]'`"


@dataclass(frozen=True)
class CompilerFails(EnvironmentRule):
    """`tileiras` is there, but doesn't compile a kernel of three lines.

    So the fault lies with the installation, not with a spec. `Return code 5` means that `ptxas` or `libnvvm` is missing or
    of another release than `tileiras`; look for an older `ptxas` in front of it in `PATH`.
    """

    code: ClassVar[str] = "TS912"
    name: ClassVar[str] = "compiler-fails"
    build: ClassVar[str] = "works, but `--compile` fails"
    verify: ClassVar[str] = "runs in the tile interpreter; kernels don't compile for a GPU"
    bench: ClassVar[str] = "not possible"
    path: str
    complaint: str

    def message(self) -> str:
        return f"`{self.path}` fails on a minimal kernel: {self.complaint}"

    def help(self) -> str | None:
        return "install `tileiras`, `ptxas` and `libnvvm` of one release: `pip install 'tilespec[compile]'`"


@dataclass(frozen=True)
class NoUsableGpu(Rule):
    """Kernels were to run on a GPU, and PyTorch finds none that it can use.

    `verify --device cuda` and `bench` launch kernels. `tilespec doctor` says which of driver, GPU and PyTorch is in the way.
    `verify --device interpreter` runs the same generated source on the CPU.
    """

    code: ClassVar[str] = "TS913"
    name: ClassVar[str] = "no-usable-gpu"

    def message(self) -> str:
        return "there is no GPU that torch can use"

    def help(self) -> str | None:
        return "`tilespec doctor` names the cause; `verify --device interpreter` needs no GPU"


@dataclass(frozen=True)
class MissingPackage(EnvironmentRule):
    """A package that tilespec needs is not installed.

    Installing tilespec installs what it needs. It is missing where a checkout is run without installing it, or where a
    package was removed afterwards.
    """

    code: ClassVar[str] = "TS914"
    name: ClassVar[str] = "missing-package"
    build: ClassVar[str] = "not possible"
    verify: ClassVar[str] = "not possible"
    bench: ClassVar[str] = "not possible"
    package: str
    needed: str = ""

    def message(self) -> str:
        return f"`{self.package}` is not installed"

    def help(self) -> str | None:
        return f"`pip install '{self.package}{self.needed}'`"


@dataclass(frozen=True)
class UnwritablePath(Rule):
    """A file or folder that can't be written.

    Outputs are written beside each other and then moved into place, so what was there before is unchanged.
    """

    code: ClassVar[str] = "TS921"
    name: ClassVar[str] = "unwritable-path"
    path: str
    reason: str

    def message(self) -> str:
        return f"`{self.path}` can't be written: {self.reason[:1].lower()}{self.reason[1:]}"

    def help(self) -> str | None:
        return "make it writable, or write elsewhere"


@dataclass(frozen=True)
class DiskFull(Rule):
    """The file system has no room left.

    Outputs are written beside each other and then moved into place, so what was there before is unchanged.
    """

    code: ClassVar[str] = "TS922"
    name: ClassVar[str] = "disk-full"
    path: str

    def message(self) -> str:
        return f"no space is left to write `{self.path}`"


@dataclass(frozen=True)
class NoSpecFiles(Rule):
    """A folder without a single spec file.

    In a folder, files named `*.tilespec` are taken, at any depth; hidden folders are left out. A spec in a file with another
    ending, such as `.md`, has to be named itself.
    """

    code: ClassVar[str] = "TS923"
    name: ClassVar[str] = "no-spec-files"
    path: str

    def message(self) -> str:
        return f"`{self.path}` holds no `*.tilespec` file"


@dataclass(frozen=True)
class InternalError(Rule):
    """A fault of tilespec, not of the file.

    Any input, however broken, should end in findings. Report this one with the file, the command line and the
    details that `TILESPEC_TRACEBACK=1` adds.
    """

    code: ClassVar[str] = "TS999"
    name: ClassVar[str] = "internal-error"
    fault: str
    place: str

    def message(self) -> str:
        return f"tilespec failed at {self.place}: {self.fault}"

    def help(self) -> str | None:
        return "report it with the file and the output of the same command under `TILESPEC_TRACEBACK=1`"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
