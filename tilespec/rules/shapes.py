"""TS3xx: shapes, dtypes, dims, scalars and settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule, Severity

__all__ = [
    "BenchMismatch",
    "CircularDim",
    "DuplicateDim",
    "EdgeMismatch",
    "EmptyRange",
    "InplaceMismatch",
    "InvalidDefault",
    "InvalidExpression",
    "InvalidSetting",
    "LayoutRank",
    "NonPositiveDim",
    "UnboundSymbol",
    "UnknownDtype",
    "UnknownLayout",
    "UnknownScalarKind",
    "UnusedDim",
]


def _meant(close: str | None) -> str | None:
    return f"did you mean `{close}`?" if close else None


@dataclass(frozen=True)
class UnknownDtype(Rule):
    """A dtype that is none.

    Dtypes have the names of torch. Other spellings that mean exactly one of them (`fp16`, `half`) are accepted, and
    written out by the formatter.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=flaot32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=fp32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS301"
    name: ClassVar[str] = "unknown-dtype"
    guesses: ClassVar[bool] = True
    dtype: str
    close: str | None = None

    def message(self) -> str:
        return f"`{self.dtype}` is no dtype"

    def help(self) -> str | None:
        known = "float16, bfloat16, float32, float64, float8_e4m3fn, float8_e5m2, int8, uint8, int32, int64 and bool"
        return _meant(self.close) or f"the dtypes are {known}"

    def replacement(self) -> str | None:
        return self.close


@dataclass(frozen=True)
class NonPositiveDim(Rule):
    """A literal dim of zero or less.

    A size of zero makes a tensor without elements for every call; below zero is no size at all.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N, 0), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N, 1), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS302"
    name: ClassVar[str] = "non-positive-dim"
    dim: str
    value: int

    def message(self) -> str:
        shown = f"`{self.dim}`" if self.dim == str(self.value) else f"`{self.dim}`, which is {self.value}"
        return f"dim {shown}, is less than 1" if "which" in shown else f"dim {shown} is less than 1"

    def help(self) -> str | None:
        return "a size is at least 1; a tensor without dims has `shape=()`"


@dataclass(frozen=True)
class InvalidExpression(Rule):
    """An expression that has no value.

    Dims are whole numbers and symbols joined by `+ - * // % **`, `min`, `max` and `ceildiv`. Defaults and ranges
    are numbers. Both are bounded, so that no text costs more than it says.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N / 2,), dtype=float32
      - n: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N // 2,), dtype=float32
      - n: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS303"
    name: ClassVar[str] = "invalid-expression"
    text: str
    reason: str
    advice: str | None = None

    def message(self) -> str:
        return f"`{self.text}` {self.reason}"

    def help(self) -> str | None:
        return self.advice or "sizes are expressions like `2*D` or `H // heads`, other values are numbers"


@dataclass(frozen=True)
class UnboundSymbol(Rule):
    """A symbol that only an output uses, so that no call could know it.

    The launcher allocates outputs from the sizes of the inputs. A size that no input has must follow from others
    under `Dims`.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(M,), dtype=float32
    ```

    ```tilespec
    Dims:
      M: = 2*N

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(M,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS304"
    name: ClassVar[str] = "unbound-symbol"
    symbol: str
    output: str
    close: str | None = None

    def message(self) -> str:
        return f"no input has the size `{self.symbol}` of output `{self.output}`"

    def help(self) -> str | None:
        return (
            _meant(self.close)
            or f"state it under `Dims:`, as in `{self.symbol}: = 4 * D`, or take it from an input's shape"
        )

    def label(self) -> str | None:
        return "only here"


@dataclass(frozen=True)
class EdgeMismatch(Rule):
    """An output wired to an input of another shape or dtype.

    Wiring that is written down binds: both ends of it have the same shape, up to equations under `Dims`, and the
    same dtype.

    ```tilespec
    KERNEL SPEC: first
    Description: First step.
    Operations: [exp]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - e: shape=(N,), dtype=float32
    ---
    KERNEL SPEC: second
    Description: Second step.
    Operations: [log]
    Inputs:
      - e: shape=(N, 1), dtype=float32, from=first.e
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: [first]
    ```

    ```tilespec
    KERNEL SPEC: first
    Description: First step.
    Operations: [exp]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - e: shape=(N,), dtype=float32
    ---
    KERNEL SPEC: second
    Description: Second step.
    Operations: [log]
    Inputs:
      - e: shape=(N,), dtype=float32, from=first.e
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: [first]
    ```
    """

    code: ClassVar[str] = "TS305"
    name: ClassVar[str] = "edge-mismatch"
    consumer: str
    producer: str
    wanted: str
    given: str

    def message(self) -> str:
        return f"`{self.consumer}` is `{self.wanted}`, but `{self.producer}` is `{self.given}`"

    def help(self) -> str | None:
        return "make both sides agree, or wire the input to another output"


@dataclass(frozen=True)
class EmptyRange(Rule):
    """A range or set that holds no value, or one that isn't a size.

    A range under `Dims` or `values` is where fuzzing draws from and what launches are checked against. It has to
    hold something.

    ```tilespec
    Dims:
      N: 64..1

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    Dims:
      N: 1..64

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS306"
    name: ClassVar[str] = "empty-range"
    text: str
    reason: str

    def message(self) -> str:
        return f"`{self.text}` {self.reason}"

    def help(self) -> str | None:
        return "write the lower end first, sizes of at least 1, a step of at least 1"


@dataclass(frozen=True)
class CircularDim(Rule):
    """Dims that are defined by each other.

    An equation gives one symbol in terms of others; in a circle none of them has a value.

    ```tilespec
    Dims:
      N: = 2*M
      M: = 3*N

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N, M), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    Dims:
      M: = 3*N

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N, M), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS307"
    name: ClassVar[str] = "circular-dim"
    symbols: tuple[str, ...]

    def message(self) -> str:
        return f"dims are defined in a circle: `{' -> '.join((*self.symbols, self.symbols[0]))}`"

    def help(self) -> str | None:
        return "leave one of them free"


