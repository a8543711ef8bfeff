"""The spec files of real problems: each lints clean and builds; a sample of every family runs in the interpreter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tilespec.pipeline import BuildOptions, build_paths, check_file, check_source
from tilespec.syntax import read_source
from tilespec.verify import VerifyOptions, verify_packages

CASES = Path(__file__).resolve().parents[2] / "cases"
FILES = sorted(CASES.rglob("*.tilespec"))
COUNTS = {"level1": 75, "level2": 40, "level3": 20}
LARGE = 25
"""Networks of more kernels than this take minutes together: here they are read, `tilespec lint tests/cases` traces them."""

SAMPLE = {
    "pointwise": "1_012_diagonal_matmul",
    "norm": "1_036_rms_norm",
    "reduction": "1_051_argmax_middle",
    "contraction": "1_008_matmul_irregular",
    "convolution": "1_067_conv1d_3",
    "transposed convolution": "1_079_conv_transpose1d_dilated",
    "window walked backwards": "1_078_conv_transpose2d_3x7",
    "pooling": "1_044_avg_pool1d",
    "scan": "1_092_cumsum_exclusive",
    "loss": "1_098_kl_div_loss",
    "product, then rows": "2_099_linear_gelu_softmax",
    "quotient sizes": "2_098_linear_avg_pool_gelu_scale_max",
    "network": "3_033_rnn_step",
}


def kernels_of(file: Path) -> list[str]:
    return re.findall(r"^KERNEL SPEC: (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)


SMALL = [file for file in FILES if len(kernels_of(file)) <= LARGE]
DEEP = [file for file in FILES if file not in SMALL]


def test_there_is_one_file_for_every_problem():
    assert {folder.name: len(list(folder.glob("*.tilespec"))) for folder in CASES.iterdir()} == COUNTS
    numbers = [file.stem[:5] for file in FILES]
    assert len(set(numbers)) == len(numbers)
    assert all(file.parent.name == f"level{file.stem[0]}" for file in FILES)


@pytest.mark.parametrize("file", SMALL, ids=lambda file: file.stem)
def test_a_case_is_clean_and_every_kernel_has_a_schedule(file: Path):
    checked = check_file(file)
    assert [f"{item.code} {item.message}" for item in checked.findings] == []
    assert sorted(checked.plans) == sorted(kernels_of(file))
    assert checked.proof is not None


@pytest.mark.parametrize("file", DEEP, ids=lambda file: file.stem)
def test_a_deep_network_reads_clean(file: Path):
    source, found = read_source(file)
    assert source is not None
    checked = check_source(source, trace=False)
    assert [*found, *checked.findings] == []
    assert checked.spec is not None
    assert [kernel.id for kernel in checked.spec.kernels] == kernels_of(file)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_case_names_its_sizes(file: Path):
    source, _ = read_source(file)
    assert source is not None
    spec = check_source(source, trace=False).spec
    assert spec is not None
    named = {name for kernel in spec.kernels for sizes in kernel.bench for name in sizes}
    given = {name for name, ranged in spec.dims.items() if ranged.equals is not None}
    symbols = {
        name
        for kernel in spec.kernels
        for tensor in (*kernel.tensors, *kernel.outputs)
        for dim in tensor.shape
        for name in dim.symbols
    }
    assert symbols - given <= named


@pytest.mark.parametrize("stem", SAMPLE.values(), ids=SAMPLE)
def test_a_sample_of_every_family_runs_in_the_interpreter(stem: str, tmp_path: Path):
    (file,) = CASES.rglob(f"{stem}.tilespec")
    report = build_paths([file], BuildOptions(out=tmp_path))
    assert report.findings == []
    verified = verify_packages(
        [(file, tmp_path / stem)], VerifyOptions(device="interpreter", cases=2, composed=False)
    )
    assert [(item.kernel, item.status) for item in verified.kernels] == [
        (kernel, "passed") for kernel in kernels_of(file)
    ]
