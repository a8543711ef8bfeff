"""Times built packages: `python -m tilespec.bench SPEC PACKAGE [SPEC PACKAGE ...] --json out.json --markdown out.md`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tilespec.bench.report import markdown
from tilespec.bench.run import BenchOptions, bench_packages


def main() -> None:
    """Run the benchmark, print its table and write what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tilespec.bench", description=__doc__)
    parser.add_argument("places", nargs="*", type=Path, metavar="SPEC PACKAGE")
    parser.add_argument("--json", type=Path, help="write the raw numbers")
    parser.add_argument("--markdown", type=Path, help="write the page")
    parser.add_argument("--from-json", type=Path, help="make the page of earlier numbers, on any machine")
    parser.add_argument("--seconds", type=float, default=1.0, help="longest time for one kernel at one size")
    parser.add_argument("--kernel", action="append", default=[], help="only this kernel; may repeat")
    parser.add_argument(
        "--size", action="append", default=[], metavar="NAME=N", help="instead of the sizes of `Bench`"
    )
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--commit", help="what to record as the commit")
    given = parser.parse_args()
    if given.from_json:
        data = json.loads(given.from_json.read_text(encoding="utf-8"))
    else:
        if len(given.places) % 2 or not given.places:
            parser.error("give pairs of spec file and package folder")
        options = BenchOptions(
            kernels=tuple(given.kernel),
            sizes={name: int(size) for name, _, size in (item.partition("=") for item in given.size)},
            seconds=given.seconds,
            compiled=not given.no_compile,
            commit=given.commit,
        )
        pairs = list(zip(given.places[::2], given.places[1::2], strict=True))
        data = json.loads(json.dumps(bench_packages(pairs, options).as_json()))
    page = markdown(data)
    sys.stdout.write(page)
    if given.json and not given.from_json:
        given.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    if given.markdown:
        given.markdown.write_text(page, encoding="utf-8")


main()
