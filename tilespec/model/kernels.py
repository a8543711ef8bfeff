"""One kernel from the tree to the model."""

from __future__ import annotations

import math
import re
from typing import Any, Literal, cast

from tilespec.diagnostics import Label, Span
from tilespec.model.dtypes import FLOATS, canonical_dtype
from tilespec.model.expressions import ExpressionFault, to_number
from tilespec.model.generate import MOST_STEPS, Budget, generate_reference
from tilespec.model.operations import find_operation, suggest_operation
from tilespec.model.symbols import Report, Symbols, dim_equations
from tilespec.model.types import (
    DimRange,
    FloatRange,
    KeptOp,
    Kernel,
    Numerics,
    Operation,
    ReferenceText,
    ScalarSpec,
    TensorSpec,
)
from tilespec.rules import graph, shapes
from tilespec.syntax.names import closest
from tilespec.syntax.nodes import (
    BenchRow,
    FileNode,
    InputNode,
    Keep,
    KernelNode,
    Name,
    Number,
    OperationNode,
    ReferenceNode,
    ScalarNode,
    Setting,
    ShapeNode,
    Symbol,
    TensorNode,
)

__all__ = ["KernelBuilder"]

_KINDS = {"float": "float", "int": "int", "bool": "bool"}
_NEAR_KINDS = {
    "double": "float",
    "number": "float",
    "real": "float",
    "integer": "int",
    "long": "int",
    "boolean": "bool",
}
_LAYOUTS = ("contiguous", "channels_last")
_DEF = re.compile(r"^[ \t]*def[ \t]+(\w+)", re.MULTILINE)
_INTEGERS = {
    "bool": (0, 1),
    "uint8": (0, 2**8 - 1),
    "int8": (-(2**7), 2**7 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
_MOST_GUESSES = 100
_MOST_TYPES = 16
_MOST_STEPS = 20 * MOST_STEPS
_NUMERICS = ("accumulate", "tf32", "approximate", "tolerance")


class KernelBuilder:
    """Builds the kernels of one file, which share its symbols and its file-level settings."""

    def __init__(self, tree: FileNode, symbols: Symbols, report: Report) -> None:
        self.tree = tree
        self.source = tree.source
        self.symbols = symbols
        self.report = report
        self.unknown_operations = 0
        self.budget = Budget(_MOST_STEPS)
        self.file_numerics = self.settings(tree.numerics)
        self.file_kept = self.kept(tree.kept)

    def build(
        self, node: KernelNode, dependencies: tuple[str, ...], shared: tuple[str, ...]
    ) -> Kernel | None:
        """Return the model of a kernel; None when a part is missing."""
        inputs = [self.entry(item) for item in node.inputs or ()]
        outputs = [self.tensor(item) for item in node.outputs or ()]
        self.check_names(node)
        operations = tuple(self.operation(item, node.reference) for item in node.operations or ())
        numerics = Numerics(**{**self.file_numerics, **self.settings(node.numerics)})
        kept = self.file_kept + self.kept(node.kept)
        if None in inputs or None in outputs or not node.complete or node.inputs is None:
            return None
        good_inputs = tuple(item for item in inputs if item is not None)
        good_outputs = tuple(item for item in outputs if item is not None)
        self.check_outputs(node, good_inputs, good_outputs)
        self.check_types(node, (*good_inputs, *good_outputs))
        bench = tuple(
            sizes
            for row in (*node.bench, *self.tree.bench)
            if (sizes := self.bench(row, good_inputs, good_outputs, shared=row in self.tree.bench))
        )
        kernel = Kernel(
            id=node.id.text,
            span=node.id.span,
            description=node.description.text if node.description else "",
            operations=operations,
            inputs=good_inputs,
            outputs=good_outputs,
            dependencies=dependencies,
            shared_with=shared,
            reference=self.reference(node.reference),
            notes=tuple(" ".join(note.text.split()) for note in node.notes),
            note_spans=tuple(note.span for note in node.notes),
            numerics=numerics,
            kept=kept,
            bench=bench,
        )
        if kernel.reference is None and self.budget.left > 0:
            written = generate_reference(self.source, kernel, self.budget)
            if isinstance(written, ReferenceText):
                return kernel.model_copy(update={"reference": written})
        return kernel

    # inputs and outputs

    def entry(self, node: InputNode) -> TensorSpec | ScalarSpec | None:
        """Return the model of an input; None after a finding."""
        return self.tensor(node) if isinstance(node, TensorNode) else self.scalar(node)

    def tensor(self, node: TensorNode) -> TensorSpec | None:
        """Return the model of a tensor; None after a finding."""
        shape = self.symbols.shape(node.shape) if node.shape else None
        dtype = self.symbols.dtype(node.dtype) if node.dtype else None
        layout = self.layout(node, len(node.shape.dims) if node.shape else 0)
        values = self.values(node)
        if values is not None and node.values is not None and dtype is not None:
            self.check_values(values, dtype, node.values.span)
        if shape is None or dtype is None or node.shape is None or node.dtype is None:
            return None
        return TensorSpec(
            name=node.name.text,
            shape=shape,
            dtype=dtype,
            span=node.name.span,
            shape_span=node.shape.span,
            dtype_span=node.dtype.span,
            remark=node.remark.text if node.remark else None,
            origin=node.origin.text if node.origin else None,
            inplace=node.inplace.text if node.inplace else None,
            layout=layout,
            values=values,
        )

    def layout(self, node: TensorNode, rank: int) -> str | None:
        """Check `layout=`."""
        if node.layout is None:
            return None
        name = node.layout.text
        if name not in _LAYOUTS:
            self.report(shapes.UnknownLayout(name, closest(name, _LAYOUTS)), node.layout.span)
        elif name == "channels_last" and rank not in {4, 5}:
            self.report(shapes.LayoutRank(node.name.text, rank), node.layout.span)
        return name

    def values(self, node: TensorNode) -> FloatRange | None:
        """Read `values=`; an end that is left out is infinite."""
        limits = node.values
        if limits is None:
            return None
        try:
            low = float(to_number(limits.low)) if limits.low is not None else float("-inf")
            high = float(to_number(limits.high)) if limits.high is not None else float("inf")
        except ExpressionFault as fault:
            text = self.symbols.text(limits.span)
            self.report(shapes.InvalidExpression(text, fault.reason, fault.advice), fault.span)
            return None
        if not low <= high:
            self.report(shapes.EmptyRange(self.symbols.text(limits.span), "holds no value"), limits.span)
            return None
        return FloatRange(low=low, high=high)

    def check_values(self, values: FloatRange, dtype: str, span: Span) -> None:
        """Report `values=` of which a dtype holds only a part; an end that is left out is the end of the dtype."""
        limits = _INTEGERS.get(dtype)
        if limits is None:
            return
        low, high = limits
        if (
            values.high < low
            or values.low > high
            or float("-inf") < values.low < low
            or high < values.high < float("inf")
        ):
            reason = f"goes beyond {dtype}, which holds {low} to {high}"
            self.report(shapes.EmptyRange(self.symbols.text(span), reason), span)

    def scalar(self, node: ScalarNode) -> ScalarSpec | None:
        """Return the model of a scalar; None after a finding."""
        kind = _KINDS.get(node.kind.text)
        if kind is None:
            written = node.kind.text
            dtype = canonical_dtype(written)
            near = _NEAR_KINDS.get(written.lower())
            if near is None and dtype is not None:
                near = "float" if dtype in FLOATS else "bool" if dtype == "bool" else "int"
            self.report(
                shapes.UnknownScalarKind(written, near or closest(written, _KINDS, fold=True)), node.kind.span
            )
            return None
        default: float | int | bool | None = None
        if node.default is not None:
            found = self.default(node, kind)
            if found is None:
                return None
            default = found
        return ScalarSpec(
            name=node.name.text,
            kind=cast("Literal['float', 'int', 'bool']", kind),
            default=default,
            span=node.name.span,
        )

    def default(self, node: ScalarNode, kind: str) -> float | int | bool | None:
        """Return the default of a scalar; None after a finding."""
        written = node.default
        if written is None:
            return None
        text = self.symbols.text(written.span)
        if kind == "bool":
            name = written.name.lower() if isinstance(written, Symbol) else ""
            if name in {"true", "false"}:
                return name == "true"
            self.report(shapes.InvalidDefault(node.name.text, kind, text), written.span)
            return None
        if isinstance(written, Symbol) and written.name in {"True", "False"}:
            self.report(shapes.InvalidDefault(node.name.text, kind, text), written.span)
            return None
        try:
            value = to_number(written)
        except ExpressionFault as fault:
            self.report(shapes.InvalidExpression(text, fault.reason, fault.advice), fault.span)
            return None
        if kind == "float":
            return float(value)
        if isinstance(value, int) or (abs(value) < 2**53 and value == int(value)):
            if abs(value) < 2**63:
                return int(value)
            self.report(shapes.InvalidExpression(text, "doesn't fit in 64 bits"), written.span)
            return None
        self.report(shapes.InvalidDefault(node.name.text, kind, text), written.span)
        return None

    def check_names(self, node: KernelNode) -> None:
        """Report names that stand twice, and `inplace=` of what is no input."""
        seen: dict[str, Name] = {}
        for item in node.inputs or ():
            first = seen.setdefault(item.name.text, item.name)
            if first is not item.name:
                rule = graph.DuplicateName(item.name.text, node.id.text)
                self.report(rule, item.name.span, Label(first.span, "first defined here"))
        inputs = set(seen)
        tensors = [item.name.text for item in node.inputs or () if isinstance(item, TensorNode)]
        for output in node.outputs or ():
            first = seen.setdefault(output.name.text, output.name)
            overwrites = output.inplace is not None and output.inplace.text == output.name.text
            if first is not output.name and not (overwrites and output.name.text in inputs):
                rule = graph.DuplicateName(output.name.text, node.id.text, across=output.name.text in inputs)
                self.report(rule, output.name.span, Label(first.span, "first defined here"))
            if output.inplace is not None and output.inplace.text not in tensors:
                close = closest(output.inplace.text, tensors)
                rule_inplace = graph.UndefinedInplace(output.inplace.text, node.id.text, close)
                self.report(rule_inplace, output.inplace.span)

    def check_outputs(
        self, node: KernelNode, inputs: tuple[TensorSpec | ScalarSpec, ...], outputs: tuple[TensorSpec, ...]
    ) -> None:
        """Report outputs whose size no call could know, and in-place outputs unlike their input."""
        bound: set[str] = set()
        by_name: dict[str, TensorSpec] = {}
        for item in inputs:
            if isinstance(item, TensorSpec):
                by_name[item.name] = item
                for dim in item.shape:
                    bound |= dim.symbols
            elif item.kind == "int":
                bound.add(item.name)
        for output, written in zip(outputs, node.outputs or (), strict=True):
            if output.inplace in by_name:
                target = by_name[output.inplace]
                if (target.shape, target.dtype) != (output.shape, output.dtype):
                    rule = shapes.InplaceMismatch(output.name, target.name)
                    self.report(rule, output.shape_span, Label(target.span, "overwritten"))
            for index, dim in enumerate(output.shape):
                missing = [name for name in sorted(dim.symbols - bound) if not self.follows(name, bound)]
                if missing and written.shape is not None:
                    close = closest(missing[0], sorted(bound)) if len(missing[0]) > 2 else None
                    rule_unbound = shapes.UnboundSymbol(missing[0], output.name, close)
                    self.report(rule_unbound, written.shape.dims[index].span)
                    return

    def check_types(self, node: KernelNode, items: tuple[TensorSpec | ScalarSpec, ...]) -> None:
        """Report a kernel of more choices of dtypes than can be built."""
        types = self.symbols.types
        used = {item.dtype for item in items if isinstance(item, TensorSpec) and item.dtype in types}
        count = math.prod(len(types[name]) for name in used)
        if count > _MOST_TYPES:
            self.report(shapes.TooManyTypes(node.id.text, count, _MOST_TYPES), node.id.span)

    def follows(self, name: str, bound: set[str]) -> bool:
        """Whether `Dims` gives a symbol as an equation over known ones."""
        waiting, seen = [name], set[str]()
        while waiting:
            symbol = waiting.pop()
            if symbol in bound or symbol in seen:
                continue
            seen.add(symbol)
            limits = self.symbols.ranges.get(symbol)
            if limits is None or limits.equals is None:
                return False
            waiting.extend(limits.equals.symbols)
        return True

    # the rest

    def operation(self, node: OperationNode, reference: ReferenceNode | None) -> Operation:
        """Return an operation under its canonical name; a finding when neither registry nor reference knows it."""
        written = node.name.text
        entry = find_operation(written)
        name = entry.name if entry else written
        if entry is None and (reference is None or written not in _DEF.findall(reference.text)):
            self.unknown_operations += 1
            close = suggest_operation(written) if self.unknown_operations <= _MOST_GUESSES else None
            self.report(graph.UnknownOperation(written, close), node.name.span)
        return Operation(
            name=name, written=written, label=node.label.text if node.label else None, span=node.name.span
        )

    def reference(self, node: ReferenceNode | None) -> ReferenceText | None:
        """Return the text of a reference with its place."""
        if node is None:
            return None
        return ReferenceText(
            source=self.source, text=node.text, first_line=node.first_line, indent=node.indent
        )

    def kept(self, rows: tuple[Keep, ...]) -> tuple[KeptOp, ...]:
        """Return the ops that stay in PyTorch."""
        return tuple(
            KeptOp(op=name.text, reason=row.reason.text if row.reason else "", span=name.span)
            for row in rows
            for name in row.names
        )

    def settings(self, rows: tuple[Setting, ...]) -> dict[str, Any]:
        """Read `Numerics`; entries that aren't valid are reported and left out."""
        found: dict[str, Any] = {}
        for row in rows:
            key, value = row.key.text, row.value
            if key == "accumulate" and isinstance(value, Symbol):
                dtype = canonical_dtype(value.name)
                if dtype in {"float16", "float32", "float64", "int32"}:
                    found[key] = dtype
                    continue
                advice = "write `accumulate=float32`, `float64`, `float16` or `int32`"
                self.report(shapes.InvalidSetting(key, f"can't be `{value.name}`", advice), value.span)
            elif key == "tf32" and isinstance(value, Symbol) and value.name in {"never", "allow"}:
                found[key] = value.name
            elif key == "approximate" and isinstance(value, tuple):
                found[key] = {name.text: how.text for name, how in value}
            elif key == "tolerance" and isinstance(value, ShapeNode) and len(value.dims) == 2:
                numbers = self.tolerance(value)
                if numbers is not None:
                    found[key] = numbers
            elif key in _NUMERICS:
                advice = {
                    "accumulate": "write `accumulate=float32`",
                    "tf32": "write `tf32=never` or `tf32=allow`",
                    "approximate": "write `approximate=[gelu: tanh]`",
                    "tolerance": "write `tolerance=(1e-2, 1e-2)`: relative, absolute",
                }[key]
                written = self.symbols.text(row.span).partition("=")[2].strip()
                self.report(shapes.InvalidSetting(key, f"can't be `{written}`", advice), row.span)
            else:
                close = closest(key, _NUMERICS)
                advice = f"did you mean `{close}`?" if close else f"the entries are {', '.join(_NUMERICS)}"
                self.report(shapes.InvalidSetting(key, "is no entry of `Numerics`", advice), row.key.span)
        return found

    def tolerance(self, value: ShapeNode) -> tuple[float, float] | None:
        """Return relative and absolute tolerance; None after a finding."""
        try:
            relative, absolute = (float(to_number(dim)) for dim in value.dims)
        except ExpressionFault as fault:
            text = self.symbols.text(value.span)
            self.report(shapes.InvalidExpression(text, fault.reason, fault.advice), fault.span)
            return None
        if not (0 <= relative < float("inf") and 0 <= absolute < float("inf")):
            advice = "write two numbers of at least 0: relative, absolute"
            self.report(shapes.InvalidSetting("tolerance", "is negative or endless", advice), value.span)
            return None
        return relative, absolute

    def bench(
        self,
        row: BenchRow,
        inputs: tuple[TensorSpec | ScalarSpec, ...],
        outputs: tuple[TensorSpec, ...],
        *,
        shared: bool,
    ) -> dict[str, int]:
        """Read one named shape; of a file-level one, only what this kernel uses."""
        tensors = [item for item in (*inputs, *outputs) if isinstance(item, TensorSpec)]
        used = {name for tensor in tensors for dim in tensor.shape for name in dim.symbols}
        equations = dim_equations(self.symbols.ranges)
        used = used.union(*(equations[name].symbols for name in used & equations.keys()))
        sizes: dict[str, int] = {}
        for setting in row.settings:
            key, value = setting.key.text, setting.value
            if key not in used:
                if not shared:
                    close = closest(key, sorted(used)) if len(key) > 2 else None
                    self.report(shapes.BenchMismatch(key, ", which no tensor uses", close), setting.key.span)
                continue
            if not isinstance(value, Number) or not isinstance(value.value, int) or value.value < 1:
                self.report(shapes.BenchMismatch(key, " to something that is no size"), setting.span)
                continue
            limits = self.symbols.ranges.get(key)
            if limits is not None and not _allows(limits, value.value):
                self.report(
                    shapes.BenchMismatch(key, f" to {value.value}, which `Dims` rules out"), setting.span
                )
            sizes[key] = value.value
        for setting in row.settings:
            name = setting.key.text
            if name in sizes and name in equations and equations[name].symbols <= sizes.keys():
                derived = equations[name].evaluate(sizes)
                if derived != sizes[name]:
                    reason = f" to {sizes[name]}, which `Dims` makes {derived}"
                    self.report(shapes.BenchMismatch(name, reason), setting.span)
        return sizes


def _allows(limits: DimRange, size: int) -> bool:
    if limits.choices is not None:
        return size in limits.choices
    if size < limits.low or (limits.high is not None and size > limits.high):
        return False
    return (size - limits.low) % limits.step == 0
