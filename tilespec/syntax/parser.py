"""From text to the tree: the scan finds the fields, the grammar reads their values.

A field that can't be read is reported and left out, and the rest of the file is read all the same. The forms that
nearly every line has are matched by one regular expression each; all others go through the grammar, which accepts
the same text and makes the same nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from tilespec.collector import paused
from tilespec.diagnostics import Diagnostic, Label, Severity, SourceText, Span
from tilespec.rules import syntax as rules
from tilespec.syntax.completeness import parse_completeness
from tilespec.syntax.grammar import RawAttribute, RawTensor, Start, ValueFault, parse_value
from tilespec.syntax.names import closest, is_safe_name
from tilespec.syntax.nodes import (
    BenchRow,
    DimLine,
    FileNode,
    InputNode,
    Keep,
    KernelNode,
    Name,
    Note,
    Number,
    OperationNode,
    OrderNode,
    ReferenceNode,
    ScalarNode,
    Sequence,
    ShapeNode,
    SourceNode,
    SummaryNode,
    Symbol,
    TensorNode,
)
from tilespec.syntax.scanner import FIELDS, CodeBlock, Outline, RawField, Section, scan
from tilespec.syntax.suppressions import collect_suppressions

__all__ = ["parse", "parse_field", "parse_outline"]

_TENSOR = re.compile(
    r"([A-Za-z_]\w*)[ \t]*:[ \t]*shape=(\([\w \t,]*\)),[ \t]*dtype=([A-Za-z_]\w*)[ \t]*"
    r"(\((?!\()[^()\n#]*\))?[ \t]*\Z"
)
_DIMS = re.compile(r"[ \t]*(?:([A-Za-z_]\w*)|(\d{1,18}))[ \t]*")
_SCALAR = re.compile(
    r"([A-Za-z_]\w*)[ \t]*:[ \t]*scalar[ \t]+([A-Za-z_]\w*)(?:[ \t]*=[ \t]*(\d{1,18}(?:\.\d{1,18})?(?:e-?\d{1,3})?))?[ \t]*\Z"
)
_LIST = re.compile(r"\s*\[([\w \t,]*)\]\s*\Z")
_CHAIN = re.compile(r"[ \t]*([A-Za-z_]\w*(?:[ \t]*->[ \t]*[A-Za-z_]\w*)*)[ \t]*\Z")
_LABEL = re.compile(r"\s*([A-Za-z_][\w -]*?)[ \t]*:[ \t]+")
_WORD = re.compile(r"[A-Za-z_]\w*")
_SOURCE = re.compile(r"[ \t]*(\S[^\n]*?):([A-Za-z_][\w.]*)[ \t]*(?:#[^\n]*)?\Z")
_MOST_GROUPS = 200
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_TENSOR_KEYS = ("shape", "dtype", "from", "inplace", "layout", "values")
_REQUIRED = ("Operations", "Inputs", "Outputs")


def parse(source: SourceText) -> tuple[FileNode, list[Diagnostic]]:
    """Parse a file; the tree holds whatever could be read, the findings say what could not."""
    with paused():
        return parse_outline(scan(source))


def parse_outline(outline: Outline) -> tuple[FileNode, list[Diagnostic]]:
    """Parse a scanned file."""
    reader = _Parser(outline)
    tree = reader.run()
    return tree, sorted(reader.findings, key=lambda finding: finding.sort_key)


def parse_field(source: SourceText, raw: RawField) -> tuple[Any, ...]:
    """Parse one field that may stand in a kernel or at the top of a file, by itself."""
    return _Parser(Outline(source, [], [])).shared_field(raw) or ()


_COMMENT = re.compile(r"[ \t]*#")


class _Parser:
    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.source = outline.source
        self.text = outline.source.text
        self.findings: list[Diagnostic] = []

    def report(self, rule: rules.Rule, span: Span | None, *labels: Label) -> None:
        """Add a finding."""
        self.findings.append(rule.at(self.source, span, *labels))

    def run(self) -> FileNode:
        kernels: list[KernelNode] = []
        top: dict[str, list[Any]] = {}
        summary: dict[str, Any] = {}
        completeness = None
        code: list[CodeBlock] = []
        for section in self.outline.sections:
            if section.unclosed is not None:
                self.report(rules.UnclosedFence(), section.unclosed)
            if section.kind == "kernel":
                kernel = self.kernel(section)
                if kernel is not None:
                    kernels.append(kernel)
                continue
            code.extend(section.code)
            if section.kind == "completeness":
                completeness = parse_completeness(self.source, section)
                continue
            for raw in section.fields:
                self.file_field(raw, top, summary)
        if not any(section.kind == "kernel" for section in self.outline.sections):
            self.report(rules.NoKernelSpec(empty=not self.text.strip()), None)
        suppressions = collect_suppressions(self.outline, self.report)
        return FileNode(
            source=self.source,
            kernels=tuple(kernels),
            summary=SummaryNode(**summary),
            dims=tuple(top.get("Dims", ())),
            types=tuple(top.get("Types", ())),
            numerics=tuple(top.get("Numerics", ())),
            bench=tuple(top.get("Bench", ())),
            kept=tuple(top.get("Keep in PyTorch", ())),
            code=next(iter(top.get("Source", ())), None),
            end_to_end=self.end_to_end(code),
            completeness=completeness,
            suppressions=suppressions,
            complete=not any(finding.severity is Severity.ERROR for finding in self.findings),
        )

    # sections

    def file_field(self, raw: RawField, top: dict[str, list[Any]], summary: dict[str, Any]) -> None:
        key = raw.key
        value = Span(raw.start, raw.end)
        if key == "Total kernels":
            self.once(summary, "total", raw, self.total(value))
        elif key == "Parallel groups":
            self.once(summary, "parallel", raw, self.prose(value))
        elif key == "Execution order":
            if self.text[raw.start : raw.end].strip():
                order = self.quick_order(raw.start, raw.end) or self.value("order", raw.start, raw.end)
                self.once(summary, "order", raw, order)
        elif key == "Source":
            match = _SOURCE.match(self.text[raw.start : raw.end])
            if match:
                begin = raw.start + match.start(1)
                top.setdefault("Source", []).append(
                    SourceNode(match[1], match[2], Span(begin, raw.start + match.end(2)))
                )
            else:
                self.report(
                    rules.MalformedValue("Source", "no `file.py:Name`", ("`model.py:FFN`",)), self.trim(value)
                )
        else:
            top.setdefault(key, []).extend(self.shared_field(raw) or ())

    def once(self, summary: dict[str, Any], key: str, raw: RawField, value: object) -> None:
        if key in summary:
            self.report(rules.DuplicateField(raw.key), raw.name)
        elif value is not None:
            summary[key] = value

    def total(self, value: Span) -> Number | None:
        match = re.match(r"\s*(\d{1,9})\b", self.text[value.start : value.end])
        if match:
            return Number(
                int(match[1]), match[1], Span(value.start + match.start(1), value.start + match.end(1))
            )
        found = f"`{self.text[value.start : value.end].strip()[:40]}`"
        self.report(rules.MalformedValue("Total kernels", found, ("a number",)), self.trim(value))
        return None

    def kernel(self, section: Section) -> KernelNode | None:
        head = section.head or Span(0, 0)
        ident = self.kernel_id(head)
        before = len(self.findings)
        for stray in section.stray:
            self.report(rules.StrayText(), stray)
        values: dict[str, Any] = {}
        seen: dict[str, RawField] = {}
        for raw in section.fields:
            if not raw.known:
                close = closest(raw.key, FIELDS.values(), fold=True)
                self.report(rules.UnknownField(raw.key, close), raw.name)
                if close is None or close == "PyTorch Reference" or close in seen:
                    continue
                # The faults in a field with a misspelt name are faults all the same.
                raw.key = close
            if raw.key in seen and raw.key not in {"Bench", "Keep in PyTorch", "Dims", "Types", "Numerics"}:
                first = Label(seen[raw.key].name, "first written here")
                self.report(rules.DuplicateField(raw.key), raw.name, first)
                continue
            seen[raw.key] = raw
            self.kernel_field(raw, values)
        for key in _REQUIRED:
            if key not in seen:
                self.report(
                    rules.MissingField(key, ident.text if ident else "?"), ident.span if ident else head
                )
        if "Description" not in seen and ident is not None and len(self.findings) == before:
            self.report(rules.MissingDescription(ident.text), ident.span)
        if ident is None:
            return None
        end = self.source.line_start(section.last) + len(self.outline_line(section.last))
        complete = not any(finding.severity is Severity.ERROR for finding in self.findings[before:])
        return KernelNode(id=ident, span=Span(head.start, max(end, head.end)), complete=complete, **values)

    def outline_line(self, number: int) -> str:
        return self.source.line(number)

    def kernel_id(self, head: Span) -> Name | None:
        text = self.text[head.start : head.end]
        name = text.split("#", 1)[0].strip().strip("*`").strip()
        begin = head.start + text.find(name) if name else head.start
        if not name:
            line, _ = self.source.position(head.start)
            self.report(rules.InvalidName("kernel", ""), Span(self.source.line_start(line), head.start))
            return None
        span = Span(begin, begin + len(name))
        if not is_safe_name(name):
            self.report(rules.InvalidName("kernel", name), span)
            return None
        return Name(name, span)

    def kernel_field(self, raw: RawField, values: dict[str, Any]) -> None:
        key = raw.key
        if key == "Description":
            prose = self.prose(Span(raw.start, raw.end))
            if prose is None:
                self.report(rules.EmptyField(key), raw.name)
            values["description"] = prose
        elif key == "Operations":
            values["operations"] = self.operations(raw)
        elif key == "Inputs":
            values["inputs"] = self.entries(raw, outputs=False)
        elif key == "Outputs":
            values["outputs"] = self.entries(raw, outputs=True)
        elif key == "Dependencies":
            values["dependencies"] = self.ids(raw)
        elif key == "Shared with":
            values["shared_with"] = self.ids(raw) or ()
        elif key == "PyTorch Reference":
            values["reference"] = self.kernel_reference(raw)
        elif key == "Notes":
            values["notes"] = tuple(self.notes(raw))
        else:
            name = {"Keep in PyTorch": "kept"}.get(key, key.lower())
            values[name] = values.get(name, ()) + tuple(self.shared_field(raw) or ())

    # fields

    def shared_field(self, raw: RawField) -> tuple[Any, ...] | None:
        """Read a field that may stand in a kernel or at the top of a file."""
        if raw.key == "Dims":
            return tuple(self.dims(raw))
        if raw.key == "Types":
            return tuple(self.flat(raw, "types"))
        if raw.key == "Numerics":
            return tuple(self.flat(raw, "settings"))
        if raw.key == "Bench":
            return tuple(self.bench(raw))
        return tuple(self.kept(raw))

    def parts(self, raw: RawField) -> Iterator[tuple[int, int]]:
        """Yield the value on the line of the field name, if any, and then the items."""
        inline_end = raw.items[0][0] if raw.items else raw.end
        newline = self.text.find("\n", raw.start, raw.end)
        if raw.items and newline >= 0:
            inline_end = min(newline, inline_end)
        if self.text[raw.start : inline_end].split("#", 1)[0].strip():
            yield raw.start, inline_end
        for begin, end in raw.items:
            if not self.text.startswith("#", begin):
                yield begin, end

    def dims(self, raw: RawField) -> Iterator[DimLine]:
        for begin, end in self.parts(raw):
            line = self.value("dim_line", begin, end, field="Dims")
            if isinstance(line, DimLine):
                yield line

    def flat(self, raw: RawField, start: Start) -> Iterator[Any]:
        for begin, end in self.parts(raw):
            yield from self.value(start, begin, end, field=raw.key) or ()

    def bench(self, raw: RawField) -> Iterator[BenchRow]:
        for begin, end in self.parts(raw):
            match = _LABEL.match(self.text, begin, end)
            label = Name(match[1], Span(*match.span(1))) if match else None
            settings = self.value("settings", match.end() if match else begin, end, field="Bench")
            if settings:
                yield BenchRow(label, settings)

    def kept(self, raw: RawField) -> Iterator[Keep]:
        for begin, end in self.parts(raw):
            keep = self.value("keep", begin, end, field="Keep in PyTorch")
            if isinstance(keep, Keep):
                if keep.reason is None or not keep.reason.text.strip():
                    self.report(rules.MissingReason(keep.names[0].text), keep.span)
                yield keep

    def operations(self, raw: RawField) -> tuple[OperationNode, ...] | None:
        found: list[OperationNode] = []
        parts = list(self.parts(raw))
        if not parts:
            self.report(rules.EmptyField("Operations"), raw.name)
            return None
        for begin, end in parts:
            quick = self.quick_list(begin, end)
            if quick is not None:
                found.extend(OperationNode(name, None, name.span) for name in quick)
                continue
            items = self.value("operations", begin, end, field="Operations")
            if items is None:
                return None
            found.extend(items)
        if not found:
            self.report(rules.EmptyField("Operations"), raw.name)
        return tuple(found)

    def ids(self, raw: RawField) -> tuple[Name, ...] | None:
        found: list[Name] = []
        for begin, end in self.parts(raw):
            names = self.quick_list(begin, end)
            if names is None:
                text = self.text[begin:end].strip()
                if text.lower() in {"none", "none.", "n/a", "-"}:
                    continue
                names = self.value("names", begin, end, field=raw.key)
                if names is None:
                    return None
            found.extend(names)
        if len(found) == 1 and found[0].text.lower() == "none":
            return ()
        return tuple(found)

    def quick_list(self, begin: int, end: int) -> tuple[Name, ...] | None:
        """Read `[a, b]` of plain words; None when the grammar has to look."""
        match = _LIST.match(self.text, begin, end)
        if match is None:
            return None
        names: list[Name] = []
        position = match.start(1)
        pieces = match[1].split(",")
        if pieces and not pieces[-1].strip():
            pieces.pop()
        for piece in pieces:
            word = piece.strip()
            if not _WORD.fullmatch(word):
                return None
            at = position + piece.index(word)
            names.append(Name(word, Span(at, at + len(word))))
            position += len(piece) + 1
        return tuple(names)

    def quick_order(self, begin: int, end: int) -> OrderNode | None:
        """Read `a -> b -> c` of plain words; None when the grammar has to look."""
        match = _CHAIN.match(self.text, begin, end)
        if match is None:
            return None
        names = tuple(Name(word[0], Span(*word.span())) for word in _WORD.finditer(self.text, *match.span(1)))
        return Sequence(names, names[0].span.to(names[-1].span)) if len(names) > 1 else names[0]

    def entries(self, raw: RawField, *, outputs: bool) -> tuple[InputNode, ...] | None:
        found: list[InputNode] = []
        text = self.text
        inline = (
            text[raw.start : raw.items[0][0] if raw.items else raw.end]
            .split("\n", 1)[0]
            .split("#", 1)[0]
            .strip()
        )
        if inline.lower() in {"none", "[]", "none."} and not raw.items:
            if outputs:
                self.report(rules.EmptyField("Outputs"), raw.name)
            return ()
        parts = list(self.parts(raw))
        for begin, end in parts:
            entry = self.entry(begin, end, raw.key)
            if entry is None:
                continue
            if outputs and isinstance(entry, ScalarNode):
                self.report(rules.ScalarOutput(entry.name.text), entry.span)
                continue
            found.append(entry)
        if not parts:
            self.report(rules.EmptyField(raw.key), raw.name)
        return tuple(found)

    def entry(self, begin: int, end: int, key: str) -> InputNode | None:
        match = _TENSOR.match(self.text, begin, end)
        if match is not None:
            quick = self.quick_tensor(match)
            if quick is not None:
                return quick
        scalar = _SCALAR.match(self.text, begin, end)
        if scalar is not None:
            return self.named(self.quick_scalar(scalar))
        node = self.value("entry", begin, end, field=key)
        if isinstance(node, RawTensor):
            node = self.tensor(node)
        return self.named(node) if node is not None else None

    def named(self, node: InputNode) -> InputNode | None:
        if is_safe_name(node.name.text):
            return node
        self.report(
            rules.InvalidName("tensor" if isinstance(node, TensorNode) else "scalar", node.name.text),
            node.name.span,
        )
        return None

    def quick_tensor(self, match: re.Match[str]) -> TensorNode | None:
        begin, end = match.span(2)
        dims: list[Number | Symbol] = []
        position = begin + 1
        pieces = match[2][1:-1].split(",")
        if not pieces[-1].strip():
            pieces.pop()
        for piece in pieces:
            dim = _DIMS.fullmatch(piece)
            if dim is None:
                return None
            if dim[1]:
                dims.append(Symbol(dim[1], Span(position + dim.start(1), position + dim.end(1))))
            else:
                dims.append(Number(int(dim[2]), dim[2], Span(position + dim.start(2), position + dim.end(2))))
            position += len(piece) + 1
        name = Name(match[1], Span(*match.span(1)))
        if not is_safe_name(name.text):
            return None
        remark = None
        last = match.end(3)
        if match[4]:
            remark = Name(" ".join(match[4][1:-1].split()), Span(*match.span(4)))
            last = match.end(4)
        return TensorNode(
            name,
            ShapeNode(tuple(dims), Span(begin, end)),
            Name(match[3], Span(*match.span(3))),
            Span(name.span.start, last),
            remark=remark,
        )

    def quick_scalar(self, match: re.Match[str]) -> ScalarNode:
        default = None
        if match[3]:
            text = match[3]
            default = Number(int(text) if text.isdigit() else float(text), text, Span(*match.span(3)))
        last = match.end(3) if match[3] else match.end(2)
        return ScalarNode(
            Name(match[1], Span(*match.span(1))),
            Name(match[2], Span(*match.span(2))),
            default,
            Span(match.start(1), last),
        )

    def tensor(self, raw: RawTensor) -> TensorNode | None:
        """Sort the attributes of a tensor; None when shape or dtype is missing."""
        found: dict[str, RawAttribute] = {}
        broken = False
        for attribute in raw.attributes:
            key = attribute.key.text
            if key not in _TENSOR_KEYS:
                self.report(rules.UnknownAttribute(key, closest(key, _TENSOR_KEYS)), attribute.key.span)
                broken = True
            elif key in found:
                first = Label(found[key].key.span, "first written here")
                self.report(rules.DuplicateAttribute(key, raw.name.text), attribute.key.span, first)
            else:
                found[key] = attribute
        missing = [key for key in ("shape", "dtype") if key not in found]
        if missing and not broken:
            self.report(rules.MissingAttribute(raw.name.text, missing[0]), raw.span)
        values: dict[str, Any] = {
            {"from": "origin"}.get(key, key): attribute.value for key, attribute in found.items()
        }
        return TensorNode(
            name=raw.name,
            shape=values.pop("shape", None),
            dtype=values.pop("dtype", None),
            span=raw.span,
            remark=raw.remark,
            **values,
        )

    def notes(self, raw: RawField) -> Iterator[Note]:
        for begin, end in self.parts(raw):
            first, *rest = self.text[begin:end].split("\n")
            # A comment between the lines of a note is a comment, and the formatter writes it as one.
            kept = [line.rstrip() for line in rest if not _COMMENT.match(line)]
            text = "\n".join([first.rstrip(), *kept]).strip()
            if text:
                yield Note(text, Span(begin, end))

    def prose(self, value: Span) -> Name | None:
        words = " ".join(self.text[value.start : value.end].split())
        return Name(words, self.trim(value)) if words else None

    def trim(self, value: Span) -> Span:
        """Return the span without blanks at its ends; never empty where the text isn't."""
        text = self.text[value.start : value.end]
        begin = value.start + len(text) - len(text.lstrip())
        return Span(begin, max(begin, value.start + len(text.rstrip())))

    # code

    def kernel_reference(self, raw: RawField) -> ReferenceNode | None:
        inline = self.text[raw.start : raw.end].split("\n", 1)[0].split("#", 1)[0].strip()
        if raw.code is None:
            if inline and inline.lower() not in {"none", "n/a", "-"}:
                found = f"`{inline[:40]}`"
                self.report(
                    rules.MalformedValue(raw.key, found, ("`def` on the next line",)),
                    self.trim(Span(raw.start, raw.end)),
                )
            return None
        if raw.code.first == self.source.position(raw.start)[0]:
            return self.inline_reference(raw)
        return self.reference([raw.code])

    def inline_reference(self, raw: RawField) -> ReferenceNode:
        """Read `PyTorch Reference: def f(x): return x`, where the first line shares the line of the field name."""
        first, column = self.source.position(raw.start)
        lines = [
            self.source.line(number) for number in range(first, (raw.code.last if raw.code else first) + 1)
        ]
        head = lines[0][column - 1 :]
        lead = len(head) - len(head.lstrip())
        text = "\n".join([head.strip(), *lines[1:]])
        return ReferenceNode(
            text, first, first + len(lines) - 1, column - 1 + lead, self.trim(Span(raw.start, raw.end))
        )

    def end_to_end(self, blocks: list[CodeBlock]) -> ReferenceNode | None:
        return self.reference(blocks) if blocks else None

    def reference(self, blocks: Iterable[CodeBlock]) -> ReferenceNode | None:
        """Join code blocks to one text; lines between them become blank, so that positions still hold."""
        numbered: dict[int, str] = {}
        for block in blocks:
            for number in range(block.first, block.last + 1):
                numbered[number] = self.source.line(number).rstrip()
        filled = [number for number, line in numbered.items() if line]
        if not filled:
            return None
        first, last = min(filled), max(filled)
        indent = min(len(line) - len(line.lstrip()) for line in (numbered[number] for number in filled))
        lines = [numbered.get(number, "")[indent:] for number in range(first, last + 1)]
        begin = self.source.line_start(first)
        end = self.source.line_start(last) + len(numbered[last])
        return ReferenceNode("\n".join(lines), first, last, indent, Span(begin + indent, end))

    # values

    def value(self, start: Start, begin: int, end: int, *, field: str | None = None) -> Any:  # noqa: ANN401 - as `parse_value`
        """Parse a value through the grammar; a fault is reported and gives None."""
        text = self.text[begin:end]
        unclosed = _unclosed(text)
        if unclosed is not None:
            at = begin + unclosed
            self.report(rules.UnclosedBracket(text[unclosed], _PAIRS[text[unclosed]]), Span(at, at + 1))
            return None
        if start == "order" and text.count("(") > _MOST_GROUPS:
            found = f"more than {_MOST_GROUPS} groups"
            self.report(
                rules.MalformedValue("Execution order", found, ("a flatter order",)), Span(begin, begin + 1)
            )
            return None
        try:
            return parse_value(start, text, begin)
        except ValueFault as fault:
            name = field or {"order": "Execution order"}.get(start, start)
            span = fault.span if text.strip() else Span(begin, begin)
            self.report(rules.MalformedValue(name, fault.found, fault.expected), span)
            return None


def _unclosed(text: str) -> int | None:
    """Return the offset of a bracket that is never closed, the outermost where nothing tells them apart."""
    open_at: list[int] = []
    quoted = comment = False
    for index, char in enumerate(text):
        if char == "\n":
            quoted = comment = False
        elif comment:
            continue
        elif char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif char == "#":
            comment = True
        elif char in _PAIRS:
            open_at.append(index)
        elif open_at and char == _PAIRS[text[open_at[-1]]]:
            open_at.pop()
        elif any(char == _PAIRS[text[at]] for at in open_at[-8:]):
            return open_at[-1]
    return open_at[0] if open_at else None
