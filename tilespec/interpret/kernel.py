"""Kernels, their hints, and the launch that runs the blocks of a grid one after the other in a random order."""

from __future__ import annotations

import dis
import inspect
import itertools
import math
import random
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import Any, Final, NoReturn

import torch

from tilespec.interpret import state
from tilespec.interpret.dtypes import BOOL, FLOAT32, INT32, INT64, constant_of
from tilespec.interpret.errors import (
    InterpreterError,
    InterpreterLaunchError,
    TileInternalError,
    TileRecursionError,
    TileTypeError,
)
from tilespec.interpret.memory import Array
from tilespec.interpret.tiles import Scalar

__all__ = ["ByTarget", "Kernel", "LaunchRecord", "Options", "kernel", "launch", "recording"]

MAX_GRID: Final = (1 << 24) - 1
MAX_GRID_YZ: Final = 65535
_HINTS: Final = ("num_ctas", "occupancy", "opt_level", "num_worker_warps")
MARK: Final = "__interpreted__"
"""Global of every interpreted module: its `Options`."""


@dataclass
class Options:
    """How a module is interpreted.

    `seed` fixes the order of blocks; `allow_alias` accepts a written array that shares memory with another argument.
    """

    seed: int = 0
    allow_alias: bool = False


@dataclass(frozen=True)
class LaunchRecord:
    """One launch that happened: the kernel, its grid, and each argument by parameter name."""

    kernel: Kernel
    grid: tuple[int, int, int]
    arguments: dict[str, Any] = field(hash=False)


_records: list[list[LaunchRecord]] = []
_dry: list[list[LaunchRecord]] = []


@contextmanager
def recording(*, dry: bool = False) -> Iterator[list[LaunchRecord]]:
    """Collect the launches that happen inside of the `with` block; a `dry` one checks them and runs no block."""
    records: list[LaunchRecord] = []
    _records.append(records)
    if dry:
        _dry.append(records)
    try:
        yield records
    finally:
        # By identity: two lists with the same launches are equal.
        _records[:] = [item for item in _records if item is not records]
        _dry[:] = [item for item in _dry if item is not records]


class ByTarget:
    """A hint whose value depends on the target."""

    def __init__(self, *, default: Any = None, **by_target: Any) -> None:  # noqa: ANN401 - any hint
        for name in by_target:
            if not (name.startswith("sm_") and name[3:].isdigit()):
                msg = f"Invalid GPU architecture name: {name}, expected sm_<major><minor>"
                raise ValueError(msg)
        self.default = default
        self.by_target = by_target

    def __class_getitem__(cls, item: object) -> type[ByTarget]:
        """Accept a type argument in annotations."""
        return cls


def _check_hint(name: str, value: Any) -> None:  # noqa: ANN401 - whatever was given
    if isinstance(value, ByTarget):
        for each in (value.default, *value.by_target.values()):
            _check_hint(name, each)
        return
    if value is None:
        return
    ok = {
        "num_ctas": value in (1, 2, 4, 8, 16),
        "occupancy": value in range(1, 33),
        "opt_level": value in range(4),
        "num_worker_warps": value in (1, 2, 4, 8, 16, 32),
    }[name]
    if not ok:
        msg = f"{name} has no value {value!r}"
        raise ValueError(msg)


