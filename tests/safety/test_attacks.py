"""Hostile references end in findings or in nothing at all, soon, and run nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.safety.attacks import ATTACKS
from tests.safety.guard import BYTES, SECONDS, check_findings, guarded
from tests.unit.reference.making import kernel, spec
from tilespec.diagnostics import Diagnostic
from tilespec.reference.trace import trace_kernel


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


@pytest.mark.parametrize("code", [code for _, code in ATTACKS], ids=[name for name, _ in ATTACKS])
def test_an_attack_is_refused_or_harmless(code: str):
    with guarded():
        findings = run(code)
    check_findings(findings, ("TS4",))


def endless() -> None:
    while True:
        pass


def test_the_guard_sees_what_it_has_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MemoryError), guarded():
        bytes(BYTES + 1)
    with pytest.raises(AssertionError, match="open a"), guarded():
        Path("a").write_text("")
    with pytest.raises(pytest.fail.Exception, match=f"after {SECONDS}"), guarded():
        endless()


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
