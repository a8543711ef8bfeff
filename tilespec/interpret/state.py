"""Where the interpreter is: the block that runs now, and what the launch around it remembers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["Block", "Launch"]


@dataclass
class Launch:
    """One launch: its grid, the memory that blocks wrote and whether blocks may talk through atomics."""

    kernel: str
    grid: tuple[int, int, int]
    owners: dict[int, torch.Tensor] = field(default_factory=dict)
    atomics_used: bool = False


@dataclass
class Block:
    """One tile block: its index in the grid, and a number from 1 that marks what it wrote."""

    index: tuple[int, int, int]
    number: int
    launch: Launch


current: Block | None = None
"""The block that runs; `None` on the host. One interpreter thread at a time may launch."""
