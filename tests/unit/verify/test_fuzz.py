"""What a run does when it can't go on as usual."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor

from tilespec.model.dims import const
from tilespec.model.types import DimRange
from tilespec.verify.fuzz import Standing, fuzz_subject
from tilespec.verify.report import VerifyOptions


def _load_fixtures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_fixtures", Path(__file__).with_name("fixtures.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fixtures = _load_fixtures()


def test_fixed_sizes_too_large_for_the_interpreter_are_said_so(tmp_path: Path):
    subject = fixtures.relu_subject(tmp_path)
    shape = (const(2048), const(64))
    fixed = replace(
        subject,
        inputs=(subject.inputs[0].model_copy(update={"shape": shape}),),
        outputs=(subject.outputs[0].model_copy(update={"shape": shape}),),
    )
    report = fuzz_subject(fixed, "interpreter", VerifyOptions(cases=2))
    assert report.status == "failed"
    assert [item.code for item in report.findings] == ["TS812"]
    assert "blocks" in report.findings[0].message


def test_fixed_sizes_run_as_often_as_asked(tmp_path: Path):
    subject = fixtures.relu_subject(tmp_path)
    shape = (const(9), const(33))
    fixed = replace(
        subject,
        inputs=(subject.inputs[0].model_copy(update={"shape": shape}),),
        outputs=(subject.outputs[0].model_copy(update={"shape": shape}),),
        checks_arguments=False,
    )
    report = fuzz_subject(fixed, "interpreter", VerifyOptions(cases=12))
    assert (report.status, report.cases) == ("passed", 12)


def test_reference_that_refuses_everything_is_said_so(tmp_path: Path):
    def refuse(_values: object, _widen: object) -> object:
        message = "shapes of no use"
        raise ValueError(message)

    report = fuzz_subject(
        replace(fixtures.relu_subject(tmp_path), reference=refuse), "interpreter", VerifyOptions(cases=2)
    )
    assert [item.code for item in report.findings] == ["TS812"]
    assert "shapes of no use" in report.findings[0].message


def test_reference_that_gives_no_tensor_is_said_so(tmp_path: Path):
    subject = replace(fixtures.relu_subject(tmp_path), reference=lambda _values, _widen: (None,))
    report = fuzz_subject(subject, "interpreter", VerifyOptions(cases=2))
    assert [item.code for item in report.findings] == ["TS812"]
    assert "it gives no tensor at these sizes" in report.findings[0].message


def test_who_watches_is_told_before_every_case(tmp_path: Path):
    told: list[Standing] = []
    fuzz_subject(fixtures.relu_subject(tmp_path), "interpreter", VerifyOptions(cases=3), watch=told.append)
    assert [item.ran for item in told] == [0, 1, 2]
    assert all(item.case.startswith("M=") for item in told)


def test_few_sizes_still_give_as_many_cases_as_asked(tmp_path: Path):
    few = DimRange(choices=(8, 16))
    subject = replace(fixtures.relu_subject(tmp_path), dims={"M": few, "N": few}, checks_arguments=False)
    report = fuzz_subject(subject, "interpreter", VerifyOptions(cases=40))
    assert (report.status, report.cases, report.findings) == ("passed", 40, ())


def test_fewer_cases_than_asked_for_are_said_so(tmp_path: Path):
    subject = fixtures.relu_subject(tmp_path)
    seen: set[object] = set()

    def picky(values: Mapping[str, Tensor | float | int | bool], widen: bool) -> tuple[Tensor, ...]:  # noqa: FBT001
        (x,) = (value for value in values.values() if isinstance(value, Tensor))
        if not widen:
            seen.add(tuple(x.shape))
        if len(seen) > 3:
            message = "no more of these"
            raise ValueError(message)
        result: tuple[Tensor, ...] = fixtures.relu(values, widen)
        return result

    report = fuzz_subject(
        replace(subject, reference=picky, checks_arguments=False), "interpreter", VerifyOptions(cases=12)
    )
    assert report.status == "partial"
    assert 0 < report.cases < 12
    assert [item.code for item in report.findings] == ["TS814"]
    assert f"{report.cases} of 12 cases: the reference refuses it: ValueError: no more" in (
        report.findings[0].message
    )


@pytest.mark.parametrize("start", range(6))
def test_a_kernel_without_a_constant_result_is_a_finding(tmp_path: Path, start: int):
    torch.manual_seed(start)
    source = fixtures.RELU.replace("(x, y, 8, 32)", "(x + (torch.rand(()) < 0.2), y, 8, 32)")
    report = fuzz_subject(fixtures.relu_subject(tmp_path, source), "interpreter", VerifyOptions(cases=40))
    assert report.status == "failed"
    assert report.findings


def test_own_tolerance_is_noted(tmp_path: Path):
    subject = fixtures.relu_subject(tmp_path)
    loose = replace(subject, numerics=subject.numerics.model_copy(update={"tolerance": (1e-2, 1e-2)}))
    report = fuzz_subject(loose, "interpreter", VerifyOptions(cases=3))
    assert report.status == "passed"
    assert [item.code for item in report.findings] == ["TS813"]
    assert report.tolerance == (1e-2, 1e-2)


def test_failure_shrinks_to_the_smallest_case(tmp_path: Path):
    # Nothing is written from the 33rd column on, whatever the rest.
    source = fixtures.RELU.replace("ct.cdiv(N, 32))", "min(ct.cdiv(N, 32), 1))")
    report = fuzz_subject(fixtures.relu_subject(tmp_path, source), "interpreter", VerifyOptions(cases=60))
    assert report.status == "failed"
    assert report.case is not None
    rows, columns = (int(part.split("=")[1]) for part in report.case.split(";")[0].split(", "))
    assert rows in {1, 3}
    assert 32 < columns <= 48
