"""Whether the compiler works: assembles a kernel of three lines in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["compile_complaint"]

_SCRIPT = """\
import io

import cuda.tile as ct
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, export_kernel


@ct.kernel
def copy(source, target):
    block = ct.bid(0)
    ct.store(target, (block,), ct.load(source, (block,), (128,), padding_mode=ct.PaddingMode.ZERO))


array = ArrayConstraint(
    ct.float32, 1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False
)
signature = KernelSignature([array, array], CallingConvention.cutile_python_v2())
export_kernel(copy, [signature], io.BytesIO(), gpu_code="sm_90", output_format="cubin")
"""
_TIMEOUT = 60.0


def compile_complaint() -> str | None:
    """Compile a minimal kernel for `sm_90`; return the last line of what was said against it, None if it worked."""
    with tempfile.TemporaryDirectory(prefix="tilespec-") as folder:
        script = Path(folder) / "probe.py"
        script.write_text(_SCRIPT)
        try:
            done = subprocess.run(  # noqa: S603 - this interpreter and our own script
                [sys.executable, str(script)], capture_output=True, text=True, timeout=_TIMEOUT, check=False
            )
        except subprocess.TimeoutExpired:
            return f"no answer within {_TIMEOUT:.0f} s"
    if done.returncode == 0:
        return None
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return said[-1] if said else f"exit status {done.returncode}"
