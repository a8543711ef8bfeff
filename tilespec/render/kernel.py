"""Writes one `@ct.kernel` from a schedule.

A value is written in a frame: the ordered tile axes that its tile spans, extent 1 along axes that it does not depend on.
Work is placed in the outermost loop that binds what it reads, so what doesn't change in a loop stands before it.
Reductions over the same looped axes that don't read each other share one loop.

The writer is a stack of classes, one a module, each on top of the one before:

    names    axes, tile extents, names of values
    values   expressions in frames
    memory   loads and stores
    loops    loops, and one step of a fold
    online   a maximum and sums of exponentials in one loop
    folds    reductions, contractions, scans
    kernel   the grid and the whole
"""

from __future__ import annotations

from tilespec.diagnostics import SourceText
from tilespec.render.folds import Folds
from tilespec.render.scope import ArrayParameter, KernelText, Scope
from tilespec.render.text import Block
from tilespec.schedule.plan import KernelPlan, Role

__all__ = ["ArrayParameter", "KernelText", "write_kernel"]


def write_kernel(plan: KernelPlan, source: SourceText | None = None) -> KernelText:
    """Write the kernel of a plan; `source` is the spec file, for names and comments."""
    with plan.program.own_nodes():
        return _Writer(plan, source).write()


class _Writer(Folds):
    """Writes the whole."""

    def write(self) -> KernelText:
        """Write the kernel."""
        block = Block()
        scope = Scope(block, frozenset())
        self.decode_grid(block)
        done: set[int] = set()
        stores = self.program.stores
        for place, store in enumerate(stores):
            if place in done:
                continue
            loops = self.looped(frozenset(store.axes))
            inner, pending = self.open_loops(self.loop_order(loops), scope)
            for other, candidate in enumerate(stores):
                if other >= place and self.looped(frozenset(candidate.axes)) == loops:
                    done.add(other)
                    self.store(candidate, inner)
            self.close_loops(pending)
        parameters = tuple(item for item in self.program.parameters if item[0] in self.used_parameters)
        return KernelText(
            plan=self.plan,
            arrays=tuple(self.arrays),
            scalars=parameters,
            sizes=tuple(self.sizes),
            given=dict(self.given),
            blocks=tuple(item.block for item in self.plan.axes if item.block in self.blocks),
            tma_store=self.tile_stores > 0,
            body=tuple(block.lines()),
            helpers=tuple(self.helpers),
        )

    def decode_grid(self, block: Block) -> None:
        """Write which tiles a block works on."""
        grid = list(self.plan.grid)
        if not grid:
            return
        if len(grid) == 1:
            block.line(f"{grid[0].name} = ct.bid(0)")
            return
        tiled_only = self.plan.swizzle is not None and len(grid) == len(self.plan.swizzle) - 1
        block.line("tile = ct.bid(0)" if tiled_only else "block = ct.bid(0)")
        counts = self.counts
        dealt = {item.dealt for item in self.plan.axes}
        for axis in grid:
            if axis in dealt:
                continue
            if self.plan.role(axis) is Role.SCALAR:
                counts[axis] = self.size(axis.extent).at_least(100)
            else:
                counts[axis] = self.unique(f"{axis.name}_tiles")
                block.line(f"{counts[axis]} = ct.cdiv({self.size(axis.extent).code}, {self.block_of(axis)})")
        if self.plan.swizzle is not None:
            rows, columns, group = self.plan.swizzle
            grid = [axis for axis in grid if axis not in {rows, columns}]
            if grid:
                block.line(f"tile = block % ({counts[rows]} * {counts[columns]})")
                block.line(f"block = block // ({counts[rows]} * {counts[columns]})")
            block.line(
                f"# Blocks walk {group} rows of tiles at a time: those that run together share operands in L2."
            )
            block.line(f"first = tile // ({group} * {counts[columns]}) * {group}")
            block.line(f"rows = min({counts[rows]} - first, {group})")
            block.line(f"{rows.name} = first + tile % ({group} * {counts[columns]}) % rows")
            block.line(f"{columns.name} = tile % ({group} * {counts[columns]}) // rows")
        for place, axis in enumerate(reversed(grid)):
            if place == len(grid) - 1:
                block.line(f"{axis.name} = block")
                continue
            block.line(f"{axis.name} = block % {counts[axis]}")
            block.line(f"block = block // {counts[axis]}")
