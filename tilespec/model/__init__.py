"""The validated model of a spec file."""

from __future__ import annotations

from tilespec.model.build import build_model
from tilespec.model.types import SpecFile

__all__ = ["SpecFile", "build_model"]
