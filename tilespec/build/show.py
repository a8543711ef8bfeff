"""Every stage of one kernel as text, for `tilespec show`."""

from __future__ import annotations

from collections.abc import Iterator

from tilespec.ir.nodes import Program
from tilespec.ir.print import print_program
from tilespec.model.dims import Expr
from tilespec.model.types import Kernel
from tilespec.reference.graph import Argument, Graph, Ref
from tilespec.schedule.plan import BlockRule, Fill, Fixed, ModulePlan

__all__ = ["schedule_text", "stages"]


def stages(
    kernel: Kernel,
    graph: Graph | None,
    program: Program | None,
    plan: ModulePlan | None,
    code: str | None,
) -> str:
    """Return trace, tile program, schedule with reasons and code; stages that did not run are left out."""
    lines = [f"# {kernel.id}: {kernel.description}", ""]
    if graph is not None:
        lines += ["## Trace", "", *_graph(graph), ""]
    if program is not None:
        lines += ["## Tile program", "", print_program(program).rstrip(), ""]
    if plan is not None:
        lines += ["## Schedule", "", *schedule_text(plan).splitlines(), ""]
    if code is not None:
        lines += ["## Code", "", code.rstrip(), ""]
    return "\n".join(lines)


def _graph(graph: Graph) -> Iterator[str]:
    for name, meta in graph.inputs:
        yield f"{name}: {meta.dtype}[{', '.join(str(dim) for dim in meta.shape)}]"
    for node in graph.nodes:
        arguments = [_argument(item) for item in node.args]
        arguments += [f"{name}={_argument(item)}" for name, item in node.kwargs]
        shapes = ", ".join(
            f"{meta.dtype}[{', '.join(str(dim) for dim in meta.shape)}]" for meta in node.results
        )
        yield f"{node.name}: {shapes} = {node.op}({', '.join(arguments)})    # {node.origin}"
    yield f"return {', '.join(_argument(item) for item in graph.outputs)}"


def _argument(item: Argument) -> str:
    if isinstance(item, Ref):
        return item.name if item.index is None else f"{item.name}[{item.index}]"
    if isinstance(item, tuple):
        return f"[{', '.join(_argument(part) for part in item)}]"
    return str(item)


def schedule_text(plan: ModulePlan) -> str:
    """Return launches, variants, roles of axes and why families declined."""
    return "".join(f"{line}\n" for line in _schedule(plan))


def _schedule(plan: ModulePlan) -> Iterator[str]:
    for name, count in plan.counts:
        yield f"{name} = {count}"
    for number, launch in enumerate(plan.launches, 1):
        if len(plan.launches) > 1:
            only = "" if launch.needs is None else f", where {_condition(launch.needs)}"
            yield f"launch {number} of {len(plan.launches)}{only}"
        for variant in launch.variants:
            condition = "otherwise" if variant.condition is None else f"where {_condition(variant.condition)}"
            yield f"{variant.family}, {variant.name}, {condition if len(launch.variants) > 1 else 'for all sizes'}"
            for item in variant.axes:
                rule = "" if item.rule is None else f", {_rule(item.rule)}"
                some = "" if item.count is None else f", {item.count} of them"
                yield f"  {item.axis.name} of {item.axis.extent}: {item.role.value}{rule}{some}"
            if variant.hints:
                yield f"  hints: {', '.join(f'{name}={value}' for name, value in variant.hints)}"
    for decline in plan.declined:
        yield f"{decline.family} declined: {decline.reason}"


def _condition(condition: Expr) -> str:
    """Return a condition with its constant on the right: `D <= 4096`."""
    limit = Expr.wrap(next((value for monomial, value in condition.terms if not monomial), 0))
    sizes = condition - limit
    return f"{-sizes} <= {limit}" if (-sizes).is_nonnegative() else f"{sizes} >= {-limit}"


def _rule(rule: BlockRule) -> str:
    if isinstance(rule, Fixed):
        return f"{rule.value} elements"
    if isinstance(rule, Fill):
        beside = f" with {' and '.join(rule.others)}" if rule.others else ""
        return f"as many as fill {rule.budget} elements{beside}"
    limits = [f"at least {rule.least}"] if rule.least > 1 else []
    limits += [f"at most {rule.cap}"] if rule.cap else []
    limits += [f"{rule.ampere} before sm_90"] if rule.ampere else []
    return ", ".join(["the power of two that covers it", *limits])
