"""Placeholder."""

from __future__ import annotations

from tilespec.lowering.call import Rule

__all__ = ["RULES"]

RULES: dict[str, Rule] = {}