class Kernel:
    """A function that runs on a grid of blocks. Hints are checked and have no effect on values."""

    def __init__(self, function: Callable[..., Any], hints: dict[str, Any]) -> None:
        if not inspect.isfunction(function):
            msg = "`kernel` decorator must be applied to a Python function"
            raise TypeError(msg)
        for name, value in hints.items():
            if name not in _HINTS:
                msg = f"kernel() got an unexpected keyword argument '{name}'"
                raise TypeError(msg)
            _check_hint(name, value)
        self.function = function
        self.hints = hints
        self.name = function.__name__

    def __repr__(self) -> str:
        return f"<interpreted kernel {self.name}>"

    def __call__(self, *_args: object, **_keywords: object) -> NoReturn:
        """Refuse: kernels are launched."""
        msg = "Tile kernels cannot be called directly. Use cuda.tile.launch() instead."
        raise TypeError(msg)

    def replace_hints(self, **hints: Any) -> Kernel:  # noqa: ANN401 - any hint
        """Return a kernel with some hints changed."""
        return Kernel(self.function, {**self.hints, **hints})

    @cached_property
    def globals_read(self) -> tuple[tuple[str, int | None], ...]:
        """Name and line of each global that the kernel reads itself."""
        return tuple(
            (step.argval, step.positions.lineno if step.positions else None)
            for step in dis.get_instructions(self.function)
            if step.opname == "LOAD_GLOBAL"
        )

    @cached_property
    def parameters(self) -> tuple[tuple[str, Any], ...]:
        """Name and annotation of each parameter."""
        signature = inspect.signature(self.function)
        for parameter in signature.parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                msg = "Tile kernels can't have *args or **kwargs"
                raise TileTypeError(msg)
        hints = typing.get_type_hints(self.function, include_extras=True)
        return tuple((name, hints.get(name)) for name in signature.parameters)


def kernel(function: Callable[..., Any] | None = None, /, **hints: Any) -> Any:  # noqa: ANN401 - kernel or decorator
    """Mark a function as a kernel."""
    if function is None:
        return lambda actual: Kernel(actual, hints)
    return Kernel(function, hints)


class ConstantAnnotation:
    """Metadata of a parameter whose value is fixed at compile time."""


class ScalarAnnotation:
    """Metadata of a scalar parameter that states its dtype."""

    def __init__(self, *, dtype: object) -> None:
        self.dtype = dtype


class ArrayAnnotation:
    """Metadata of an array parameter."""

    def __init__(
        self,
        *,
        index_dtype: object = INT32,
        static_shape_dims: tuple[int, ...] = (),
        static_stride_dims: tuple[int, ...] = (),
    ) -> None:
        self.index_dtype = index_dtype
        self.static_shape_dims = static_shape_dims
        self.static_stride_dims = static_stride_dims


T = typing.TypeVar("T")
Constant = typing.Annotated[T, ConstantAnnotation()]
ScalarInt64 = typing.Annotated[T, ScalarAnnotation(dtype=INT64)]
IndexedWithInt64 = typing.Annotated[T, ArrayAnnotation(index_dtype=INT64)]


def annotation_of(kernel_: Kernel, name: str) -> Any:  # noqa: ANN401 - any annotation
    """Return the annotation of one parameter."""
    return dict(kernel_.parameters)[name]


def metadata(annotation: Any, kind: type) -> Any:  # noqa: ANN401 - any annotation
    """Return the first metadata of an annotation that is a `kind`."""
    return next((each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, kind)), None)


def _refuse(position: int, value: object) -> NoReturn:
    msg = f"Invalid kernel argument #{position}: Objects of type '{type(value).__name__}' are not supported"
    raise InterpreterLaunchError(msg)


def _constant(position: int, value: Any) -> Any:  # noqa: ANN401 - whatever was passed
    if isinstance(value, tuple):
        return tuple(_constant(position, each) for each in value)
    if type(value) not in (bool, int, float):
        _refuse(position, value)
    return value


