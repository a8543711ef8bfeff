"""The check is checked: every bug that is planted in a right kernel has to be found."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tilespec.verify.fuzz import fuzz_subject
from tilespec.verify.report import KernelReport, VerifyOptions
from tilespec.verify.subject import Subject


def _load_fixtures() -> ModuleType:
    # Import mode importlib puts no test folder on the path.
    spec = importlib.util.spec_from_file_location("verify_fixtures", Path(__file__).with_name("fixtures.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


fixtures = _load_fixtures()

MAKERS: dict[str, tuple[Callable[[Path, str], Subject], str]] = {
    "linear": (fixtures.linear_subject, fixtures.LINEAR),
    "relu": (fixtures.relu_subject, fixtures.RELU),
}

BUGS = [
    # name, kernel, text, its replacement, codes of which one has to come
    ("wrong axis", "linear", "axis=1", "axis=0", {"TS801"}),
    (
        "lost mask",
        "linear",
        "(TM, TN), padding_mode=ct.PaddingMode.ZERO)",
        "(TM, TN))",
        {"TS801", "TS802", "TS811"},
    ),
    (
        "wrong padding",
        "linear",
        "(TM, TK), padding_mode=ct.PaddingMode.ZERO)",
        "(TM, TK), padding_mode=ct.PaddingMode.NEG_INF)",
        {"TS801", "TS802"},
    ),
    ("dropped bias", "linear", "total = total + bias.astype(ct.float32)\n", "total = total\n", {"TS801"}),
    (
        "float16 accumulator",
        "linear",
        "ct.full((TM, TN), 0.0, dtype=ct.float32)",
        "ct.full((TM, TN), 0.0, dtype=ct.float16)",
        {"TS801"},
    ),
    ("skipped last tile", "linear", "ct.cdiv(x.shape[1], TK)", "x.shape[1] // TK", {"TS801"}),
    (
        "skipped last block",
        "linear",
        "(ct.cdiv(M, TM), ct.cdiv(N, TN))",
        "(ct.cdiv(M, TM), max(N // TN, 1))",
        {"TS803"},
    ),
    ("one row too few", "relu", "ct.cdiv(M, 8)", "max(M // 8, 1)", {"TS803"}),
    (
        "zeros returned",
        "linear",
        "    return y, s\n",
        "    return torch.zeros_like(y), torch.zeros_like(s)\n",
        {"TS801"},
    ),
    ("input returned", "relu", "    return y\n", "    return x\n", {"TS807"}),
    (
        "view of an input returned",
        "relu",
        "    return y\n",
        "    return x.view(M, N) if x.is_contiguous() else y\n",
        {"TS807"},
    ),
    (
        "stale output",
        "relu",
        "    y = torch.empty((M, N), dtype=x.dtype, device=x.device)\n",
        "    y = CACHE.setdefault((M, N), torch.empty((M, N), dtype=x.dtype, device=x.device))\n",
        {"TS807"},
    ),
    (
        "result of an earlier launch",
        "relu",
        "    return y\n",
        "    return CACHE.setdefault((M, N), y).clone()\n",
        {"TS801", "TS802"},
    ),
    ("input changed", "relu", "    return y\n", "    x.mul_(2)\n    return y\n", {"TS805"}),
    (
        "input changed by the kernel",
        "linear",
        "    s = torch.empty((M,), dtype=x.dtype, device=x.device)\n",
        "    s = torch.empty((M,), dtype=x.dtype, device=x.device)\n    b.zero_()\n",
        {"TS801", "TS805"},
    ),
    (
        "write after the end",
        "relu",
        "relu_kernel, (x, y, 8, 32)",
        "relu_kernel, (x, y.as_strided((M + 1, N), (N, 1)), 8, 32)",
        {"TS804"},
    ),
    (
        "write before the start",
        "relu",
        "relu_kernel, (x, y, 8, 32)",
        "relu_kernel, (x, y.as_strided((M, N), (N, 1), y.storage_offset() - 1), 8, 32)",
        {"TS804"},
    ),
    (
        "another result each time",
        "relu",
        "relu_kernel, (x, y, 8, 32)",
        "relu_kernel, (x * (1 + 1e-7 * torch.rand_like(x)), y, 8, 32)",
        {"TS806"},
    ),
    (
        "NaN dropped",
        "relu",
        "ct.where(value < 0.0, 0.0, value)",
        "ct.where(value > 0.0, value, 0.0)",
        {"TS802"},
    ),
    ("rank not checked", "relu", "if x.dim() != 2:", "if False:", {"TS809"}),
    ("dtype not checked", "relu", "if x.dtype != torch.float32:", "if False:", {"TS809"}),
    ("size not checked", "linear", "if b.shape[0] != N:", "if False:", {"TS809"}),
    (
        "complaint without a name",
        "linear",
        'f"w: expected {K} in dim 0, got {w.shape[0]}"',
        '"bad size"',
        {"TS809"},
    ),
    ("torch computes", "relu", "    return y\n", "    return y.add(0)\n", {"TS810"}),
    ("another dtype returned", "relu", "    return y\n", "    return y.to(torch.float64)\n", {"TS808"}),
    ("another shape returned", "relu", "    return y\n", "    return y.t()\n", {"TS801", "TS808"}),
    ("a result too few", "linear", "    return y, s\n", "    return (y,)\n", {"TS808"}),
    ("raises", "relu", "    return y\n", "    return y if N < 40 else 1 / 0\n", {"TS811"}),
]


def _verify(folder: Path, kernel: str, change: tuple[str, str] | None, cases: int) -> KernelReport:
    maker, source = MAKERS[kernel]
    if change is not None:
        assert change[0] in source, "the text to replace is gone from the fixture"
        source = source.replace(*change) + "\n\nCACHE = {}\n"
    return fuzz_subject(maker(folder, source), "interpreter", VerifyOptions(cases=cases))


@pytest.mark.parametrize("kernel", MAKERS)
def test_right_kernel_passes(kernel: str, tmp_path: Path):
    report = _verify(tmp_path, kernel, None, 60)
    assert [item.message for item in report.findings] == []
    assert report.status == "passed"
    assert report.cases == 60
    assert 0 < report.ratio <= 1 or kernel == "relu"


@pytest.mark.parametrize(("name", "kernel", "text", "other", "codes"), BUGS, ids=[bug[0] for bug in BUGS])
def test_planted_bug_is_found(name: str, kernel: str, text: str, other: str, codes: set[str], tmp_path: Path):
    report = _verify(tmp_path, kernel, (text, other), 60)
    assert report.status == "failed", f"{name} went unnoticed"
    assert {item.code for item in report.findings} & codes, [item.message for item in report.findings]
