"""Wiring: where each kernel input comes from.

Explicit `from=` first, then remarks, then a search. The search only proposes: `assignments` yields candidates in order
of preference, and a later stage takes the first that equals the end-to-end reference numerically.
"""

from __future__ import annotations

import ast
import itertools
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tilespec.diagnostics import Diagnostic, Label, Span
from tilespec.model.dag import ancestors
from tilespec.model.dims import Expr
from tilespec.model.symbols import dim_equations
from tilespec.model.types import Edge, Kernel, ReferenceText, ScalarSpec, SpecFile, TensorSpec
from tilespec.rules import graph as rules
from tilespec.rules.shapes import EdgeMismatch
from tilespec.syntax.names import Guesses
from tilespec.syntax.nodes import KernelNode, TensorNode

__all__ = [
    "CompositionInput",
    "assignments",
    "check_wiring",
    "composition_inputs",
    "end_to_end_parameters",
    "final_outputs",
]

_MOST_LOCAL = 4096
"""Local choices of one kernel that are sorted by preference; beyond that the search gives up on the rest."""
_MOST_GLOBAL = 20_000
"""Assignments of a whole file that are proposed."""

_LONGEST_REMARK = 200

_LOOK_AHEAD = 256
"""Assignments that wait for one that reads every parameter."""

Signature = tuple[tuple[Expr, ...], str]


@dataclass(frozen=True, slots=True)
class CompositionInput:
    """One argument of the composed function: its name, what it is, and the `(kernel, input)` pairs that read it."""

    name: str
    spec: TensorSpec | ScalarSpec
    consumers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Source:
    """What a text says about where an input comes from; `output` None means any output of the kernel."""

    producer: str | None
    output: str | None
    why: str


# what the text says


_LONGEST_REFERENCE = 200_000


@lru_cache(maxsize=256)
def _parameters(text: str) -> tuple[str, ...]:
    if len(text) > _LONGEST_REFERENCE:
        return ()
    try:
        with warnings.catch_warnings():
            # Odd literals are findings of the reference's own check, and no warnings of Python.
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if not functions:
        return ()
    entry = next((each for each in reversed(functions) if each.name.startswith("reference")), functions[-1])
    arguments = entry.args
    return tuple(each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))


def end_to_end_parameters(reference: ReferenceText | None) -> tuple[str, ...]:
    """Return the parameter names of the end-to-end reference, in order; empty without one."""
    return _parameters(reference.text) if reference else ()


_REMARK_KERNEL = re.compile(
    r"(?:the[ ]+)?(?:outputs?|results?)[ ]+(?:`?(?P<tensor>\w+)`?[ ]+)?(?:of|from)[ ]+(?:kernel[ ]+)?`?(?P<kernel>\w+)`?",
    re.IGNORECASE,
)
_REMARK_FROM = re.compile(
    r"(?:from|produced by|computed by|written by|=)[ ]*(?:kernel[ ]+)?`?(?P<kernel>\w+)`?(?:\.(?P<tensor>\w+))?",
    re.IGNORECASE,
)
_REMARK_TENSOR = re.compile(
    r"`?(?P<tensor>\w+)`?[ ]+(?:of|from)[ ]+(?:kernel[ ]+)?`?(?P<kernel>\w+)`?", re.IGNORECASE
)
_REMARK_DOTTED = re.compile(r"`?(?P<kernel>\w+)`?\.`?(?P<tensor>\w+)`?")
_REMARK_SUFFIX = re.compile(
    r"`?(?P<kernel>\w+)`?(?:'s)?[ ]+(?:outputs?|results?)(?:[ ]+`?(?P<tensor>\w+)`?)?", re.IGNORECASE
)
_REMARK_INPUT = re.compile(
    r"\b(?:original|initial|composition|module|model|network|block|external|graph|raw)[ '_]*s?[ ]*(?:inputs?|tensor|(?P<name>\w+))"
    r"(?:[ ]+`?(?P<after>\w+)`?)?",
    re.IGNORECASE,
)


Outputs = Mapping[str, frozenset[str]]
"""Names of the outputs of each kernel."""


def _outputs_of(spec: SpecFile) -> Outputs:
    return {kernel.id: frozenset(output.name for output in kernel.outputs) for kernel in spec.kernels}


