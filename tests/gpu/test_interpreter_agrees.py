"""The tile interpreter stands for the GPU: the same kernels on the same inputs, within one rounding step."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import Phase, given, seed, settings

from tilespec.pipeline import BuildOptions, build_paths
from tilespec.verify.cases import Budget, cases, profiles
from tilespec.verify.check import arguments, blocks_of, call_arguments
from tilespec.verify.load import load_runner
from tilespec.verify.package import load_package
from tilespec.verify.subject import Case, Subject

pytestmark = pytest.mark.gpu

SPECS = sorted((Path(__file__).resolve().parents[2] / "specs").glob("*.tilespec"))


def _compare(subject: Subject) -> int:
    """Run both on equal inputs; return how many cases were compared."""
    here, there = load_runner(subject, "interpreter"), load_runner(subject, "cuda")
    budget = Budget(elements=2_000, work=6_000, largest=300)
    compared = 0

    @settings(max_examples=12, database=None, phases=(Phase.generate,), deadline=None)
    @seed(0)
    @given(cases(subject, profiles(subject, 6, 0, budget), budget, empty=False))
    def agrees(case: Case | None) -> None:
        nonlocal compared
        if (
            case is None
            or any(item.kind in {"special", "nan"} for item in case.tensors)
            or blocks_of(here, case) > 100
        ):
            return
        values = arguments(case, "cpu")
        if any(torch.is_tensor(value) and not value.is_contiguous() for value in values.values()):
            return
        moved = {name: value.cuda() if torch.is_tensor(value) else value for name, value in values.items()}
        results: list[tuple[torch.Tensor, ...]] = []
        for runner, given_values in ((here, values), (there, moved)):
            tensors, named = call_arguments(runner, given_values)
            made = runner.call(*tensors, **named)
            results.append(made if isinstance(made, tuple) else (made,))
        for ours, theirs in zip(*results, strict=True):
            if ours.dtype.is_floating_point:
                step = torch.finfo(ours.dtype).eps
                scale = float(ours.double().abs().max()) if ours.numel() else 0.0
                torch.testing.assert_close(theirs.cpu(), ours, rtol=2 * step, atol=4 * step * scale + 1e-30)
            else:
                assert torch.equal(theirs.cpu(), ours)
        compared += 1

    agrees()
    return compared


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_same_results_as_on_the_gpu(spec: Path, tmp_path: Path):
    build_paths([spec], BuildOptions(out=tmp_path))
    package, _ = load_package(spec, tmp_path / spec.stem)
    assert package is not None
    compared = {subject.name: _compare(subject) for subject in package.kernels}
    assert all(compared.values()), f"not compared: {compared}"
