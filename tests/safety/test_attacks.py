"""Hostile references end in findings or in nothing at all, soon, and run nothing."""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from tests.safety.attacks import ATTACKS
from tests.unit.reference.making import kernel, spec
from tilespec.diagnostics import Diagnostic
from tilespec.reference.trace import trace_kernel

SECONDS_OF_CPU = 2.0
LARGEST_GROWTH = 2**30
WATCHED = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "socket.connect",
    "shutil.",
    "ctypes.dlopen",
)

_seen: list[str] = []
_watching = False


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if not _watching:
        return
    if event.startswith(WATCHED):
        _seen.append(event)
    if (
        event == "open"
        and len(arguments) > 1
        and isinstance(arguments[1], str)
        and set(arguments[1]) & set("wax+")
    ):
        _seen.append(f"open {arguments[0]}")
    if event == "open" and str(arguments[0]) in {"a", "a.pt", "/etc/passwd"}:
        _seen.append(f"open {arguments[0]}")


sys.addaudithook(_audit)


def _too_long(_signal: int, _frame: FrameType | None) -> None:
    pytest.fail(f"still running after {SECONDS_OF_CPU} s")


@contextmanager
def guarded() -> Iterator[None]:
    """Fail on more CPU time than an attack may take, and on anything that reaches the system."""
    global _watching  # noqa: PLW0603 (an audit hook cannot be taken away, only told to look away)
    before = signal.signal(signal.SIGVTALRM, _too_long)
    _seen.clear()
    _watching = True
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS_OF_CPU)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        _watching = False
        signal.signal(signal.SIGVTALRM, before)
    assert _seen == []


def run(code: str) -> list[Diagnostic]:
    entry = kernel("a", ["x: N float32"], ["y: N float32"], code)
    graph, findings = trace_kernel(spec(entry), entry)
    assert graph is not None or findings
    return findings


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """Let torch import what it imports on first use."""
    run(
        "def reference_a(x):\n    y = torch.zeros_like(x)\n    y[1:] = F.pad(x.sin() + 1, (1, 1))[1:-2]\n    return y\n"
    )
    run("def reference_a(x):\n    return F.interpolate(x[None, None], scale_factor=2)[0, 0, ::2] @ x\n")


def test_the_corpus_is_large_enough():
    assert len({code for _, code in ATTACKS}) >= 150


@pytest.mark.parametrize(("name", "code"), ATTACKS, ids=[name for name, _ in ATTACKS])
def test_an_attack_is_refused_or_harmless(name: str, code: str):
    with guarded():
        findings = run(code)
    for finding in findings:
        assert finding.code.startswith("TS4"), f"{name}: {finding}"
        assert "\n" not in finding.message
        assert "Traceback" not in finding.message
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert grown < 3 * LARGEST_GROWTH


HARMLESS = {
    "doc", "huge range sum", "nested comprehension", "eye", "arange", "zeros", "linspace", "annotation", "annotated evil",
    "type comment", "encoding cookie", "many functions", "redefined builtin", "long call chain", "lone surrogate escape",
}  # fmt: skip


def test_what_reaches_python_is_refused():
    """Nothing with a dunder, an import, a builtin off the list or a torch function off the list traces."""
    words = (
        "__",
        "import ",
        "eval",
        "exec(",
        "open(",
        "getattr",
        "torch.load",
        "torch.ops",
        "torch.hub",
        "lambda",
        "class ",
    )
    hostile = [
        (name, code) for name, code in ATTACKS if any(word in code for word in words) and name not in HARMLESS
    ]
    assert len(hostile) > 60
    for name, code in hostile:
        assert run(code), name