def _argument(position: int, name: str, annotation: Any, value: Any) -> Any:  # noqa: ANN401 - whatever was passed
    """Turn a host value into what the kernel's parameter holds."""
    if metadata(annotation, ConstantAnnotation) is not None:
        return _constant(position, value)
    if isinstance(value, torch.Tensor):
        if value.requires_grad:
            msg = f"Invalid kernel argument #{position}: `{name}` requires grad, detach it first"
            raise InterpreterLaunchError(msg)
        layout = metadata(annotation, ArrayAnnotation)
        wide = layout is not None and layout.index_dtype is INT64
        if not wide and max((*value.shape, *value.stride()), default=0) > INT32.high:
            msg = f"an extent or stride of `{name}` doesn't fit int32"
            raise OverflowError(msg)
        return Array(value, name, wide=wide)
    if type(value) is bool:
        return Scalar(value, BOOL)
    if type(value) is int:
        stated = metadata(annotation, ScalarAnnotation)
        dtype = INT32 if stated is None else stated.dtype
        if not dtype.low <= value <= dtype.high:
            msg = f"Invalid kernel argument #{position}: {value} doesn't fit {dtype}"
            raise OverflowError(msg)
        return Scalar(value, dtype)
    if type(value) is float:
        return Scalar(constant_of(value, FLOAT32).item(), FLOAT32)
    if isinstance(value, (tuple, list)) and value:
        return tuple(_argument(position, f"{name}[{place}]", None, each) for place, each in enumerate(value))
    return _refuse(position, value)


def _grid(grid: Any) -> tuple[int, int, int]:  # noqa: ANN401 - whatever was passed
    if (
        not isinstance(grid, tuple)
        or not 1 <= len(grid) <= 3
        or any(type(extent) is not int for extent in grid)
    ):
        msg = f"grid must be a tuple of 1 to 3 ints, got {grid!r}"
        raise InterpreterLaunchError(msg)
    x, y, z = (*grid, 1, 1)[:3]
    if min(x, y, z) < 1:
        msg = f"grid {grid} has an empty extent"
        raise InterpreterLaunchError(msg)
    if x > MAX_GRID or max(y, z) > MAX_GRID_YZ:
        msg = f"grid {grid} exceeds the limit of {MAX_GRID} blocks in x or {MAX_GRID_YZ} in y and z"
        raise InterpreterLaunchError(msg)
    return x, y, z


def _leaves(arguments: list[Any]) -> list[Array]:
    found = []
    for argument in arguments:
        if isinstance(argument, Array):
            found.append(argument)
        elif isinstance(argument, tuple):
            found.extend(_leaves(list(argument)))
    return found


def _extent(array: Array) -> tuple[int, int]:
    """Return the range of storage offsets that an array can touch."""
    last = sum((extent - 1) * step for extent, step in zip(array.extents, array.steps, strict=True))
    return array.offset, array.offset + last


