"""Writes loads and stores: tiles of views, or elements by gather and scatter."""

from __future__ import annotations

from tilespec.ir.nodes import Const, Load, Node, Parameter, Store, Tensor
from tilespec.model.dims import AxisAtom, Expr
from tilespec.render.ops import constant
from tilespec.render.scope import ArrayParameter, Frame, Scope
from tilespec.render.text import Text, atom, binary, tuple_text
from tilespec.render.values import Values
from tilespec.schedule.access import Gather, TileAccess, find_access
from tilespec.schedule.plan import Role

__all__ = ["Memory"]


class Memory(Values):
    """Writes loads and stores."""

    def array(self, tensor: Tensor, access: TileAccess | Gather, *, written: bool) -> str:
        """Return the name of the array argument that gives an access its view."""
        shape = access.shape if isinstance(access, TileAccess) else None
        cuts = tuple(dim.cut for dim in access.dims) if isinstance(access, TileAccess) else ()
        cuts = cuts if any(cuts) else ()
        strides: tuple[tuple[int, Expr], ...] = ()
        if isinstance(access, TileAccess) and access.strided:
            strides = tuple(dim.source for dim in access.dims if dim.source is not None)
        view = (tensor, shape, cuts, written, strides)
        for item in self.arrays:
            if (item.tensor, item.shape, item.cuts, item.written, item.strides) == view:
                return item.name
        name = self.argument(tensor.name)
        if any(item.name == name for item in self.arrays):
            name = self.unique(name)
        self.arrays.append(ArrayParameter(name, *view))
        return name

    def tile_place(
        self, access: TileAccess, frame: Frame, scope: Scope
    ) -> tuple[list[str], list[str], str, bool]:
        """Return index, tile shape and `order` argument of a tile access, and whether the tile has the frame's shape."""
        rank = len(access.dims)
        spots = {dim.axis: place for place, dim in enumerate(access.dims) if dim.axis is not None}
        order = [place for place, dim in enumerate(access.dims) if dim.axis is None]
        tiles = [spots[axis] for axis in frame if axis in spots]
        if [place for place in range(rank) if place not in order] == tiles:
            order = list(range(rank))
        else:
            order = order + tiles
        index: list[str] = []
        shape: list[str] = []
        for place in order:
            dim = access.dims[place]
            if dim.axis is None:
                index.append(self.index(dim.index, frame, scope).code)
                shape.append("1")
            else:
                index.append("0" if self.plan.role(dim.axis) is Role.FULL else dim.axis.name)
                shape.append(self.block_of(dim.axis))
        wanted = list(self.shape(frozenset(spots), frame))
        argument = (
            "" if order == list(range(rank)) else f", order={tuple_text([str(item) for item in order])}"
        )
        return index, shape, argument, shape == wanted

    def load(self, node: Load, frame: Frame, scope: Scope) -> Text:
        """Write a tile load or a gather."""
        access = self.access(node)
        name = self.array(node.tensor, access, written=False)
        if isinstance(access, Gather):
            index = [
                self.value(item, frame, scope) if isinstance(item, Node) else self.index(item, frame, scope)
                for item in node.index
            ]
            fill = node.fill if node.fill is not None else self.padding[node]
            padding = "" if fill == 0 else f", padding_value={constant(fill, node.dtype).code}"
            return atom(f"ct.gather({name}, {tuple_text([item.code for item in index])}{padding})")
        index_, shape, order, fits = self.tile_place(access, frame, scope)
        padding = ""
        if any(self.ragged(dim.axis) for dim in access.dims if dim.axis is not None):
            mode = {0.0: "ZERO", float("-inf"): "NEG_INF", float("inf"): "POS_INF"}[self.padding[node]]
            padding = f", padding_mode=ct.PaddingMode.{mode}"
        code = f"ct.load({name}, {tuple_text(index_)}, {tuple_text(shape)}{order}{padding})"
        if not fits:
            code += f".reshape({tuple_text(self.shape(node.free, frame))})"
        return atom(code)

    def store(self, store: Store, scope: Scope) -> None:
        """Write a tile store or a scatter."""
        frame = self.frame_of(frozenset(axis for axis in store.axes if self.tiled(axis)))
        value = self.value(store.value, frame, scope)
        access = find_access(store.index, store.tensor.shape, self.tiled, guarded=store.partial)
        name = self.array(store.tensor, access, written=True)
        axes = frozenset(axis for axis in store.axes if self.tiled(axis))
        code = value.at_least(100)
        if not isinstance(store.value, Const) and not isinstance(store.value, Parameter):
            full = self.shape(axes, frame)
            if axes - store.value.free:
                code = f"ct.broadcast_to({value.code}, {tuple_text(full)})"
        else:
            shape = tuple_text(self.shape(axes, frame)) if frame else "(1,)"
            code = f"ct.full({shape}, {value.code}, dtype={name}.dtype)"
        if store.value.dtype != store.tensor.dtype and not isinstance(store.value, Const | Parameter):
            code += f".astype({name}.dtype)"
        if isinstance(access, Gather):
            index = [self.index(item, frame, scope).code for item in store.index]
            masks = [
                binary("<", self.positions(axis, frame, scope), self.size(axis.extent)).code
                for axis in frame
                if axis in axes and self.ragged(axis) and not self._skips(store, axis)
            ]
            mask = f", mask={' & '.join(f'({item})' for item in masks)}" if masks else ""
            scope.block.line(f"ct.scatter({name}, {tuple_text(index)}, {code}{mask})")
            return
        index_, shape_, order, fits = self.tile_place(access, frame, scope)
        if not fits:
            code = f"{code}.reshape({tuple_text(shape_)})"
        self.tile_stores += 1
        scope.block.line(f"ct.store({name}, {tuple_text(index_)}, {code}{order}, allow_tma=TMA_STORE)")

    def _skips(self, store: Store, axis: AxisAtom) -> bool:
        """Whether what lies past the end of an axis lies past the end of the tensor, too."""
        for item, extent in zip(store.index, store.tensor.shape, strict=True):
            split = item.linear()
            if split is None or axis not in split[0] or not split[0][axis].is_positive():
                continue
            if (item.substitute({axis.name: axis.extent}) - extent).is_nonnegative():
                return True
        return False
