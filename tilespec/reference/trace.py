"""Trace a reference: evaluate it on fake tensors with symbolic sizes, record the ATen calls.

Nothing is allocated and nothing of the file is executed: the evaluator walks the syntax, torch sees tensors without data.
"""

from __future__ import annotations

import ast
import logging
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch import SymBool, SymFloat, SymInt, Tensor
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensorMode

from tilespec.diagnostics import Diagnostic, Label, Rule, Severity, Span
from tilespec.model.dims import Expr, const
from tilespec.model.generate import Refusal, generate_reference
from tilespec.model.types import Kernel, ReferenceText, ScalarSpec, SpecFile, TensorSpec
from tilespec.reference import allow
from tilespec.reference.check import Program, check
from tilespec.reference.compose import composition_inputs, entry_of
from tilespec.reference.evaluator import Evaluator, Stop, Value
from tilespec.reference.graph import Graph, Ref
from tilespec.reference.guards import restrictions
from tilespec.reference.library import RAISED, TorchLibrary
from tilespec.reference.mismatch import explain, operand_nodes
from tilespec.reference.probe import probe
from tilespec.reference.record import OperationLimitError, Place, Recorder
from tilespec.reference.signature import Signature, last_return, shape_text
from tilespec.reference.sizes import SizeSpace, symbols_of
from tilespec.reference.symbols import NotExpressibleError, SymbolTable
from tilespec.rules import reference as rules

__all__ = ["Signature", "trace", "trace_callable", "trace_end_to_end", "trace_kernel"]


def trace_kernel(
    spec: SpecFile, kernel: Kernel, *, types: Mapping[str, str] | None = None
) -> tuple[Graph | None, list[Diagnostic]]:
    """Trace the reference of one kernel; the graph is None when a finding is an error.

    `types` picks a dtype for each type variable of the file; the first that it may be, where left out.
    """
    if kernel.reference is None:
        written = generate_reference(spec.source, kernel)
        reason = written.reason if isinstance(written, Refusal) else "the file leaves too many to generate"
        return None, [rules.ReferenceMissing(kernel.id, reason).at(spec.source, kernel.span)]
    signature = Signature(f"reference_{kernel.id}", kernel.inputs, kernel.outputs, kernel.span)
    graph, findings = trace(spec, kernel.reference, signature, types=types)
    if kernel.reference.generated:
        note = rules.ReferenceGenerated(kernel.id)
        findings = [note.at(spec.source, kernel.span, notes=(kernel.reference.text.rstrip(),)), *findings]
    return graph, findings


def trace_end_to_end(
    spec: SpecFile, *, types: Mapping[str, str] | None = None
) -> tuple[Graph | None, list[Diagnostic]]:
    """Trace the end-to-end reference; its parameters are kernel inputs by name. None without a reference."""
    if spec.end_to_end is None:
        return None, []
    program, findings = check(spec.end_to_end)
    if program is None:
        return None, findings
    entry = entry_of(program)
    if entry is None:
        rule = rules.ReferenceNameMismatch(f"reference_{spec.name}", None)
        return None, [rule.at(spec.source, None)]
    inputs, missing = composition_inputs(spec, program, entry)
    if missing:
        return None, missing
    span = program.span(program.functions[entry]) or Span(0, 0)
    return trace(spec, spec.end_to_end, Signature(entry, inputs, None, span), types=types)


