"""Variables that a loop carries from round to round: they keep their dtype and shape, and a constant becomes strict."""

from __future__ import annotations

from typing import Any

from tilespec.interpret import state
from tilespec.interpret.convert import strict
from tilespec.interpret.errors import TileTypeError
from tilespec.interpret.memory import Array
from tilespec.interpret.tiles import Value

__all__ = ["Carried", "enter", "settle"]


def _type(value: Any) -> Any:  # noqa: ANN401 - any value of device code
    if isinstance(value, (bool, int, float)):
        value = strict(value)
    if isinstance(value, Value):
        return (value.dtype, value.shape)
    if isinstance(value, Array):
        return ("array", value.dtype, value.ndim)
    if isinstance(value, tuple):
        return tuple(_type(each) for each in value)
    return type(value)


def _words(kind: Any) -> str:  # noqa: ANN401 - what `_type` returns
    match kind:
        case (dtype, tuple() as shape):
            return f"{dtype} of shape {shape}"
        case _:
            return str(kind)


def settle(value: Any) -> Any:  # noqa: ANN401 - any value of device code
    """Make constants strict, as they are once a loop carries them."""
    if isinstance(value, tuple):
        return tuple(settle(each) for each in value)
    return strict(value) if isinstance(value, (bool, int, float)) else value


class Carried:
    """The variables of one run of a loop that exist before it and are assigned in it."""

    __slots__ = ("types",)

    def __init__(self, types: dict[str, Any]) -> None:
        self.types = types

    def holds(self, name: str) -> bool:
        """Whether the loop carries `name`."""
        return name in self.types

    def check(self, scope: dict[str, Any]) -> None:
        """Refuse a variable whose type has changed."""
        for name, kind in self.types.items():
            now = _type(scope[name])
            if now != kind:
                msg = f"Type of `{name}` depends on path taken: {_words(kind)} before the loop, {_words(now)} in it"
                raise TileTypeError(msg)


def enter(names: tuple[str, ...], scope: dict[str, Any]) -> Carried | None:
    """Remember the types before a loop; on the host there is nothing to remember."""
    if state.current is None:
        return None
    return Carried({name: _type(scope[name]) for name in names if name in scope})
