"""Timers: GPU time between events with a cold L2, host time of a call that never waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

import cuda.tile as ct
import torch

__all__ = ["Timing", "captured_launches", "gpu_times", "host_times"]

_FLUSH_BYTES = 1 << 29
"""Written before every timed call: evicts the L2 and keeps the GPU busy while the host prepares the call."""


@dataclass(frozen=True)
class Timing:
    """Microseconds: the median of all samples, and where the middle 60 % lie."""

    median: float
    low: float
    high: float
    samples: int

    @staticmethod
    def of(values: list[float]) -> Timing:
        """Summarise samples in microseconds."""
        fifths = quantiles(values, n=5) if len(values) > 1 else [values[0]] * 4
        return Timing(median(values), fifths[0], fifths[3], len(values))


def gpu_times(
    candidates: Mapping[str, Callable[[], object]], *, seconds: float, rounds: int
) -> dict[str, Timing]:
    """Time callables on the GPU, one after the other in every round, so that drift of the clocks meets all alike.

    Runs at most `rounds` rounds and stops after `seconds`, but not before 5.
    """
    flush = torch.empty(_FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    for run in candidates.values():
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    started = time.monotonic()
    for position in range(rounds):
        if position >= 5 and time.monotonic() - started > seconds:
            break
        pairs: dict[str, tuple[torch.cuda.Event, torch.cuda.Event]] = {}
        for name, run in candidates.items():
            before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            flush.zero_()
            before.record()
            run()
            after.record()
            pairs[name] = (before, after)
        torch.cuda.synchronize()
        for name, (before, after) in pairs.items():
            samples[name].append(before.elapsed_time(after) * 1000)
    return {name: Timing.of(values) for name, values in samples.items()}


def host_times(
    candidates: Mapping[str, Callable[[], object]], *, calls: int = 40, batches: int = 60
) -> dict[str, Timing]:
    """Time what the host spends in one call.

    A batch of `calls` runs without waiting for the GPU, and is short enough not to fill the queue of launches; the GPU
    is idle before each.
    """
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    for run in candidates.values():
        for _ in range(calls):
            run()
    for _ in range(batches):
        for name, run in candidates.items():
            torch.cuda.synchronize()
            started = time.perf_counter()
            for _ in range(calls):
                run()
            samples[name].append((time.perf_counter() - started) / calls * 1e6)
    torch.cuda.synchronize()
    return {name: Timing.of(values) for name, values in samples.items()}


@contextmanager
def captured_launches() -> Iterator[list[tuple[Any, ...]]]:
    """Collect the arguments of every `ct.launch` that happens inside; modules imported inside are covered too."""
    records: list[tuple[Any, ...]] = []
    original = ct.launch

    def launch(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - passed through
        records.append(args)
        return original(*args, **kwargs)

    ct.launch = launch
    try:
        yield records
    finally:
        ct.launch = original
