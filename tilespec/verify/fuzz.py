"""Fuzzes one generated function: Hypothesis draws and shrinks the cases, `check` judges them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import cuda.tile as ct
import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from tilespec.diagnostics import Diagnostic, Rule, Severity
from tilespec.progress import Progress, Silent
from tilespec.rules.verify import FewCases, LaunchFailed, NoCaseRan, ToleranceDeclared
from tilespec.verify.cases import Budget, cases, profiles
from tilespec.verify.check import CaseResult, blocks_of, run_case
from tilespec.verify.load import Runner, device_label, load_runner
from tilespec.verify.purity import impurities
from tilespec.verify.refusals import accepted_faults
from tilespec.verify.report import KernelReport, VerifyOptions
from tilespec.verify.snippet import snippet
from tilespec.verify.subject import Case, Subject

__all__ = ["Standing", "fuzz_subject"]

_BUDGETS = {
    "interpreter": Budget(elements=4_000, work=16_000, largest=1_100),
    "cuda": Budget(elements=8_000_000, work=1_000_000_000, largest=8_192, banded=True),
}
_PROFILES = {"interpreter": 64, "cuda": 24}
_SHRINK_SECONDS = 60.0
_COMPILE_SECONDS = 120.0
"""What the compiler may take at the first launch of a case: far more than any kernel should, on a busy machine."""
_BLOCKS, _BLOCKS_TWICE = 160, 40
"""The interpreter takes milliseconds for a block: more blocks than this are left to a GPU, or run only once."""


class _FailingCaseError(AssertionError):
    """Tells Hypothesis that a case failed."""


class _EnoughError(BaseException):
    """Ends a run that is over: no `Exception`, which would be a failing case."""


@dataclass(frozen=True)
class Standing:
    """How far the check of one function is: cases passed, the largest error as a share of its limit, what runs now."""

    ran: int
    refused: int
    ratio: float
    case: str


@dataclass
class _Run:
    """The state of one fuzzing run; `fails` is asked about every case that Hypothesis draws."""

    runner: Runner
    wanted: int
    deadline: float | None
    progress: Progress
    watch: Callable[[Standing], None] | None = None
    blocks: int = 0
    ran: int = 0
    refused: int = 0
    ratio: float = 0.0
    passed: Case | None = None
    why: str = "no sizes that fit the declared shapes were found"
    failures: dict[Case, Rule] = field(default_factory=dict)
    verdicts: dict[Case, bool] = field(default_factory=dict)
    first_failure: float | None = None
    broken: bool = False
    cut: bool = False
    forms: Counter[tuple[object, ...]] = field(default_factory=Counter)
    drawn: int = 0

    @property
    def draws(self) -> int:
        """How many cases are drawn at most: some are refused, some resemble others too much."""
        return self.wanted * 16 + 100

    def fails(self, case: Case | None) -> bool:
        """Judge one case, once: the answer stays the same, also where the kernel's doesn't, or Hypothesis would complain."""
        self.drawn += 1
        if case is None:
            self.refused += 1
            return False
        if case not in self.verdicts:
            self.verdicts[case] = self._judge(case)
        return self.verdicts[case]

    def _judge(self, case: Case) -> bool:
        if self._shrunk_enough() or self._seen_enough(case):
            return False
        if self.watch is not None:
            self.watch(Standing(self.ran, self.refused, self.ratio, case.describe()))
        self.blocks = 0 if self.runner.device == "cuda" else blocks_of(self.runner, case)
        if self.blocks > _BLOCKS:
            self.why = f"its smallest cases have more than {_BLOCKS} blocks, too many for the interpreter"
            return False
        result = self._result(case)
        if result.refused is not None:
            self.refused += 1
            self.why = f"the reference refuses it: {result.refused}"
            return False
        if self.first_failure is None:
            self.ran += 1
            self.progress.advance()
        if result.fault is not None:
            self.first_failure = self.first_failure or time.monotonic()
            self.failures[case] = result.fault
            # After a fault of the device itself nothing runs in this process any more: no shrinking then.
            self.broken = isinstance(result.fault, LaunchFailed) and "CUDA" in result.fault.error
            return True
        self.ratio = max(self.ratio, result.ratio)
        if self.passed is None or case.elements > self.passed.elements:
            self.passed = case
        return False

    def _result(self, case: Case) -> CaseResult:
        try:
            return run_case(self.runner, case, twice=self.blocks <= _BLOCKS_TWICE)
        except RuntimeError as error:
            if self.runner.device != "cuda":
                raise
            # A fault of the device shows at whatever comes next; what comes next here is torch.
            return CaseResult(fault=LaunchFailed(f"{type(error).__name__}: {error}".splitlines()[0]))

    def _seen_enough(self, case: Case) -> bool:
        """Whether a case is left out: Hypothesis likes to draw variations of what it drew before."""
        self.forms[case.form] += 1
        if not case.sizes or self.first_failure is not None:
            return False
        # Not where so few sizes are allowed that nothing else comes.
        plenty = self.draws - self.drawn > 8 * (self.wanted - self.ran)
        return plenty and self.forms[case.form] > 2 + self.ran // 25

    def is_over(self) -> bool:
        """Whether enough cases have passed, or the time is up."""
        if self.first_failure is not None:
            return False
        self.cut = self.deadline is not None and time.monotonic() > self.deadline
        return self.cut or self.ran >= self.wanted

    def _shrunk_enough(self) -> bool:
        """Whether shrinking has to end: a case that isn't run counts as passing, so that Hypothesis stops soon."""
        if self.first_failure is None:
            return False
        return self.broken or time.monotonic() > self.first_failure + _SHRINK_SECONDS


