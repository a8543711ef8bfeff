"""What writing a kernel works with: frames, array arguments, scopes and the finished text."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilespec.diagnostics import Span
from tilespec.ir.nodes import Node, Tensor
from tilespec.model.dims import AxisAtom, Expr
from tilespec.render.text import Block, Text
from tilespec.schedule.plan import KernelPlan

__all__ = ["ArrayParameter", "Frame", "KernelText", "Pending", "Scope"]

Frame = tuple[AxisAtom, ...]
"""Ordered tile axes; a value in a frame has extent 1 along axes that it does not depend on."""


@dataclass(frozen=True, slots=True)
class ArrayParameter:
    """One array argument: a view of a tensor. `shape` None means the tensor as it is.

    `strides` are those of an overlapping view, as (dim of the tensor, multiple of its stride).
    """

    name: str
    tensor: Tensor
    shape: tuple[Expr, ...] | None
    cuts: tuple[tuple[Expr, Expr, int] | None, ...]
    written: bool
    strides: tuple[tuple[int, Expr], ...] = ()


@dataclass(frozen=True)
class KernelText:
    """One kernel as text: parameters in order and the lines of its body."""

    plan: KernelPlan
    arrays: tuple[ArrayParameter, ...]
    scalars: tuple[tuple[str, str], ...]
    sizes: tuple[str, ...]
    given: dict[str, str]
    """What tensors, scalars and dim symbols are called in the kernel."""
    blocks: tuple[str, ...]
    tma_store: bool
    """Whether the kernel takes `TMA_STORE`, a constant that forbids TMA stores when False."""
    body: tuple[str, ...]
    helpers: tuple[str, ...]
    lines_of: tuple[tuple[int, Span], ...] = ()


@dataclass
class Scope:
    """A block of code being written: the kernel or a loop body, what it knows already and the names it uses."""

    block: Block
    loops: frozenset[AxisAtom]
    parent: Scope | None = None
    memo: dict[tuple[Node, Frame], Text] = field(default_factory=dict)
    indices: dict[tuple[AxisAtom, Frame], Text] = field(default_factory=dict)
    commented: set[int] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    inside: set[str] = field(default_factory=set)
    """Names in this block and in the loops inside it."""


Pending = list[tuple[Scope, str, Block]]
"""Loops that are open: where each goes, its header and its body."""