def _from_remark(
    outputs: Outputs, kernel: Kernel, tensor: TensorSpec, parameters: tuple[str, ...]
) -> _Source | None:
    """Read a remark as wiring; None when it says nothing about it."""
    remark = tensor.remark
    if not remark or len(remark) > _LONGEST_REMARK:
        return None
    why = f"the remark `({remark})`"
    for pattern in (_REMARK_KERNEL, _REMARK_DOTTED, _REMARK_TENSOR, _REMARK_SUFFIX, _REMARK_FROM):
        for match in pattern.finditer(remark):
            producer, output = match["kernel"], match["tensor"]
            if producer in outputs and producer != kernel.id:
                return _Source(producer, output if output in outputs[producer] else None, why)
    original = _REMARK_INPUT.search(remark)
    if original is None:
        return None
    named = [word for word in (original["after"], original["name"]) if word and word in parameters]
    return _Source(None, named[0] if named else None, why)


def _explicit(outputs: Outputs, tensor: TensorSpec) -> _Source | None:
    if tensor.origin is None:
        return None
    why = f"`from={tensor.origin}`"
    producer, dot, output = tensor.origin.partition(".")
    if dot:
        return _Source(producer, output, why)
    if producer in outputs:
        return _Source(producer, None, why)
    return _Source(None, producer, why)


# the search


@dataclass(frozen=True, slots=True)
class _Choice:
    """One candidate for one input. `rank` orders composition inputs among each other."""

    producer: str | None
    output: str
    rank: int
    inferred: bool
    why: str


@dataclass(slots=True)
class _Frame:
    """One kernel of the search: its choices, and what the current one added."""

    choices: Iterator[tuple[Edge, ...]]
    length: int
    added: tuple[str, ...] = ()


