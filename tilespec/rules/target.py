"""TS7xx: what compiling a generated kernel for a target shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule, Severity

__all__ = [
    "CompileTimeout",
    "CompilerCrash",
    "CompilerUnusable",
    "KernelRefused",
    "RegisterSpill",
    "ScalarContraction",
    "UnsupportedOnTarget",
]


@dataclass(frozen=True)
class KernelRefused(Rule):
    """A generated kernel that the cuTile compiler rejects.

    What a spec says never makes a kernel that doesn't compile: this is a fault of the generator, or of a schedule that was
    put into the tuning database by hand. The finding points at the line of the spec that the refused code was made from,
    and names the generated line. Report it with the spec; a schedule chosen by hand can be dropped in the meantime.

    A tile has at most as many elements as the compiler can hold, so a schedule that asks for a whole row of this tensor in
    one tile is refused:

    ```tilespec
    KERNEL SPEC: total
    Description: Adds up long rows.
    Operations: [sum]
    Inputs:
      - x: shape=(4, 268435456), dtype=float32
    Outputs:
      - y: shape=(4,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_total(x):
        return x.sum(dim=-1)
    ```

    Rows that fit, or the schedule that is chosen without a tuning entry, compile:

    ```tilespec
    KERNEL SPEC: total
    Description: Adds up rows.
    Operations: [sum]
    Inputs:
      - x: shape=(B, D), dtype=float32
    Outputs:
      - y: shape=(B,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_total(x):
        return x.sum(dim=-1)
    ```
    """

    code: ClassVar[str] = "TS701"
    name: ClassVar[str] = "kernel-refused"
    kernel: str
    target: str
    complaint: str

    def message(self) -> str:
        return f"kernel `{self.kernel}` doesn't compile for {self.target}: {self.complaint}"

    def help(self) -> str | None:
        return "this is a fault of the generator or of a hand-made schedule: report it with this spec"


@dataclass(frozen=True)
class UnsupportedOnTarget(Rule):
    """A kernel that uses what a target doesn't have.

    The 8-bit float formats need compute capability 9.0 or newer; everything else runs on every target from 8.0 on.

    This fails with `--compile sm_80`:

    ```tilespec
    KERNEL SPEC: widen
    Description: Doubles 8-bit floats.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float8_e4m3fn
    Outputs:
      - y: shape=(N,), dtype=float16
    Dependencies: none
    PyTorch Reference:
    def reference_widen(x):
        return x.half() * 2
    ```

    A format that the target knows passes:

    ```tilespec
    KERNEL SPEC: widen
    Description: Doubles 16-bit floats.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=bfloat16
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_widen(x):
        return x.float() * 2
    ```
    """

    code: ClassVar[str] = "TS702"
    name: ClassVar[str] = "unsupported-on-target"
    kernel: str
    target: str
    complaint: str

    def message(self) -> str:
        return f"kernel `{self.kernel}` can't run on {self.target}: {self.complaint}"

    def help(self) -> str | None:
        return f"change the dtype, or leave {self.target} out of `--compile`"


@dataclass(frozen=True)
class CompileTimeout(Rule):
    """A kernel that the target compiler doesn't finish in the time that it was given.

    Compile time grows with the size of a tile, most of all where values are gathered. A smaller tile in the schedule
    compiles faster.

    This needs a window of 64 by 64 elements for each output, which is far more code than usual:

    ```tilespec
    KERNEL SPEC: pooled
    Description: Averages large windows.
    Operations: [avg_pool2d]
    Inputs:
      - x: shape=(N, C, H, W), dtype=float32
    Outputs:
      - y: shape=(N, C, H - 63, W - 63), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_pooled(x):
        return F.avg_pool2d(x, 64, stride=1)
    ```

    This compiles in a second:

    ```tilespec
    KERNEL SPEC: pooled
    Description: Averages small windows.
    Operations: [avg_pool2d]
    Inputs:
      - x: shape=(N, C, H, W), dtype=float32
    Outputs:
      - y: shape=(N, C, H - 1, W - 1), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_pooled(x):
        return F.avg_pool2d(x, 2, stride=1)
    ```
    """

    code: ClassVar[str] = "TS703"
    name: ClassVar[str] = "compile-timeout"
    kernel: str
    target: str
    seconds: float

    def message(self) -> str:
        return f"kernel `{self.kernel}` doesn't compile for {self.target} within {self.seconds:.0f} s"

    def help(self) -> str | None:
        return "choose smaller tiles in the schedule"


@dataclass(frozen=True)
class CompilerCrash(Rule):
    """A kernel at which the target compiler dies.

    The kernel passed the checks of the cuTile front end, so this is a fault of the compiler. Other kernels of the build
    are not affected. Another schedule often avoids it, and so does `opt_level=2`.

    Whether a spec triggers it depends on the release of the compiler; a kernel with many live tiles is the likeliest:

    ```tilespec
    KERNEL SPEC: chained
    Description: Multiplies three matrices at once.
    Operations: [matmul, matmul]
    Inputs:
      - a: shape=(16, 16), dtype=float32
      - b: shape=(16, 16), dtype=float32
      - c: shape=(16, 16), dtype=float32
    Outputs:
      - y: shape=(16, 16), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_chained(a, b, c):
        return a @ b @ c
    ```

    One product a kernel is what the compiler sees most:

    ```tilespec
    KERNEL SPEC: product
    Description: Multiplies two matrices.
    Operations: [matmul]
    Inputs:
      - a: shape=(M, K), dtype=float16
      - b: shape=(K, N), dtype=float16
    Outputs:
      - y: shape=(M, N), dtype=float16
    Dependencies: none
    PyTorch Reference:
    def reference_product(a, b):
        return a @ b
    ```
    """

    code: ClassVar[str] = "TS704"
    name: ClassVar[str] = "compiler-crash"
    kernel: str
    target: str
    complaint: str

    def message(self) -> str:
        return f"the compiler dies at kernel `{self.kernel}` for {self.target}: {self.complaint}"

    def help(self) -> str | None:
        return "try another schedule for this kernel, and report it to the maker of the compiler"


@dataclass(frozen=True)
class CompilerUnusable(Rule):
    """A compile that can't start, because the target compiler is missing or broken.

    `tilespec doctor` says what is wrong with it. `build` without `--compile`, `lint` and the tile interpreter don't need it.
    No spec causes this: the first example fails where `tileiras` isn't installed, and both pass where it is.

    ```tilespec
    KERNEL SPEC: halve
    Description: Halves a vector.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_halve(x):
        return x * 0.5
    ```
    """

    code: ClassVar[str] = "TS705"
    name: ClassVar[str] = "compiler-unusable"
    kernel: str
    target: str
    complaint: str

    def message(self) -> str:
        return f"kernel `{self.kernel}` can't be compiled for {self.target}: {self.complaint}"

    def help(self) -> str | None:
        return "`tilespec doctor` checks the compiler; `pip install 'tilespec[compile]'` installs it"


@dataclass(frozen=True)
class RegisterSpill(Rule):
    """A kernel that keeps values in memory because it runs out of registers.

    The result is right and the kernel is slow: a matrix product can lose nine tenths of its speed. Smaller tiles, or more
    warps (`num_worker_warps=8`), avoid it. Up to 128 bytes a thread, which cost next to nothing, are no finding.

    A schedule with tiles of 256 by 256 on this product spills on sm_90:

    ```tilespec
    KERNEL SPEC: product
    Description: Multiplies two matrices.
    Operations: [matmul]
    Inputs:
      - a: shape=(8192, 8192), dtype=float16
      - b: shape=(8192, 8192), dtype=float16
    Outputs:
      - y: shape=(8192, 8192), dtype=float16
    Dependencies: none
    PyTorch Reference:
    def reference_product(a, b):
        return a @ b
    ```

    The schedule that is chosen without a tuning entry doesn't:

    ```tilespec
    KERNEL SPEC: product
    Description: Multiplies two matrices.
    Operations: [matmul]
    Inputs:
      - a: shape=(M, K), dtype=float16
      - b: shape=(K, N), dtype=float16
    Outputs:
      - y: shape=(M, N), dtype=float16
    Dependencies: none
    PyTorch Reference:
    def reference_product(a, b):
        return a @ b
    ```
    """

    code: ClassVar[str] = "TS706"
    name: ClassVar[str] = "register-spill"
    severity: ClassVar[Severity] = Severity.WARNING
    kernel: str
    target: str
    frame: int

    def message(self) -> str:
        return f"kernel `{self.kernel}` spills {self.frame} bytes of registers a thread on {self.target}"

    def help(self) -> str | None:
        return "tune it: smaller tiles or `num_worker_warps=8`"


@dataclass(frozen=True)
class ScalarContraction(Rule):
    """A matrix product that doesn't run on tensor cores.

    Tensor cores take 16-bit and 8-bit operands, and float32 operands that were cut to tf32. A float64 product has none in
    cuTile, and very thin ones are done without. The result is right and can take a hundred times as long.

    A float64 product is always of this kind:

    ```tilespec
    KERNEL SPEC: product
    Description: Multiplies two matrices in double precision.
    Operations: [matmul]
    Inputs:
      - a: shape=(M, K), dtype=float64
      - b: shape=(K, N), dtype=float64
    Outputs:
      - y: shape=(M, N), dtype=float64
    Dependencies: none
    PyTorch Reference:
    def reference_product(a, b):
        return a @ b
    ```

    A bfloat16 product is not:

    ```tilespec
    KERNEL SPEC: product
    Description: Multiplies two matrices.
    Operations: [matmul]
    Inputs:
      - a: shape=(M, K), dtype=bfloat16
      - b: shape=(K, N), dtype=bfloat16
    Outputs:
      - y: shape=(M, N), dtype=bfloat16
    Dependencies: none
    PyTorch Reference:
    def reference_product(a, b):
        return a @ b
    ```
    """

    code: ClassVar[str] = "TS707"
    name: ClassVar[str] = "scalar-contraction"
    severity: ClassVar[Severity] = Severity.WARNING
    kernel: str
    target: str

    def message(self) -> str:
        return f"kernel `{self.kernel}` multiplies matrices without tensor cores on {self.target}"

    def help(self) -> str | None:
        return "use 16-bit operands, or allow tf32 with `Numerics: tf32=allow`"
