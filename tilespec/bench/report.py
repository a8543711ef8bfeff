"""What a benchmark measured, as data, as a table and as a Markdown page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tilespec.bench.measure import Timing

__all__ = ["BenchReport", "HostRow", "Row", "markdown"]


@dataclass(frozen=True)
class Row:
    """GPU times of one kernel at one size. `times` has `tilespec`, and `eager` and `compile` where they ran."""

    file: str
    kernel: str
    sizes: Mapping[str, int]
    dtypes: tuple[str, ...]
    times: Mapping[str, Timing]
    bytes: int
    operations: int
    note: str | None = None

    def ratio(self, other: str) -> float | None:
        """Return how many times faster than `other` the generated code is."""
        ours, theirs = self.times.get("tilespec"), self.times.get(other)
        return theirs.median / ours.median if ours and theirs else None

    @property
    def bandwidth(self) -> float | None:
        """TB/s of inputs read once and outputs written once."""
        ours = self.times.get("tilespec")
        return self.bytes / ours.median / 1e6 if ours else None

    @property
    def rate(self) -> float | None:
        """TFLOP/s of the products and convolutions; None for a kernel without."""
        ours = self.times.get("tilespec")
        return self.operations / ours.median / 1e6 if ours and self.operations else None


@dataclass(frozen=True)
class HostRow:
    """Host time of a later call of the composed module beside that of its launches alone, with arguments ready."""

    file: str
    sizes: Mapping[str, int]
    launches: int
    composed: Timing
    raw: Timing

    @property
    def ratio(self) -> float:
        """How much longer the composed call takes."""
        return self.composed.median / self.raw.median


@dataclass(frozen=True)
class BenchReport:
    """One run on one machine."""

    environment: Mapping[str, str]
    rows: tuple[Row, ...]
    host: tuple[HostRow, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the raw numbers."""
        return {
            "environment": dict(self.environment),
            "kernels": [
                {
                    **asdict(row),
                    "ratio_eager": row.ratio("eager"),
                    "ratio_compile": row.ratio("compile"),
                    "terabytes_per_second": row.bandwidth,
                    "teraflops": row.rate,
                }
                for row in self.rows
            ],
            "host": [{**asdict(row), "ratio": row.ratio} for row in self.host],
        }

    def table(self) -> str:
        """Return the run as text."""
        return markdown(self.as_json())


def _cell(value: float | None, form: str = ".1f") -> str:
    return "" if value is None else format(value, form)


def _median(times: Mapping[str, Any], name: str) -> float | None:
    return times[name]["median"] if name in times else None


def _lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[at]) for row in (header, *rows)) for at in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    return [
        line(header),
        "| " + " | ".join("-" * width for width in widths) + " |",
        *(line(row) for row in rows),
    ]


def markdown(data: Mapping[str, Any]) -> str:
    """Return the page of a raw result, as `BenchReport.as_json` gives it."""
    place = data["environment"]
    lines = [f"# {place.get('card', 'unknown card')}, {place.get('date', 'no date')}", ""]
    lines += [
        "Medians in microseconds, all candidates in turn within each round, L2 written over before every call.",
        "`x eager` and `x compile` say how many times faster the generated kernel is.",
        "",
        *[f"- {name}: {value}" for name, value in place.items() if name not in {"card", "date"}],
        "",
    ]
    rows = [
        (
            str(row["kernel"]),
            ", ".join(f"{name}={size}" for name, size in row["sizes"].items()),
            " ".join(dict.fromkeys(row["dtypes"])),
            _cell(_median(row["times"], "tilespec")),
            _cell(_median(row["times"], "eager")),
            _cell(_median(row["times"], "compile")),
            _cell(row["ratio_eager"], ".2f"),
            _cell(row["ratio_compile"], ".2f"),
            _cell(row["terabytes_per_second"], ".2f"),
            _cell(row["teraflops"], ".0f"),
            row["note"] or "",
        )
        for row in data["kernels"]
    ]
    header = (
        "kernel",
        "sizes",
        "dtype",
        "tilespec",
        "eager",
        "compile",
        "x eager",
        "x compile",
        "TB/s",
        "TFLOP/s",
        "note",
    )
    lines += _lines(header, rows)
    if data["host"]:
        lines += [
            "",
            "Host time of a later call of the composed module, and of its launches alone with arguments ready:",
            "",
        ]
        host = [
            (
                str(row["file"]),
                ", ".join(f"{name}={size}" for name, size in row["sizes"].items()),
                str(row["launches"]),
                _cell(row["composed"]["median"]),
                _cell(row["raw"]["median"]),
                _cell(row["ratio"], ".2f"),
            )
            for row in data["host"]
        ]
        lines += _lines(("file", "sizes", "launches", "composed", "launches alone", "ratio"), host)
    return "\n".join(lines) + "\n"