def trace(
    spec: SpecFile, reference: ReferenceText, signature: Signature, *, types: Mapping[str, str] | None = None
) -> tuple[Graph | None, list[Diagnostic]]:
    """Trace `reference` with `signature`."""
    program, findings = check(reference)
    if program is None:
        return None, findings
    findings = _check_signature(program, signature)
    if any(item.severity is Severity.ERROR for item in findings):
        return None, findings
    with _quiet(), torch.no_grad():
        run = _Run(spec, program, signature, types or {})
        graph, found = run.trace()
        if run.shaping:
            # A scalar that shapes the result is no launch argument: trace again with its value.
            run = _Run(
                spec,
                program,
                signature,
                types or {},
                fixed={name: float(value) for name, value in run.shaping.items()},
            )
            graph, found = run.trace()
        if graph is not None and (numbers := _built_in(run, graph)):
            # A function of torch asked for the number itself and built it into the trace: then let it be the very one.
            run = _Run(spec, program, signature, types or {}, fixed={**run.fixed, **numbers})
            graph, found = run.trace()
        if graph is None and found and run.by_size:
            found = _explain_by_size(spec, program, signature, types or {}) or found
        if graph is not None and signature.outputs is not None:
            found = [*found, *probe(program, signature, run.example, run.probe_sizes(graph))]
            if any(item.severity is Severity.ERROR for item in found):
                graph = None
    return graph, findings + found


def _built_in(run: _Run, graph: Graph) -> dict[str, float]:
    """Return the float scalars whose value is in a number of the trace, with that value: another value gives another trace."""
    numbers = _numbers(graph)
    found: dict[str, float] = {}
    for item in run.signature.inputs:
        if not isinstance(item, ScalarSpec) or item.kind != "float" or item.name in run.fixed:
            continue
        nudged = _Run(run.spec, run.program, run.signature, run.types, fixed=run.fixed, nudged=item.name)
        other, _ = nudged.trace()
        if other is None or _numbers(other) != numbers:
            found[item.name] = float(item.default) if item.default is not None else _FLOAT_HINT
    return found


def _numbers(graph: Graph) -> list[float]:
    found: list[float] = []

    def visit(value: object) -> None:
        if isinstance(value, float):
            found.append(value)
        elif isinstance(value, tuple):
            for item in value:
                visit(item)

    for node in graph.nodes:
        visit(node.args)
        visit(tuple(value for _, value in node.kwargs))
    return found


def trace_callable(
    spec: SpecFile,
    program: Program,
    signature: Signature,
    forward: Callable[[Mapping[str, Value]], Value],
    *,
    types: Mapping[str, str] | None = None,
) -> tuple[Graph | None, list[Diagnostic]]:
    """Trace Python code that has been imported; `program` has its parameters and stands for its text."""
    with _quiet(), torch.no_grad():
        run = _Run(spec, program, signature, types or {}, forward=forward)
        try:
            return run.trace()
        except Exception as error:  # noqa: BLE001 - the code is the reader's own and may raise anything
            return None, [
                rules.ReferenceRaises("forward", _first_line(str(error))).at(spec.source, signature.span)
            ]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep torch's own warnings and logs from the reader: what matters becomes a finding."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


def _explain_by_size(
    spec: SpecFile, program: Program, signature: Signature, types: Mapping[str, str]
) -> list[Diagnostic]:
    """Trace again with sizes that have many divisors: what holds there only is a restriction to state."""
    run = _Run(spec, program, signature, types, smooth=True)
    graph, found = run.trace()
    if graph is not None:
        return []
    return [item for item in found if item.code == rules.SizeRestriction.code]


def _check_signature(program: Program, signature: Signature) -> list[Diagnostic]:
    source = program.reference.source
    if signature.entry not in program.functions:
        found = next(iter(program.functions), None)
        span = None if found is None else _name_span(program, program.functions[found])
        return [rules.ReferenceNameMismatch(signature.entry, found).at(source, span or signature.span)]
    parameters = program.parameters(signature.entry)
    declared = tuple(item.name for item in signature.inputs)
    written = tuple(parameter.name for parameter in parameters)
    function = program.functions[signature.entry]
    if declared != written and signature.outputs is not None:
        rule = rules.ParameterMismatch(signature.entry, declared, written)
        return [rule.at(source, _name_span(program, function), Label(signature.span, "declared here"))]
    findings = []
    scalars = {item.name: item for item in signature.inputs if isinstance(item, ScalarSpec)}
    for parameter in parameters:
        scalar = scalars.get(parameter.name)
        if scalar is None or parameter.default is None or scalar.default is None:
            continue
        value = _literal(program, parameter.default)
        if value is not None and value != scalar.default:
            differs = rules.DefaultDiffers(scalar.name, repr(scalar.default), program.text(parameter.default))
            findings.append(
                differs.at(source, program.span(parameter.default), Label(scalar.span, "declared here"))
            )
    return findings


