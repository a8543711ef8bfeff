"""Write the reference of a kernel that has none, from `Operations` and the tensors, where these leave no choice.

Operations are taken in order. Each works on the result of the one before and on inputs that nothing has used yet; a
product may also start anew from the first input. All ways in which shapes fit and every input is used are compared: an
input whose name says which operand it is goes first, then the order of declaration. Two ways that are equally good are
a choice, and nothing is written.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilespec.diagnostics import SourceText, Span
from tilespec.model.dims import Expr
from tilespec.model.dtypes import FLOATS
from tilespec.model.recipes import (
    AXIS,
    BINARY,
    GATED,
    LOSSES,
    NORMS,
    REDUCTIONS,
    ROLES,
    UNARY,
    WITHOUT_RECIPE,
)
from tilespec.model.types import Kernel, Operation, ReferenceText, ScalarSpec, TensorSpec

__all__ = ["MOST_STEPS", "Budget", "Refusal", "generate_reference", "has_recipe"]

MOST_STEPS = 2000
"""States that are looked at before a kernel counts as undecidable."""
_MOST_AXES = 4
_LAST_AXIS = frozenset({"softmax", "log_softmax", "softmin"})
_TENSORS_ONLY = frozenset({"maximum", "minimum", "atan2"})
_DIM_LABEL = re.compile(r"(?:dim|axis)[ ]*=[ ]*(-?\d+)")
_LOW_PRECISION = frozenset({"float16", "bfloat16"})
_EMBEDDED = frozenset({"embedding"})
_DIRECT = frozenset({"matmul", "linear", "attention", "clamp", "cast"}) | _EMBEDDED

Shape = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no reference can be written; `span` is the operation that leaves a choice, if one does."""

    reason: str
    span: Span


@dataclass(slots=True)
class Budget:
    """States that may still be looked at, shared by the kernels of a file so that no file takes long."""

    left: int


@dataclass(frozen=True, slots=True)
class _Value:
    """A tensor while the reference is written: an input, or the variable that holds a result."""

    text: str
    shape: Shape
    dtype: str
    role: str = ""


@dataclass(frozen=True, slots=True)
class _State:
    """Lines written so far, results that are still to be used, inputs that are.

    `cost` counts names that say something else, then inputs that were passed over.
    """

    lines: tuple[tuple[str, str, Span], ...]
    open: tuple[_Value, ...]
    tensors: tuple[_Value, ...]
    scalars: tuple[ScalarSpec, ...]
    cost: tuple[int, int]


def generate_reference(
    source: SourceText, kernel: Kernel, budget: Budget | None = None
) -> ReferenceText | Refusal:
    """Return the reference that the operations of `kernel` determine, or why they determine none."""
    whole = (
        Span(kernel.operations[0].span.start, kernel.operations[-1].span.end) if kernel.operations else None
    )
    if whole is None:
        return Refusal("`Operations` is empty", kernel.span)
    for operation in kernel.operations:
        if not has_recipe(operation.name):
            return Refusal(_unwritten(operation), operation.span)
        if operation.name == "rms_norm" and not any(_says(item.name, "eps") for item in kernel.scalars):
            reason = f"`{operation.written}` needs an epsilon: add `eps: scalar float = 1e-6` to `Inputs`"
            return Refusal(reason, operation.span)
    writer = _Writer(kernel, budget or Budget(MOST_STEPS))
    found = writer.solutions()
    if not found:
        names = ", ".join(f"`{item.name}`" for item in kernel.outputs)
        reason = f"no order of operands uses every input and gives {names} the declared shape and dtype"
        return Refusal(reason, whole)
    best = min(cost for cost, _ in found)
    texts = list(dict.fromkeys(text for cost, text in found if cost == best))
    if len(texts) > 1 or writer.exhausted:
        one, other = (
            [_difference(texts[0], texts[1]), _difference(texts[1], texts[0])] if len(texts) > 1 else ("", "")
        )
        reason = (
            f"`{one}` and `{other}` fit equally"
            if one
            else "there are too many orders of operands to compare"
        )
        return Refusal(reason, whole)
    lines = texts[0]
    return ReferenceText(
        source=source,
        text="\n".join(text for text, _ in lines) + "\n",
        first_line=1,
        generated=tuple(span for _, span in lines),
    )


