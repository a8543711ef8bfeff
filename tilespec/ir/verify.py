"""The verifier: what must hold of every tile program. A complaint is a fault of ours, never of a spec."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilespec.ir.build import is_integer
from tilespec.ir.nodes import (
    Compute,
    Contract,
    Index,
    Load,
    Node,
    Parameter,
    Program,
    Reduce,
    Scan,
    Store,
    postorder,
)
from tilespec.ir.ops import OPS
from tilespec.model.dims import AxisAtom

__all__ = ["REDUCTIONS", "SCANS", "verify"]

REDUCTIONS = frozenset({"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"})
SCANS = frozenset({"sum", "prod", "max", "min"})
_NARROW = frozenset({"float16", "bfloat16"})


def verify(program: Program) -> tuple[str, ...]:
    """Return what is wrong with a program, in order; nothing when all is well."""
    return tuple(_complaints(program))


def _complaints(program: Program) -> Iterator[str]:
    inputs = set(program.inputs)
    parameters = {name for name, _ in program.parameters}
    for store in program.stores:
        yield from _store_complaints(store)
    for node in postorder(store.value for store in program.stores):
        if isinstance(node, Parameter) and node.name not in parameters:
            yield f"parameter {node.name} is not declared"
        if isinstance(node, Load) and node.tensor not in inputs:
            yield f"load of {node.tensor.name}, which is no input"
        yield from _node_complaints(node)


def _store_complaints(store: Store) -> Iterator[str]:
    name = store.tensor.name
    if len(store.index) != len(store.tensor.shape):
        yield f"store {name}: index has rank {len(store.index)}, tensor has {len(store.tensor.shape)}"
    if len(set(store.axes)) != len(store.axes):
        yield f"store {name}: an axis stands twice"
    loose = store.value.free - set(store.axes)
    if loose:
        yield f"store {name}: free axes {_names(loose)} are not axes of the store"
    used = frozenset[AxisAtom]().union(*(item.axes for item in store.index))
    if used != frozenset(store.axes):
        yield f"store {name}: the index uses {_names(used)}, the store runs over {_names(store.axes)}"
    if store.value.dtype != _compute_dtype(store.tensor.dtype):
        yield f"store {name}: value is {store.value.dtype}, tensor is {store.tensor.dtype}"


def _names(axes: Iterable[AxisAtom]) -> str:
    return ", ".join(sorted(atom.name for atom in axes)) or "none"


def _compute_dtype(dtype: str) -> str:
    return "float32" if dtype in _NARROW or dtype.startswith("float8") else dtype


def _node_complaints(node: Node) -> Iterator[str]:
    if isinstance(node, Load):
        yield from _load_complaints(node)
    elif isinstance(node, Compute):
        yield from _compute_complaints(node)
    elif isinstance(node, Index) and not is_integer(node.dtype):
        yield f"index of dtype {node.dtype}"
    elif isinstance(node, Reduce):
        yield from _reduce_complaints(node)
    elif isinstance(node, Contract):
        if not (node.left.dtype == node.right.dtype == node.dtype):
            yield f"contract: {node.left.dtype} by {node.right.dtype} gives {node.dtype}"
        yield from _axes_complaints("contract", node.axes)
    elif isinstance(node, Scan):
        if node.op not in SCANS:
            yield f"scan {node.op} is unknown"
        if node.dtype != node.arg.dtype:
            yield f"scan {node.op}: dtype {node.dtype}, operand is {node.arg.dtype}"


def _axes_complaints(what: str, axes: tuple[AxisAtom, ...]) -> Iterator[str]:
    if not axes or len(set(axes)) != len(axes):
        yield f"{what}: axes are empty or repeated"


def _load_complaints(node: Load) -> Iterator[str]:
    name = node.tensor.name
    if len(node.index) != len(node.tensor.shape):
        yield f"load {name}: index has rank {len(node.index)}, tensor has {len(node.tensor.shape)}"
    if node.dtype != node.tensor.dtype:
        yield f"load {name}: dtype {node.dtype}, tensor is {node.tensor.dtype}"
    for item in node.index:
        if isinstance(item, Node) and not is_integer(item.dtype):
            yield f"load {name}: index of dtype {item.dtype}"


def _reduce_complaints(node: Reduce) -> Iterator[str]:
    if node.op not in REDUCTIONS:
        yield f"reduce {node.op} is unknown"
    expected = "int64" if node.op.startswith("arg") else node.arg.dtype
    if node.dtype != expected:
        yield f"reduce {node.op}: dtype {node.dtype}, expected {expected}"
    yield from _axes_complaints(f"reduce {node.op}", node.axes)


def _kind(dtype: str) -> str:
    if dtype in {"float32", "float64"}:
        return "f"
    if is_integer(dtype):
        return "i"
    return "b" if dtype == "bool" else "n"


def _compute_complaints(node: Compute) -> Iterator[str]:
    rule = OPS.get(node.op)
    if rule is None:
        yield f"operation {node.op} is unknown"
        return
    if len(node.args) != rule.arity:
        yield f"{node.op}: {len(node.args)} operands, needs {rule.arity}"
        return
    if node.op == "cast":
        if node.args[0].dtype == node.dtype:
            yield f"cast from {node.dtype} to itself"
        return
    data = node.args
    if node.op == "where":
        if data[0].dtype != "bool":
            yield f"where: condition is {data[0].dtype}"
        data = data[1:]
    dtypes = {item.dtype for item in data}
    if len(dtypes) != 1:
        yield f"{node.op}: operands of {', '.join(sorted(dtypes))}"
        return
    (dtype,) = dtypes
    if _kind(dtype) not in rule.kinds:
        yield f"{node.op}: operands of {dtype}"
    expected = "bool" if rule.result == "bool" else dtype
    if node.dtype != expected:
        yield f"{node.op}: dtype {node.dtype}, expected {expected}"
