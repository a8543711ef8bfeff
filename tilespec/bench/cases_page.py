"""The table of cases: what is known of each spec file of a real problem, as one Markdown page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

__all__ = ["page"]

_HEADER = """# Open cases

Real problems, one spec file each below `tests/cases`, written from their mathematics. Written by
`python -m tilespec.bench.cases tests/cases --raw docs/benchmarks/open-cases.jsonl --page docs/benchmarks/open-cases.md`
from the raw numbers beside this page; `-` means not run yet. "Interpreter" and "GPU" count the cases that passed at small
sizes. "Error" is the largest at the sizes under `Bench` against float64, as a share of the bound `1e-4 + 1e-4 * |ref|`, ours and
eager's. Times are GPU medians in microseconds with a cold L2.
"""
_SLOW = 0.2
_COLUMNS = (
    "case",
    "kernels",
    "built",
    "compiled",
    "interpreter",
    "GPU",
    "error",
    "eager's",
    "tilespec",
    "eager",
    "compile",
    "x eager",
    "finding",
)


def page(files: Sequence[Path], records: Mapping[tuple[str, str], Mapping[str, Any]]) -> str:
    """Return the page: a summary, then a table for each folder of `files`."""
    rows: dict[str, list[list[str]]] = {}
    for file in files:
        rows.setdefault(file.parent.name, []).append(_row(file, records))
    lines = [_HEADER, *_summary(files, records), ""]
    for folder, table in rows.items():
        lines += [f"## {folder}", "", _line(_COLUMNS), _line(["---"] * len(_COLUMNS)), *map(_line, table), ""]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _summary(files: Sequence[Path], records: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[str]:
    lines = [f"- files: {len(files)}"]
    for phase, title in (
        ("build", "built"),
        ("compile", "compiled"),
        ("interpreter", "passed in the interpreter"),
        ("verify", "passed on a GPU at small sizes"),
        ("bench", "right on a GPU at the sizes under `Bench`"),
    ):
        found = [records[file.stem, phase] for file in files if (file.stem, phase) in records]
        passed = sum(item["status"] == "passed" for item in found)
        partly = sum(item["status"] == "partial" for item in found)
        more = f", {partly} in part: the time came first" if partly else ""
        lines.append(f"- {title}: {passed} of {len(found)} that were run{more}")
    ran = [records[file.stem, "bench"] for file in files if (file.stem, "bench") in records]
    places = sorted({f"{item['device']}, torch {item['torch']}, commit {item['commit']}" for item in ran})
    ratios = sorted(
        times["eager"] / times["tilespec"]
        for item in ran
        if {"eager", "tilespec"} <= (times := item.get("microseconds", {})).keys()
    )
    lines += [f"- timed on: {place}" for place in places]
    if ratios:
        faster, slow = sum(item >= 1 for item in ratios), sum(item < _SLOW for item in ratios)
        middle = median(ratios)
        lines.append(
            f"- of {len(ratios)} timed: {faster} at least as fast as eager, {slow} below {_SLOW} of it, median {middle:.2f}"
        )
    return lines


def _row(file: Path, records: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[str]:
    def of(phase: str) -> Mapping[str, Any]:
        return records.get((file.stem, phase), {})

    bench, times = of("bench"), of("bench").get("microseconds", {})
    kernels = len(re.findall(r"^KERNEL SPEC:", file.read_text(encoding="utf-8"), re.MULTILINE))
    found = [
        text
        for phase in ("build", "compile", "interpreter", "verify", "bench")
        if of(phase).get("status") == "failed"
        for text in of(phase).get("findings", ())
    ]
    return [
        file.stem,
        str(kernels),
        _status(of("build")),
        of("compile").get("target", "-")
        if of("compile").get("status") == "passed"
        else _status(of("compile")),
        _cases(of("interpreter")),
        _cases(of("verify")),
        _number(bench.get("error", bench.get("error to eager", [None]))[0]),
        _number(bench.get("eager error", [None])[0]),
        _number(times.get("tilespec")),
        _number(times.get("eager")),
        _number(times.get("compile")),
        f"{times['eager'] / times['tilespec']:.2f}" if {"eager", "tilespec"} <= times.keys() else "-",
        "; ".join(dict.fromkeys(found)).replace("|", "\\|").replace("\n", " ")[:240],
    ]


def _status(record: Mapping[str, Any]) -> str:
    return {"passed": "yes", "failed": "no"}.get(record.get("status", ""), "-")


def _cases(record: Mapping[str, Any]) -> str:
    if record.get("status") == "partial":
        kernels = record["kernels"]
        return f"{record['cases']} ({len(kernels) - len(record['missed'])} of {len(kernels)} kernels)"
    return "no" if record.get("status") == "failed" else str(record.get("cases", "-"))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
