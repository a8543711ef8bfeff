"""The end-to-end reference against the kernels: which inputs it takes, and what they are."""

from __future__ import annotations

from tilespec.diagnostics import Diagnostic
from tilespec.model.types import ScalarSpec, SpecFile, TensorSpec
from tilespec.reference.check import Program
from tilespec.rules import reference as rules

__all__ = ["composition_inputs", "entry_of"]


def entry_of(program: Program) -> str | None:
    """Return the entry of an end-to-end block: the last function called `reference_...`, else the last one."""
    named = [name for name in program.functions if name.startswith("reference")]
    candidates = named or list(program.functions)
    return candidates[-1] if candidates else None


def composition_inputs(
    spec: SpecFile, program: Program, entry: str
) -> tuple[tuple[TensorSpec | ScalarSpec, ...], list[Diagnostic]]:
    """Return what each parameter of the end-to-end reference is: the kernel input of that name.

    A name that several kernels use means, for the composition, the first in execution order.
    """
    order = {kernel_id: index for index, kernel_id in enumerate(spec.order)}
    kernels = sorted(spec.kernels, key=lambda kernel: order.get(kernel.id, len(order)))
    found: list[TensorSpec | ScalarSpec] = []
    missing: list[Diagnostic] = []
    for parameter in program.parameters(entry):
        named = [item for kernel in kernels for item in kernel.inputs if item.name == parameter.name]
        if named:
            found.append(named[0])
            continue
        rule = rules.UndeclaredParameter(entry, parameter.name)
        missing.append(rule.at(spec.source, program.span(parameter.node)))
    return tuple(found), missing
