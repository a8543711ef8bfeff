"""Findings: where they point, what they say, how a rule makes one.

The foundation that every stage imports; it imports no stage. A stage never prints: it returns `Diagnostic`
objects, made by a `Rule` subclass (all of them live in `tilespec.rules`).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import accumulate
from typing import ClassVar

__all__ = ["Diagnostic", "Findings", "Label", "Rule", "Severity", "SourceText", "Span"]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range `[start, end)` of character offsets into one `SourceText`."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """Return the smallest span that covers both."""
        return Span(min(self.start, other.start), max(self.end, other.end))


@dataclass(frozen=True)
class SourceText:
    r"""One file as text: `path` for display, `text` with line ends normalised to `\n` and no BOM."""

    path: str
    text: str

    @cached_property
    def _line_starts(self) -> list[int]:
        # One slice a line instead of one step a character: this runs for every file that is read.
        return [0, *accumulate(len(line) + 1 for line in self.text.split("\n")[:-1])]

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and column of `offset`, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return line `number` (from 1) without its line end."""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start:] if end < 0 else self.text[start:end]

    @property
    def line_count(self) -> int:
        """Number of lines; an empty text has one."""
        return len(self._line_starts)

    def line_start(self, number: int) -> int:
        """Return the offset at which line `number` (from 1) starts."""
        return self._line_starts[number - 1]


class Severity(Enum):
    """How much a finding weighs: errors and warnings make `lint` exit with 1, notes don't."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Label:
    """A secondary place of a finding, with a word on why it is shown."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `span` is the smallest text that shows the fault; `None` when the whole file is meant."""

    code: str
    name: str
    severity: Severity
    message: str
    source: SourceText
    span: Span | None
    label: str | None = None
    labels: tuple[Label, ...] = ()
    help: str | None = None
    notes: tuple[str, ...] = ()
    replacement: str | None = None
    guessed: bool = False
    """Whether `replacement` is a guess at what was meant, and not the one text that mends the fault."""

    @property
    def sort_key(self) -> tuple[str, int, str]:
        """Order by file, place, code."""
        return (self.source.path, self.span.start if self.span else -1, self.code)


@dataclass(frozen=True)
class Rule:
    """Base of every finding. The docstring of a subclass is the text of `tilespec explain CODE`."""

    code: ClassVar[str]
    name: ClassVar[str]
    since: ClassVar[str] = "0.1.0"
    severity: ClassVar[Severity] = Severity.ERROR
    guesses: ClassVar[bool] = False
    """Whether `replacement` guesses what was meant: then `lint --fix` leaves it to `--unsafe-fixes`."""

    def message(self) -> str:
        """State the fault: one line, lower case, no full stop, true when read alone."""
        raise NotImplementedError

    def help(self) -> str | None:
        """Say what to change, if that is known."""
        return None

    def label(self) -> str | None:
        """Return the words to print under the caret."""
        return None

    def replacement(self) -> str | None:
        """Return text that, put in place of the span, mends the fault; see `guesses`."""
        return None

    def at(
        self, source: SourceText, span: Span | None, *labels: Label, notes: tuple[str, ...] = ()
    ) -> Diagnostic:
        """Bind this finding to a place."""
        return Diagnostic(
            code=self.code,
            name=self.name,
            severity=self.severity,
            message=self.message(),
            source=source,
            span=span,
            label=self.label(),
            labels=tuple(labels),
            help=self.help(),
            notes=notes,
            replacement=self.replacement(),
            guessed=self.guesses,
        )


@dataclass
class Findings:
    """A growing list of diagnostics that a stage hands back beside its result."""

    items: list[Diagnostic] = field(default_factory=list)

    def add(self, diagnostic: Diagnostic) -> None:
        """Append one finding."""
        self.items.append(diagnostic)

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return any(item.severity is Severity.ERROR for item in self.items)