def fuzz_subject(
    subject: Subject,
    device: str,
    options: VerifyOptions,
    progress: Progress | None = None,
    deadline: float | None = None,
    watch: Callable[[Standing], None] | None = None,
) -> KernelReport:
    """Check one function on `device` (`cuda` or `interpreter`) until `options.cases` cases have run.

    `deadline` is a time of `time.monotonic`; `watch` is told before every case.
    """
    started = time.monotonic()
    try:
        runner = load_runner(subject, device)
    except Exception as error:  # noqa: BLE001 - whatever generated code raises at import is the finding
        fault = LaunchFailed(f"{type(error).__name__} on import: {error}")
        return _report(
            subject, device, options, started, None, [fault.at(subject.source, subject.span)], None, None
        )

    shown = progress or Silent()
    run = _Run(runner, options.cases, deadline, shown, watch)

    def judge(case: Case | None) -> None:
        if run.is_over():
            raise _EnoughError
        if run.fails(case):
            # One place that raises: Hypothesis takes another line for another fault.
            raise _FailingCaseError

    test = settings(
        max_examples=run.draws,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )(seed(options.seed)(given(_strategy(subject, device, options))(judge)))
    findings: list[Diagnostic] = []
    case: Case | None = None
    script: str | None = None
    shown.begin(subject.name, options.cases)
    try:
        with suppress(_EnoughError), ct.compiler_timeout(_COMPILE_SECONDS):
            test()
    except _FailingCaseError:
        # Hypothesis ends on its smallest case, but a time limit may have kept it from the smallest seen.
        case, rule = min(run.failures.items(), key=lambda item: (item[0].elements, len(item[0].describe())))
        script = snippet(runner, case, rule.message())
        findings.append(
            rule.at(subject.source, subject.span, notes=(f"smallest failing case: {case.describe()}",))
        )
    else:
        findings += _beyond_values(run, runner)
        if run.passed is not None and run.ran < run.wanted:
            why = "the time limit came first" if run.cut else run.why
            findings.append(FewCases(subject.name, run.ran, run.wanted, why).at(subject.source, subject.span))
    finally:
        shown.end()
    if subject.numerics.tolerance is not None:
        findings.append(
            ToleranceDeclared(subject.name, *subject.numerics.tolerance).at(subject.source, subject.span)
        )
    return _report(subject, device, options, started, run, findings, case, script)


def _strategy(subject: Subject, device: str, options: VerifyOptions) -> SearchStrategy[Case | None]:
    count = options.profiles or _PROFILES[device]
    budget = _BUDGETS[device]
    return cases(subject, profiles(subject, count, options.seed, budget), budget)


def _beyond_values(run: _Run, runner: Runner) -> list[Diagnostic]:
    """Check what needs one case only: wrong arguments, and compute left to torch."""
    subject = runner.subject
    if run.passed is None:
        if run.cut:
            return []
        return [NoCaseRan(subject.name, run.why).at(subject.source, subject.span)]
    rules = list(impurities(runner, run.passed))
    if subject.checks_arguments:
        rules += accepted_faults(runner, run.passed)
    return [rule.at(subject.source, subject.span) for rule in rules]


def _report(
    subject: Subject,
    device: str,
    options: VerifyOptions,
    started: float,
    run: _Run | None,
    findings: list[Diagnostic],
    case: Case | None,
    script: str | None,
) -> KernelReport:
    failed = any(item.severity is Severity.ERROR for item in findings)
    short = run is not None and run.ran < run.wanted
    if device == "cuda":
        torch.cuda.empty_cache()
    return KernelReport(
        file=subject.source.path,
        kernel=subject.name,
        device=device_label(device),
        seed=options.seed,
        status="failed" if failed else "partial" if short else "passed",
        cases=run.ran if run else 0,
        refused=run.refused if run else 0,
        ratio=run.ratio if run else 0.0,
        seconds=time.monotonic() - started,
        findings=tuple(findings),
        case=case.describe() if case else None,
        script=script,
        tolerance=subject.numerics.tolerance,
    )