def _overlap(left: Array, right: Array) -> bool:
    """Whether two arrays share an element."""
    storage = left.tensor.untyped_storage()
    if storage.data_ptr() != right.tensor.untyped_storage().data_ptr() or not storage.nbytes():
        return False
    if 0 in (left.tensor.numel(), right.tensor.numel()):
        return False
    (low, high), (first, last) = _extent(left), _extent(right)
    if left.tensor.itemsize != right.tensor.itemsize:
        return True
    if high < first or last < low:
        return False
    marks = torch.zeros(storage.nbytes() // left.tensor.itemsize, dtype=torch.bool)
    marks.as_strided(left.extents, left.steps, left.offset).fill_(True)  # noqa: FBT003 - the value to fill with
    return bool(marks.as_strided(right.extents, right.steps, right.offset).any())


def _mark_aliases(arrays: list[Array]) -> None:
    for left, right in itertools.combinations(arrays, 2):
        if _overlap(left, right):
            left.aliased = left.aliased or right.name
            right.aliased = right.aliased or left.name


def _place(traceback: TracebackType | None) -> tuple[str, int] | None:
    """Return the innermost line of interpreted source in a traceback."""
    found = None
    while traceback is not None:
        if MARK in traceback.tb_frame.f_globals:
            found = (traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def _translate(error: Exception) -> InterpreterError:
    """Name a Python failure of device code as the compiler would."""
    if isinstance(error, InterpreterError):
        return error
    if isinstance(error, UnboundLocalError):
        return TileTypeError(f"Use of potentially undefined variable: {error}")
    if isinstance(error, RecursionError):
        return TileRecursionError("Maximum recursion depth exceeded")
    if isinstance(error, (TypeError, AttributeError, NameError)):
        return TileTypeError(str(error))
    return TileInternalError(f"{type(error).__name__}: {error}")


def _returned(kernel_: Kernel) -> NoReturn:
    error = TileTypeError("Tile kernels cannot return values")
    code = kernel_.function.__code__
    error.file, error.line, error.kernel = code.co_filename, code.co_firstlineno, kernel_.name
    raise error


def _check_globals(kernel_: Kernel) -> None:
    """Refuse globals that can't become constants; the arguments of `static_eval` are code of their own."""
    function = kernel_.function
    for name, line in kernel_.globals_read:
        value = function.__globals__.get(name)
        if isinstance(value, (list, dict, set)):
            error = TileTypeError(
                f"Cannot create constant from value of type {type(value).__name__}: `{name}`"
            )
            error.file, error.line, error.kernel = function.__code__.co_filename, line, kernel_.name
            raise error


def _run(
    kernel_: Kernel, arguments: list[Any], order: list[tuple[int, int, int]], grid: tuple[int, int, int]
) -> None:
    run = state.Launch(kernel_.name, grid)
    outer = state.current
    try:
        # Whoever watches torch calls watches the host side; what happens in a kernel is no torch call of anyone.
        with torch._C.DisableTorchFunction():  # noqa: SLF001 - the only switch that covers modes
            for number, index in enumerate(order, start=1):
                state.current = state.Block(index, number, run)
                if kernel_.function(*arguments) is not None:
                    _returned(kernel_)
    except Exception as raised:
        error = _translate(raised)
        place = _place(raised.__traceback__)
        if place is not None and error.line is None:
            error.file, error.line = place
            error.kernel = kernel_.name
        if error is raised:
            raise
        raise error from raised
    finally:
        state.current = outer


def launch(
    stream: object,
    grid: Any,  # noqa: ANN401 - checked here
    kernel: Any,  # noqa: ANN401 - checked here; the name is part of the interface
    args: Any,  # noqa: ANN401 - checked here
    /,
    *,
    programmatic_dependent_launch: bool = False,  # noqa: ARG001 - launches run one after the other
) -> None:
    """Run `kernel` once for each block of `grid`, in a random order."""
    if state.current is not None:
        msg = "launch() is not supported in device code"
        raise TileTypeError(msg)
    if stream is None:
        msg = "stream must not be None"
        raise InterpreterLaunchError(msg)
    if not isinstance(kernel, Kernel):
        msg = f"launch() expects a kernel, got {type(kernel).__name__}"
        raise InterpreterLaunchError(msg)
    if not isinstance(args, tuple):
        msg = f"kernel arguments must be a tuple, got {type(args).__name__}"
        raise InterpreterLaunchError(msg)
    extents = _grid(grid)
    _check_globals(kernel)
    parameters = kernel.parameters
    if len(args) != len(parameters):
        msg = f"kernel `{kernel.name}` takes {len(parameters)} arguments, got {len(args)}"
        raise InterpreterLaunchError(msg)
    arguments = [
        _argument(position, name, annotation, value)
        for position, ((name, annotation), value) in enumerate(zip(parameters, args, strict=True))
    ]
    options = kernel.function.__globals__.get(MARK) or Options()
    if not options.allow_alias:
        _mark_aliases(_leaves(arguments))
    record = LaunchRecord(kernel, extents, dict(zip((name for name, _ in parameters), args, strict=True)))
    for records in _records:
        records.append(record)
    if _dry:
        return
    order = [(x, y, z) for x, y, z in itertools.product(*map(range, extents))]
    if math.prod(extents) > 1:
        random.Random(options.seed).shuffle(order)  # noqa: S311 - a repeatable order, not a secret
    _run(kernel, arguments, order, extents)