class _Search:
    def __init__(self, spec: SpecFile) -> None:
        self.spec = spec
        self.kernels = {kernel.id: kernel for kernel in spec.kernels}
        self.parameters = end_to_end_parameters(spec.end_to_end)
        self.outputs = _outputs_of(spec)
        self.equations = dim_equations(spec.dims)
        self.names = self.own_names()

    def signature(self, tensor: TensorSpec) -> Signature:
        """Return shape and dtype, with dims that are equations put in."""
        if not self.equations:
            return tensor.shape, tensor.dtype
        return tuple(dim.substitute(self.equations) for dim in tensor.shape), tensor.dtype

    def own_names(self) -> dict[tuple[str, str], str]:
        """Name the composition input that each kernel input would be by itself.

        Inputs of one name are one input if they agree in shape and dtype; those that don't are told apart by their kernel.
        """
        groups: dict[str, dict[Signature, list[str]]] = {}
        for kernel in self.spec.kernels:
            for tensor in kernel.tensors:
                groups.setdefault(tensor.name, {}).setdefault(self.signature(tensor), []).append(kernel.id)
        taken = {*groups, *self.parameters}
        names: dict[tuple[str, str], str] = {}
        for name, signatures in groups.items():
            for position, users in enumerate(signatures.values()):
                own = name
                if position and len(signatures) > 1:
                    own = _unused(f"{users[0]}_{name}", taken)
                    taken.add(own)
                names.update({(user, name): own for user in users})
        return names

    def run(self) -> Iterator[tuple[Edge, ...]]:
        """Yield first the assignments that read every parameter of the end-to-end reference, then the others."""
        order = [self.kernels[ident] for ident in self.spec.order]
        scalars = {scalar.name for kernel in order for scalar in kernel.scalars}
        wanted = set(self.parameters) - scalars
        proposals = itertools.islice(self.extend(order), _MOST_GLOBAL)
        waiting: list[tuple[Edge, ...]] = []
        for edges in proposals:
            read = {edge.output for edge in edges if edge.producer is None}
            if wanted <= read:
                yield edges
                continue
            waiting.append(edges)
            if len(waiting) == _LOOK_AHEAD:
                break
        yield from waiting
        yield from proposals

    def extend(self, order: list[Kernel]) -> Iterator[tuple[Edge, ...]]:
        """Yield the assignments kernel by kernel; the last kernel varies fastest."""
        # An explicit stack: a file may hold more kernels than Python allows calls. What a choice adds is taken back
        # before the next one, so that a step costs what it adds, whatever came before.
        edges: list[Edge] = []
        bound: dict[str, Signature] = {}
        stack: list[_Frame] = []
        while True:
            if len(stack) == len(order):
                yield self.in_file_order(edges)
            else:
                stack.append(_Frame(self.local(order[len(stack)], bound), len(edges)))
            while stack:
                frame = stack[-1]
                for name in frame.added:
                    del bound[name]
                frame.added = ()
                del edges[frame.length :]
                chosen = next(frame.choices, None)
                if chosen is None:
                    stack.pop()
                    continue
                new = self.bind(order[len(stack) - 1], chosen, bound)
                bound.update(new)
                frame.added = tuple(new)
                edges.extend(chosen)
                break
            else:
                return

    def in_file_order(self, edges: Iterable[Edge]) -> tuple[Edge, ...]:
        by_kernel: dict[str, list[Edge]] = {}
        for edge in edges:
            by_kernel.setdefault(edge.consumer, []).append(edge)
        return tuple(edge for kernel in self.spec.kernels for edge in by_kernel.get(kernel.id, ()))

    def bind(
        self, kernel: Kernel, edges: tuple[Edge, ...], bound: Mapping[str, Signature]
    ) -> Mapping[str, Signature]:
        """Return the shapes that composition inputs get through these edges."""
        tensors = {tensor.name: tensor for tensor in kernel.tensors}
        return {
            edge.output: self.signature(tensors[edge.input])
            for edge in edges
            if edge.producer is None and edge.input in tensors and edge.output not in bound
        }

    def local(self, kernel: Kernel, bound: Mapping[str, Signature]) -> Iterator[tuple[Edge, ...]]:
        """Yield the edges of one kernel in order of preference."""
        outputs = [(ident, output) for ident in kernel.dependencies for output in self.kernels[ident].outputs]
        tensors = kernel.tensors
        rows = [self.choices(kernel, tensor, outputs, bound) for tensor in tensors]
        wanted = set(kernel.dependencies)
        combinations = itertools.chain(
            [self.greedy(tensors, rows, outputs)], itertools.islice(itertools.product(*rows), _MOST_LOCAL)
        )
        found = {
            combination: self.preference(kernel, combination, outputs)
            for combination in combinations
            if wanted <= {choice.producer for choice in combination if choice.producer}
        }
        for combination in sorted(found, key=found.__getitem__):
            pairs = dict(zip((tensor.name for tensor in tensors), combination, strict=True))
            yield tuple(self.edge(kernel, item, pairs.get(item.name)) for item in kernel.inputs)

    def greedy(
        self,
        tensors: tuple[TensorSpec, ...],
        rows: list[list[_Choice]],
        outputs: list[tuple[str, TensorSpec]],
    ) -> tuple[_Choice, ...]:
        """Give each output to the input of its name or else to the first free one that fits, and composition inputs to the rest.

        This is the most preferred combination in all but odd cases; where there are too many to sort, it is among those
        that are looked at.
        """
        taken: dict[int, _Choice] = {}
        for same_name in (True, False):
            for producer, output in outputs:
                if any(
                    (choice.producer, choice.output) == (producer, output.name) for choice in taken.values()
                ):
                    continue
                for position, row in enumerate(rows):
                    if position in taken or (same_name and tensors[position].name != output.name):
                        continue
                    match = next(
                        (each for each in row if (each.producer, each.output) == (producer, output.name)),
                        None,
                    )
                    if match is not None:
                        taken[position] = match
                        break
        rest = (next((each for each in row if each.producer is None), row[0]) for row in rows)
        return tuple(taken.get(position, choice) for position, choice in enumerate(rest))

    def edge(self, kernel: Kernel, item: TensorSpec | ScalarSpec, choice: _Choice | None) -> Edge:
        if choice is None:
            return Edge(
                consumer=kernel.id,
                input=item.name,
                producer=None,
                output=item.name,
                inferred=False,
                why="a scalar argument",
            )
        return Edge(
            consumer=kernel.id,
            input=item.name,
            producer=choice.producer,
            output=choice.output,
            inferred=choice.inferred,
            why=choice.why,
        )

    def choices(
        self,
        kernel: Kernel,
        tensor: TensorSpec,
        outputs: list[tuple[str, TensorSpec]],
        bound: Mapping[str, Signature],
    ) -> list[_Choice]:
        """Return what an input may be wired to."""
        said = _explicit(self.outputs, tensor) or _from_remark(self.outputs, kernel, tensor, self.parameters)
        signature = self.signature(tensor)
        if said is not None and said.producer is not None:
            pool = [(said.producer, output) for output in self.kernels[said.producer].outputs]
            fitting = [
                _Choice(producer, output.name, 0, inferred=False, why=said.why)
                for producer, output in pool
                if said.output in {None, output.name} and self.signature(output) == signature
            ]
            if fitting:
                return fitting
        if said is not None and said.producer is None:
            if said.output is not None:
                return [_Choice(None, said.output, 0, inferred=False, why=said.why)]
            return list(self.composition(kernel, tensor, bound, said.why))
        produced = [
            _Choice(
                producer,
                output.name,
                0,
                inferred=True,
                why=f"`{producer}` is a dependency and its `{output.name}` has "
                + ("this name, shape and dtype" if output.name == tensor.name else "this shape and dtype"),
            )
            for producer, output in outputs
            if self.signature(output) == signature
        ]
        return produced + list(self.composition(kernel, tensor, bound, None))

    def composition(
        self, kernel: Kernel, tensor: TensorSpec, bound: Mapping[str, Signature], said: str | None
    ) -> Iterator[_Choice]:
        """Yield composition inputs for a tensor: its own name, then those nobody has claimed, then all that fit."""
        own = self.names[kernel.id, tensor.name]
        signature = self.signature(tensor)
        if not self.parameters:
            yield _Choice(None, own, 0, inferred=False, why=said or "no kernel produces it")
            return
        inferred = said is None
        scalars = {scalar.name for each in self.spec.kernels for scalar in each.scalars}
        claimed = {name for _, name in self.names}
        rank = itertools.count()
        names = [name for name in self.parameters if name not in claimed and name not in scalars]
        if own in self.parameters:
            names.insert(0, own)
        else:
            names += [
                name for name in self.parameters if name not in scalars and bound.get(name) == signature
            ]
        for name in dict.fromkeys(names):
            if name in bound and bound[name] != signature:
                continue
            why = said or (
                f"the composition has an input `{name}`"
                if name == tensor.name
                else f"the composition's `{name}` fits"
            )
            yield _Choice(None, name, next(rank), inferred=inferred and name != tensor.name, why=why)
        if not names:
            yield _Choice(None, own, next(rank), inferred=inferred, why=said or "no kernel produces it")

    def preference(
        self, kernel: Kernel, combination: tuple[_Choice, ...], outputs: list[tuple[str, TensorSpec]]
    ) -> tuple[object, ...]:
        """Sort key: equal names of produced tensors first, each output once, then declaration order."""
        taken: dict[tuple[str, str], list[int]] = {}
        equal = 0
        ranks: list[int] = []
        for position, choice in enumerate(combination):
            if choice.producer is None:
                ranks.append(choice.rank)
                continue
            taken.setdefault((choice.producer, choice.output), []).append(position)
            equal += choice.output == kernel.tensors[position].name
        repeated = sum(len(positions) - 1 for positions in taken.values())
        last = len(combination)
        places = tuple(taken.get((producer, output.name), [last])[0] for producer, output in outputs)
        return (-equal, repeated, -len(taken), places, tuple(ranks))


