"""The one canonical form of a spec file.

Kernels are written anew from the tree, fields in the order of the base format. Everything else keeps its lines; only the
fields in it are written anew. Comments stay with what they stand before; one behind a value moves to the line before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tilespec.diagnostics import Diagnostic, Severity, SourceText, Span
from tilespec.syntax.nodes import FileNode, KernelNode, Note, ReferenceNode
from tilespec.syntax.parser import parse_field, parse_outline
from tilespec.syntax.scanner import FIELDS, HEADINGS, SUMMARY_FIELDS, RawField, Section, opens_section, scan
from tilespec.syntax.writer import (
    bench_text,
    dim_line_text,
    entry_text,
    keep_text,
    names_text,
    operations_text,
    order_text,
    settings_text,
    type_text,
)

__all__ = ["format_source", "replace_completeness"]

_GROUPS = (
    ("Description", "Operations"),
    ("Dims",),
    ("Types",),
    ("Inputs",),
    ("Outputs",),
    ("Dependencies", "Shared with"),
    ("Numerics", "Bench", "Keep in PyTorch"),
    ("PyTorch Reference",),
    ("Notes",),
)
_RULE = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*")
_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*\w*[ \t]*")
_PROSE = {"Description", "Notes", "PyTorch Reference", "Parallel groups"}


def format_source(source: SourceText) -> tuple[str | None, list[Diagnostic]]:
    """Return the canonical text of a file; None with the findings when it has errors.

    The canonical text parses to the same tree but for places, and its canonical text is itself.
    """
    outline = scan(source)
    tree, findings = parse_outline(outline)
    if any(finding.severity is Severity.ERROR for finding in findings):
        return None, findings
    return _Formatter(source, tree).run(outline.sections), findings


def replace_completeness(source: SourceText, block: str) -> str:
    """Return the text with `block` as its completeness check: in place of the one it has, else at its end.

    Prose below a replaced check stays.
    """
    section = next((each for each in scan(source).sections if each.kind == "completeness"), None)
    if section is None:
        return f"{source.text.rstrip()}\n\n{block}"
    fields = set[int]()
    for raw in section.fields:
        first, _ = source.position(raw.name.start)
        starts = [first, *(source.position(begin)[0] for begin, _ in raw.items)]
        # A paragraph after a blank line is prose, though the field would take it.
        last = first
        for number in sorted(starts):
            if any(not source.line(each).strip() for each in range(last + 1, number)):
                break
            last = number
        fields.update(range(first, last + 1))
    lines = [source.line(number) for number in range(1, source.line_count + 1)]
    before = lines[: section.first - 1]
    prose = [
        source.line(number) for number in range(section.first + 1, section.last + 1) if number not in fields
    ]
    after = lines[section.last :]
    kept = _trim(prose)
    parts = ["\n".join(_trim(before)), block.rstrip("\n")]
    parts += ["\n".join(part) for part in (kept, _trim(after)) if part]
    return "\n\n".join(part for part in parts if part) + "\n"


class _Formatter:
    def __init__(self, source: SourceText, tree: FileNode) -> None:
        self.source = source
        self.text = source.text
        self.tree = tree
        lines = (*tree.types, *(line for kernel in tree.kernels for line in kernel.types))
        self.types = frozenset(line.name.text for line in lines)

    def run(self, sections: Sequence[Section]) -> str:
        kernels = iter(self.tree.kernels)
        lines: list[str] = []
        after_kernel = False
        for index, section in enumerate(sections):
            if section.kind != "kernel":
                follows = index + 1 < len(sections) and sections[index + 1].kind == "kernel"
                prose = self.prose(
                    section,
                    before_kernel=follows,
                    after_kernel=index > 0 and sections[index - 1].kind == "kernel",
                )
                if after_kernel and prose and self.closes(section):
                    # The end of a fence around kernels takes the place of the last rule.
                    lines[-1:] = prose
                    after_kernel = False
                else:
                    after_kernel = _append(lines, prose) and after_kernel
                continue
            comments = [self.text[span.start : span.end] for span in section.comments]
            head = section.head or Span(0, 0)
            comments += self.behind(head.start, head.end)
            after_kernel = _append(lines, comments) and after_kernel
            if lines and not (_FENCE.fullmatch(lines[-1]) and not after_kernel):
                lines.append("")
                if not after_kernel:
                    lines.append("---")
            lines += self.kernel(next(kernels), section)
            lines.append("---")
            after_kernel = True
        return "\n".join(lines).rstrip("\n") + "\n"

    def closes(self, section: Section) -> bool:
        """Whether the first line of a section, rules aside, ends a fence around the kernels before it."""
        if section.closing is None:
            return False
        before = (self.source.line(number) for number in range(section.first, section.closing))
        return not any(line.strip() and not _RULE.fullmatch(line) for line in before)

    # prose and the fields in it

    def prose(self, section: Section, *, before_kernel: bool, after_kernel: bool) -> list[str]:
        """Return the lines of a section that is no kernel, without rules next to kernels."""
        written: dict[int, list[str]] = {}
        skipped: set[int] = set()
        if section.kind != "completeness":
            below_code = {self.filled_line(block.last) for block in section.code if not block.fenced}
            for raw in section.fields:
                first, _ = self.source.position(raw.name.start)
                last, _ = self.source.position(max(raw.end, raw.name.end))
                rows = self.file_field(raw, first, last)
                if first in below_code:
                    # A comment below code is code.
                    rows.sort(key=lambda row: row.startswith("#"))
                written[first] = rows
                skipped.update(range(first, last + 1))
        lines: list[str] = []
        for number in range(section.first, section.last + 1):
            if number in written:
                lines += written[number]
            elif number not in skipped:
                lines.append(self.source.line(number).rstrip())
        if section.kind != "prose" and section.head is not None and lines:
            lines[0] = f"## {HEADINGS[section.kind]}"
        lines = _trim(lines)
        if after_kernel and lines and _RULE.fullmatch(lines[0]):
            lines = _trim(lines[1:])
        while before_kernel and lines and _RULE.fullmatch(lines[-1]):
            lines = _trim(lines[:-1])
        return _squeeze(lines, keep=section.code)

    def filled_line(self, number: int) -> int:
        """Return the next line that isn't blank; the line behind the last one where there is none."""
        number += 1
        while number <= self.source.line_count and not self.source.line(number).strip():
            number += 1
        return number

    def file_field(self, raw: RawField, first: int, last: int) -> list[str]:
        begin, end = self.source.line_start(first), self.source.line_start(last) + len(self.source.line(last))
        comments = [] if raw.key in _PROSE else self.behind(begin, end)
        if raw.key == "Total kernels" and self.tree.summary.total is not None:
            # Words behind the number are no comment, but they are the author's.
            said = self.text[self.tree.summary.total.span.end : raw.end].split("#", 1)[0].split()
            return [*comments, " ".join([f"Total kernels: {self.tree.summary.total.value}", *said])]
        if raw.key == "Parallel groups":
            return [f"Parallel groups: {' '.join(self.text[raw.start : raw.end].split())}".rstrip()]
        if raw.key == "Execution order" and self.tree.summary.order is not None:
            return [*comments, f"Execution order: {order_text(self.tree.summary.order)}"]
        if raw.key == "Source" and self.tree.code is not None:
            return [*comments, f"Source: {self.tree.code.path}:{self.tree.code.qualifier}"]
        # An empty field stays: without it, prose below would become a part of the field above.
        rows = (
            () if raw.key in SUMMARY_FIELDS.values() or raw.key == "Source" else parse_field(self.source, raw)
        )
        return comments + (self.shared_field(raw.key, rows) or [f"{raw.key}:"])

    def behind(self, begin: int, end: int) -> list[str]:
        """Return the comments in a range, on lines of their own or behind a value."""
        found: list[str] = []
        for line in self.text[begin:end].split("\n"):
            position = _comment_start(line)
            if position >= 0:
                # Two `#` at the start of a line would be a heading, and before some words one is.
                words = line[position:].lstrip("#").strip()
                written = f"# {words}".rstrip()
                found.append(f"#{words}" if opens_section(written) else written)
        return found

    def shared_field(self, key: str, rows: tuple[object, ...]) -> list[str]:
        """Write a field that may stand in a kernel or at the top of a file."""
        if not rows:
            return []
        if key == "Numerics":
            return [f"Numerics: {settings_text(rows)}"]  # type: ignore[arg-type]
        writer = {
            "Dims": dim_line_text,
            "Types": type_text,
            "Bench": bench_text,
            "Keep in PyTorch": keep_text,
        }[key]
        texts = [writer(row) for row in rows]  # type: ignore[operator]
        if len(texts) == 1 and key != "Dims":
            return [f"{key}: {texts[0]}"]
        bullet = "" if key in {"Dims", "Types"} else "- "
        return [f"{key}:", *(f"  {bullet}{text}" for text in texts)]

    # kernels

    def kernel(self, node: KernelNode, section: Section) -> list[str]:
        raws: dict[str, list[RawField]] = {}
        for raw in section.fields:
            raws.setdefault(raw.key, []).append(raw)
        blocks: list[list[str]] = []
        waiting: list[str] = []
        trailing = [self.text[span.start : span.end] for span in section.trailing]
        code_last = not node.notes
        for group in _GROUPS:
            block: list[str] = []
            for key in group:
                own = [line for raw in raws.get(key, ()) for line in self.comments(raw)]
                body = self.field(key, node, raws.get(key, []))
                if key == "PyTorch Reference" and body:
                    # A comment behind unfenced code would become code.
                    own += [line for raw in raws.get("Notes", ()) for line in self.comments(raw)]
                    own += trailing if code_last else []
                    trailing = [] if code_last else trailing
                elif key == "Notes" and node.reference is not None:
                    own = []
                if body:
                    block += [*waiting, *own, *body]
                    waiting = []
                else:
                    waiting += own
            if block:
                blocks.append(block)
        tail = waiting + trailing
        lines = [f"KERNEL SPEC: {node.id.text}"]
        for index, block in enumerate(blocks):
            if index:
                lines.append("")
            lines += block
        return lines + tail

    def comments(self, raw: RawField) -> list[str]:
        """Return the comments of a field that stand before its first line."""
        before = [self.text[span.start : span.end] for span in raw.comments]
        if raw.key in _PROSE or raw.items:
            inline = [] if raw.key in _PROSE else self.behind(raw.start, self.line_end(raw.start))
            return before + inline
        return before + self.behind(raw.start, raw.end)

    def line_end(self, offset: int) -> int:
        end = self.text.find("\n", offset)
        return len(self.text) if end < 0 else end

    def field(self, key: str, node: KernelNode, raws: list[RawField]) -> list[str]:
        if key == "Description" and node.description is not None:
            return [f"Description: {node.description.text}"]
        if key == "Operations":
            inner = [line for raw in raws for line in self.inner(raw, operations=True)]
            return [*inner, f"Operations: {operations_text(node.operations or ())}"]
        if key == "Inputs":
            if not node.inputs:
                return ["Inputs: none"]
            return ["Inputs:", *self.entries(raws[0], [entry_text(item, self.types) for item in node.inputs])]
        if key == "Outputs":
            return [
                "Outputs:",
                *self.entries(raws[0], [entry_text(item, self.types) for item in node.outputs or ()]),
            ]
        if key == "Dependencies":
            inner = [line for raw in raws for line in self.inner(raw, operations=True)]
            return [*inner, f"Dependencies: {names_text(node.dependencies or ())}"]
        if key == "Shared with" and node.shared_with:
            names = node.shared_with
            return [f"Shared with: {names[0].text if len(names) == 1 else names_text(names)}"]
        if key == "PyTorch Reference" and node.reference is not None:
            return ["PyTorch Reference:", *_code(node.reference)]
        if key == "Notes" and node.notes:
            return ["Notes:", *self.notes(node.notes, raws[0])]
        rows: dict[str, tuple[object, ...]] = {
            "Dims": node.dims,
            "Types": node.types,
            "Numerics": node.numerics,
            "Bench": node.bench,
            "Keep in PyTorch": node.kept,
        }
        if key not in rows:
            return []
        inner = [line for raw in raws for line in self.inner(raw)]
        return inner + self.shared_field(key, rows[key])

    def inner(self, raw: RawField, *, operations: bool = False) -> list[str]:
        """Return the comments between and behind the items of a field that is written on fewer lines."""
        if not raw.items:
            return []
        own = [self.text[span.start : span.end] for spans in raw.item_comments.values() for span in spans]
        behind = [line for begin, end in raw.items for line in self.behind(begin, end)]
        return own + behind if operations or own or behind else []

    def entries(self, raw: RawField, texts: list[str]) -> Iterator[str]:
        """Write the items of a list, each after its comments."""
        offset = len(texts) - len(raw.items)
        for index, text in enumerate(texts):
            place = index - offset
            for span in raw.item_comments.get(place, ()):
                yield f"  {self.text[span.start : span.end]}"
            if 0 <= place < len(raw.items):
                for comment in self.behind(*raw.items[place]):
                    yield f"  {comment}"
            yield f"  - {text}"

    def notes(self, notes: Iterable[Note], raw: RawField) -> Iterator[str]:
        for index, note in enumerate(notes):
            for span in raw.item_comments.get(index, ()):
                yield self.text[span.start : span.end]
            first, *rest = note.text.split("\n")
            yield f"- {first.strip()}"
            filled = [line for line in rest if line.strip()]
            margin = min((len(line) - len(line.lstrip()) for line in filled), default=0)
            for line in rest:
                yield f"  {line[margin:].rstrip()}".rstrip()


