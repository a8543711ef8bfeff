"""Compiles many kernels on a few processes.

A process that hangs or dies costs its one kernel, which comes back with an error; a fresh process takes its place.
"""

from __future__ import annotations

import json
import os
import queue
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tilespec.assemble.types import Assembly, AssemblyError, Job, Remark

__all__ = ["DEFAULT_TIMEOUT", "Assembler", "compile_kernel"]

DEFAULT_TIMEOUT: Final = 60.0
"""Seconds that one run of the target compiler may take."""

_GRACE: Final = 15.0
"""Seconds on top of the compiler's limit, for the front end and a busy machine, before the process is ended."""

Progress = Callable[[int, int, Job, Assembly], None]


class _Worker:
    """One compiling process and its pipes."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._lock = threading.Lock()
        self._ended = False

    def _started(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._ended:
                raise EOFError
            if self._process is None or self._process.poll() is not None:
                self._drop()
                self._process = self._start()
            return self._process

    def _start(self) -> subprocess.Popen[bytes]:
        root = str(Path(__file__).resolve().parents[2])
        search = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        self._buffer = b""
        return subprocess.Popen(
            [sys.executable, "-m", "tilespec.assemble.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={
                **os.environ,
                "PYTHONPATH": search,
                "TMPDIR": self._folder,
                "CUDA_TILE_TEMP_DIR": self._folder,
            },
            start_new_session=True,  # its compiler ends with it, and Ctrl-C reaches us alone
        )

    def ask(self, request: Mapping[str, Any], limit: float) -> dict[str, Any]:
        """Send one request; raise `TimeoutError` or `EOFError` if no answer comes."""
        process = self._started()
        if process.stdin is None or process.stdout is None:
            raise EOFError
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except OSError as error:
            raise EOFError from error
        answer: dict[str, Any] = json.loads(self._line(process.stdout.fileno(), limit))
        return answer

    def _line(self, descriptor: int, limit: float) -> bytes:
        deadline = time.monotonic() + limit
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError
                chunk = os.read(descriptor, 1 << 16)
                if not chunk:
                    raise EOFError
                self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def close(self, *, forever: bool = False) -> None:
        """End the process and whatever it started; a later request starts another unless this is forever."""
        with self._lock:
            self._ended = self._ended or forever
            self._drop()

    def _drop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # Dead before its pipes are closed: another thread that waits for an answer sees their end then. Closing first
        # would take the pipe out of its selector, and it would wait for the whole time limit.
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()


def _request(job: Job, timeout: float) -> dict[str, Any]:
    return {
        "module_path": str(job.module_path.resolve()),
        "function": job.function,
        "arguments": [dict(entry) for entry in job.arguments],
        "target": job.target,
        "hints": {name: value for name, value in job.hints.items() if value is not None},
        "aligned": job.aligned,
        "keep": str(job.keep) if job.keep else None,
        "timeout": timeout,
    }


def _assembly(job: Job, answer: Mapping[str, Any], seconds: float) -> Assembly:
    common: dict[str, Any] = {
        "kernel": job.function,
        "target": job.target or "front end",
        "aligned": job.aligned,
        "seconds": seconds,
    }
    if "error" in answer:
        return Assembly(**common, error=AssemblyError(**answer["error"]))
    remarks = tuple(Remark(**remark) for remark in answer.get("remarks", ()))
    return Assembly(**common, **{**answer, "remarks": remarks})


class Assembler:
    """A pool of compiling processes; use it as a context manager."""

    def __init__(self, processes: int | None = None, *, timeout: float = DEFAULT_TIMEOUT) -> None:
        self.processes = max(1, processes or os.cpu_count() or 1)
        self.timeout = timeout
        self._folder = tempfile.TemporaryDirectory(prefix="tilespec-compile-")
        self._workers = [_Worker(self._folder.name) for _ in range(self.processes)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all processes and drop their temporary files."""
        for worker in self._workers:
            worker.close(forever=True)
        self._folder.cleanup()

    def compile(self, job: Job) -> Assembly:
        """Compile one kernel on the first process."""
        return self._run(self._workers[0], job)

    def compile_all(self, jobs: Sequence[Job], progress: Progress | None = None) -> list[Assembly]:
        """Compile all kernels and return results in the order of `jobs`.

        `progress(done, total, job, assembly)` is called from the caller's thread. An interrupt ends the processes and
        is passed on.
        """
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(len(jobs)):
            waiting.put(number)
        finished: queue.SimpleQueue[tuple[int, Assembly | BaseException]] = queue.SimpleQueue()
        stop = threading.Event()

        def serve(worker: _Worker) -> None:
            while not stop.is_set():
                try:
                    number = waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    finished.put((number, self._run(worker, jobs[number])))
                except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
                    finished.put((number, error))
                    return

        active = self._workers[: len(jobs)]
        threads = [threading.Thread(target=serve, args=(worker,), daemon=True) for worker in active]
        results: dict[int, Assembly] = {}
        for thread in threads:
            thread.start()
        try:
            while len(results) < len(jobs):
                number, outcome = finished.get()
                if isinstance(outcome, BaseException):
                    raise outcome  # noqa: TRY301 - handled together with an interrupt
                results[number] = outcome
                if progress is not None:
                    progress(len(results), len(jobs), jobs[number], outcome)
        except BaseException:
            stop.set()
            self.close()
            raise
        finally:
            for thread in threads:
                thread.join()
        return [results[number] for number in range(len(jobs))]

    def _run(self, worker: _Worker, job: Job) -> Assembly:
        start = time.monotonic()
        try:
            answer = worker.ask(_request(job, self.timeout), self.timeout + _GRACE)
        except TimeoutError:
            worker.close()
            message = f"no answer within {self.timeout + _GRACE:.0f} s"
            answer = {"error": {"kind": "timeout", "exception": "TimeoutError", "message": message}}
        except (EOFError, OSError):
            worker.close()
            message = "the compiling process ended without an answer"
            answer = {"error": {"kind": "crash", "exception": "EOFError", "message": message}}
        return _assembly(job, answer, time.monotonic() - start)


def compile_kernel(
    module_path: Path,
    function: str,
    arguments: Sequence[Mapping[str, Any]],
    target: str,
    hints: Mapping[str, Any],
    *,
    aligned: bool = True,
    timeout: float = DEFAULT_TIMEOUT,
) -> Assembly:
    """Compile one kernel in a process of its own. For more than one, an `Assembler` is faster."""
    with Assembler(1, timeout=timeout) as assembler:
        return assembler.compile(Job(module_path, function, arguments, target, hints, aligned))
