"""The composed module prepares its launches once: what it returns later is still what `forward` returns, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from hypothesis import Phase, given, seed, settings

from tilespec.bench.run import composed_module
from tilespec.pipeline import BuildOptions, build_paths
from tilespec.verify.cases import Budget, cases, profiles
from tilespec.verify.check import arguments, call_arguments
from tilespec.verify.load import import_generated, load_runner
from tilespec.verify.package import load_package
from tilespec.verify.subject import Case

pytestmark = pytest.mark.gpu

FOLDER = Path(__file__).resolve().parents[2] / "specs"
SPECS = sorted(FOLDER.glob("*.tilespec"))


def same(left: object, right: object) -> bool:
    """Whether results have the same form and bits."""
    ours = left if isinstance(left, tuple) else (left,)
    theirs = right if isinstance(right, tuple) else (right,)
    return len(ours) == len(theirs) and all(
        (a.shape, a.dtype, a.stride()) == (b.shape, b.dtype, b.stride())
        and torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))
        for a, b in zip(ours, theirs, strict=True)
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("composed")
    report = build_paths(SPECS, BuildOptions(out=out))
    assert {item.status for item in report.files} == {"built"}
    return out


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_later_calls_give_what_forward_gives(spec: Path, built: Path):
    package, _ = load_package(spec, built / spec.stem)
    assert package is not None
    subject = package.composed
    if subject is None:
        return
    runner = load_runner(subject, "cuda")
    budget = Budget(elements=100_000, work=4_000_000, largest=1_000, banded=True)
    compared = 0

    @settings(max_examples=16, database=None, phases=(Phase.generate,), deadline=None)
    @seed(0)
    @given(cases(subject, profiles(subject, 4, 0, budget), budget, empty=False))
    def agrees(case: Case | None) -> None:
        nonlocal compared
        if case is None:
            return
        tensors, named = call_arguments(runner, arguments(case, "cuda"))
        module, first = composed_module(runner.module, subject.function, tensors, named)
        wanted = runner.call(*tensors, **named)
        for _ in range(3):
            assert same(module(first), wanted)
        compared += 1

    agrees()
    assert compared > 4


@pytest.fixture(scope="module")
def ffn(built: Path) -> ModuleType:
    return import_generated(built / "ffn" / "composed.py", built / "ffn")


D, D_FF = 96, 160


def weights(start: int) -> dict[str, torch.Tensor]:
    """Return all arguments of the composed function but `x`."""
    torch.manual_seed(start)
    shapes = {
        "weight1": (D, D_FF),
        "bias1": (D_FF,),
        "weight2": (D_FF, D),
        "bias2": (D,),
        "gamma": (D,),
        "beta": (D,),
    }
    return {
        name: torch.randn(shape, device="cuda", dtype=torch.float16) / 8 for name, shape in shapes.items()
    }


def made(ffn: ModuleType, held: Mapping[str, Any]) -> torch.nn.Module:
    module: torch.nn.Module = ffn.Ffn(**held)
    return module


def some(*shape: int) -> torch.Tensor:
    return torch.randn(shape, device="cuda", dtype=torch.float16)


def test_shapes_and_strides_may_change_from_call_to_call(ffn: ModuleType):
    held = weights(0)
    module = made(ffn, held)
    wide = some(4, 7, D + 5)
    inputs = [
        some(2, 5, D),
        some(2, 5, D),
        some(3, 33, D),
        some(2, 5, D),
        wide[..., :D],
        wide[..., 3 : D + 3],
        some(7, 4, D).transpose(0, 1),
        some(1, 5, D).expand(4, 5, D),
        some(2, 5, 2 * D)[..., ::2],
        some(0, 5, D),
        some(2, 5, D),
    ]
    for x in inputs:
        for _ in range(2):
            assert same(module(x), ffn.forward(x=x, **held))


def test_results_are_fresh(ffn: ModuleType):
    module = made(ffn, weights(0))
    module(some(2, 5, D))
    first = module(some(2, 5, D))
    kept = first.clone()
    second = module(some(2, 5, D))
    assert first.data_ptr() != second.data_ptr()
    assert torch.equal(first, kept)


def test_streams_may_change(ffn: ModuleType):
    held = weights(0)
    module = made(ffn, held)
    x = some(8, 64, D)
    wanted = ffn.forward(x=x, **held)
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.default_stream()]
    results = []
    for _ in range(3):
        for stream in streams:
            with torch.cuda.stream(stream):
                results += [module(x), module(x)]
    torch.cuda.synchronize()
    assert all(same(result, wanted) for result in results)


def test_weights_may_be_replaced_moved_and_loaded(ffn: ModuleType):
    module = made(ffn, weights(0))
    x = some(2, 5, D)
    for _ in range(2):
        module(x)
    other = weights(1)
    module.load_state_dict(other)
    for _ in range(2):
        assert same(module(x), ffn.forward(x=x, **other))
    module.to("cpu")
    module.to("cuda")
    for _ in range(2):
        assert same(module(x), ffn.forward(x=x, **other))
    third = weights(2)
    for name, value in third.items():
        setattr(module, name, value)
    for _ in range(2):
        assert same(module(x), ffn.forward(x=x, **third))
    module.gamma.mul_(2)
    assert same(module(x), ffn.forward(x=x, **{**third, "gamma": module.gamma}))


@pytest.mark.parametrize("calls_before", [1, 3])
def test_a_cuda_graph_captures_it(ffn: ModuleType, calls_before: int):
    held = weights(0)
    module = made(ffn, held)
    x = some(2, 64, D)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(calls_before):
            module(x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = module(x)
    for _ in range(3):
        x.copy_(some(2, 64, D))
        graph.replay()
        torch.cuda.synchronize()
        assert same(result, ffn.forward(x=x, **held))
    assert same(module(x), ffn.forward(x=x, **held))
