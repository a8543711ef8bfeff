"""Loading generated modules and packages, and what they see of torch and Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tilespec import interpret
from tilespec.assemble import Job
from tilespec.interpret.errors import InterpreterLaunchError

Load = Callable[..., ModuleType]

ADD_ONE = '''
"""Adds one."""

from __future__ import annotations

import torch
import cuda.tile as ct

OPTIONS = [1, 2]


@ct.kernel(occupancy=ct.ByTarget(sm_90=4, default=2))
def add_one(x: ct.Array, y: ct.Array, step: float, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, i, ct.load(x, i, TILE, padding_mode=ct.PaddingMode.ZERO) + step)


WARPS = add_one.replace_hints(num_worker_warps=8)


def launch(x: torch.Tensor, step: float = 1.0) -> torch.Tensor:
    if not all(option > 0 for option in OPTIONS):
        raise ValueError("never")
    y = torch.empty(x.shape, dtype=x.dtype, device="cuda")
    if torch.cuda.get_device_capability() < (8, 0):
        raise RuntimeError("too old")
    tile = min(1 << max(x.numel() - 1, 0).bit_length(), 8)
    ct.launch(torch.cuda.current_stream(x.device), (ct.cdiv(x.numel(), tile),), WARPS, (x, y, step, tile))
    return y
'''

COMPOSED = """
from __future__ import annotations

import torch
from torch import nn
import torch.nn.functional as F

from . import reference
from .kernels import add_one
from .kernels.add_one import launch as launch_add_one


def forward(x):
    return launch_add_one(add_one.launch(x), step=2.0)


class Module(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return forward(x) * F.relu(self.weight)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    root = tmp_path / "ffn"
    (root / "kernels").mkdir(parents=True)
    (root / "__init__.py").write_text("from ffn.composed import forward\n")
    (root / "kernels" / "__init__.py").write_text("")
    (root / "kernels" / "add_one.py").write_text(ADD_ONE)
    (root / "reference.py").write_text("import torch\n\n\ndef reference_add_one(x):\n    return x + 3\n")
    (root / "composed.py").write_text(COMPOSED)
    return root


def test_a_module_runs_on_cpu_tensors(load: Load) -> None:
    module = load(ADD_ONE)
    assert module.launch(torch.arange(11.0)).tolist() == [value + 1 for value in range(11)]


def test_a_package_runs_with_its_imports(package: Path) -> None:
    composed = interpret.load_package(package)
    x = torch.arange(3.0)
    assert torch.equal(composed.forward(x), x + 3)
    assert torch.equal(composed.Module()(x), x + 3)
    assert torch.equal(composed.reference.reference_add_one(x), x + 3)
    assert interpret.load_package(package, module="").forward is not composed.forward


def test_a_missing_module_is_named(package: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        interpret.load_package(package, module="nowhere")


def test_nothing_global_changes(package: Path) -> None:
    before = dict(sys.modules)
    current, available = torch.cuda.current_stream, torch.cuda.is_available()
    interpret.load_package(package).forward(torch.zeros(3))
    assert torch.cuda.current_stream is current
    assert torch.cuda.is_available() == available
    added = {name for name in sys.modules if name not in before and not name.startswith("torch")}
    assert not [name for name in added if "ffn" in name or "cuda.tile" in name]


def test_hints_are_checked_as_cutile_checks_them(load: Load) -> None:
    for hint, error in (("occupancy=33", ValueError), ("num_ctas=3", ValueError), ("speed=9", TypeError)):
        with pytest.raises(error):
            load(f"import cuda.tile as ct\n\n@ct.kernel({hint})\ndef k(x):\n    pass\n")


def test_kernels_and_operations_need_a_launch(load: Load) -> None:
    module = load(
        "import cuda.tile as ct\n\n@ct.kernel\ndef k(x):\n    pass\n\ndef f():\n    return ct.bid(0)\n"
    )
    with pytest.raises(TypeError, match="launch"):
        module.k(1)
    with pytest.raises(RuntimeError, match="device code"):
        module.f()
    assert not hasattr(module.ct, "erf")


def test_launch_checks_its_arguments(load: Load) -> None:
    module = load(
        """
        import torch
        import cuda.tile as ct

        @ct.kernel
        def k(x, n):
            pass

        def launch(stream, kernel, args):
            ct.launch(stream, (1,), kernel, args)
        """
    )
    x = torch.zeros(1)
    module.launch(0, module.k, (x, 1))
    for stream, kernel, args in (
        (None, module.k, (x, 1)),
        (0, module.launch, (x, 1)),
        (0, module.k, [x, 1]),
        (0, module.k, (x,)),
        (0, module.k, (x, "text")),
    ):
        with pytest.raises(InterpreterLaunchError):
            module.launch(stream, kernel, args)


def test_launches_are_recorded_as_the_manifest_has_them(load: Load) -> None:
    module = load(ADD_ONE)
    with interpret.recording() as records:
        module.launch(torch.zeros(2, 8)[:, 0])
    (record,) = records
    assert record.grid == (1, 1, 1)
    assert [entry["kind"] for entry in interpret.arguments_of(record)] == [
        "array",
        "array",
        "scalar",
        "constant",
    ]
    assert interpret.arguments_of(record)[3] == {"kind": "constant", "name": "TILE", "value": 2}
    job = interpret.job_of(record, "sm_90", aligned=True)
    assert isinstance(job, Job)
    assert dict(job.hints) == {"occupancy": 4, "num_worker_warps": 8}
    assert interpret.job_of(record, "sm_80").hints["occupancy"] == 2


def test_the_front_end_finds_what_running_does_not(load: Load) -> None:
    module = load(
        """
        import torch
        import cuda.tile as ct

        @ct.kernel
        def k(x, n):
            if n > 0:
                t = ct.load(x, 0, 4)
            else:
                t = ct.zeros((8,), ct.float32)
            ct.store(x, 0, t)

        def launch(x, n):
            ct.launch(torch.cuda.current_stream(), (1,), k, (x, n))
        """
    )
    with interpret.recording() as records:
        module.launch(torch.zeros(4), 1)
        module.launch(torch.zeros(4), 2)
    ((record, error),) = interpret.frontend_check(records)
    assert record is records[1]
    assert "depends on path taken" in error.message
    assert error.line is not None


def test_the_seed_fixes_the_order_of_blocks(load: Load) -> None:
    text = """
        import torch
        import cuda.tile as ct

        @ct.kernel
        def k(order, turn):
            ct.store(order, ct.bid(0), ct.atomic_add(turn, 0, 1))

        def launch(order, turn):
            ct.launch(torch.cuda.current_stream(), (16,), k, (order, turn))
        """
    orders = []
    for seed in (1, 1, 2):
        order, turn = torch.zeros(16, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
        load(text, seed=seed).launch(order, turn)
        assert sorted(order.tolist()) == list(range(16))
        orders.append(order.tolist())
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert orders[0] != sorted(orders[0])
