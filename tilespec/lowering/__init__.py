"""Traced ATen calls to the tile program, one module an op family."""

from tilespec.lowering.lower import lower as lower

__all__ = ["lower"]