def _unused(name: str, taken: set[str]) -> str:
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    return candidate


def assignments(spec: SpecFile) -> Iterator[tuple[Edge, ...]]:
    """Yield complete wirings in order of preference: one edge for each input of each kernel, in file order.

    Every wiring has matching shapes and dtypes and consumes every declared dependency. Lazily generated; the first one
    that the end-to-end reference confirms is the right one.
    """
    return _Search(spec).run()


def composition_inputs(spec: SpecFile, edges: tuple[Edge, ...]) -> tuple[CompositionInput, ...]:
    """Return the arguments of the composed function: end-to-end parameters in their order, then all others as used."""
    found: dict[str, list[tuple[str, str]]] = {}
    specs: dict[str, TensorSpec | ScalarSpec] = {}
    items = {(kernel.id, item.name): item for kernel in spec.kernels for item in kernel.inputs}
    for edge in edges:
        if edge.producer is not None:
            continue
        item = items[edge.consumer, edge.input]
        found.setdefault(edge.output, []).append((edge.consumer, edge.input))
        known = specs.setdefault(edge.output, item)
        if isinstance(item, ScalarSpec) and isinstance(known, ScalarSpec) and known.default is None:
            specs[edge.output] = item
    parameters = end_to_end_parameters(spec.end_to_end)
    tensors_first = sorted(found, key=lambda name: isinstance(specs[name], ScalarSpec))
    order = [name for name in parameters if name in found]
    order += [name for name in tensors_first if name not in order]
    return tuple(CompositionInput(name, specs[name], tuple(found[name])) for name in order)


