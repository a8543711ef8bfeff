"""A `torch` for the worker, in which only kernels are compiled and no launcher runs.

Importing the real one takes longer than most compiles. Every attribute exists, can be called, subscripted, derived
from and joined by `|`, and does nothing.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

__all__ = ["Absent", "install"]


class Absent:
    """Something of torch that is named in a module and not used by a kernel."""

    def __init__(self, *args: object, **keywords: object) -> None:
        """Accept anything."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - anything
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent()

    def __call__(self, *args: Any, **keywords: Any) -> Any:  # noqa: ANN401 - a decorator returns its function
        """Return the one function that was given, as a decorator would, else nothing of use."""
        if len(args) == 1 and not keywords and callable(args[0]):
            return args[0]
        return Absent()

    def __getitem__(self, key: object) -> Absent:
        return Absent()

    def __or__(self, other: object) -> Absent:
        return Absent()

    __ror__ = __or__

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        """Let classes derive from it."""
        return (Absent,)


class _Torch(ModuleType):
    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - anything
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent()


def install(modules: dict[str, ModuleType]) -> None:
    """Put the stand-in where `import` finds it; for a process of its own."""
    for name in ("torch", "torch.cuda", "torch.nn", "torch.nn.functional", "torch.library"):
        module = _Torch(name)
        module.__path__ = []
        modules[name] = module
