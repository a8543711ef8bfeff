"""The long run: `python -m tests.fuzz.run --parses 500000 --lints 20000`.

With atheris installed, `--guided` lets coverage choose the inputs instead. An input that fails, or that takes longer than
two seconds, is written to `--out`, with its seed, and ends the run with status 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import resource
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.mutate import corpus, mutated
from tests.fuzz.targets import lint_bytes, parse_bytes

SLOW = 2.0


def run(
    target: Callable[[bytes], None], count: int, seed: int, out: Path, limit: float
) -> tuple[int, float, int]:
    """Return how many inputs ran, the seconds of the slowest, and how many failed."""
    texts, slowest, failed, done = corpus(), 0.0, 0, 0
    stop = time.monotonic() + limit
    for number in range(count):
        if time.monotonic() > stop:
            break
        choose = random.Random(f"{seed}.{number}")  # noqa: S311 - to be repeated, not to be secret
        data = mutated(texts, choose).encode("utf-8", "surrogatepass")
        begun = time.process_time()
        fault = ""
        try:
            target(data)
        except Exception:  # noqa: BLE001 - what a fuzzer looks for
            fault = traceback.format_exc()
        taken = time.process_time() - begun
        slowest = max(slowest, taken)
        done += 1
        if fault or taken > SLOW:
            failed += 1
            out.mkdir(parents=True, exist_ok=True)
            name = out / f"{target.__name__}-{seed}-{number}"
            name.with_suffix(".tilespec").write_bytes(data)
            name.with_suffix(".txt").write_text(fault or f"took {taken:.1f} s\n")
    return done, slowest, failed


def guided(target: Callable[[bytes], None], arguments: list[str]) -> None:
    """Hand over to atheris, which never returns."""
    if importlib.util.find_spec("atheris") is None:
        sys.exit("--guided needs atheris: pip install atheris")
    atheris = importlib.import_module("atheris")
    atheris.instrument_all()
    atheris.Setup([sys.argv[0], *arguments], target)
    atheris.Fuzz()


def main() -> None:
    """Run and print one line a target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parses", type=int, default=20_000)
    parser.add_argument("--lints", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for each target")
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--guided", action="store_true")
    options, rest = parser.parse_known_args()
    if options.guided:
        guided(parse_bytes if options.parses else lint_bytes, rest)
    failures = 0
    for target, count in ((parse_bytes, options.parses), (lint_bytes, options.lints)):
        # Imports are no work on an input.
        target(corpus()[0].encode())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begun = time.monotonic()
        done, slowest, failed = run(target, count, options.seed, options.out, options.seconds)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
        print(  # noqa: T201 - a script
            f"{target.__name__}: {done} inputs in {time.monotonic() - begun:.0f} s, slowest {slowest:.2f} s, "
            f"memory grew by {grown} MiB, {failed} failed"
        )
        failures += failed
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