def _literal(program: Program, node: ast.expr) -> float | int | bool | None:
    try:
        value = Evaluator(program, TorchLibrary(program)).expression(node)
    except Stop:
        return None
    return value if isinstance(value, bool | int | float) else None


def _name_span(program: Program, function: ast.FunctionDef) -> Span | None:
    span = program.span(function)
    if span is None:
        return None
    text = program.reference.source.text
    start = text.find(function.name, span.start)
    return Span(start, start + len(function.name))


@dataclass
class _Run:
    """One trace with one choice of hints."""

    spec: SpecFile
    program: Program
    signature: Signature
    types: Mapping[str, str]
    smooth: bool = False
    fixed: dict[str, float] = field(default_factory=dict)
    nudged: str | None = None
    """A float scalar that is traced a little off its value, to see what depends on it."""
    by_size: bool = False
    forward: Callable[[Mapping[str, Value]], Value] | None = None
    """Imported code to trace in place of the program."""
    shaping: dict[str, int] = field(default_factory=dict)
    guard_places: list[ast.AST] = field(default_factory=list)
    findings: list[Diagnostic] = field(default_factory=list)

    def __post_init__(self) -> None:
        declared = [item.shape for item in self.signature.tensors]
        declared += [item.shape for item in self.signature.outputs or ()]
        self.space = SizeSpace(
            symbols_of(declared), self.spec.dims, tuple(dim for shape in declared for dim in shape)
        )
        self.table = SymbolTable(self.space.equations)
        names = [item.name for item in self.signature.inputs]
        self.recorder = Recorder(self.table, self._place, names, self._limit)
        self.library = TorchLibrary(
            self.program,
            explain=self._explain,
            decide=self._decide,
            define=self._define,
            whole=self.recorder.whole,
            after=self._note_guards,
        )
        self.evaluator = Evaluator(self.program, self.library)

    @property
    def _limit(self) -> int:
        """How many operations may be recorded: a forward pass, whose outputs nobody declares, has more than a kernel."""
        whole = self.signature.outputs is None
        return allow.LIMITS["operations of a forward pass" if whole else "operations"]

    def trace(self) -> tuple[Graph | None, list[Diagnostic]]:
        try:
            return self._trace()
        except Stop as stop:
            return None, [*self.findings, self._located(stop)]
        except NotExpressibleError as error:
            return None, [*self.findings, self._raised(str(error))]
        except OperationLimitError:
            rule = rules.ReferenceLimit("operations", self._limit)
            return None, [*self.findings, self._at_place(rule)]
        except RAISED as error:
            return None, [*self.findings, self._raised(_first_line(self.table.readable(str(error))))]

    def _located(self, stop: Stop) -> Diagnostic:
        """Bind a finding; where two shapes disagree, show where each operand is declared."""
        rule, node = stop.rule, stop.node
        if not isinstance(rule, rules.ContractionMismatch | rules.BroadcastMismatch) or node is None:
            return stop.diagnostic(self.program)
        declared = {item.name: item.shape_span for item in self.signature.tensors}
        labels = [
            Label(declared[name], "declared here") for name in (rule.left, rule.right) if name in declared
        ]
        written = operand_nodes(node)
        shown = written[1] if written is not None and isinstance(rule, rules.ContractionMismatch) else node
        return rule.at(self.program.reference.source, self.program.span(shown), *labels)

    def probe_sizes(self, graph: Graph) -> list[dict[str, int]]:
        """Return small sizes at which every tensor of the trace has elements."""
        fixed = {name: const(hint) for name, hint in self.table.hints.items() if name not in self.space.free}
        inner = tuple(
            dim.substitute(fixed) for node in graph.nodes for meta in node.results for dim in meta.shape
        )
        return replace(self.space, positive=(*self.space.positive, *inner)).samples(_PROBES, least=2, seed=1)

    def example(self, item: TensorSpec | ScalarSpec, sizes: Mapping[str, int]) -> Value:
        """Return an argument at fixed sizes."""
        if isinstance(item, TensorSpec):
            shape = [dim.evaluate(sizes) for dim in item.shape]
            return torch.empty(shape, dtype=getattr(torch, self._dtype(item.dtype)))
        if item.name in sizes:
            return sizes[item.name]
        default = item.default
        return (
            default
            if default is not None
            else {"float": _FLOAT_HINT, "int": _SCALAR_HINT, "bool": False}[item.kind]
        )

    def _trace(self) -> tuple[Graph | None, list[Diagnostic]]:
        for name, hint in self.space.hints(smooth=self.smooth).items():
            self.table.integer(name, hint)
        mode = FakeTensorMode(shape_env=self.table.env, allow_non_fake_inputs=False)
        # A cache of results pays when shapes recur; to fill it costs as much as the call where sizes are symbols.
        mode.cache_enabled = not self.table.integers
        with mode:
            arguments = {item.name: self._argument(item) for item in self.signature.inputs}
            inputs = [
                (item.name, self.recorder.meta(arguments[item.name])) for item in self.signature.tensors
            ]
            scalars = [
                (item.name, item.kind) for item in self.signature.inputs if isinstance(item, ScalarSpec)
            ]
            self.recorder.set_integer_scalars(
                name for name, kind in scalars if kind == "int" and name not in self.space.symbols
            )
            # Composite functions that torch takes apart in C++ would ask for plain integers; their Python twins don't.
            with enable_python_dispatcher(), self.recorder:
                value = (
                    self.evaluator.call(self.signature.entry, arguments)
                    if self.forward is None
                    else self.forward(arguments)
                )
        outputs = self._outputs(value)
        if outputs is None:
            return None, self.findings
        graph = self.recorder.graph(
            self.signature.entry, inputs, scalars, [self.recorder.ref(item) for item in outputs]
        )
        self.shaping = self._shaping(graph)
        if self.shaping:
            return None, self.findings
        self._compare(outputs)
        graph = replace(graph, fixed=self._fix())
        self._restrict()
        self._unused(graph)
        failed = any(item.severity is Severity.ERROR for item in self.findings)
        return (None if failed else graph), self.findings

    def _argument(self, item: TensorSpec | ScalarSpec) -> Value:
        if isinstance(item, TensorSpec):
            dtype = getattr(torch, self._dtype(item.dtype))
            tensor = torch.empty([self.table.size(dim) for dim in item.shape], dtype=dtype)
            self.recorder.add_input(tensor, item.name)
            return tensor
        if item.kind == "bool":
            return bool(item.default)
        if item.kind == "int":
            if item.name in self.fixed:
                return int(self.fixed[item.name])
            default = item.default if isinstance(item.default, int) else _SCALAR_HINT
            return self.table.integers.get(item.name) or self.table.integer(item.name, int(default))
        if item.name in self.fixed:
            return self.fixed[item.name]
        value = float(item.default) if item.default is not None else _FLOAT_HINT
        return self.table.floating(item.name, value * (1 + 1e-6) if item.name == self.nudged else value)

    def _dtype(self, name: str) -> str:
        """Return a torch dtype name; of a type variable the chosen one, else the first that it may be."""
        return self.types.get(name) or (self.spec.types[name][0] if name in self.spec.types else name)

    # places and failures

    def _place(self) -> Place:
        if not self.evaluator.place:
            return Place(None, self.signature.entry)
        node = self.evaluator.place[-1]
        return Place(self.program.span(node), self.program.text(node))

    def _at_place(self, rule: Rule) -> Diagnostic:
        place = self._place()
        return rule.at(self.program.reference.source, place.span or self.signature.span)

    def _raised(self, reason: str) -> Diagnostic:
        return self._at_place(rules.ReferenceRaises(self._place().text, reason))

    def _note_guards(self, node: ast.AST) -> None:
        """Remember which expression each new assumption about sizes comes from."""
        missing = len(self.table.env.guards) - len(self.guard_places)
        self.guard_places.extend([node] * missing)

    def _explain(self, error: BaseException, node: ast.AST, operands: Sequence[Value]) -> Rule:
        if isinstance(error, OperationLimitError):
            return rules.ReferenceLimit("operations", self._limit)
        if type(error).__name__ in _DATA_DEPENDENT:
            return rules.DataDependentControl(self.program.text(node))
        self.by_size = True
        reason = _first_line(self._numbers(self.table.readable(str(error)))) or type(error).__name__
        return explain(self.program, node, operands, self._shape, reason)

    def _numbers(self, message: str) -> str:
        """Replace hints in a message of torch by the dims that they stand for."""
        names = {str(hint): name for name, hint in self.table.hints.items() if hint > _SHOWN_HINT}
        return re.sub(r"\d+", lambda match: names.get(match.group(), match.group()), message)

    def _shape(self, tensor: Tensor) -> tuple[Expr, ...]:
        return tuple(self.table.expr(size) for size in tensor.shape)

    def _define(self, function: str, args: Sequence[Value]) -> Value:
        values = [_hint(arg) for arg in args]
        return self.table.define(function, args, float(getattr(math, function)(*values)))

    def _decide(self, value: SymBool, node: ast.AST) -> bool:
        """Decide a branch on sizes: the answer must be the same for all sizes that the file allows."""
        condition = value.node.expr
        chosen = bool(value.node.evaluate_expr() if hasattr(value.node, "evaluate_expr") else value)
        counter = restrictions(
            [condition if chosen else sympy.Not(condition)], self.table, self.space, strict=True
        )
        if counter:
            text, example = counter[0]
            raise Stop(rules.SizeRestriction(text, example), node)
        return chosen

    # what the reference gives against what is declared

    def _outputs(self, value: Value) -> list[Tensor] | None:
        function = self.program.functions[self.signature.entry]
        values = list(value) if isinstance(value, tuple | list) else [value]
        declared = None if self.signature.outputs is None else len(self.signature.outputs)
        tensors = [item for item in values if isinstance(item, Tensor)]
        if len(tensors) != len(values) or not tensors or (declared is not None and len(tensors) != declared):
            if value is None:
                returned = "nothing"
            elif len(tensors) != len(values):
                returned = "something that is no tensor"
            else:
                returned = f"{len(tensors)} tensor{'s' if len(tensors) > 1 else ''}"
            rule = rules.OutputCountMismatch(
                self.signature.entry, declared if declared is not None else 1, returned
            )
            self._add(rule, last_return(function))
            return None
        return tensors

    def _compare(self, outputs: Sequence[Tensor]) -> None:
        function = self.program.functions[self.signature.entry]
        for declared, tensor in zip(self.signature.outputs or (), outputs, strict=False):
            meta = self.recorder.meta(tensor)
            wanted = tuple(dim.substitute(self.table.equations) for dim in declared.shape)
            source = self.program.reference.source
            label = Label(self.program.span(last_return(function)) or declared.span, "returned here")
            if not self._same_shape(wanted, meta.shape):
                rule = rules.OutputShapeMismatch(
                    declared.name, shape_text(declared.shape), shape_text(meta.shape)
                )
                self.findings.append(rule.at(source, declared.shape_span, label))
            dtype = self._dtype(declared.dtype)
            if dtype != meta.dtype:
                cast = rules.OutputDtypeMismatch(declared.name, declared.dtype, meta.dtype)
                self.findings.append(cast.at(source, declared.dtype_span, label))

    def _same_shape(self, declared: Sequence[Expr], given: Sequence[Expr]) -> bool:
        if len(declared) != len(given):
            return False
        samples = self.space.samples(_SAMPLES)
        for one, other in zip(declared, given, strict=True):
            if one == other:
                continue
            if not (one.symbols | other.symbols) <= set(self.space.symbols) | set(self.space.free):
                return False
            # Two spellings of one size need not have one form: `(W - 1) // 2 + 1` and `(W + 1) // 2`.
            if any(one.evaluate(values) != other.evaluate(values) for values in samples):
                return False
        return True

    def _shaping(self, graph: Graph) -> dict[str, int]:
        """Return the integer scalars that are in the shape of a tensor of the trace, with their value."""
        found = {
            name
            for node in graph.nodes
            for meta in node.results
            for dim in meta.shape
            for name in dim.symbols
        }
        return {name: self.table.hints[name] for name in sorted(found & self.recorder.integer_scalars)}

    def _fix(self) -> tuple[tuple[str, float | bool], ...]:
        """Return the scalars that decided the trace; each is a note."""
        guards = [guard.expr for guard in self.table.env.guards if isinstance(guard.expr, sympy.Eq)]
        fixed: list[tuple[str, float | bool]] = []
        for item in self.signature.inputs:
            if not isinstance(item, ScalarSpec):
                continue
            if item.kind == "bool":
                fixed.append((item.name, bool(item.default)))
            elif item.name in self.fixed:
                value = self.fixed[item.name]
                fixed.append((item.name, int(value) if item.kind == "int" else value))
            elif item.name in self.recorder.integer_scalars and any(
                guard.free_symbols == self._symbols(item.name) for guard in guards
            ):
                fixed.append((item.name, self.table.hints[item.name]))
            else:
                continue
            self.findings.append(
                rules.ScalarFixed(*map(str, fixed[-1])).at(self.program.reference.source, item.span)
            )
        return tuple(fixed)

    def _restrict(self) -> None:
        """Report an assumption about sizes that the file doesn't state: the shortest, for one fault assumes many."""
        found: list[tuple[str, str, ast.AST]] = []
        nodes = [
            *self.guard_places,
            *[self.program.functions[self.signature.entry]] * len(self.table.env.guards),
        ]
        for guard, node in zip(self.table.env.guards, nodes, strict=False):
            found += [(*item, node) for item in restrictions([guard.expr], self.table, self.space)]
        if found:
            text, example, node = min(found, key=lambda item: len(item[0]))
            self._add(rules.SizeRestriction(text, example), node)

    def _symbols(self, name: str) -> set[sympy.Symbol]:
        return {symbol for symbol, known in self.table.names.items() if known == name}

    def _unused(self, graph: Graph) -> None:
        used = _used(graph)
        for item in self.signature.inputs:
            if item.name in used or isinstance(item, ScalarSpec):
                continue
            self.findings.append(rules.UnusedInput(item.name).at(self.program.reference.source, item.span))

    def _add(self, rule: Rule, node: ast.AST) -> None:
        self.findings.append(rule.at(self.program.reference.source, self.program.span(node)))


_LOGGERS = (
    "torch._subclasses.fake_tensor",
    "torch.fx.experimental.symbolic_shapes",
    "torch.fx.experimental.sym_node",
)
_SCALAR_HINT = 2
_FLOAT_HINT = 0.6180339887
_SHOWN_HINT = 100
_SAMPLES = 24
_PROBES = 2
_DATA_DEPENDENT = frozenset(
    {"DataDependentOutputException", "DynamicOutputShapeException", "GuardOnDataDependentSymNode"}
)


def _hint(value: Any) -> float:  # noqa: ANN401 (a symbolic or plain number)
    return float(value.node.hint) if isinstance(value, SymInt | SymFloat) else value


def _first_line(text: str) -> str:
    line = text.strip().split("\n")[0].rstrip(".")
    return line[:1].lower() + line[1:]


def _used(graph: Graph) -> set[str]:
    used = {ref.name for ref in graph.outputs}

    def visit(value: object) -> None:
        if isinstance(value, Ref):
            used.add(value.name)
        elif isinstance(value, tuple):
            for item in value:
                visit(item)

    for node in graph.nodes:
        visit(node.args)
        for _, value in node.kwargs:
            visit(value)
    return used
