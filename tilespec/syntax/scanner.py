"""From lines to sections and fields: what starts where, before any value is read.

A spec file is structure between prose, so this scan decides by line starts alone and never fails: a line that fits
nowhere is kept as stray text. One pass, linear in the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from tilespec.diagnostics import SourceText, Span

__all__ = [
    "FIELDS",
    "FILE_FIELDS",
    "HEADINGS",
    "SUMMARY_FIELDS",
    "CodeBlock",
    "Outline",
    "RawField",
    "Section",
    "scan",
]

FIELDS = {
    "description": "Description",
    "operations": "Operations",
    "inputs": "Inputs",
    "outputs": "Outputs",
    "dependencies": "Dependencies",
    "shared with": "Shared with",
    "pytorch reference": "PyTorch Reference",
    "notes": "Notes",
    "dims": "Dims",
    "types": "Types",
    "numerics": "Numerics",
    "bench": "Bench",
    "keep in pytorch": "Keep in PyTorch",
}
"""Fields of a kernel: how they are looked up, how they are written."""

FILE_FIELDS = {
    "dims": "Dims",
    "types": "Types",
    "numerics": "Numerics",
    "bench": "Bench",
    "source": "Source",
    "keep in pytorch": "Keep in PyTorch",
}
SUMMARY_FIELDS = {
    "total kernels": "Total kernels",
    "parallel groups": "Parallel groups",
    "execution order": "Execution order",
}
COMPLETENESS_FIELDS = {
    "original forward-pass ops": "Original forward-pass ops",
    "original forward pass ops": "Original forward-pass ops",
    "covered by kernel specs": "Covered by kernel specs",
    "gaps": "Gaps",
}
_FREE = {"Notes", "Description"}
_CODE = "PyTorch Reference"

Kind = Literal["prose", "summary", "specifications", "kernel", "composition", "completeness"]
_HEADINGS: dict[str, Kind] = {
    "decomposition summary": "summary",
    "kernel specifications": "specifications",
    "composition notes": "composition",
    "completeness check": "completeness",
}
HEADINGS: dict[Kind, str] = {
    "summary": "Decomposition Summary",
    "specifications": "Kernel Specifications",
    "composition": "Composition Notes",
    "completeness": "Completeness Check",
}
"""Headings of the format, as they are written."""


_KERNEL = re.compile(
    r"[ \t]*(?:#{1,6}[ \t]+)?(?:\*\*)?kernel[ _]spec(?:\*\*)?[ \t]*:(?:\*\*)?[ \t]*([^\n]*)", re.IGNORECASE
)
_FIELD = re.compile(
    r"([ \t]*)(?:\*\*|__)?([A-Za-z][\w \-]{0,40}?)(?:\*\*|__)?[ \t]*:(?:\*\*|__)?(?=[ \t\n]|$)"
)
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+(?:\d+[.)][ \t]*)?(?:\*\*)?([^\n]{0,80}?)(?:\*\*)?:?$")
_RULE = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$")
_BULLET = re.compile(r"[ \t]*(?:[-*•][ \t]+|•)")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n`]*$")
_DEFINITION = re.compile(r"[ \t]*(?:(?:async[ \t]+)?def[ \t]+\w|@[A-Za-z_])")
_GOES_ON = re.compile(r"[ \t]*(?:(?:async[ \t]+)?def\b|@|[)\]}#])")
_TRANSPARENT = {"", "text", "tilespec", "markdown", "md", "txt"}


def opens_section(line: str) -> bool:
    """Whether a line by itself is a heading of the format or the first line of a kernel."""
    heading = _HEADING.match(line.rstrip())
    named = heading is not None and heading[1].strip().lower() in _HEADINGS
    return named or _KERNEL.match(line) is not None


@dataclass(slots=True)
class CodeBlock:
    """Lines `first` to `last` (from 1) of reference code."""

    first: int
    last: int
    fenced: bool = False


@dataclass(slots=True)
class RawField:
    """One field: its canonical `key`, where its name stands, and the range of its value.

    `items` are the ranges of its bullets, or of its lines where it has lines without bullets. `comments` are the own-line
    comments before the field and, under the index of the item that follows, inside it.
    """

    key: str
    name: Span
    start: int
    end: int
    known: bool = True
    items: list[tuple[int, int]] = field(default_factory=list)
    bulleted: bool = False
    column: int = -1
    code: CodeBlock | None = None
    comments: list[Span] = field(default_factory=list)
    item_comments: dict[int, list[Span]] = field(default_factory=dict)


@dataclass(slots=True)
class Section:
    """A run of lines of one kind; `first` and `last` are line numbers from 1, the heading included.

    `closing` is the line that ends a fence around kernels, the first one where there are more.
    """

    kind: Kind
    first: int
    last: int
    head: Span | None = None
    fields: list[RawField] = field(default_factory=list)
    stray: list[Span] = field(default_factory=list)
    code: list[CodeBlock] = field(default_factory=list)
    comments: list[Span] = field(default_factory=list)
    trailing: list[Span] = field(default_factory=list)
    closing: int | None = None
    unclosed: Span | None = None


@dataclass(slots=True)
class Outline:
    """The sections of a file in order, and its comment lines outside code."""

    source: SourceText
    sections: list[Section]
    comments: list[Span]


def scan(source: SourceText) -> Outline:
    """Split a file into sections and fields."""
    return _Scanner(source).run()


class _Scanner:
    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.lines = source.text.split("\n")
        self.starts: list[int] = []
        self.section = Section("prose", 1, 0)
        self.sections = [self.section]
        self.comments: list[Span] = []
        self.pending: list[Span] = []
        self.current: RawField | None = None
        self.base: int | None = None
        self.fence = ""
        self.fence_span: Span | None = None
        self.foreign = False
        self.wrapper = ""
        self.filled = 0
        self.seen_kernel = False

    def run(self) -> Outline:
        position = 0
        for index, line in enumerate(self.lines):
            self.starts.append(position)
            self.section.last = index + 1
            if self.section.kind == "kernel":
                self.kernel_line(index, line, position)
            else:
                self.other_line(index, line, position)
            position += len(line) + 1
        if self.fence and self.fence_span:
            self.section.unclosed = self.fence_span
        self.finish()
        return Outline(self.source, self.sections, self.comments)

    # sections

    def open(self, kind: Kind, index: int, line: str, position: int) -> None:
        """Start a section whose heading is this line."""
        self.finish()
        self.section.last = index
        self.section = Section(kind, index + 1, index + 1, Span(position, position + len(line)))
        self.section.comments, self.pending = self.pending, []
        self.sections.append(self.section)

    def finish(self) -> None:
        """Close the open field; comments that wait for a field stay with the section."""
        self.current, self.base = None, None
        self.section.trailing.extend(self.pending)
        self.pending = []

    def boundary(self, index: int, line: str, position: int) -> bool:
        """Handle a line that starts another section, wherever it stands."""
        if "spec" in line.lower() and (match := _KERNEL.match(line)):
            self.open("kernel", index, line, position)
            self.section.head = Span(position + match.start(1), position + len(line.rstrip()))
            self.seen_kernel = True
            return True
        stripped = line.lstrip()
        if stripped.startswith("#") and (heading := _HEADING.match(line.rstrip())):
            kind = _HEADINGS.get(heading[1].strip().lower())
            if kind is not None:
                self.open(kind, index, line, position)
                return True
        return False

    # kernels

    def kernel_line(self, index: int, line: str, position: int) -> None:  # noqa: C901, PLR0912 - one case a line start
        current = self.current
        stripped = line.strip()
        if self.fence:
            if stripped.startswith(self.fence) and not stripped.strip(self.fence[0]):
                self.fence = ""
                if current is not None and current.key == "Notes":
                    self.extend(current, position + len(line.rstrip()))
                else:
                    self.current = None
            elif not self.inside(line) and self.boundary(index, line, position):
                self.sections[-2].unclosed = self.fence_span
                self.fence = ""
            elif current is not None and current.code is not None:
                current.code.last = index + 1
                current.end = position + len(line)
            elif current is not None and stripped:
                self.extend(current, position + len(line.rstrip()))
            return
        if not stripped:
            return
        first = stripped[0]
        in_code = current is not None and current.key == _CODE
        if current is not None and current.code is not None and line[0] in " \t" and self.inside(line):
            current.code.last = index + 1
            current.end = position + len(line.rstrip())
            return
        if first in "kK#*" and self.boundary(index, line, position):
            return
        if first in "-*_" and _RULE.match(line):
            self.finish()
            self.section = Section("prose", index + 1, index + 1, Span(position, position + len(line)))
            self.sections.append(self.section)
            return
        if first in "`~" and (match := _FENCE.match(line)):
            self.kernel_fence(index, match, position)
            return
        if first == "#" and not in_code:
            self.comment(index, line, position)
            return
        if first.isalpha() or stripped.startswith(("**", "__")):
            match = _FIELD.match(line)
            if match and self.starts_field(match, line):
                self.start_field(index, match, line, position)
                return
        if current is None:
            self.section.stray.append(self.text_span(line, position))
        else:
            self.go_on(current, index, line, position)

    def inside(self, line: str) -> bool:
        """Whether a line is indented more than the fields of its kernel."""
        return len(line) - len(line.lstrip()) > (self.base or 0)

    def text_span(self, line: str, position: int) -> Span:
        """Return the span of a line without the blanks around its text."""
        begin = position + len(line) - len(line.lstrip())
        return Span(begin, position + len(line.rstrip()))

    def kernel_fence(self, index: int, match: re.Match[str], position: int) -> None:
        current = self.current
        if current is not None and current.key == _CODE and current.code is None:
            self.fence = match[1]
            self.fence_span = Span(position + match.start(1), position + match.end(1))
            current.code = CodeBlock(index + 2, index + 1, fenced=True)
        elif self.wrapper == match[1] and not match[2]:
            # The fence around a block of specs ends: structure of the page, not of the kernel.
            self.wrapper = ""
            self.finish()
            self.section.last = index
            self.section = Section("prose", index + 1, index + 1, closing=index + 1)
            self.sections.append(self.section)
        elif current is not None and current.key == "Notes":
            self.fence = match[1]
            self.fence_span = Span(position + match.start(1), position + match.end(1))
            self.go_on(current, index, self.lines[index], position)
        else:
            self.current = None

    def extend(self, current: RawField, end: int) -> None:
        """Let a field, and its last item, reach to `end`."""
        if current.items:
            current.items[-1] = (current.items[-1][0], end)
        current.end = end

    def comment(self, index: int, line: str, position: int) -> None:
        span = self.text_span(line, position)
        if self.source.text.startswith("##", span.start):
            self.finish()
            self.section.last = index
            self.section = Section("prose", index + 1, index + 1, None)
            self.sections.append(self.section)
            return
        self.comments.append(span)
        self.pending.append(span)

    def starts_field(self, match: re.Match[str], line: str) -> bool:
        """Whether a `Name:` line begins a field, or belongs to the field before it."""
        name = " ".join(match[2].split()).lower()
        indent = len(match[1])
        current = self.current
        if name in FIELDS:
            return self.base is None or indent <= self.base or current is None
        if self.base is not None and indent > self.base:
            return False
        if current is None:
            return True
        if current.key in {"Dims", "Types", "Bench"}:
            return False
        if not match[2][0].isupper():
            return False
        if current.key == _CODE:
            return not re.search(r"[=()\[\]]", line)
        return current.key != "Description" or match[2].count(" ") < 3

    def start_field(self, index: int, match: re.Match[str], line: str, position: int) -> None:
        name = " ".join(match[2].split())
        key = FIELDS.get(name.lower())
        raw = RawField(
            key or name,
            Span(position + match.start(2), position + match.end(2)),
            position + match.end(),
            position + len(line),
            known=key is not None,
        )
        raw.comments, self.pending = self.pending, []
        if self.base is None:
            self.base = len(match[1])
        self.section.fields.append(raw)
        self.current = raw
        rest = line[match.end() :].strip()
        if key == _CODE and _DEFINITION.match(rest):
            raw.code = CodeBlock(index + 1, index + 1)

    def go_on(self, current: RawField, index: int, line: str, position: int) -> None:
        end = position + len(line.rstrip())
        if current.key == _CODE:
            if current.code is None:
                current.code = CodeBlock(index + 1, index + 1)
            current.code.last = index + 1
            current.end = end
            self.pending = []
            return
        bullet = _BULLET.match(line)
        indent = len(line) - len(line.lstrip())
        begin = position + (bullet.end() if bullet else indent)
        if bullet and current.key == "Notes" and current.items and indent > current.column >= 0:
            bullet = None
        if bullet and current.column < 0:
            current.column = indent
        if bullet or (not current.items and not self.source.text[current.start : current.end].strip()):
            self.item(current, begin, end, bulleted=bullet is not None)
        elif current.key in {"Dims", "Types", "Bench", "Keep in PyTorch"} or (
            current.key == "Notes"
            and current.items
            and not self.lines[index - 1].strip()
            and indent <= (self.base or 0)
        ):
            self.item(current, begin, end, bulleted=False)
        elif current.items:
            current.items[-1] = (current.items[-1][0], end)
        current.end = end

    def item(self, current: RawField, begin: int, end: int, *, bulleted: bool) -> None:
        if self.pending:
            current.item_comments[len(current.items)] = self.pending
            self.pending = []
        current.bulleted = current.bulleted or bulleted
        current.items.append((begin, end))

    # everything else

    def other_line(self, index: int, line: str, position: int) -> None:  # noqa: PLR0912 - one case a line start
        stripped = line.strip()
        if self.fence:
            self.fenced_line(index, line, stripped, position)
            return
        if not stripped:
            current = self.current
            # Only a field without a value yet goes on after a blank line; behind one that has a value stands prose.
            if current is not None and (
                self.section.kind not in {"prose", "specifications"}
                or current.items
                or self.source.text[current.start : current.end].strip()
            ):
                self.current = None
            return
        first = stripped[0]
        if first in "kK#*" and self.boundary(index, line, position):
            return
        code = self.section.code[-1] if self.section.code else None
        if code is not None and not code.fenced and self.code_goes_on(code, line):
            code.last = self.filled = index + 1
            return
        self.filled = index + 1
        if first in "-*_" and _RULE.match(line):
            self.current = None
            return
        if first in "`~" and (match := _FENCE.match(line)):
            # A fence is no part of the field above it.
            self.current = None
            language = match[2].lower()
            if self.wrapper == match[1] and not language:
                self.wrapper = ""
                self.section.closing = self.section.closing or index + 1
            elif language in _TRANSPARENT and (language or self.section.kind != "composition"):
                self.wrapper = match[1]
            else:
                self.fence = match[1]
                self.fence_span = Span(position + match.start(1), position + match.end(1))
                self.foreign = language not in {"python", "py", ""}
                self.section.code.append(CodeBlock(index + 2, index + 1, fenced=True))
            return
        if _DEFINITION.match(line):
            self.section.code.append(CodeBlock(index + 1, index + 1))
            self.current = None
            return
        if first == "#" and not stripped.startswith("##"):
            span = self.text_span(line, position)
            self.comments.append(span)
            if "tilespec:" in stripped:
                return
            if self.current is not None:
                return
        self.file_field(line, stripped, position)

    def fenced_line(self, index: int, line: str, stripped: str, position: int) -> None:
        block = self.section.code[-1]
        if stripped.startswith(self.fence) and not stripped.strip(self.fence[0]):
            self.fence = ""
            text = self.lines[block.first - 1 : index]
            if self.foreign or not any(_DEFINITION.match(each) for each in text):
                self.section.code.pop()
        elif self.boundary(index, line, position):
            section = self.sections[-2]
            section.unclosed = self.fence_span
            self.fence = ""
            section.code.pop()
        else:
            block.last = index + 1

    def code_goes_on(self, code: CodeBlock, line: str) -> bool:
        """Whether a line belongs to the unfenced definition above it."""
        if self.current is not None or code.last < self.filled:
            return False
        head = self.lines[code.first - 1]
        indent = len(head) - len(head.lstrip())
        here = len(line) - len(line.lstrip())
        if here != indent:
            return here > indent
        return bool(_GOES_ON.match(line)) and not line.lstrip().startswith("##")

    def file_field(self, line: str, stripped: str, position: int) -> None:
        bullet = _BULLET.match(line)
        offset = bullet.end() if bullet else 0
        match = (
            _FIELD.match(line, offset)
            if stripped[0].isalpha() or bullet or stripped.startswith("**")
            else None
        )
        key = self.file_key(" ".join(match[2].split()).lower()) if match else None
        if match is not None and key is not None:
            raw = RawField(
                key,
                Span(position + match.start(2), position + match.end(2)),
                position + match.end(),
                position + len(line.rstrip()),
            )
            self.section.fields.append(raw)
            self.current = raw
            return
        current = self.current
        if current is None:
            return
        end = position + len(line.rstrip())
        if current.key in {"Dims", "Types", "Bench", "Keep in PyTorch"}:
            begin = position + (bullet.end() if bullet else len(line) - len(line.lstrip()))
            if not bullet and line[0] not in " \t" and not self.looks_like_item(current, line):
                self.current = None
                return
            current.items.append((begin, end))
            current.bulleted = current.bulleted or bullet is not None
        elif self.section.kind == "completeness":
            current.items.append(
                (position + (bullet.end() if bullet else len(line) - len(line.lstrip())), end)
            )
        current.end = end

    def looks_like_item(self, current: RawField, line: str) -> bool:
        """Whether an unindented line can be a line of `Dims` and the like, rather than prose after it."""
        if current.key == "Dims":
            return bool(re.match(r"\w+[ \t]*:", line))
        if current.key == "Types":
            return bool(re.match(r"\w+[ \t]*:?[ \t]+in\b", line))
        return current.key == "Keep in PyTorch" and line.startswith("[")

    def file_key(self, name: str) -> str | None:
        """Return the canonical name of a field that may stand in this section."""
        if self.section.kind == "completeness":
            return COMPLETENESS_FIELDS.get(name)
        if name in SUMMARY_FIELDS and (self.section.kind == "summary" or not self.seen_kernel):
            return SUMMARY_FIELDS[name]
        return FILE_FIELDS.get(name)
