"""The table of lowering rules: every family by name, and a finding for what has none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilespec.lowering import (
    activations,
    contraction,
    convolution,
    creation,
    elementwise,
    gather,
    joins,
    norms,
    pooling,
    reductions,
    resize,
    scalars,
    scans,
    softmax,
    sort,
    views,
)
from tilespec.lowering.call import Rule
from tilespec.lowering.refusals import REFUSALS
from tilespec.rules.lowering import UnsupportedOp

__all__ = ["FAMILIES", "REGISTRY", "DuplicateRuleError", "Registry"]


class DuplicateRuleError(ValueError):
    """Two rules for one op."""


class Registry:
    """Rules by op, either for one overload (`aten.max.dim`) or for all (`aten.max`)."""

    def __init__(self) -> None:
        self._rules: dict[str, Rule] = {}
        self._families: dict[str, str] = {}

    def include(self, family: str, rules: Mapping[str, Rule]) -> Registry:
        """Add the rules of a family.

        Raises:
            DuplicateRuleError: an op has a rule already.
        """
        for op, rule in rules.items():
            if op in self._rules:
                message = f"{op} has a rule in {self._families[op]} and in {family}"
                raise DuplicateRuleError(message)
            self._rules[op] = rule
            self._families[op] = family
        return self

    def find(self, op: str) -> Rule | None:
        """Return the rule of a full op name (`aten.mm.default`), None when there is none."""
        return self._rules.get(op) or self._rules.get(op.rpartition(".")[0])

    def refusal(self, op: str) -> UnsupportedOp:
        """Return the finding for an op without a rule."""
        base = op.split(".")[1] if "." in op else op
        why, remedy = REFUSALS.get(
            base,
            ("no lowering is known for it", "write it with arithmetic, reductions, products and indexing"),
        )
        return UnsupportedOp(base, why, remedy)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield (op, family), sorted by op."""
        return iter(sorted(self._families.items()))


FAMILIES: dict[str, Mapping[str, Rule]] = {
    "scalar": scalars.RULES,
    "pointwise": elementwise.RULES,
    "activation": activations.RULES,
    "view": views.RULES,
    "join": joins.RULES,
    "reduction": reductions.RULES,
    "softmax": softmax.RULES,
    "normalisation": norms.RULES,
    "contraction": contraction.RULES,
    "convolution": convolution.RULES,
    "pooling": pooling.RULES,
    "scan": scans.RULES,
    "sort": sort.RULES,
    "gather": gather.RULES,
    "creation": creation.RULES,
    "resize": resize.RULES,
}


def _registry() -> Registry:
    registry = Registry()
    for family, rules in FAMILIES.items():
        registry.include(family, rules)
    return registry


REGISTRY = _registry()
