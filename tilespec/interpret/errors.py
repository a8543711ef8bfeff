"""What the interpreter raises: the failures of the cuTile compiler, and the undefined behaviour that it can't see.

Every class derives from `InterpreterError`. Those that the compiler has too carry the name that `cuda.tile`
exports, so that a kernel which catches `ct.TileError` behaves the same.
"""

from __future__ import annotations

__all__ = [
    "AliasError",
    "DataRaceError",
    "InterpreterError",
    "InterpreterLaunchError",
    "NotSupportedError",
    "OutOfBoundsError",
    "PoisonError",
    "StaticException",
    "TileCompilerExecutionError",
    "TileError",
    "TileInternalError",
    "TileRecursionError",
    "TileStaticAssertionError",
    "TileStaticEvalError",
    "TileSyntaxError",
    "TileTypeError",
    "TileUnsupportedFeatureError",
    "TileValueError",
]


class InterpreterError(Exception):
    """Base of everything raised while a kernel is interpreted; `file` and `line` point into its source."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.file: str | None = None
        self.line: int | None = None
        self.kernel: str | None = None

    def __str__(self) -> str:
        if self.line is None:
            return self.message
        return f"{self.message}\n  {self.file}:{self.line}, in kernel {self.kernel}"


class TileError(InterpreterError):
    """Base of what the compiler would refuse."""


class TileSyntaxError(TileError):
    """Python syntax that device code can't have."""


class TileTypeError(TileError):
    """A wrong dtype, shape, rank or kind of value."""


class TileValueError(TileError):
    """A constant outside the range that an operation accepts."""


class TileUnsupportedFeatureError(TileError):
    """A feature that the target doesn't have."""


class TileRecursionError(TileError):
    """Helper functions that call each other without end."""


class TileStaticAssertionError(TileError):
    """A `static_assert` that doesn't hold."""


class TileStaticEvalError(TileError):
    """A `static_eval` whose expression raised."""


class TileInternalError(TileError):
    """What the front end reports as its own failure, though the kernel causes it."""


class TileCompilerExecutionError(TileError):
    """What passes the front end and is refused by the assembler."""


class StaticException(TileError):  # noqa: N818 - the name that `cuda.tile` has
    """An exception that the kernel raised itself, through `static_exception`."""


class NotSupportedError(InterpreterError):
    """Valid cuTile that the interpreter doesn't model."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not supported by the interpreter")


class InterpreterLaunchError(InterpreterError, TypeError):
    """A launch that the host side of cuTile refuses: grid, stream or arguments."""


class OutOfBoundsError(InterpreterError):
    """A tile that lies wholly outside of its array, or a negative tile index: undefined on a GPU."""


class PoisonError(InterpreterError):
    """A stored value that depends on undetermined padding."""


class AliasError(InterpreterError):
    """A write to an array that shares memory with another argument of the launch."""


class DataRaceError(InterpreterError):
    """Two writers, or a reader and a writer, of one element without an order between them."""
