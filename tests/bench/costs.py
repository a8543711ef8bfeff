"""What the command costs: start, checking many files, building one from nothing and again.

Run it on a quiet machine: `python tests/bench/costs.py`. It prints the median of a few runs beside what we hold it to;
nothing here is a test, since a busy machine proves nothing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

REPOSITORY = Path(__file__).resolve().parents[2]
FFN = REPOSITORY / "specs" / "ffn.tilespec"


def timed(
    action: Callable[[], object], repeats: int, before: Callable[[], object] = lambda: None
) -> tuple[float, float]:
    """Return the medians of the seconds that an action takes, by the clock and of its processes; `before` isn't counted."""
    wall, used = [], []
    for _ in range(repeats):
        before()
        started, children = time.perf_counter(), _children()
        action()
        wall.append(time.perf_counter() - started)
        used.append(_children() - children)
    return median(wall), median(used)


def _children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def command(*arguments: str | Path) -> Callable[[], object]:
    """Return a run of the command line in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return lambda: subprocess.run(
        (sys.executable, "-m", "tilespec", *map(str, arguments)),
        check=True,
        capture_output=True,
        env=environment,
    )


def many_specs(folder: Path, count: int) -> None:
    """Write files of the size that people write: the shipped ones, one kernel id a file changed."""
    shipped = [path.read_text() for path in sorted((REPOSITORY / "specs").glob("*.tilespec"))]
    for at in range(count):
        (folder / f"spec{at}.tilespec").write_text(shipped[at % len(shipped)] + f"\n# copy {at}\n")


def main() -> None:
    """Measure everything and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        specs, out = folder / "specs", folder / "build"
        specs.mkdir()
        many_specs(specs, 1000)
        build = command("build", FFN, "--out", out)
        rows = [
            ("--help", 0.3, timed(command("--help"), repeats)),
            ("1000 specs, parsed and checked", 2.0, timed(command("lint", "--syntax", specs), repeats)),
            (
                "build of the FFN, from nothing",
                15.0,
                timed(build, repeats, lambda: shutil.rmtree(out, ignore_errors=True)),
            ),
            ("build of the FFN, unchanged", 1.0, timed(build, repeats)),
        ]
    width = max(len(what) for what, _, _ in rows)
    sys.stdout.write(f"{'':{width}}  seconds  of processor  held to\n")
    for what, limit, (wall, used) in rows:
        sys.stdout.write(f"{what:{width}}  {wall:7.2f}  {used:12.2f}  {limit:7.1f}\n")


if __name__ == "__main__":
    main()
