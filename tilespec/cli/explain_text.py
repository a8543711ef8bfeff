"""The docstring of a rule as the text of `tilespec explain` and of its page."""

from __future__ import annotations

import inspect

from tilespec.diagnostics import Rule
from tilespec.rules.environment import EnvironmentRule

__all__ = ["explanation", "page"]


def explanation(rule: type[Rule]) -> tuple[str, str]:
    """Return what the rule states in one line, and the rest as Markdown."""
    title, _, rest = inspect.cleandoc(rule.__doc__ or "").partition("\n")
    parts = [rest.strip()]
    if issubclass(rule, EnvironmentRule):
        effects = [f"- `{command}`: {text or 'not affected'}" for command, text in rule.effects().items()]
        parts.append("What it means:\n\n" + "\n".join(effects))
    return title, "\n\n".join(part for part in parts if part)


def page(rule: type[Rule]) -> str:
    """Return the whole page: `docs/reference/diagnostics/CODE.md`, and what `tilespec explain CODE` prints."""
    title, text = explanation(rule)
    head = f"# {rule.code}: {rule.name}\n\n{title}\n\nSeverity: {rule.severity.value}. Since {rule.since}.\n"
    return f"{head}\n{text}\n" if text else head
