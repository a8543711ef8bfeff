"""The long run: `python -m tests.fuzz.run --parses 500000 --lints 20000`.

An input that fails, that takes longer than two seconds of the processor or that doesn't end is written to `--out`, with what
went wrong, and makes the run end with status 1. Input N of a seed is always the same, so that `--first` continues a run or
gives a part of it to another process.

With atheris installed (`pip install atheris`), `--guided SECONDS` lets coverage choose the inputs instead, for one target.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from tests.fuzz.mutate import corpus, damaged, deep_corpus, mutated

SLOW = 2.0
ENDLESS = 20.0
_REPORT_EVERY = 60.0
_PAGE = resource.getpagesize()


class _EndlessError(BaseException):
    """An input that doesn't end; no handler of the code under test takes it for something else."""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise _EndlessError


def resident() -> int:
    """Return the bytes of memory that this process holds now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE


def inputs_of(target: str) -> Callable[[random.Random], bytes]:
    """Return what makes the inputs of a target out of a source of chance."""
    texts, deep = corpus(), deep_corpus()

    def make(choose: random.Random) -> bytes:
        # Half of what is linted is damaged so little that it often gets as far as the references.
        if target == "lint_bytes" and choose.random() < 0.5:
            text = mutated(deep, choose, 1)
        else:
            text = mutated(texts, choose)
        return text.encode("utf-8", "surrogatepass")

    return make


def run(
    target: Callable[[bytes], None], numbers: range, seed: int, out: Path, limit: float
) -> tuple[int, float, int, int]:
    """Return how many inputs ran, the seconds of the slowest, the growth of memory since a tenth of them, and how many failed."""
    make, slowest, failed, done, settled = inputs_of(target.__name__), 0.0, 0, 0, 0
    begun = reported = time.monotonic()
    for number in numbers:
        now = time.monotonic()
        if now - begun > limit:
            break
        if now - reported > _REPORT_EVERY:
            reported = now
            print(f"{target.__name__}: {done} in {now - begun:.0f} s, {failed} failed", flush=True)  # noqa: T201 - a script
        data = make(random.Random(f"{seed}.{number}"))  # noqa: S311 - to be repeated, not to be secret
        fault, taken = attempt(target, data)
        slowest = max(slowest, taken)
        done += 1
        if done == max(len(numbers) // 10, 1):
            settled = resident()
        if fault or taken > SLOW:
            failed += 1
            out.mkdir(parents=True, exist_ok=True)
            name = out / f"{target.__name__}-{seed}-{number}"
            name.with_suffix(".tilespec").write_bytes(data)
            name.with_suffix(".txt").write_text(fault or f"took {taken:.1f} s\n")
    return done, slowest, resident() - settled if settled else 0, failed


def attempt(target: Callable[[bytes], None], data: bytes) -> tuple[str, float]:
    """Run one input; return what went wrong, if anything, and the seconds of the processor."""
    begun = time.process_time()
    fault = ""
    signal.setitimer(signal.ITIMER_VIRTUAL, ENDLESS)
    try:
        target(data)
    except (Exception, _EndlessError):  # noqa: BLE001 - what a fuzzer looks for
        fault = traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return fault, time.process_time() - begun


def guided(name: str, seconds: int, out: Path) -> None:
    """Hand over to atheris, which ends the process: with status 0 after `seconds`, with another one where an input fails."""
    try:
        atheris = importlib.import_module("atheris")
    except ModuleNotFoundError:
        sys.exit("--guided needs atheris: pip install atheris")
    # Only what is imported here is watched: torch would be more code than all the rest, and no concern of ours.
    with atheris.instrument_imports(include=["tilespec", "lark"]):
        target: Callable[[bytes], None] = getattr(importlib.import_module("tests.fuzz.targets"), name)
        for text in corpus()[:4]:
            target(text.encode())
    texts = deep_corpus()

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        choose = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
        if choose.random() < 0.3:
            return bytes(atheris.Mutate(data, most))
        text = damaged(data.decode("utf-8", "replace"), texts, choose)
        return text.encode("utf-8", "surrogatepass")[:most]

    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(dict.fromkeys(texts)):
            (Path(folder) / str(number)).write_text(text, encoding="utf-8")
        arguments = [
            f"-max_total_time={seconds}",
            f"-timeout={5 * ENDLESS:.0f}",
            "-rss_limit_mb=3072",
            "-max_len=20000",
        ]
        atheris.Setup(
            [sys.argv[0], *arguments, f"-artifact_prefix={out}/", "-print_final_stats=1", folder],
            target,
            custom_mutator=mutate,
        )
        atheris.Fuzz()


def main() -> None:
    """Run and print one line a target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parses", type=int, default=20_000)
    parser.add_argument("--lints", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for each target")
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--guided", type=int, metavar="SECONDS", help="lints if --parses is 0, else parses")
    options = parser.parse_args()
    if options.guided is not None:
        guided("parse_bytes" if options.parses else "lint_bytes", options.guided, options.out)
    from tests.fuzz.targets import lint_bytes, parse_bytes

    faulthandler.enable()
    signal.signal(signal.SIGVTALRM, _stop)
    failures = 0
    for target, count in ((parse_bytes, options.parses), (lint_bytes, options.lints)):
        if not count:
            continue
        # Imports are no work on an input.
        target(corpus()[0].encode())
        begun = time.monotonic()
        numbers = range(options.first, options.first + count)
        done, slowest, grown, failed = run(target, numbers, options.seed, options.out, options.seconds)
        print(  # noqa: T201 - a script
            f"{target.__name__}: {done} inputs in {time.monotonic() - begun:.0f} s, slowest {slowest:.2f} s, "
            f"memory grew by {grown // 2**20} MiB after the first tenth, {failed} failed",
            flush=True,
        )
        failures += failed
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
