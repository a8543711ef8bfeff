"""`docs/reference/support.md` says which ops have kernels, of which family, and why others don't; from the registries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.conftest import GoldenUpdates
from tests.unit.lowering.graphs import record
from tests.unit.lowering.op_cases import cases
from tilespec.lowering import lower
from tilespec.lowering.refusals import REFUSALS
from tilespec.lowering.registry import FAMILIES as LOWERINGS
from tilespec.lowering.registry import REGISTRY
from tilespec.model.operations import OPERATIONS
from tilespec.schedule.choose import FAMILIES as SCHEDULES
from tilespec.schedule.choose import schedule_program
from tilespec.schedule.plan import ModulePlan

PAGE = Path("docs") / "reference" / "support.md"


def schedules_by_lowering() -> dict[str, set[str]]:
    """Return, for each family of ops, the schedule families of the kernels in the tests that contain one of it."""
    by_op = dict(REGISTRY)
    found: dict[str, set[str]] = {name: set() for name in LOWERINGS}
    for name, make, inputs in cases():
        graph = record(make, *inputs)
        program, _ = lower(graph)
        assert program is not None, name
        plan = schedule_program(program)
        assert isinstance(plan, ModulePlan), name
        taken = {variant.family for launch in plan.launches for variant in launch.variants}
        for node in graph.nodes:
            family = by_op.get(node.op) or by_op.get(node.op.rpartition(".")[0])
            if family is not None:
                found[family] |= taken
    return found


def table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def code(names: Iterator[str] | list[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def page(schedules: Mapping[str, set[str]]) -> str:
    ops: dict[str, list[str]] = {name: [] for name in LOWERINGS}
    for op, family in REGISTRY:
        ops[family].append(op.removeprefix("aten."))
    of_op = {op.split(".")[0]: family for family, listed in ops.items() for op in listed}
    reasons: dict[tuple[str, str], list[str]] = {}
    for op, reason in REFUSALS.items():
        reasons.setdefault(reason, []).append(op)
    lines = [
        "# What has a kernel",
        "",
        "Generated from the tables of the code: `make golden` rewrites this page.",
        "",
        "## Operations of a spec",
        "",
        "What `Operations` may list, beside functions that the reference defines. `tilespec ops NAME` shows aliases and",
        "the formula.",
        "",
        *table(
            ("operation", "recognised in the reference as", "lowered by"),
            (
                (
                    f"`{entry.name}`",
                    code(sorted(entry.aten)) or "a composition",
                    ", ".join(sorted({of_op[op] for op in entry.aten if op in of_op})) or "decomposition",
                )
                for entry in OPERATIONS.values()
            ),
        ),
        "",
        "## Families of ops and families of schedules",
        "",
        "Which schedules the kernels of the tests get that contain an op of the family. A kernel may need several launches.",
        "",
        *table(
            ("lowered by", *SCHEDULES),
            (
                (family, *("yes" if name in schedules[family] else "" for name in SCHEDULES))
                for family in LOWERINGS
                if schedules[family]
            ),
        ),
        "",
        "## ATen ops with a kernel",
        "",
        "What a reference is traced to. An op without overload stands for all of them.",
        "",
        *table(("lowered by", "ops"), ((family, code(ops[family])) for family in LOWERINGS)),
        "",
        "## ATen ops without one",
        "",
        "A reference that reaches one of these gives TS501, with the reason and the remedy.",
        "",
        *table(
            ("ops", "why", "what to do"),
            ((code(sorted(listed)), why, remedy) for (why, remedy), listed in reasons.items()),
        ),
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_page(golden: GoldenUpdates, repository: Path):
    schedules = schedules_by_lowering()
    used = set().union(*schedules.values())
    assert {"pointwise", "reduction", "contraction", "scan"} <= used <= set(SCHEDULES)
    # Arithmetic on scalar arguments leaves nothing to schedule.
    assert [family for family, found in schedules.items() if not found] == ["scalar"]
    golden.check(repository / PAGE, page(schedules))
