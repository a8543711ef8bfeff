"""A process that makes calls and can be ended at any time, with whatever it started."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from typing import Generic, TypeVar, cast

__all__ = ["Child", "tell"]

Answer = TypeVar("Answer")
_DONE, _RAISED, _TOLD = "done", "raised", "told"
_parent: list[Connection] = []
"""The pipe to the parent, in a process that a `Child` made."""


class Child(Generic[Answer]):
    """A fresh interpreter that makes calls `function(*arguments)` one after the other.

    Ctrl-C doesn't reach it: the parent decides what ends it.
    """

    def __init__(self) -> None:
        context = get_context("spawn")
        self.ready, theirs = context.Pipe()
        """Can be read when a call is over; for `multiprocessing.connection.wait`."""
        # A daemon: it ends with this process at the latest.
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        # Starting the tracker of multiprocessing, which the first process does, would unblock the signal again.
        resource_tracker.ensure_running()
        # What starts with the signal blocked keeps it blocked; here it is delivered after the start.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        # Without a copy of the other end here, the death of the process is the end of the pipe.
        theirs.close()
        self.told: object = None
        """What the call that runs said last with `tell`."""
        self._result: tuple[bool, object] | None = None

    def ask(self, function: Callable[..., Answer], *arguments: object) -> None:
        """Start a call; `answer` has to follow before the next."""
        self.told = self._result = None
        with suppress(BrokenPipeError):  # dead already: `answer` will find out
            self.ready.send((function, arguments))

    def is_over(self) -> bool:
        """Wait for the next message and return whether the call is over; if not, what it said is in `told`."""
        try:
            kind, value = self.ready.recv()
        except (EOFError, ConnectionResetError):
            self._result = (True, None)
            return True
        if kind == _TOLD:
            self.told = value
            return False
        self._result = (kind == _DONE, value)
        return True

    def answer(self) -> Answer | None:
        """Wait for the result, raise what the call raised; None when the process died without an answer."""
        while self._result is None:
            self.is_over()
        done, value = self._result
        if not done and isinstance(value, Exception):
            raise value
        return cast("Answer | None", value)

    def kill(self) -> None:
        """End the process and what it started."""
        pid = self._process.pid
        if pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self.ready.close()


def tell(value: object) -> None:
    """Say how far the call is that runs in this process; nothing where no `Child` made it."""
    for pipe in _parent:
        pipe.send((_TOLD, value))


def _serve(calls: Connection) -> None:
    os.setsid()  # a group of its own, with the compilers that it starts
    _parent.append(calls)
    with suppress(EOFError):  # no more calls
        while True:
            function, arguments = calls.recv()
            try:
                result: tuple[str, object] = (_DONE, function(*arguments))
            except Exception as error:  # noqa: BLE001 - raised again by `answer`
                result = (_RAISED, error)
            calls.send(result)