@dataclass(frozen=True)
class DuplicateDim(Rule):
    """A dim symbol or type variable that is defined twice in a file.

    A file has one symbol table: `D` is the same size in all kernels.

    ```tilespec
    Dims:
      N: 1..64
      N: 1..128

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    Dims:
      N: 1..128

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS308"
    name: ClassVar[str] = "duplicate-dim"
    symbol: str
    kind: str = "dim"

    def message(self) -> str:
        return f"{self.kind} `{self.symbol}` is defined twice"

    def help(self) -> str | None:
        return "a symbol means the same in the whole file: keep one definition"


@dataclass(frozen=True)
class UnusedDim(Rule):
    """A symbol under `Dims` or `Types` that no tensor uses.

    A symbol that no tensor uses restricts nothing; mostly it is a typo for one that is used.

    ```tilespec
    Dims:
      M: 1..64

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    Dims:
      N: 1..64

    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS309"
    name: ClassVar[str] = "unused-dim"
    severity: ClassVar[Severity] = Severity.WARNING
    symbol: str
    close: str | None = None
    kind: str = "dim"

    def message(self) -> str:
        return f"no tensor uses the {self.kind} `{self.symbol}`"

    def help(self) -> str | None:
        return _meant(self.close) or "remove the line"


@dataclass(frozen=True)
class UnknownScalarKind(Rule):
    """A scalar that is neither `float` nor `int` nor `bool`.

    Scalars are arguments of the launcher: Python's `float`, `int` or `bool`. They have no width.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
      - s: scalar float32 = 2.0
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
      - s: scalar float = 2.0
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS310"
    name: ClassVar[str] = "unknown-scalar-kind"
    kind: str
    close: str | None = None

    def message(self) -> str:
        return f"`{self.kind}` is no kind of scalar"

    def help(self) -> str | None:
        return _meant(self.close) or "write `scalar float`, `scalar int` or `scalar bool`"

    def replacement(self) -> str | None:
        return self.close


@dataclass(frozen=True)
class InvalidDefault(Rule):
    """A default that isn't of the scalar's kind.

    A default is a value of the scalar's kind.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
      - n: scalar int = 0.5
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
      - n: scalar int = 2
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS311"
    name: ClassVar[str] = "invalid-default"
    scalar: str
    kind: str
    written: str

    def message(self) -> str:
        return f"default `{self.written}` of scalar `{self.scalar}` is no {self.kind}"

    def help(self) -> str | None:
        return {"bool": "write `True` or `False`", "int": "write a whole number"}.get(
            self.kind, "write a number"
        )


@dataclass(frozen=True)
class UnknownLayout(Rule):
    """A layout that isn't known.

    A layout says how a tensor lies in memory: `contiguous`, the default, or `channels_last`.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N, 2, 3, 4), dtype=float32, layout=channel_last
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N, 2, 3, 4), dtype=float32, layout=channels_last
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS312"
    name: ClassVar[str] = "unknown-layout"
    guesses: ClassVar[bool] = True
    layout: str
    close: str | None = None

    def message(self) -> str:
        return f"`{self.layout}` is no layout"

    def help(self) -> str | None:
        return _meant(self.close) or "the layouts are `contiguous` and `channels_last`"

    def replacement(self) -> str | None:
        return self.close


@dataclass(frozen=True)
class LayoutRank(Rule):
    """`channels_last` of a tensor that has no channel axis to put last.

    `channels_last` puts axis 1 last in memory, behind two or three spatial axes.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N, 2), dtype=float32, layout=channels_last
    Outputs:
      - y: shape=(N,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N, 2), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS313"
    name: ClassVar[str] = "layout-rank"
    tensor: str
    rank: int

    def message(self) -> str:
        return f"`{self.tensor}` has {self.rank} dims, `channels_last` needs 4 or 5"

    def help(self) -> str | None:
        return "remove `layout=channels_last`"


@dataclass(frozen=True)
class InvalidSetting(Rule):
    """An entry of `Numerics` that isn't one.

    `Numerics` has the entries `accumulate`, `tf32`, `approximate` and `tolerance`; each has a safe default.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Numerics: acumulate=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Numerics: accumulate=float32
    ```
    """

    code: ClassVar[str] = "TS314"
    name: ClassVar[str] = "invalid-setting"
    key: str
    reason: str
    advice: str

    def message(self) -> str:
        return f"`{self.key}` {self.reason}"

    def help(self) -> str | None:
        return self.advice


@dataclass(frozen=True)
class BenchMismatch(Rule):
    """A `Bench` shape that the file rules out.

    `Bench` names real sizes for timing. Each is a size of a symbol that the kernel uses, and `Dims` allows it.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Bench: M=1024
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Bench: N=1024
    ```
    """

    code: ClassVar[str] = "TS315"
    name: ClassVar[str] = "bench-mismatch"
    symbol: str
    reason: str
    close: str | None = None

    def message(self) -> str:
        return f"`Bench` sets `{self.symbol}`{self.reason}"

    def help(self) -> str | None:
        return _meant(self.close) or "use symbols of the kernel's shapes and sizes that `Dims` allows"


@dataclass(frozen=True)
class InplaceMismatch(Rule):
    """An in-place output of another shape or dtype than the input that it overwrites.

    An in-place output takes the memory of its input, so both have the same shape and dtype.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float16, inplace=x
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a vector.
    Operations: [scale]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32, inplace=x
    ```
    """

    code: ClassVar[str] = "TS316"
    name: ClassVar[str] = "inplace-mismatch"
    output: str
    target: str

    def message(self) -> str:
        return f"`{self.output}` overwrites `{self.target}`, but has another shape or dtype"

    def help(self) -> str | None:
        return "give both the same shape and dtype"


@dataclass(frozen=True)
class TooManyDims(Rule):
    """A shape of more dimensions than any tensor has.

    torch gives up at 64 dimensions, and long before that a shape is a mistake: a bracket that was never closed, or sizes
    written where a product was meant.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a tensor.
    Operations: [scale]
    Inputs:
      - x: shape=(A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A), dtype=float32
    Outputs:
      - y: shape=(A,), dtype=float32
    ```

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles a tensor.
    Operations: [scale]
    Inputs:
      - x: shape=(A, A), dtype=float32
    Outputs:
      - y: shape=(A, A), dtype=float32
    ```
    """

    code: ClassVar[str] = "TS317"
    name: ClassVar[str] = "too-many-dims"
    count: int
    most: int

    def message(self) -> str:
        return f"the shape has {self.count} dimensions, of {self.most} at most"

    def help(self) -> str | None:
        return "merge dimensions that are never told apart, as in `B*H`"


@dataclass(frozen=True)
class TooManyTypes(Rule):
    """A kernel whose type variables have more choices than can be built.

    Every choice of dtypes is traced, scheduled and written as a kernel of its own, so that two variables of eight dtypes
    are 64 kernels.

    ```tilespec
    Types:
      T in {float16, bfloat16, float32, float64, int8, int32, int64}
      U in {float16, bfloat16, float32, float64, int8, int32, int64}
      V in {float16, bfloat16}
    ---
    KERNEL SPEC: add
    Description: Adds three vectors.
    Operations: [add, add]
    Inputs:
      - a: shape=(N,), dtype=T
      - b: shape=(N,), dtype=U
      - c: shape=(N,), dtype=V
    Outputs:
      - y: shape=(N,), dtype=float64
    ```

    ```tilespec
    Types: T in {float16, bfloat16, float32}
    ---
    KERNEL SPEC: add
    Description: Adds three vectors.
    Operations: [add, add]
    Inputs:
      - a: shape=(N,), dtype=T
      - b: shape=(N,), dtype=T
      - c: shape=(N,), dtype=T
    Outputs:
      - y: shape=(N,), dtype=T
    ```
    """

    code: ClassVar[str] = "TS318"
    name: ClassVar[str] = "too-many-types"
    kernel: str
    count: int
    most: int

    def message(self) -> str:
        return f"`{self.kernel}` would be {self.count} kernels, one for each choice of dtypes, of {self.most} at most"

    def help(self) -> str | None:
        return "let tensors share a type variable, or list fewer dtypes"
