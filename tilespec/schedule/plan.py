"""A schedule: how one tile program is cut into blocks, tiles and loops.

Every axis has a role. Tiles of the axes that have one span the frames; a node is computed in a frame, with extent 1
along axes that it doesn't depend on. Sizes are runtime integers; tile shapes are `ct.Constant`, chosen by the launcher
through the block rules, so that a new size doesn't recompile a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from tilespec.ir.nodes import Contract, Node, Program, Tensor
from tilespec.model.dims import AxisAtom, Expr

__all__ = [
    "AxisPlan",
    "BlockRule",
    "Cover",
    "Decline",
    "Fill",
    "Fixed",
    "KernelPlan",
    "Launch",
    "ModulePlan",
    "Role",
]


class Role(Enum):
    """How an axis is worked through."""

    SCALAR = "one index a block"
    TILE = "one tile a block"
    FULL = "one tile covers the axis"
    LOOP = "a loop over tiles"
    STEP = "a loop over single indices"

    @property
    def has_tile(self) -> bool:
        """Whether values have a tile dim along the axis."""
        return self in {Role.TILE, Role.FULL, Role.LOOP}

    @property
    def in_loop(self) -> bool:
        """Whether the axis is looped over inside a block."""
        return self in {Role.LOOP, Role.STEP}

    @property
    def in_grid(self) -> bool:
        """Whether blocks divide the axis between them."""
        return self in {Role.SCALAR, Role.TILE}


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same tile extent for every size."""

    value: int


@dataclass(frozen=True, slots=True)
class Cover:
    """The power of two that covers the axis, at least `least`, at most `cap` (no cap when 0).

    `ampere` is the cap on targets before sm_90, 0 for the same.
    """

    cap: int = 0
    least: int = 1
    ampere: int = 0


@dataclass(frozen=True, slots=True)
class Fill:
    """As many rows as keep the tile within `budget` elements beside the blocks named `others`.

    Never more than what covers the axis.
    """

    budget: int
    others: tuple[str, ...]


BlockRule = Fixed | Cover | Fill


@dataclass(frozen=True, slots=True)
class AxisPlan:
    """Role of one axis; `rule` is None for roles without a tile."""

    axis: AxisAtom
    role: Role
    rule: BlockRule | None = None
    dealt: AxisAtom | None = None
    """For looped axes: the grid axis whose blocks take the steps in turn, each block every n-th."""
    until: tuple[AxisAtom, Expr, Node] | None = None
    """For looped axes: positions past a row of this tiled axis, plus an offset, are masked by this `where`."""
    peeled: bool = False
    """For looped axes: tiles clear of masks run first, in a loop without them."""
    backward: bool = False
    """For looped axes: from the last tile to the first."""
    count: Expr | None = None
    """For looped axes: of how many elements a block takes, at its place along the scalar axes; None for all."""

    @property
    def block(self) -> str:
        """Name of the tile extent in generated code."""
        return f"BLOCK_{self.axis.name.upper()}"


@dataclass(frozen=True)
class KernelPlan:
    """One `@ct.kernel`: a program, a role for each of its axes, the order of tile dims.

    `grid` lists SCALAR and TILE axes, slowest first. `swizzle` names the two innermost grid axes to visit in groups
    of `group` rows, so that blocks that run together share operand tiles in L2. `tensor_core` are the contractions
    that run as `ct.mma`, each with its (rows, columns, depth) axes, rows or columns None when absent.
    """

    name: str
    family: str
    program: Program
    axes: tuple[AxisPlan, ...]
    frames: tuple[tuple[AxisAtom, ...], ...]
    grid: tuple[AxisAtom, ...]
    tensor_core: tuple[tuple[Contract, AxisAtom, AxisAtom, AxisAtom], ...] = ()
    swizzle: tuple[AxisAtom, AxisAtom, int] | None = None
    hints: tuple[tuple[str, int], ...] = ()
    condition: Expr | None = None
    """The variant serves sizes for which this is at least 0; None serves all that are left."""
    needs: Expr | None = None
    """The launch that this is a variant of runs for sizes for which this is at least 0; None for all."""
    reasons: tuple[str, ...] = ()

    def plan(self, axis: AxisAtom) -> AxisPlan:
        """Return the plan of an axis.

        Raises:
            KeyError: the axis has no role.
        """
        for item in self.axes:
            if item.axis == axis:
                return item
        raise KeyError(axis.name)

    def role(self, axis: AxisAtom) -> Role:
        """Return the role of an axis."""
        return self.plan(axis).role


@dataclass(frozen=True)
class Launch:
    """One step of a launcher: variants of one program, the first whose condition holds runs."""

    program: Program
    variants: tuple[KernelPlan, ...]

    @property
    def needs(self) -> Expr | None:
        """The launch runs for sizes for which this is at least 0; None for all."""
        return self.variants[0].needs

    def only(self, needs: Expr) -> Launch:
        """Return a launch that runs for sizes for which `needs` is at least 0."""
        return Launch(self.program, tuple(replace(variant, needs=needs) for variant in self.variants))


@dataclass(frozen=True)
class Decline:
    """Why a family does not take a program."""

    family: str
    reason: str


@dataclass(frozen=True)
class ModulePlan:
    """Everything that one generated kernel file does: launches in order, with the workspaces between them."""

    name: str
    program: Program
    launches: tuple[Launch, ...]
    workspaces: tuple[Tensor, ...] = ()
    declined: tuple[Decline, ...] = field(default=())
    counts: tuple[tuple[str, Expr], ...] = ()
    """Symbols beside the dims, in how many shares launches do their work, and what each is of the dims."""