def _code(reference: ReferenceNode) -> list[str]:
    """Write code unfenced, as the base format has it, unless a line of it would end it."""
    lines = [line.rstrip() for line in reference.text.split("\n")]
    if not any(_ends_code(line) for line in lines):
        return lines
    fence = "```"
    while any(line.lstrip().startswith(fence) for line in lines):
        fence += "`"
    return [f"{fence}python", *lines, fence]


def _ends_code(line: str) -> bool:
    stripped = line.strip()
    if (
        stripped.startswith(("```", "~~~", "##"))
        or _RULE.fullmatch(line)
        or stripped.lower().startswith("kernel")
    ):
        return True
    name = re.match(r"[*_]{0,2}([A-Za-z][\w \-]*?)[*_]{0,2}[ \t]*:", line)
    return bool(name) and (line[0].isupper() or " ".join(name[1].split()).lower() in FIELDS)  # type: ignore[index]


def _comment_start(line: str) -> int:
    quoted = False
    for index, char in enumerate(line):
        if char == '"':
            quoted = not quoted
        elif char == "#" and not quoted:
            return index
    return -1


def _trim(lines: list[str]) -> list[str]:
    """Drop blank lines at both ends."""
    begin, end = 0, len(lines)
    while begin < end and not lines[begin]:
        begin += 1
    while end > begin and not lines[end - 1]:
        end -= 1
    return lines[begin:end]


def _squeeze(lines: list[str], keep: object) -> list[str]:
    """Write runs of blank lines as one, except where the section holds code."""
    if keep:
        return lines
    return [line for index, line in enumerate(lines) if line or (index and lines[index - 1])]


def _append(lines: list[str], block: list[str]) -> bool:
    """Add a block after a blank line; whether it was empty."""
    if not block:
        return True
    if lines:
        lines.append("")
    lines += block
    return False