def has_recipe(name: str) -> bool:
    """Whether the operands of an operation can say all that its reference needs."""
    tables = (UNARY, BINARY, GATED, AXIS, REDUCTIONS, NORMS, LOSSES, _DIRECT)
    return any(name in table for table in tables)


def _unwritten(operation: Operation) -> str:
    for beginning, needs in WITHOUT_RECIPE.items():
        if operation.name.startswith(beginning):
            return f"`{operation.written}` needs {needs}, which no field gives"
    return f"`{operation.written}` can be computed in more than one way"


def _difference(one: tuple[tuple[str, Span], ...], other: tuple[tuple[str, Span], ...]) -> str:
    for (mine, _), (theirs, _) in itertools.zip_longest(one, other, fillvalue=("", Span(0, 0))):
        if mine != theirs:
            return mine.strip()
    return ""


Lines = tuple[tuple[str, Span], ...]


class _Writer:
    """Tries the ways to give each operation its operands."""

    def __init__(self, kernel: Kernel, budget: Budget) -> None:
        self.budget = budget
        self.kernel = kernel
        self.inputs = {item.name for item in kernel.inputs}
        self.first = _value(kernel.tensors[0]) if kernel.tensors else None
        self.exhausted = False
        self.steps = 0

    def solutions(self) -> list[tuple[tuple[int, int], Lines]]:
        """Return every complete reference with its cost."""
        tensors = tuple(_value(item) for item in self.kernel.tensors)
        start = _State((), (), tensors, self.kernel.scalars, (0, 0))
        found: list[tuple[tuple[int, int], Lines]] = []
        stack = [(start, 0)]
        while stack:
            state, index = stack.pop()
            self.steps += 1
            self.budget.left -= 1
            if self.steps > MOST_STEPS or self.budget.left < 0:
                self.exhausted = True
                break
            if index == len(self.kernel.operations):
                lines = self.finish(state)
                if lines is not None:
                    found.append((state.cost, lines))
                continue
            operation = self.kernel.operations[index]
            last = index + 1 == len(self.kernel.operations)
            stack.extend((after, index + 1) for after in self.apply(state, operation, last=last))
        return found

    def finish(self, state: _State) -> Lines | None:
        """Return the lines of a state that uses all inputs and gives all outputs; None for any other."""
        outputs = self.kernel.outputs
        if state.tensors or state.scalars or len(state.open) != len(outputs):
            return None
        results = []
        for value, output in zip(state.open, outputs, strict=True):
            if value.shape != output.shape:
                return None
            cast = value.dtype != output.dtype
            if cast and not output.dtype.startswith(("float", "bfloat", "int", "uint", "bool")):
                return None
            results.append(f"{value.text}.to(torch.{output.dtype})" if cast else value.text)
        signature = ", ".join(
            item.name
            if isinstance(item, TensorSpec) or item.default is None
            else f"{item.name}={item.default!r}"
            for item in _required_first(self.kernel.inputs)
        )
        head = (f"def reference_{self.kernel.id}({signature}):", state.lines[0][2])
        body = [(f"    {name} = {text}", span) for name, text, span in state.lines]
        name, text, span = state.lines[-1]
        if results == [name]:
            body[-1] = (f"    return {text}", span)
        else:
            body.append((f"    return {', '.join(results)}", span))
        return (head, *body)

    # one operation

    def apply(self, state: _State, operation: Operation, *, last: bool) -> Iterator[_State]:
        """Yield every state after `operation`."""
        by_table = (
            (UNARY, self.unary),
            (BINARY, self.binary),
            (GATED, self.gated),
            (AXIS, self.axis),
            (NORMS, self.norm),
            (LOSSES, self.loss),
            ({"matmul"}, self.matmul),
            ({"linear"}, self.linear),
            ({"attention"}, self.attention),
            ({"embedding"}, self.embedding),
            ({"clamp"}, self.clamp),
        )
        for names, method in by_table:
            if operation.name in names:
                yield from method(state, operation)
        if operation.name in REDUCTIONS:
            yield from self.reduction(state, operation, last=last)
        if operation.name == "cast":
            yield from self.cast(state, operation, last=last)

    def unary(self, state: _State, operation: Operation) -> Iterator[_State]:
        form = UNARY[operation.name]
        how = self.kernel.numerics.approximate.get(operation.name)
        if operation.name == "gelu" and how == "tanh":
            form = 'F.gelu({}, approximate="tanh")'
        for value, rest in self.operand(state, any_open=True):
            yield self.put(rest, value, form.format(value.text), value.shape, value.dtype, operation)
            if operation.name == "leaky_relu":
                for scalar, after in self.scalar(rest, "slope"):
                    text = f"F.leaky_relu({value.text}, {scalar.name})"
                    yield self.put(after, value, text, value.shape, value.dtype, operation)

    def binary(self, state: _State, operation: Operation) -> Iterator[_State]:
        form = BINARY[operation.name]
        role = {"bias_add": "bias", "scale": "scale"}.get(operation.name, "")
        if "residual" in operation.written:
            role = "residual"
        for value, rest in self.operand(state):
            for other, after in self.second(rest, role):
                shape = _broadcast(value.shape, other.shape)
                dtype = _promoted(value.dtype, other.dtype)
                if shape is not None and dtype is not None:
                    text = form.format(*_in_order(state, value, other))
                    yield self.put(after, value, text, shape, dtype, operation)
            if operation.name not in _TENSORS_ONLY:
                for scalar, after in self.scalar(rest, role):
                    text = form.format(value.text, scalar.name)
                    yield self.put(after, value, text, value.shape, value.dtype, operation)

    def gated(self, state: _State, operation: Operation) -> Iterator[_State]:
        if len(state.open) > 1:
            gate, other = state.open[-2:]
            pairs = [(gate, other, replace(state, open=state.open[:-2]))]
        else:
            pairs = [
                (gate, other, after)
                for gate, rest in self.operand(state, role="gate")
                for other, after in self.second(rest, "")
            ]
        for gate, other, after in pairs:
            if gate.shape == other.shape and gate.dtype == other.dtype:
                text = GATED[operation.name].format(gate.text, other.text)
                yield self.put(after, gate, text, gate.shape, gate.dtype, operation)

    def axis(self, state: _State, operation: Operation) -> Iterator[_State]:
        for value, rest in self.operand(state, any_open=True):
            rank = len(value.shape)
            label = _DIM_LABEL.search(operation.label or "")
            axes = [int(label[1])] if label else [-1] if operation.name in _LAST_AXIS else range(-rank, 0)
            for axis in axes:
                if -rank <= axis < rank:
                    text = AXIS[operation.name].format(value.text, axis)
                    yield self.put(rest, value, text, value.shape, value.dtype, operation)

    def reduction(self, state: _State, operation: Operation, *, last: bool) -> Iterator[_State]:
        for value, rest in self.operand(state, any_open=True):
            rank = len(value.shape)
            if not 0 < rank <= _MOST_AXES:
                continue
            label = _DIM_LABEL.search(operation.label or "")
            choices: list[tuple[int, ...]]
            if label:
                choices = [(int(label[1]) % rank,)] if -rank <= int(label[1]) < rank else []
            else:
                choices = [
                    axes for size in range(1, rank + 1) for axes in itertools.combinations(range(rank), size)
                ]
            for axes in choices:
                for keep in (False, True):
                    shape = tuple(
                        Expr.wrap(1) if at in axes else dim
                        for at, dim in enumerate(value.shape)
                        if keep or at not in axes
                    )
                    if last and shape not in {item.shape for item in self.kernel.outputs}:
                        continue
                    written = [axis - rank if rank > 1 and axis == rank - 1 else axis for axis in axes]
                    dims = str(written[0]) if len(written) == 1 else f"({', '.join(map(str, written))})"
                    form = REDUCTIONS[operation.name]
                    text = form.format(value.text, dims, ", keepdim=True" if keep else "")
                    yield self.put(rest, value, text, shape, value.dtype, operation)

    def norm(self, state: _State, operation: Operation) -> Iterator[_State]:
        kinds = ("weight", "bias") if operation.name == "layer_norm" else ("weight",)
        for value, rest in self.operand(state, any_open=True):
            for chosen, after in self.affine(rest, kinds, value):
                weight = chosen.get("weight")
                shape = (
                    f"{next(iter(chosen.values())).text}.shape" if chosen else f"({value.text}.shape[-1],)"
                )
                named = [f"{kind}={chosen[kind].text}" for kind in kinds if kind in chosen]
                if weight is not None and (len(chosen) == len(kinds) or kinds == ("weight",)):
                    named = [chosen[kind].text for kind in kinds if kind in chosen]
                scalars = list(self.scalar(after, "eps", named_only=True))
                call = f"F.{operation.name}({', '.join([value.text, shape, *named])}"
                for scalar, done in scalars:
                    text = f"{call}, eps={scalar.name})"
                    yield self.put(done, value, text, value.shape, value.dtype, operation)
                if operation.name == "layer_norm":
                    yield self.put(after, value, f"{call})", value.shape, value.dtype, operation)

    def affine(
        self, state: _State, kinds: tuple[str, ...], value: _Value
    ) -> Iterator[tuple[dict[str, _Value], _State]]:
        """Yield choices of weight and bias whose shape ends that of `value`."""
        yield {}, state
        for position, kind in enumerate(kinds):
            for item, rest in self.unused(state, kind):
                ends = item.shape and value.shape[-len(item.shape) :] == item.shape
                if not ends or item.dtype != value.dtype:
                    continue
                yield {kind: item}, rest
                for other in kinds[position + 1 :]:
                    for second, after in self.unused(rest, other):
                        if second.dtype == value.dtype and second.shape == item.shape:
                            yield {kind: item, other: second}, after

    def loss(self, state: _State, operation: Operation) -> Iterator[_State]:
        classes = operation.name == "cross_entropy"
        for value, rest in self.operand(state):
            for target, after in self.second(rest, ""):
                wanted = (value.shape[:1] + value.shape[2:]) if classes else value.shape
                fits = target.dtype == "int64" if classes else target.dtype == value.dtype
                if fits and target.shape == wanted:
                    text = LOSSES[operation.name].format(value.text, target.text)
                    yield self.put(after, value, text, (), value.dtype, operation)

    def matmul(self, state: _State, operation: Operation) -> Iterator[_State]:
        for value, rest in self.operand(state, anew=True):
            for other, after in self.second(rest, "", newest=False):
                if value.dtype != other.dtype:
                    continue
                plain = _product(value.shape, other.shape)
                turned = None
                if plain is None and len(other.shape) > 1:
                    turned = _product(value.shape, (*other.shape[:-2], other.shape[-1], other.shape[-2]))
                shape = plain if plain is not None else turned
                if shape is not None:
                    transposed = ".T" if len(other.shape) == 2 else ".mT"
                    text = f"{value.text} @ {other.text}{'' if plain is not None else transposed}"
                    role = operation.label or other.role or other.text
                    yield self.put(after, value, text, shape, value.dtype, operation, role)

    def linear(self, state: _State, operation: Operation) -> Iterator[_State]:
        for value, rest in self.operand(state, anew=True):
            for weight, after in self.unused(rest, "weight"):
                if weight.dtype != value.dtype or len(weight.shape) != 2 or not value.shape:
                    continue
                role = operation.label or weight.text
                inner = value.shape[-1]
                if weight.shape[1] == inner:
                    shape = (*value.shape[:-1], weight.shape[0])
                    forms = (
                        f"F.linear({value.text}, {weight.text})",
                        f"F.linear({value.text}, {weight.text}, {{}})",
                    )
                elif weight.shape[0] == inner:
                    shape = (*value.shape[:-1], weight.shape[1])
                    forms = (f"{value.text} @ {weight.text}", f"{value.text} @ {weight.text} + {{}}")
                else:
                    continue
                yield self.put(after, value, forms[0], shape, value.dtype, operation, role)
                for bias, done in self.unused(after, "bias"):
                    if bias.shape == shape[-1:] and bias.dtype == value.dtype:
                        yield self.put(
                            done, value, forms[1].format(bias.text), shape, value.dtype, operation, role
                        )

    def attention(self, state: _State, operation: Operation) -> Iterator[_State]:
        for query, one in self.operand(state):
            for key, two in self.unused(one, ""):
                for value, three in self.unused(two, ""):
                    ranks = {len(query.shape), len(key.shape), len(value.shape)}
                    if ranks != {4} or len({query.dtype, key.dtype, value.dtype}) > 1:
                        continue
                    fits = query.shape[-1] == key.shape[-1] and key.shape[:-1] == value.shape[:-1]
                    if not fits or query.shape[:2] != key.shape[:2]:
                        continue
                    shape = (*query.shape[:-1], value.shape[-1])
                    call = f"F.scaled_dot_product_attention({query.text}, {key.text}, {value.text}"
                    yield self.put(three, query, f"{call})", shape, query.dtype, operation)
                    for scalar, done in self.scalar(three, "scale", named_only=True):
                        text = f"{call}, scale={scalar.name})"
                        yield self.put(done, query, text, shape, query.dtype, operation)

    def embedding(self, state: _State, operation: Operation) -> Iterator[_State]:
        for index, rest in self.operand(state):
            for weight, after in self.unused(rest, "weight"):
                if index.dtype in {"int32", "int64"} and len(weight.shape) == 2:
                    text = f"F.embedding({index.text}, {weight.text})"
                    shape = (*index.shape, weight.shape[1])
                    yield self.put(after, index, text, shape, weight.dtype, operation)

    def clamp(self, state: _State, operation: Operation) -> Iterator[_State]:
        for value, rest in self.operand(state, any_open=True):
            for low, after in self.scalar(rest, "low", named_only=True):
                text = f"torch.clamp({value.text}, min={low.name})"
                yield self.put(after, value, text, value.shape, value.dtype, operation)
                for high, done in self.scalar(after, "high", named_only=True):
                    text = f"torch.clamp({value.text}, {low.name}, {high.name})"
                    yield self.put(done, value, text, value.shape, value.dtype, operation)
            for high, after in self.scalar(rest, "high", named_only=True):
                text = f"torch.clamp({value.text}, max={high.name})"
                yield self.put(after, value, text, value.shape, value.dtype, operation)

    def cast(self, state: _State, operation: Operation, *, last: bool) -> Iterator[_State]:
        for value, rest in self.operand(state, any_open=True):
            if not last:
                if value.dtype in _LOW_PRECISION:
                    text = f"{value.text}.float()"
                    yield self.put(rest, value, text, value.shape, "float32", operation)
                continue
            for dtype in {item.dtype for item in self.kernel.outputs}:
                text = f"{value.text}.to(torch.{dtype})"
                yield self.put(rest, value, text, value.shape, dtype, operation)

    # operands

    def operand(
        self, state: _State, *, anew: bool = False, any_open: bool = False, role: str = ""
    ) -> Iterator[tuple[_Value, _State]]:
        """Yield what an operation may work on: the latest result, else an input that nothing has used."""
        if not state.open:
            yield from self.unused(state, role)
            return
        if any_open and len(state.open) > 1:
            gates = [value for value in state.open if "gate" in value.role]
            for value in gates or state.open:
                yield value, state
            return
        yield state.open[-1], replace(state, open=state.open[:-1])
        if anew and self.first is not None and self.first not in state.tensors:
            yield self.first, replace(state, cost=(state.cost[0], state.cost[1] + 1))

    def second(self, state: _State, role: str, *, newest: bool = True) -> Iterator[tuple[_Value, _State]]:
        """Yield the other operand: an unused input, or the result before the latest."""
        if newest and state.open:
            yield state.open[-1], replace(state, open=state.open[:-1])
        yield from self.unused(state, role)

    def unused(self, state: _State, role: str) -> Iterator[tuple[_Value, _State]]:
        """Yield inputs that nothing has used, the one whose name or place fits best first."""
        for position, value in enumerate(state.tensors):
            rest = state.tensors[:position] + state.tensors[position + 1 :]
            names, passed = state.cost
            cost = (names + _misnamed(value.text, role), passed + position)
            yield value, replace(state, tensors=rest, cost=cost)

    def scalar(
        self, state: _State, role: str, *, named_only: bool = False
    ) -> Iterator[tuple[ScalarSpec, _State]]:
        """Yield scalars that nothing has used; with `named_only` those whose name says this role."""
        for position, item in enumerate(state.scalars):
            wrong = _misnamed(item.name, role)
            if named_only and wrong:
                continue
            rest = state.scalars[:position] + state.scalars[position + 1 :]
            yield item, replace(state, scalars=rest, cost=(state.cost[0] + wrong, state.cost[1] + position))

    def put(
        self,
        state: _State,
        operand: _Value,
        text: str,
        shape: Shape,
        dtype: str,
        operation: Operation,
        role: str = "",
    ) -> _State:
        """Return the state after `variable = text`; a result takes the variable of its first operand."""
        if operand.text in self.inputs:
            taken = {value.text for value in state.open}
            name = next(each for each in self.names() if each not in taken)
        else:
            name = operand.text
        value = _Value(name, shape, dtype, role or operand.role)
        held = [item for item in state.open if item.text != name]
        position = next((at for at, item in enumerate(state.open) if item.text == name), len(held))
        held.insert(position, value)
        return replace(state, lines=(*state.lines, (name, text, operation.span)), open=tuple(held))

    def names(self) -> Iterator[str]:
        base = self.kernel.outputs[0].name
        if base in self.inputs:
            base = "result"
        candidates = itertools.chain([base], (f"{base}_{number}" for number in itertools.count(2)))
        return (name for name in candidates if name not in self.inputs)


