"""What a run of the cases keeps, and the page that is made of it."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

import pytest
import torch

from tilespec.bench.cases import (
    CaseOptions,
    benchmark_inputs,
    collect,
    read_raw,
    run_phase,
    turn,
    worst_error,
)
from tilespec.bench.cases_page import page
from tilespec.diagnostics import SourceText
from tilespec.model import build_model
from tilespec.syntax import parse

RELU = Path(__file__).resolve().parents[2] / "cases" / "level1" / "1_019_relu.tilespec"
PROBE = """
KERNEL SPEC: probe
Description: A linear layer.
Operations: [linear, mul, add]

Inputs:
  - x: shape=(N, I), dtype=float32
  - weight: shape=(O, I), dtype=float32
  - gamma: shape=(O,), dtype=float32
  - eps: scalar float = 0.5

Outputs:
  - y: shape=(N, O), dtype=float32
"""


def test_the_last_record_of_a_phase_counts_and_a_cut_line_does_not(tmp_path: Path):
    raw = tmp_path / "raw.jsonl"
    lines = [{"case": "a", "phase": "bench", "status": status} for status in ("failed", "passed")]
    raw.write_text("\n".join(map(json.dumps, lines)) + '\n{"case": "a", "pha', encoding="utf-8")
    assert read_raw([raw]) == {("a", "bench"): lines[1]}
    assert read_raw([tmp_path / "none"]) == {}


def test_a_phase_is_done_once(tmp_path: Path):
    raw, broken = tmp_path / "raw.jsonl", tmp_path / "broken.tilespec"
    broken.write_text("KERNEL SPEC: a\n", encoding="utf-8")
    options = CaseOptions(build_dir=tmp_path / "build")
    (record,) = run_phase([broken], "build", raw, options)
    assert record["status"] == "failed"
    assert record["findings"]
    assert list(run_phase([broken], "build", raw, options)) == []
    assert list(run_phase([broken], "interpreter", raw, options, time_limit=0)) == []


def test_the_page_shows_what_is_known_of_each_file():
    records = {
        ("1_019_relu", "build"): {"status": "passed"},
        ("1_019_relu", "verify"): {"status": "failed", "findings": ["TS801: a | b"]},
        ("1_019_relu", "bench"): {
            "status": "passed",
            "error": [0.5, 1e-7],
            "microseconds": {"tilespec": 2.0, "eager": 3.0},
            "device": "NVIDIA H200",
            "torch": "2.11.0",
            "commit": "abc",
        },
    }
    text = page([RELU], records)
    row = next(line for line in text.splitlines() if line.startswith("| 1_019_relu"))
    cells = [cell.strip() for cell in row.replace("\\|", "/").strip("|").split("|")]
    assert cells[1:6] == ["1", "yes", "-", "-", "no"]
    assert "- timed on: NVIDIA H200, torch 2.11.0, commit abc" in text
    assert "- of 1 timed: 1 at least as fast as eager, 0 below 0.2 of it, median 1.50" in text
    assert cells[6] == "0.5"
    assert cells[11:] == ["1.50", "TS801: a / b"]
    assert "- built: 1 of 1 that were run" in text


def test_errors_are_shares_of_the_bound():
    expected = torch.ones(3)
    assert worst_error(expected, expected) == (0.0, 0.0)
    worst, norm = worst_error(torch.tensor([1.0, 1.0, 1.0004]), expected)
    assert worst == pytest.approx(2.0, rel=1e-3)
    assert norm == pytest.approx(4e-4 / 3**0.5, rel=1e-3)
    assert worst_error(torch.tensor([1.0, 1.0, float("nan")]), expected)[0] == float("inf")
    assert worst_error(torch.zeros(0), torch.zeros(0)) == (0.0, 0.0)
    assert worst_error(torch.ones(2), expected)[0] == float("inf")


def test_inputs_are_like_those_of_the_problems():
    tree, _ = parse(SourceText("probe.tilespec", PROBE))
    spec, found = build_model(tree)
    assert spec is not None, found
    inputs = spec.kernels[0].inputs
    made = benchmark_inputs(inputs, {"N": 64, "I": 100, "O": 50}, "cpu")
    x, weight, gamma = made["x"], made["weight"], made["gamma"]
    assert isinstance(x, torch.Tensor)
    assert isinstance(weight, torch.Tensor)
    assert isinstance(gamma, torch.Tensor)
    assert 0 <= float(x.min()) < 0.01
    assert 0.99 < float(x.max()) <= 1
    assert 0.09 < float(weight.abs().max()) <= 0.1
    assert float(gamma.min()) >= 0.5
    assert made["eps"] == 0.5


def test_files_and_folders_are_collected_in_order():
    assert collect([RELU]) == [RELU]
    found = collect([RELU.parent])
    assert found == sorted(found)
    assert RELU in found


def test_one_process_at_a_time_is_at_the_gpu(tmp_path: Path):
    lock = tmp_path / "gpu.lock"
    with turn(lock), lock.open("w") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with lock.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
