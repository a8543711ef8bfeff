"""The launches that a manifest names are ones that happen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilespec.pipeline import BuildOptions, build_paths

NORM = """\
KERNEL SPEC: norm
Description: Softmax over two axes.
Operations: [softmax]
Dims:
  H: {limits}
Inputs:
  - x: shape=(N, H, W), dtype=float16
Outputs:
  - y: shape=(N, H, W), dtype=float16
Dependencies: none
PyTorch Reference:
def reference_norm(x):
    return torch.softmax(x.flatten(1), dim=-1).reshape(x.shape)
"""


PRODUCT = """\
KERNEL SPEC: product
Description: A product.
Operations: [matmul]
Inputs:
  - a: shape=(M, K), dtype=float32
  - b: shape=(K, N), dtype=float32
Outputs:
  - c: shape=(M, N), dtype=float32
Dependencies: none
PyTorch Reference:
def reference_product(a, b):
    return a @ b
"""


def launches(folder: Path, limits: str) -> dict[str, dict[str, int]]:
    spec = folder / "norm.tilespec"
    spec.write_text(NORM.format(limits=limits))
    report = build_paths([spec], BuildOptions(out=folder / "build"))
    assert [item.message for item in report.findings] == []
    manifest = json.loads((folder / "build" / "norm" / "manifest.json").read_text())
    targets = manifest["kernels"]["norm"]["targets"]
    assert targets["sm_80"] == targets["sm_120"]
    return {
        launch["function"]: {
            item["name"]: item["value"] for item in launch["arguments"] if item["kind"] == "constant"
        }
        for launch in targets["sm_90"]
    }


@pytest.mark.parametrize("limits", ["1..64", "1..100000"])
def test_tiles_are_those_of_sizes_that_take_the_variant(limits: str, tmp_path: Path):
    found = launches(tmp_path, limits)
    assert len(found) > 2
    for name, constants in found.items():
        tile = 1
        for block, extent in constants.items():
            tile *= extent if block.startswith("BLOCK") else 1
        assert tile <= 65536, (name, constants)


def test_a_variant_that_no_size_takes_is_not_compiled(tmp_path: Path):
    few = launches(tmp_path, "20000..30000")
    (tmp_path / "more").mkdir()
    many = launches(tmp_path / "more", "1..30000")
    assert few
    assert few.keys() < many.keys()


def test_a_target_has_the_tiles_that_its_launches_take(tmp_path: Path):
    spec = tmp_path / "product.tilespec"
    spec.write_text(PRODUCT)
    assert [item.message for item in build_paths([spec], BuildOptions(out=tmp_path / "build")).findings] == []
    manifest = json.loads((tmp_path / "build" / "product" / "manifest.json").read_text())
    columns = {
        target: [
            item["value"] for launch in made for item in launch["arguments"] if item["name"] == "BLOCK_N"
        ]
        for target, made in manifest["kernels"]["product"]["targets"].items()
    }
    # The shares of a deep product, and a product at once.
    assert columns == {"sm_80": [64, 64], "sm_90": [128, 128], "sm_100": [128, 128], "sm_120": [128, 128]}
