"""What an attack may cost, and what it may not touch."""

from __future__ import annotations

import ctypes
import gc
import re
import resource
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from tilespec.diagnostics import Diagnostic

SECONDS = 2.0
"""Of the processor: what else runs on the machine is no fault of an attack."""
BYTES = 2**30
"""Over what the process holds before the attack."""
_WATCHED = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "socket.connect",
    "shutil.",
    "ctypes.dlopen",
)
_EXHAUSTED = re.compile(
    r"MemoryError|bad_alloc|(out of|not enough|n't allocate|t allocate) memory", re.IGNORECASE
)
_PROC = Path("/proc/self")

_seen: list[str] = []
_watching = False


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if not _watching:
        return
    if event.startswith(_WATCHED):
        _seen.append(event)
    if event == "open":
        path, mode = str(arguments[0]), arguments[1] if len(arguments) > 1 else None
        written = isinstance(mode, str) and set(mode) & set("wax+")
        if written or path in {"a", "a.pt", "/etc/passwd"}:
            _seen.append(f"open {path}")


sys.addaudithook(_audit)


def _too_long(_signal: int, _frame: FrameType | None) -> None:
    pytest.fail(f"still running after {SECONDS} s")


def _held(name: str) -> int:
    """Return bytes of a row of the memory table of this process, as `VmRSS`."""
    row = next(line for line in (_PROC / "status").read_text().splitlines() if line.startswith(f"{name}:"))
    return int(row.split()[1]) * 1024


@contextmanager
def guarded() -> Iterator[None]:
    """Fail on more time or memory than an attack may take, and on anything that reaches the system.

    Memory is measured from what is held now, after a clean-up, so that each attack pays for itself; and more than it may
    take can't be had, touched or not.
    """
    global _watching  # noqa: PLW0603 (an audit hook cannot be taken away, only told to look away)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before = signal.signal(signal.SIGVTALRM, _too_long)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_held("VmSize") + BYTES, hard))
    # Forgets the largest size so far.
    (_PROC / "clear_refs").write_text("5")
    held = _held("VmRSS")
    _seen.clear()
    _watching = True
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        _watching = False
        signal.signal(signal.SIGVTALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    grown = _held("VmHWM") - held
    assert grown <= BYTES, f"grew by {grown}"
    assert _seen == [], _seen


def check_findings(findings: Iterable[Diagnostic], codes: tuple[str, ...]) -> None:
    """Hold findings of an attack to be findings: of the stages that read it, and not that memory ran out."""
    for finding in findings:
        assert finding.code.startswith(codes), finding
        assert "\n" not in finding.message
        assert "Traceback" not in finding.message
        # An attack that wants more than it may have is told so by torch or Python, and would be refused for that alone.
        assert not _EXHAUSTED.search(finding.message), finding
