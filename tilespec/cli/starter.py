"""The text of a new spec file out of a chain of operations such as `matmul+bias+gelu`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tilespec.diagnostics import SourceText
from tilespec.model.operations import find_operation, suggest_operation
from tilespec.model.recipes import AXIS, BINARY, GATED, LOSSES, NORMS, REDUCTIONS, UNARY

__all__ = ["StarterError", "starter"]

_SCALARS: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "scale": (("scale", "0.125"),),
        "pow": (("power", "2.0"),),
        "clamp": (("low", "0.0"), ("high", "6.0")),
        "layer_norm": (("eps", "1e-5"),),
        "rms_norm": (("eps", "1e-6"),),
    }
)
_WORDS = MappingProxyType(
    {"bias_add": "a bias", "add": "a residual", "matmul": "a product", "linear": "a projection"}
)
_FIRST = frozenset({"attention", "embedding"})
_LAST = frozenset({*LOSSES, *REDUCTIONS})


class StarterError(Exception):
    """Why there is no starter, in words for the reader."""


class _Chain:
    """Inputs collected while operations are added; `shape` is that of the latest result."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.shape: tuple[str, ...] = ("M", "K")
        self.inputs: list[str] = []
        self.names: set[str] = set()
        self.sizes = iter(("N", "P", "Q", "R", "S", "T", "U", "V"))
        self.result = dtype

    def tensor(self, name: str, shape: tuple[str, ...], dtype: str | None = None) -> None:
        shown = f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(shape)})"
        self.inputs.append(f"  - {self.fresh(name)}: shape={shown}, dtype={dtype or self.dtype}")

    def scalar(self, name: str, default: str) -> None:
        self.inputs.append(f"  - {self.fresh(name)}: scalar float = {default}")

    def fresh(self, name: str) -> str:
        new = next(
            each for each in (name, *(f"{name}{number}" for number in range(2, 99))) if each not in self.names
        )
        self.names.add(new)
        return new

    def size(self) -> str:
        try:
            return next(self.sizes)
        except StopIteration:
            message = "at most 8 products fit into one starter"
            raise StarterError(message) from None

    def add(self, name: str) -> None:
        """Add one operation by its canonical name."""
        if not self.inputs and name not in _FIRST:
            self.tensor("x", self.shape)
        if name == "matmul":
            columns = self.size()
            self.tensor("weight", (self.shape[-1], columns))
            self.shape = (*self.shape[:-1], columns)
        elif name == "linear":
            rows = self.size()
            self.tensor("weight", (rows, self.shape[-1]))
            self.tensor("bias", (rows,))
            self.shape = (*self.shape[:-1], rows)
        elif name == "bias_add":
            self.tensor("bias", self.shape[-1:])
        elif name in NORMS:
            self.tensor("gamma", self.shape[-1:])
            if name == "layer_norm":
                self.tensor("beta", self.shape[-1:])
        elif name in GATED or (name in BINARY and name not in _SCALARS):
            self.tensor({"add": "residual"}.get(name, "other"), self.shape)
        else:
            self.reshape(name)
        for scalar, default in _SCALARS.get(name, ()):
            self.scalar(scalar, default)

    def reshape(self, name: str) -> None:
        """Add an operation whose result has another shape than what it works on; others add nothing."""
        if name == "attention":
            self.shape = ("B", "H", "S", "D")
            for each in "qkv":
                self.tensor(each, self.shape)
        elif name == "embedding":
            self.shape = ("B", "S", "D")
            self.tensor("ids", ("B", "S"), "int64")
            self.tensor("table", ("V", "D"))
        elif name in LOSSES:
            classes = name == "cross_entropy"
            self.tensor("target", self.shape[:1] if classes else self.shape, "int64" if classes else None)
            self.shape = ()
        elif name in REDUCTIONS:
            self.shape = self.shape[:-1]


def starter(name: str, like: str, dtype: str) -> str:
    """Return a file with one kernel that performs the operations in `like`, parted by `+`.

    Raises:
        StarterError: an operation is unknown, or needs more than operands.
    """
    from tilespec.model import build_model
    from tilespec.syntax import format_source, parse

    operations = [_operation(word) for word in like.split("+")]
    chain = _Chain(dtype)
    for position, operation in enumerate(operations):
        if operation in _FIRST and position:
            message = f"`{operation}` has to stand first"
            raise StarterError(message)
        if operation in _LAST and position + 1 < len(operations):
            message = f"`{operation}` has to stand last"
            raise StarterError(message)
        chain.add(operation)
    shape = f"({chain.shape[0]},)" if len(chain.shape) == 1 else f"({', '.join(chain.shape)})"
    words = [_WORDS.get(operation, operation.replace("_", " ")) for operation in operations]
    lines = [
        f"KERNEL SPEC: {name}",
        f"Description: {', then '.join(words).capitalize()}.",
        f"Operations: [{', '.join(operations)}]",
        "Inputs:",
        *chain.inputs,
        "Outputs:",
        f"  - y: shape={shape}, dtype={chain.result}",
        "Dependencies: none",
    ]
    text = "\n".join(lines) + "\n"
    tree, findings = parse(SourceText(f"{name}.tilespec", text))
    spec, more = build_model(tree)
    if spec is None or spec.kernels[0].reference is None:
        reason = next((item.message for item in [*findings, *more]), "these operations don't make one kernel")
        raise StarterError(reason)
    text += f"PyTorch Reference:\n{spec.kernels[0].reference.text}Notes:\n- Accumulate in float32\n"
    formatted, _ = format_source(SourceText(f"{name}.tilespec", text))
    return formatted or text


def _operation(word: str) -> str:
    entry = find_operation(word)
    if entry is None:
        close = suggest_operation(word)
        hint = f", did you mean `{close}`?" if close else ", `tilespec ops` lists what is"
        message = f"`{word.strip()}` is no operation{hint}"
        raise StarterError(message)
    tables = (UNARY, BINARY, GATED, AXIS, NORMS, LOSSES, REDUCTIONS, _FIRST, {"matmul", "linear", "clamp"})
    if not any(entry.name in table for table in tables):
        message = f"`{entry.name}` needs more than operands: copy a spec that has one and change it"
        raise StarterError(message)
    return entry.name