def final_outputs(spec: SpecFile, edges: tuple[Edge, ...]) -> tuple[tuple[str, TensorSpec], ...]:
    """Return the outputs that no kernel consumes, in file order, each with the id of its kernel."""
    consumed = {(edge.producer, edge.output) for edge in edges}
    return tuple(
        (kernel.id, output)
        for kernel in spec.kernels
        for output in kernel.outputs
        if (kernel.id, output.name) not in consumed
    )


# the check


def check_wiring(spec: SpecFile, nodes: Mapping[str, KernelNode]) -> list[Diagnostic]:
    """Report what the written wiring gets wrong, without a search."""
    return list(_Checker(spec, nodes).run())


class _Checker:
    def __init__(self, spec: SpecFile, nodes: Mapping[str, KernelNode]) -> None:
        self.spec = spec
        self.nodes = nodes
        self.kernels = {kernel.id: kernel for kernel in spec.kernels}
        self.outputs = _outputs_of(spec)
        self.parameters = end_to_end_parameters(spec.end_to_end)
        self.guesses = Guesses()
        self.equations = dim_equations(spec.dims)
        self.dependencies = {kernel.id: kernel.dependencies for kernel in spec.kernels}
        self.by_name: dict[str, list[tuple[str, TensorSpec]]] = {}
        for kernel in spec.kernels:
            for output in kernel.outputs:
                if output.inplace is None:
                    self.by_name.setdefault(output.name, []).append((kernel.id, output))

    def signature(self, tensor: TensorSpec) -> Signature:
        if not self.equations:
            return tensor.shape, tensor.dtype
        return tuple(dim.substitute(self.equations) for dim in tensor.shape), tensor.dtype

    def run(self) -> Iterator[Diagnostic]:
        for kernel in self.spec.kernels:
            failed: set[str] = set()
            for tensor in kernel.tensors:
                if tensor.origin or tensor.remark:
                    yield from self.written(kernel, tensor, failed)
                # An entry of `Dependencies` that is wrong has its own finding, and may have been meant.
                whole = len(kernel.dependencies) == len(self.nodes[kernel.id].dependencies or ())
                if whole and tensor.origin is None and tensor.name in self.by_name:
                    yield from self.unlisted(kernel, tensor)
            yield from self.unconsumed(kernel, failed)
            yield from self.shared(kernel)

    def written(self, kernel: Kernel, tensor: TensorSpec, failed: set[str]) -> Iterator[Diagnostic]:
        """Check one `from=` or remark."""
        source = self.spec.source
        node = next(each for each in self.nodes[kernel.id].inputs or () if each.name.text == tensor.name)
        place = node.origin if isinstance(node, TensorNode) and node.origin else node.remark
        if place is None:
            return
        said = _explicit(self.outputs, tensor)
        explicit = said is not None
        if said is None:
            said = _from_remark(self.outputs, kernel, tensor, self.parameters)
        if said is None:
            return
        if said.producer is None:
            if explicit:
                yield from self.unknown_input(tensor, place.span)
            return
        producer = self.kernels.get(said.producer)
        if producer is None:
            close = self.guesses.closest(said.producer, self.kernels)
            fixed = f"{close}.{said.output}" if close else None
            reason = f"no kernel `{said.producer}`"
            yield rules.UndefinedSource(tensor.origin or "", reason, fixed).at(source, place.span)
            return
        if producer.id == kernel.id:
            yield rules.UndefinedSource(tensor.origin or "", "it is the kernel itself").at(source, place.span)
            return
        if producer.id not in kernel.dependencies:
            failed.add(producer.id)
            yield rules.UndeclaredDependency(kernel.id, tensor.name, producer.id).at(source, place.span)
            return
        outputs = {output.name: output for output in producer.outputs}
        if said.output is not None and said.output not in outputs:
            close = self.guesses.closest(said.output, outputs) or (
                next(iter(outputs)) if len(outputs) == 1 else None
            )
            failed.add(producer.id)
            fixed = f"{producer.id}.{close}" if close else None
            reason = f"`{producer.id}` has no output `{said.output}`"
            yield rules.UndefinedSource(tensor.origin or "", reason, fixed).at(source, place.span)
            return
        candidates = [outputs[said.output]] if said.output else list(outputs.values())
        if all(self.signature(output) != self.signature(tensor) for output in candidates):
            failed.add(producer.id)
            output = candidates[0]
            rule = EdgeMismatch(
                f"{kernel.id}.{tensor.name}",
                f"{producer.id}.{output.name}",
                _describe(tensor),
                _describe(output),
            )
            span = tensor.shape_span if output.shape != tensor.shape else tensor.dtype_span
            other = output.shape_span if output.shape != tensor.shape else output.dtype_span
            yield rule.at(source, span, Label(other, "the output"))

    def unlisted(self, kernel: Kernel, tensor: TensorSpec) -> Iterator[Diagnostic]:
        """Report an input named, shaped and typed as the output of one kernel that isn't under `Dependencies`.

        Not where a dependency fits as well, where a remark or the end-to-end reference says where it comes from, or where
        that kernel itself waits for this one.
        """
        producers = self.by_name[tensor.name]
        if len(producers) > 1 or producers[0][0] == kernel.id or tensor.name in self.parameters:
            return
        ((ident, output),) = producers
        signature = self.signature(tensor)
        listed = [each for name in kernel.dependencies for each in self.kernels[name].outputs]
        if self.signature(output) != signature or any(self.signature(each) == signature for each in listed):
            return
        if _from_remark(self.outputs, kernel, tensor, self.parameters) is not None or kernel.id in ancestors(
            ident, self.dependencies
        ):
            return
        rule = rules.UndeclaredDependency(kernel.id, tensor.name, ident, by_name=True)
        yield rule.at(self.spec.source, tensor.span, Label(output.span, "the output"))

    def unknown_input(self, tensor: TensorSpec, span: Span) -> Iterator[Diagnostic]:
        name = tensor.origin or ""
        if not self.parameters or name in self.parameters:
            return
        close = self.guesses.closest(name, (*self.parameters, *self.kernels))
        reason = "no kernel and no parameter of the end-to-end reference has this name"
        yield rules.UndefinedSource(name, reason, close).at(self.spec.source, span)

    def unconsumed(self, kernel: Kernel, failed: set[str]) -> Iterator[Diagnostic]:
        """Report dependencies none of whose outputs fits an input."""
        wanted = {self.signature(tensor) for tensor in kernel.tensors}
        for ident in kernel.dependencies:
            producer = self.kernels[ident]
            if ident in failed or any(self.signature(output) in wanted for output in producer.outputs):
                continue
            name = next(each for each in self.nodes[kernel.id].dependencies or () if each.text == ident)
            shown = tuple(f"{output.name}: {_describe(output)}" for output in producer.outputs)
            labels = [Label(producer.outputs[0].shape_span, "its output")]
            yield rules.UnconsumedDependency(kernel.id, ident, shown).at(self.spec.source, name.span, *labels)

    def shared(self, kernel: Kernel) -> Iterator[Diagnostic]:
        """Report `Shared with` a kernel that can't read anything that this one reads."""
        for other_id in kernel.shared_with:
            other = self.kernels[other_id]
            mine = {self.signature(tensor) for tensor in kernel.tensors}
            names = {item.name for item in kernel.inputs} & {item.name for item in other.inputs}
            same_source = set(kernel.dependencies) & set(other.dependencies)
            if names or (same_source and mine & {self.signature(tensor) for tensor in other.tensors}):
                continue
            if self.spec.end_to_end and mine & {self.signature(tensor) for tensor in other.tensors}:
                continue
            name = next(each for each in self.nodes[kernel.id].shared_with if each.text == other_id)
            yield rules.NothingShared(kernel.id, other_id).at(self.spec.source, name.span)


def _describe(tensor: TensorSpec) -> str:
    comma = "," if len(tensor.shape) == 1 else ""
    return f"({', '.join(map(str, tensor.shape))}{comma}) {tensor.dtype}"
