"""Processes that can be ended at any time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tilespec.child import Child, tell

REPOSITORY = Path(__file__).resolve().parents[2]

SPEC = """\
KERNEL SPEC: {name}
Description: Adds up rows.
Operations: [sum]
Inputs:
  - x: shape=(M, N), dtype=float32
Outputs:
  - y: shape=(M,), dtype=float32
Dependencies: none
PyTorch Reference:
def reference_{name}(x):
    return x.sum(dim=1)
"""


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie doesn't."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def all_end(pids: list[int]) -> bool:
    """Whether none of these processes runs, now or soon: the kernel takes a moment to end one."""
    deadline = time.monotonic() + 30
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(alive(pid) for pid in pids)


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


@pytest.fixture
def child() -> Iterator[Child[Any]]:
    made: Child[Any] = Child()
    yield made
    made.kill()


def test_answers_come_back(child: Child[Any]):
    for name in "bc":
        child.ask(os.path.join, "a", name)
        assert child.answer() == f"a/{name}"


def test_it_says_how_far_it_is(child: Child[Any]):
    child.ask(tell, 3)
    assert not child.is_over()
    assert child.told == 3
    assert child.is_over()
    assert child.answer() is None
    child.ask(os.path.join, "a", "b")
    assert child.told is None
    assert child.answer() == "a/b"


def test_an_answer_is_not_held_up_by_what_it_says(child: Child[Any]):
    child.ask(tell, 3)
    assert child.answer() is None
    assert child.told == 3


def test_nobody_is_told_in_a_process_of_its_own():
    tell(3)


def test_what_is_raised_is_raised_here(child: Child[Any]):
    child.ask(int, "many")
    with pytest.raises(ValueError, match="invalid literal"):
        child.answer()
    child.ask(int, "7")
    assert child.answer() == 7


def test_a_dead_process_gives_no_answer(child: Child[Any]):
    child.ask(os._exit, 3)
    assert child.answer() is None
    child.ask(int, "7")
    assert child.answer() is None


def test_an_interrupt_does_not_reach_it(child: Child[Any]):
    child.ask(time.sleep, 0.5)
    pid = child._process.pid
    assert pid is not None
    os.kill(pid, signal.SIGINT)
    assert child.answer() is None
    assert child._process.is_alive()


def test_killing_ends_what_it_started(child: Child[Any], tmp_path: Path):
    place = tmp_path / "pid"
    child.ask(os.system, f"echo $$ > {place}; sleep 100; true")
    while not place.exists() or not place.read_text().strip():
        time.sleep(0.05)
    started = int(place.read_text())
    assert alive(started)
    child.kill()
    assert all_end([started])


def test_ctrl_c_ends_the_command_and_its_processes(tmp_path: Path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.tilespec").write_text(SPEC.format(name=name))
    command = (
        *(sys.executable, "-m", "tilespec", "verify", str(tmp_path), "--out", str(tmp_path / "build")),
        *("--device", "interpreter", "--cases", "100000", "-j2"),
    )
    running = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 120
        # The processes that check, and one of Python that keeps track of them.
        while len(children(running.pid)) < 3 and time.monotonic() < deadline:
            assert running.poll() is None
            time.sleep(0.1)
        started = children(running.pid)
        assert len(started) >= 3
        # As a terminal does: to the whole group.
        os.killpg(running.pid, signal.SIGINT)
        _, errors = running.communicate(timeout=30)
    finally:
        running.kill()
    assert running.returncode == 130
    assert "Traceback" not in errors
    assert all_end(started)
