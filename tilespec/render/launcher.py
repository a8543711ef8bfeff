"""Writes the host side of a kernel file: argument checks, tile extents, grids, views and launches.

What depends on shapes alone is worked out once a shape and kept in `_plans`; a later call makes its outputs and views and
launches.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from tilespec.ir.nodes import Program, Tensor
from tilespec.model.dims import ONE, Expr, product, sym
from tilespec.render.kernel import ArrayParameter, KernelText
from tilespec.schedule.plan import AxisPlan, Cover, Fill, Fixed, KernelPlan, ModulePlan, Role

__all__ = ["LaunchText", "bind_symbols", "write_launcher"]


_ITEMSIZE = {
    "float64": 8,
    "int64": 8,
    "float32": 4,
    "int32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
} | dict.fromkeys(("bool", "int8", "uint8", "float8_e4m3fn", "float8_e5m2"), 1)

_LOCALS = ("plan", "outputs", "stream", "grid", "kernel", "arguments")
_FUNCTIONS = ("allocate", "any", "bool", "float", "int", "max", "min", "plan_for", "steps", "tuple")
"""What a launcher calls where arguments are variables."""


@dataclass(frozen=True)
class LaunchText:
    """Host code of one kernel file: bodies of `plan_for`, `allocate` and `steps`."""

    plan_body: tuple[str, ...]
    key_body: tuple[str, ...]
    allocate_body: tuple[str, ...]
    steps_body: tuple[str, ...]
    names: dict[str, str]
    aliases: dict[str, str]
    """Other names of functions whose own name an argument, output or dim has."""


def bind_symbols(tensors: Sequence[Tensor], equations: Mapping[str, Expr]) -> list[tuple[str, str]] | str:
    """Return `(symbol, expression)` in an order in which each can be computed from the shapes of `tensors`.

    A dim that is linear in one unknown symbol determines it; `equations` are those of the file's `Dims`. Returns the
    name of a symbol that nothing determines, if there is one.
    """
    known: dict[str, str] = {}
    pending = [(tensor, place, dim) for tensor in tensors for place, dim in enumerate(tensor.shape)]
    wanted = {name for tensor in tensors for dim in tensor.shape for name in dim.symbols}
    pending.sort(key=lambda item: item[2].symbol is None)
    progress = True
    while progress:
        progress = False
        for tensor, place, dim in pending:
            unknown = [name for name in dim.symbols if name not in known]
            if len(unknown) != 1:
                continue
            solved = _solve(dim, unknown[0], f"{tensor.name}.shape[{place}]")
            if solved is not None:
                known[unknown[0]] = solved
                progress = True
        for name, expr in equations.items():
            if name not in known and expr.symbols <= set(known):
                known[name] = str(expr)
                progress = True
    missing = sorted(wanted - set(known))
    return missing[0] if missing else list(known.items())


def _solve(dim: Expr, name: str, text: str) -> str | None:
    """Solve `dim == text` for a symbol that the dim is linear in; None when it is not."""
    offset = dim.substitute({name: Expr.wrap(0)})
    slope = dim.substitute({name: Expr.wrap(1)}) - offset
    rebuilt = slope * sym(name) + offset
    if rebuilt != dim or slope.value == 0:
        return None
    if slope == ONE and not offset.terms:
        return text
    numerator = text if not offset.terms else f"({text} - ({offset}))"
    return numerator if slope == ONE else f"{numerator} // ({slope})"


def write_launcher(
    module: ModulePlan,
    kernels: Sequence[Sequence[tuple[str, KernelText]]],
    symbols: Sequence[tuple[str, str]],
    scalars: Mapping[str, str],
) -> LaunchText:
    """Write `_plan` and `launch`; `kernels` holds name and text of each variant of each launch."""
    program = module.program
    plan_body = [*_checks(program, symbols), *(f"{name} = {count}" for name, count in module.counts)]
    symbols = [*symbols, *((name, str(count)) for name, count in module.counts)]
    returned = [name for name, _ in symbols if name in _launch_symbols(module, kernels)]
    device = f"{program.inputs[0].name}.device" if program.inputs else 'torch.device("cuda")'
    steps: list[str] = []
    names: list[str] = []
    parts = [
        (needs, _part(module, kernels, list(numbers), scalars))
        for needs, numbers in groupby(range(len(kernels)), key=lambda number: module.launches[number].needs)
    ]
    if any("<ampere>" in line for _, part in parts for line in part.plan):
        plan_body.append(f"<ampere> = torch.cuda.get_device_capability({device})[0] < 9")
    while parts:
        needs, part = parts.pop(0)
        returned += part.planned
        if needs is None:
            plan_body += part.plan
            steps += part.steps
            names += part.names
            continue
        # What is launched for all other sizes stands next to it.
        _, other = parts.pop(0)
        returned += other.planned
        plan_body += [f"if {_test(needs)}:", *_indented([*part.plan, _absent(other.planned)])]
        plan_body += ["else:", *_indented([*other.plan, _absent(part.planned)])]
        path = part.names[0].replace("step", "path")
        steps.append(f"if {part.planned[0]} is not None:")
        steps += _indented([*part.steps, f"{path} = ({', '.join(part.names)},)"])
        steps += ["else:", *_indented([*other.steps, f"{path} = ({', '.join(other.names)},)"])]
        names.append(f"*{path}")
    unpack = f"{', '.join(['<device>', *returned])} = <plan>"
    steps_body = [unpack, *steps, f"return ({', '.join(names)},)"]
    allocate_body = [unpack, *_allocations(program.outputs), f"return {_tuple(program.outputs)}"]
    plan_body += [f"<device> = {device}", f"return {', '.join(['<device>', *returned])}"]
    taken = {item.name for item in (*program.inputs, *program.outputs, *module.workspaces)}
    taken |= {name for name, _ in (*program.parameters, *symbols)}

    def settle(lines: Sequence[str]) -> tuple[str, ...]:
        # Sizes may be minima and maxima.
        called = [re.sub(r"(?<![\w.<])(min|max)\(", r"<\1>(", line) for line in lines]
        return tuple(re.sub(r"<(\w+)>", lambda found: local_name(found[1], taken), line) for line in called)

    return LaunchText(
        settle(plan_body),
        settle(_key_lines(program)),
        settle(allocate_body),
        settle(steps_body),
        {name: local_name(name, taken) for name in (*_LOCALS, *_FUNCTIONS)},
        {name: local_name(name, taken) for name in _FUNCTIONS if name in taken},
    )


@dataclass(frozen=True)
class _Part:
    """Launches that run for the same sizes: their lines in `_plan` and `steps`, and the names that these assign."""

    plan: tuple[str, ...]
    planned: tuple[str, ...]
    steps: tuple[str, ...]
    names: tuple[str, ...]


def _part(
    module: ModulePlan,
    kernels: Sequence[Sequence[tuple[str, KernelText]]],
    numbers: Sequence[int],
    scalars: Mapping[str, str],
) -> _Part:
    plan: list[str] = []
    planned: list[str] = []
    steps: list[str] = []
    names: list[str] = []
    allocations = _workspaces(module, kernels, numbers)
    for number in numbers:
        variants = kernels[number]
        suffix = f"_{number + 1}" if len(kernels) > 1 else ""
        plan += _variant_lines(variants, suffix)
        grid, kernel, constants = f"<grid{suffix}>", f"<kernel{suffix}>", f"<constants{suffix}>"
        planned += [grid, kernel, constants]
        arguments = [_arguments(text, scalars) for _, text in variants]
        step = f"<step{suffix}>"
        names.append(step)
        if all(item == arguments[0] for item in arguments):
            steps.append(f"{step} = ({grid}, {kernel}, ({arguments[0]}, *{constants}))")
            continue
        for place, (name, _) in enumerate(variants):
            last = place == len(variants) - 1
            test = f"{kernel} is {name}"
            steps.append("else:" if last else f"{'if' if place == 0 else 'elif'} {test}:")
            steps.append(f"    {step} = ({grid}, {kernel}, ({arguments[place]}, *{constants}))")
    return _Part(tuple(plan), tuple(planned), (*allocations, *steps), tuple(names))


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _absent(names: Sequence[str]) -> str:
    return f"{' = '.join(names)} = None"


def local_name(name: str, taken: Collection[str]) -> str:
    """Return a name for a variable of a launcher that no argument, output or dim has."""
    while name in taken:
        name += "_"
    return name


def _tuple(tensors: Sequence[Tensor]) -> str:
    return f"({', '.join(item.name for item in tensors)}{',' if len(tensors) == 1 else ''})"


def _launch_symbols(module: ModulePlan, kernels: Sequence[Sequence[tuple[str, KernelText]]]) -> set[str]:
    """Return the dim symbols that allocations and views read on every call."""
    exprs = [dim for tensor in (*module.program.outputs, *module.workspaces) for dim in tensor.shape]
    for variants in kernels:
        for _, text in variants:
            for array in text.arrays:
                exprs += array.shape or ()
                exprs += [expr for cut in array.cuts if cut for expr in cut[:2]]
    return {name for expr in exprs for name in expr.symbols}


def _checks(program: Program, symbols: Sequence[tuple[str, str]]) -> list[str]:
    lines: list[str] = []
    if not program.inputs:
        return lines
    first = program.inputs[0].name
    for tensor in program.inputs:
        rank = len(tensor.shape)
        lines += [
            f"if {tensor.name}.dim() != {rank}:",
            f'    raise ValueError(f"{tensor.name}: expected {rank} dims ({_dims(tensor)}), got shape {{<tuple>({tensor.name}.shape)}}")',
        ]
    pairs = ", ".join(f'("{item.name}", {item.name})' for item in program.inputs)
    # The interpreter's stand-in for a device is the CPU; a launch elsewhere than on the current kind of device is refused.
    lines += [
        "<kind> = torch.cuda.current_stream().device.type",
        f"for <name>, <tensor> in ({pairs},):",
        f"    if <tensor>.device.type != <kind> or <tensor>.device != {first}.device:",
        f'        raise ValueError(f"{{<name>}}: expected a tensor on {{<kind>}} beside {first} on {{{first}.device}}, "',
        '                         f"got one on {tensor.device}")',
        "    if <tensor>.requires_grad:",
        '        raise ValueError(f"{name}: requires grad, and this kernel has no backward; pass a detached tensor")',
    ]
    lines += [f"{name} = {text}" for name, text in symbols]
    for tensor in program.inputs:
        dims = "".join(f'"{dim}", ' for dim in tensor.shape)
        sizes = "".join(f"{dim}, " for dim in tensor.shape)
        lines.append(
            f'_expect("{tensor.name}", {tensor.name}, torch.{tensor.dtype}, ({dims.rstrip()}), ({sizes.rstrip()}))'
        )
    return lines


def _dims(tensor: Tensor) -> str:
    return ", ".join(str(dim) for dim in tensor.shape)


def _key_lines(program: Program) -> list[str]:
    parts: list[str] = []
    for tensor in program.inputs:
        parts += [f"{tensor.name}.shape", f"{tensor.name}.dtype", f"{tensor.name}.device"]
    arguments = ", ".join(tensor.name for tensor in program.inputs)
    return [
        f"<key> = ({', '.join(parts)})",
        "<plan> = _plans.get(<key>)",
        "if <plan> is None:",
        f"    <plan> = _plans[<key>] = _plan({arguments})",
        "return <plan>",
    ]


def _variant_lines(variants: Sequence[tuple[str, KernelText]], suffix: str) -> list[str]:
    lines: list[str] = []
    for place, (name, text) in enumerate(variants):
        plan = text.plan
        indent = ""
        if len(variants) > 1:
            last = place == len(variants) - 1
            lines.append("else:" if last else f"{'if' if place == 0 else 'elif'} {_condition(plan)}:")
            indent = "    "
        lines += [
            f"{indent}{item.block} = {_block(item)}" for item in _ordered(plan) if item.block in text.blocks
        ]
        lines.append(f"{indent}<grid{suffix}> = ({_grid(plan)}, 1, 1)")
        lines.append(f"{indent}<kernel{suffix}> = {name}")
        parts = [*text.sizes, *text.blocks]
        if text.tma_store:
            # A TMA store of a contiguous array that is no multiple of 16 bytes, possible where all dims but one have
            # extent 1, writes up to the next 16 bytes (tileiras 13.4, sm_90).
            whole = [_bytes(array) for array in text.arrays if array.written]
            lines.append(f"{indent}TMA_STORE = {' and '.join(dict.fromkeys(whole))}")
            parts.append("TMA_STORE")
        lines.append(f"{indent}<constants{suffix}> = ({', '.join(parts)}{',' if len(parts) == 1 else ''})")
    return lines


def _bytes(array: ArrayParameter) -> str:
    """Write whether an output, or what is stored of each of its rows, is a multiple of 16 bytes."""
    cut = [part[1] for part in array.cuts if part is not None]
    size = (cut[-1] if cut else product(array.tensor.shape)) * _ITEMSIZE[array.tensor.dtype]
    return str(size.value % 16 == 0) if size.value is not None else f"({size}) % 16 == 0"


def _condition(plan: KernelPlan) -> str:
    assert plan.condition is not None  # noqa: S101 - only the last variant has none
    return _test(plan.condition)


def _test(condition: Expr) -> str:
    """Write whether an expression is at least 0."""
    offset = Expr.wrap(next((value for monomial, value in condition.terms if not monomial), 0))
    if (condition - offset).is_nonnegative():
        return f"{condition - offset} >= {-offset}"
    # A row of no elements has no tile that covers it.
    return f"0 < {offset - condition} <= {offset}"


def _ordered(plan: KernelPlan) -> list[AxisPlan]:
    """Blocks that others are fitted to come first."""
    return sorted(plan.axes, key=lambda item: isinstance(item.rule, Fill))


def _block(item: AxisPlan) -> str:
    rule, extent = item.rule, item.axis.extent
    if isinstance(rule, Fixed):
        return str(rule.value)
    cover = f"_cover({extent})"
    if isinstance(rule, Cover):
        if extent.value is not None:
            covered = 1 << max(extent.value - 1, 0).bit_length()
            caps = [
                max(rule.least, min(covered, cap or covered)) for cap in (rule.cap, rule.ampere or rule.cap)
            ]
            return str(caps[0]) if caps[0] == caps[1] else f"{caps[1]} if <ampere> else {caps[0]}"
        cap = f"{rule.ampere} if <ampere> else {rule.cap}" if rule.ampere else str(rule.cap)
        bounded = f"<min>({cap}, {cover})" if rule.cap else cover
        return f"<max>({rule.least}, {bounded})" if rule.least > 1 else bounded
    assert isinstance(rule, Fill)  # noqa: S101 - the last kind
    beside = " // ".join(rule.others)
    return (
        f"<min>({cover}, <max>(1, {rule.budget} // {beside}))"
        if rule.others
        else f"<min>({cover}, {rule.budget})"
    )


def _grid(plan: KernelPlan) -> str:
    factors: list[str] = []
    for axis in plan.grid:
        if plan.role(axis) is Role.SCALAR:
            text = str(axis.extent)
            factors.append(text if text.isidentifier() or text.isdigit() else f"({text})")
        else:
            factors.append(f"ct.cdiv({axis.extent}, {plan.plan(axis).block})")
    return " * ".join(factors) or "1"


def _arguments(text: KernelText, scalars: Mapping[str, str]) -> str:
    parts = [_view(item) for item in text.arrays]
    parts += [f"<{kind}>({name})" for name, kind in text.scalars if name in scalars]
    return ", ".join(parts)


def _view(array: ArrayParameter) -> str:
    code = array.tensor.name
    shape = array.shape
    if shape is not None and array.strides:
        steps = [
            f"{code}.stride({dim})" if times == ONE else f"{_factor(times)} * {code}.stride({dim})"
            for dim, times in array.strides
        ]
        sizes = ", ".join(str(dim) for dim in shape)
        return f"{code}.as_strided(({sizes}), ({', '.join(steps)}))"
    if shape is not None:
        code += f".reshape({', '.join(str(dim) for dim in shape)})"
    if array.cuts:
        slices: list[str] = []
        for cut in array.cuts:
            if cut is None:
                slices.append(":")
                continue
            start, length, step = cut
            stop = start + (length - 1) * step + 1
            slices.append(f"{start}:{stop}" + (f":{step}" if step != 1 else ""))
        code += f"[{', '.join(slices)}]"
    return code


def _factor(times: Expr) -> str:
    text = str(times)
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def _workspaces(
    module: ModulePlan, kernels: Sequence[Sequence[tuple[str, KernelText]]], numbers: Sequence[int]
) -> list[str]:
    """Write the allocations of what some launches write, under the condition that it runs where only one variant does."""
    lines: list[str] = []
    for tensor in module.workspaces:
        for number in numbers:
            variants = kernels[number]
            suffix = f"_{number + 1}" if len(kernels) > 1 else ""
            writers = [name for name, text in variants if tensor in text.plan.program.outputs]
            if not writers:
                continue
            allocation = _allocations([tensor])
            if len(writers) < len(variants):
                test = " or ".join(f"<kernel{suffix}> is {name}" for name in writers)
                allocation = [f"if {test}:", *_indented(allocation)]
            lines += allocation
    return lines


def _allocations(tensors: Sequence[Tensor]) -> list[str]:
    lines: list[str] = []
    for tensor in tensors:
        shape = ", ".join(str(dim) for dim in tensor.shape)
        comma = "," if len(tensor.shape) == 1 else ""
        lines.append(
            f"{tensor.name} = torch.empty(({shape}{comma}), dtype=torch.{tensor.dtype}, device=<device>)"
        )
    return lines
