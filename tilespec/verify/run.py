"""Verifies spec files: builds, then checks every kernel and the composed function, in this process or in several."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing.connection import wait
from pathlib import Path

import torch

from tilespec.child import Child, tell
from tilespec.diagnostics import Diagnostic, Rule, Severity
from tilespec.progress import Progress, Silent
from tilespec.rules.verify import FewCases, LaunchFailed
from tilespec.syntax import read_source
from tilespec.verify.fuzz import Standing, fuzz_subject
from tilespec.verify.load import device_label, pick_device
from tilespec.verify.package import Package, load_package
from tilespec.verify.report import KernelReport, VerifyOptions, VerifyReport
from tilespec.verify.subject import Subject

__all__ = ["Build", "verify_packages", "verify_paths"]

Build = Callable[[Sequence[Path], Path, Progress], tuple[Sequence[tuple[Path, Path]], list[Diagnostic]]]
"""Builds spec files below a folder: returns pairs of spec file and package folder, and the findings."""


def verify_paths(
    paths: Sequence[Path], options: VerifyOptions, progress: Progress | None = None, *, build: Build
) -> VerifyReport:
    """Build `paths` into `options.build_dir` with `build`, then verify what came out.

    What can't be built is in the report's diagnostics; the rest is verified all the same.
    """
    started = time.monotonic()
    built, findings = build(paths, options.build_dir, progress or Silent())
    if options.time_limit is not None:
        left = max(options.time_limit - (time.monotonic() - started), 0.0)
        options = replace(options, time_limit=left)
    report = verify_packages(built, options, progress)
    return replace(report, build_diagnostics=(*findings, *report.build_diagnostics))


_GRACE = 10.0
"""Seconds that a process has after the deadline for the case that it runs."""


@dataclass(frozen=True)
class _Task:
    """One subject, named so that another process can load it again: models and traces don't travel."""

    spec: Path
    directory: Path
    subject: str


def verify_packages(
    packages: Sequence[tuple[Path, Path]], options: VerifyOptions, progress: Progress | None = None
) -> VerifyReport:
    """Verify built packages, given as pairs of spec file and package folder."""
    device = pick_device(options.device)
    deadline = None if options.time_limit is None else time.monotonic() + options.time_limit
    loaded: dict[_Task, Subject] = {}
    findings: list[Diagnostic] = []
    for spec, directory in packages:
        if not (directory / "manifest.json").is_file():
            # It could not be built; the findings of the build say why.
            continue
        package, more = load_package(spec, directory)
        findings += [item for item in more if item.severity is Severity.ERROR]
        for subject in () if package is None else _subjects(package, options):
            loaded[_Task(spec, directory, subject.name)] = subject
    if options.jobs > 1 and len(loaded) > 1:
        reports = _in_processes(list(loaded), device, options, progress or Silent(), deadline)
    else:
        reports = _in_turn(list(loaded.values()), device, options, progress, deadline)
    return VerifyReport(
        device_label(device), options.seed, tuple(reports), tuple(findings), _environment(device)
    )


def _subjects(package: Package, options: VerifyOptions) -> Iterator[Subject]:
    for subject in package.kernels:
        if not options.kernels or subject.name in options.kernels:
            yield subject
    if package.composed is not None and options.composed and not options.kernels:
        yield package.composed


def _in_turn(
    subjects: Sequence[Subject],
    device: str,
    options: VerifyOptions,
    progress: Progress | None,
    deadline: float | None,
) -> list[KernelReport]:
    reports: list[KernelReport] = []
    for position, subject in enumerate(subjects):
        # An equal share of what is left, so that the last kernel gets its turn too.
        now = time.monotonic()
        until = None if deadline is None else now + max(deadline - now, 0.0) / (len(subjects) - position)
        reports.append(fuzz_subject(subject, device, options, progress, until))
    return reports


