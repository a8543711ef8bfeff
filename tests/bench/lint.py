"""How long linting takes: `python -m tests.bench.lint [--files 1000] [--trace]`, on a machine that does nothing else.

Prints seconds, by the clock and of the processor, of cold and cached runs of the command line over files of three kernels, and
of parsing one file of 1,000 and of 10,000 kernels, which has to grow in proportion. Where other work shares the machine, only
the seconds of the processor say something.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tilespec.diagnostics import SourceText
from tilespec.model import build_model
from tilespec.syntax import parse

REPOSITORY = Path(__file__).resolve().parents[2]


def command(folder: Path, cache: Path, *options: str) -> tuple[float, float]:
    """Return the seconds that one run of `tilespec lint` takes, by the clock and of its processes."""
    begun, used = time.perf_counter(), os.times()
    subprocess.run(
        [
            sys.executable,
            "-m",
            "tilespec",
            "lint",
            "--cache",
            str(cache),
            "--format",
            "json",
            *options,
            str(folder),
        ],
        check=True,
        capture_output=True,
        cwd=REPOSITORY,
    )
    now = os.times()
    spent = now.children_user + now.children_system - used.children_user - used.children_system
    return time.perf_counter() - begun, spent


def kernels(count: int) -> SourceText:
    """Return one file of `count` kernels."""
    blocks = (
        f"KERNEL SPEC: k{number}\nDescription: One.\nOperations: [relu]\nInputs:\n"
        f"  - x{number}: shape=(N,), dtype=float32\nOutputs:\n  - y{number}: shape=(N,), dtype=float32\n"
        f"PyTorch Reference:\ndef reference_k{number}(x{number}):\n    return x{number}.relu()\n---\n"
        for number in range(count)
    )
    return SourceText("many.tilespec", "".join(blocks))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--trace", action="store_true", help="also trace references")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    text = (REPOSITORY / "specs" / "ffn.tilespec").read_text(encoding="utf-8")
    modes = [("--no-trace",)] + ([("--trace",)] if options.trace else [])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "specs"
        folder.mkdir()
        for number in range(options.files):
            (folder / f"f{number}.tilespec").write_text(
                text.replace("ffn_linear2", f"second_{number}"), encoding="utf-8"
            )
        for mode in modes:
            cache = Path(name) / mode[0].strip("-")
            for state in ("cold", "cached"):
                wall, used = command(folder, cache, *mode, "-j", str(options.jobs))
                print(  # noqa: T201 - a script
                    f"lint {mode[0]}, {options.files} files, {state}: {wall:.2f} s, processor {used:.2f} s"
                )
    for count in (1000, 10_000):
        source = kernels(count)
        begun = time.process_time()
        tree, _ = parse(source)
        parsed = time.process_time()
        build_model(tree)
        done = time.process_time()
        print(  # noqa: T201 - a script
            f"{count} kernels: processor {parsed - begun:.2f} s to parse, {done - parsed:.2f} s to model"
        )


if __name__ == "__main__":
    main()