def _in_order(state: _State, value: _Value, other: _Value) -> tuple[str, str]:
    """Return the operands, of two results the earlier one first."""
    return (other.text, value.text) if other in state.open else (value.text, other.text)


def _value(item: TensorSpec) -> _Value:
    return _Value(item.name, item.shape, item.dtype, item.name)


def _required_first(inputs: tuple[TensorSpec | ScalarSpec, ...]) -> Iterator[TensorSpec | ScalarSpec]:
    """Yield the inputs; a default that stands before an argument without one can't be written, and is left out."""
    later_required = False
    kept: list[TensorSpec | ScalarSpec] = []
    for item in reversed(inputs):
        if isinstance(item, TensorSpec) or item.default is None:
            later_required = True
            kept.append(item)
        else:
            kept.append(item.model_copy(update={"default": None}) if later_required else item)
    return reversed(kept)


def _misnamed(name: str, role: str) -> int:
    """Return 0 for a name that says `role` or says nothing, 1 for one that doesn't say it where names do."""
    if not role:
        return 1 if any(_says(name, other) for other in ("bias", "residual")) else 0
    return 0 if _says(name, role) else 1


def _says(name: str, role: str) -> bool:
    words = [word.rstrip("0123456789") for word in name.lower().split("_")]
    return any(word in words or name.lower() == word for word in ROLES[role])


def _promoted(one: str, other: str) -> str | None:
    """Return the dtype of an elementwise result; None where torch's answer isn't one of the two."""
    if one == other:
        return one
    if one in FLOATS and other in FLOATS and {one, other} & {"float32", "float64"}:
        return "float64" if "float64" in {one, other} else "float32"
    return None


def _broadcast(one: Shape, other: Shape) -> Shape | None:
    if len(one) < len(other):
        one, other = other, one
    result = list(one)
    for offset in range(1, len(other) + 1):
        left, right = one[-offset], other[-offset]
        if left == right or right.value == 1:
            continue
        if left.value != 1:
            return None
        result[-offset] = right
    return tuple(result)


def _product(one: Shape, other: Shape) -> Shape | None:
    """Return the shape of `one @ other`; None where the sizes don't agree."""
    if not one or not other:
        return None
    if len(other) == 1:
        return one[:-1] if one[-1] == other[0] and len(one) > 1 else None
    if len(one) == 1 or one[-1] != other[-2]:
        return None
    batch = _broadcast(one[:-2], other[:-2])
    return None if batch is None else (*batch, one[-2], other[-1])
