"""The module that stands in for `cuda.tile`, and the Python builtins as device code knows them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final, NoReturn

from tilespec.interpret import (
    arithmetic,
    bits,
    contraction,
    convert,
    enums,
    errors,
    functions,
    kernel,
    memory,
    operators,
    reductions,
    scattered,
    shapes,
    state,
)
from tilespec.interpret.dtypes import BY_NAME, INT32, DType
from tilespec.interpret.errors import (
    NotSupportedError,
    StaticException,
    TileStaticAssertionError,
    TileTypeError,
)
from tilespec.interpret.tiles import Scalar, Tile, Value

__all__ = ["BUILTINS", "cuda_tile"]

_MAX_UNROLLED: Final = 1000


def bid(axis: int) -> Scalar:
    """Return the index of this block along one axis of the grid."""
    return Scalar(_along(axis, "bid"), INT32)


def num_blocks(axis: int) -> Scalar:
    """Return the number of blocks along one axis of the grid."""
    place = _along(axis, "num_blocks", grid=True)
    return Scalar(place, INT32)


def _along(axis: int, name: str, *, grid: bool = False) -> int:
    block = state.current
    if block is None:
        msg = f"{name}(): Device functions can only be called from device code"
        raise RuntimeError(msg)
    if type(axis) is not int or axis not in (0, 1, 2):
        msg = f"{name}() expects a constant axis 0, 1 or 2, got {axis!r}"
        raise TileTypeError(msg)
    return (block.launch.grid if grid else block.index)[axis]


class DeviceRange:
    """`range` in device code: its elements are runtime int32 scalars."""

    __slots__ = ("bounds",)

    def __init__(self, *bounds: object) -> None:
        if not 1 <= len(bounds) <= 3:
            msg = f"range() expects 1 to 3 arguments, got {len(bounds)}"
            raise TileTypeError(msg)
        numbers = [memory.integer(bound, "range() argument") for bound in bounds]
        start, stop, step = (0, numbers[0], 1) if len(numbers) == 1 else (*numbers, 1)[:3]
        if step <= 0:
            msg = f"Step must be positive, got {step}"
            raise TileTypeError(msg)
        self.bounds = (start, stop, step)

    def __iter__(self) -> Iterator[Scalar]:
        return (Scalar(number, INT32) for number in builtins.range(*self.bounds))


def _range(*bounds: Any) -> Any:  # noqa: ANN401 - as the builtin, or a `DeviceRange`
    return builtins.range(*bounds) if state.current is None or _static else DeviceRange(*bounds)


_static: list[bool] = []
"""One entry for each `static_eval` or `static_iter` argument that is being computed."""


def _computed(expression: Any) -> Any:  # noqa: ANN401 - a value or a thunk made by the loader
    if not (builtins.callable(expression) and getattr(expression, "__name__", "") == "<lambda>"):
        return expression
    _static.append(True)
    try:
        return expression()
    finally:
        _static.pop()


class StaticIter:
    """What `static_iter` gives to a `for` loop, which is then unrolled."""

    __slots__ = ("items",)

    def __init__(self, iterable: Any) -> None:  # noqa: ANN401 - any iterable
        self.items = list(_computed(iterable))
        if len(self.items) > _MAX_UNROLLED:
            msg = f"static_iter() exceeds {_MAX_UNROLLED} rounds"
            raise TileTypeError(msg)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


def static_eval(expr: Any, /) -> Any:  # noqa: ANN401 - any expression
    """Return what host Python computes."""
    return _computed(expr)


def static_assert(condition: Any, message: Any = None, /) -> None:  # noqa: ANN401 - constants
    """Refuse a constant that is false."""
    if isinstance(condition, Value):
        msg = "static_assert() expects a constant"
        raise TileTypeError(msg)
    if not condition:
        raise TileStaticAssertionError("" if message is None else str(message))


def static_exception(exc: Any, /) -> StaticException:  # noqa: ANN401 - an exception
    """Wrap an exception so that device code may raise it."""
    return StaticException(str(exc))


def ensure_constant(value: Any, /) -> Any:  # noqa: ANN401 - a constant
    """Refuse a runtime value."""
    if isinstance(value, Value):
        msg = "Expected a constant, got a runtime value"
        raise TileTypeError(msg)
    return value


def assert_(cond: Any, /, message: str | None = None) -> None:  # noqa: ANN401 - a tile
    """Refuse a false element."""
    value = convert.astype(convert.strict(cond, "assert_"), BY_NAME["bool_"])
    if not bool(value.data.all()):
        raise errors.InterpreterError(message or "assertion failed in device code")


def assume_divisible_by(x: Any, divisor: int) -> Any:  # noqa: ANN401 - a scalar
    """Check a promise that the compiler would take on trust."""
    if memory.integer(x, "assume_divisible_by() argument") % divisor:
        msg = f"assume_divisible_by({x!r}, {divisor}) doesn't hold"
        raise errors.InterpreterError(msg)
    return x


def _silent(*_args: object, **_keywords: object) -> None:
    """Print nothing: output of device code is for debugging."""


def function(func: Any = None, /, *, host: bool = False, tile: bool = True) -> Any:  # noqa: ANN401, ARG001
    """Mark a helper function; it stays what it is."""
    return (lambda actual: actual) if func is None else func


_OPERATIONS: Final[dict[str, Any]] = {
    name.removesuffix("_") if name in ("max_", "min_", "sum_", "abs_", "pow_", "divmod_") else name: getattr(
        home, name
    )
    for home, names in (
        (
            arithmetic,
            "add sub mul truediv floordiv mod divmod_ cdiv pow_ maximum minimum where negative abs_",
        ),
        (arithmetic, "equal not_equal less less_equal greater greater_equal"),
        (bits, "bitwise_and bitwise_or bitwise_xor bitwise_lshift bitwise_rshift bitwise_not bitcast"),
        (convert, "astype"),
        (functions, "isnan exp exp2 log log2 sqrt rsqrt sin cos tan sinh cosh tanh atan2 floor ceil"),
        (
            shapes,
            "full zeros ones arange astile broadcast_to reshape permute transpose expand_dims cat extract insert",
        ),
        (reductions, "sum_ prod max_ min_ argmax argmin reduce scan cumsum cumprod"),
        (contraction, "mma matmul"),
        (memory, "Array TiledView load store num_tiles"),
        (
            scattered,
            "gather scatter atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor atomic_xchg atomic_cas",
        ),
        (enums, "MemoryOrder MemoryScope PaddingMode RoundingMode"),
        (
            errors,
            "TileError TileInternalError TileRecursionError TileSyntaxError TileTypeError TileValueError",
        ),
        (errors, "StaticException TileCompilerExecutionError TileUnsupportedFeatureError"),
        (errors, "TileStaticAssertionError TileStaticEvalError"),
        (
            kernel,
            "ByTarget Constant ConstantAnnotation ArrayAnnotation IndexedWithInt64 ScalarInt64 kernel launch",
        ),
    )
    for name in names.split()
}
_OTHERS: Final[dict[str, Any]] = {
    "DType": DType,
    "Scalar": Scalar,
    "Tile": Tile,
    "assert_": assert_,
    "assume_divisible_by": assume_divisible_by,
    "bid": bid,
    "ensure_constant": ensure_constant,
    "function": function,
    "grid_dependency_control_launch_dependents": _silent,
    "grid_dependency_control_wait": _silent,
    "num_blocks": num_blocks,
    "print": _silent,
    "printf": _silent,
    "static_assert": static_assert,
    "static_eval": static_eval,
    "static_exception": static_exception,
    "static_iter": StaticIter,
    **BY_NAME,
}
_UNMODELLED: Final = frozenset(
    {
        "ListAnnotation",
        "Slice",
        "compilation",
        "compiler_timeout",
        "float4_e2m1fn",
        "float8_e5m3fnu",
        "foreign_pointer_dtype",
        "load_advanced_indexing",
        "mma_scaled",
        "pack_to_bytes",
        "store_advanced_indexing",
        "tune",
        "unpack_from_bytes",
    }
)


class _CudaTile(ModuleType):
    """`cuda.tile`, whose missing names are reported as the compiler reports them."""

    def __getattr__(self, name: str) -> NoReturn:
        if name in _UNMODELLED:
            what = f"cuda.tile.{name}"
            raise NotSupportedError(what)
        if name.startswith("__"):
            raise AttributeError(name)
        msg = f"Module 'cuda.tile' has no attribute '{name}'"
        raise AttributeError(msg) if state.current is None else TileTypeError(msg)


def cuda_tile() -> ModuleType:
    """Make the module."""
    operators.install()
    module = _CudaTile("cuda.tile")
    module.__dict__.update(_OPERATIONS)
    module.__dict__.update(_OTHERS)
    return module


def _chosen(name: str, pair: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    host: Callable[..., Any] = getattr(builtins, name)

    def choose(*values: Any, **keywords: Any) -> Any:  # noqa: ANN401 - as the builtin
        if not any(isinstance(value, Value) for value in values):
            return host(*values, **keywords)
        if len(values) != 2:
            msg = f"{name}() takes two operands in device code, got {len(values)}: too many positional arguments"
            raise TileTypeError(msg)
        return pair(*values)

    return choose


def _refused(name: str) -> Callable[..., Any]:
    host: Callable[..., Any] = getattr(builtins, name)

    def refuse(*values: Any, **keywords: Any) -> Any:  # noqa: ANN401 - as the builtin
        if state.current is not None and not _static:
            msg = f"{name}() is not supported in device code"
            raise TileTypeError(msg)
        return host(*values, **keywords)

    return refuse


def _print(*values: Any, **keywords: Any) -> None:  # noqa: ANN401 - as the builtin
    if state.current is None:
        builtins.print(*values, **keywords)  # noqa: T201 - a launcher that prints prints


def loop_iterable(iterable: Any) -> Any:  # noqa: ANN401 - whatever a `for` runs over
    """Check what a `for` statement of device code runs over."""
    if state.current is None or isinstance(iterable, (DeviceRange, StaticIter)):
        return iterable
    msg = f"Expected a range object, got {type(iterable).__name__}"
    raise TileTypeError(msg)


BUILTINS: Final[dict[str, Any]] = {
    "max": _chosen("max", arithmetic.maximum),
    "min": _chosen("min", arithmetic.minimum),
    "print": _print,
    "range": _range,
    **{name: _refused(name) for name in ("open", "round", "sorted", "sum", "pow")},
}
"""Builtins that mean something else in device code; on the host they are Python's."""