def _in_processes(
    tasks: Sequence[_Task], device: str, options: VerifyOptions, progress: Progress, deadline: float | None
) -> list[KernelReport]:
    """Check subjects in processes beside this one: compilations run at a time, and a device fault ends one process only.

    A process in which something failed is not used again: the device may refuse it from then on. Whatever ends this
    function, an interrupt too, ends the processes. One that is still busy some seconds after the deadline, in a compiler
    or a kernel that doesn't end, is ended too, and its last word reported.
    """
    results: dict[_Task, KernelReport] = {}
    waiting = list(reversed(tasks))
    idle: list[Child[KernelReport]] = []
    busy: dict[object, tuple[Child[KernelReport], _Task, float]] = {}
    progress.begin("verify", len(tasks))
    try:
        while waiting or busy:
            while waiting and len(busy) < options.jobs:
                child = idle.pop() if idle else Child[KernelReport]()
                now, rounds = time.monotonic(), -(-len(waiting) // options.jobs)
                share = None if deadline is None else max(deadline - now, 0.0) / rounds
                task = waiting.pop()
                busy[child.ready] = (child, task, now)
                child.ask(_work, task, device, options, share)
            left = None if deadline is None else max(deadline + _GRACE - time.monotonic(), 0.0)
            answered = wait([child.ready for child, _, _ in busy.values()], left)
            if not answered:
                break
            for ready in answered:
                child, task, started = busy[ready]
                if not child.is_over():
                    continue
                try:
                    answer = child.answer()
                    fault = "nothing: the process died"
                except Exception as error:  # noqa: BLE001 - a fault of the device ends one subject, not the run
                    answer, fault = None, f"{type(error).__name__}: {error}".splitlines()[0]
                seconds = time.monotonic() - started
                report = _died(task, device, options, seconds, fault) if answer is None else answer
                del busy[ready]
                if report.status == "failed":
                    child.kill()
                else:
                    idle.append(child)
                results[task] = report
                progress.advance(f"{report.kernel}: {report.status}, {report.cases} cases")
        for child, task, started in busy.values():
            results[task] = _cut(task, device, options, time.monotonic() - started, child.told)
        for task in waiting:
            results[task] = _cut(task, device, options, 0.0, None)
    finally:
        for child in (*idle, *(child for child, _, _ in busy.values())):
            child.kill()
        progress.end()
    return [results[task] for task in tasks]


def _died(task: _Task, device: str, options: VerifyOptions, seconds: float, raised: str) -> KernelReport:
    return _unfinished(
        task, device, options, seconds, "failed", Standing(0, 0, 0.0, ""), LaunchFailed(raised)
    )


def _cut(task: _Task, device: str, options: VerifyOptions, seconds: float, told: object) -> KernelReport:
    standing = told if isinstance(told, Standing) else Standing(0, 0, 0.0, "")
    during = f", while this case ran: {standing.case}" if standing.case else ""
    why = f"the time limit came first{during}"
    fault = FewCases(task.subject, standing.ran, options.cases, why)
    return _unfinished(task, device, options, seconds, "partial", standing, fault)


def _unfinished(
    task: _Task,
    device: str,
    options: VerifyOptions,
    seconds: float,
    status: str,
    standing: Standing,
    fault: Rule,
) -> KernelReport:
    source, _ = read_source(task.spec)
    return KernelReport(
        file=str(task.spec),
        kernel=task.subject,
        device=device_label(device),
        seed=options.seed,
        status=status,
        cases=standing.ran,
        refused=standing.refused,
        ratio=standing.ratio,
        seconds=seconds,
        findings=() if source is None else (fault.at(source, None),),
    )


def _work(task: _Task, device: str, options: VerifyOptions, share: float | None) -> KernelReport:
    # Reading and tracing again counts as well, or a run of many kernels would overstay its limit.
    deadline = None if share is None else time.monotonic() + share
    torch.set_num_threads(1)
    subject = next(
        item for item in _subjects(_package(task.spec, task.directory), options) if item.name == task.subject
    )
    return fuzz_subject(subject, device, options, None, deadline, tell)


@lru_cache(maxsize=4)
def _package(spec: Path, directory: Path) -> Package:
    package, _ = load_package(spec, directory)
    if package is None:
        message = f"{spec} could be read a moment ago"
        raise RuntimeError(message)
    return package


def _environment(device: str) -> dict[str, str]:
    found = {"torch": torch.__version__, "device": device_label(device)}
    if device == "cuda":
        major, minor = torch.cuda.get_device_capability()
        found["capability"] = f"sm_{major}{minor}"
        found["cuda"] = str(torch.version.cuda)
    return found
