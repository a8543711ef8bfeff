"""The program, schedule and code of every shipped spec, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tilespec.build.show import schedule_text
from tilespec.diagnostics import Severity
from tilespec.ir.print import print_program
from tilespec.pipeline import check_file, render_files

if TYPE_CHECKING:
    from tests.conftest import GoldenUpdates

REPOSITORY = Path(__file__).resolve().parents[3]
HERE = REPOSITORY / "tests" / "golden"
SPECS = sorted((REPOSITORY / "specs").glob("*.tilespec"))


def stages_of(spec: Path) -> dict[str, str]:
    checked = check_file(spec)
    assert not [item for item in checked.findings if item.severity is Severity.ERROR]
    assert checked.spec is not None
    assert checked.proof is not None
    order = [kernel.id for kernel in checked.spec.kernels]
    files = render_files(checked, checked.spec, checked.proof, "0" * 64, spec.name)
    texts = {
        "ir.txt": "\n".join(print_program(checked.programs[name]).rstrip() + "\n" for name in order),
        "schedule.txt": "\n".join(
            f"{' '.join((name, *dtypes))}\n\n{schedule_text(plan)}"
            for name in order
            for dtypes, plan in checked.plans[name].items()
        ),
        "composed.py": files["composed.py"],
    }
    texts.update({f"cutile/{name}.py": files[f"kernels/{name}.py"] for name in order})
    return texts


def test_there_are_specs():
    assert len(SPECS) > 5


@pytest.mark.parametrize("spec", SPECS, ids=[path.stem for path in SPECS])
def test_stages(spec: Path, golden: GoldenUpdates):
    texts = stages_of(spec)
    folder = HERE / spec.stem
    for name, text in texts.items():
        golden.check(folder / name, text)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.relative_to(folder).as_posix() not in texts:
            golden.check_absent(path)


def test_every_folder_has_a_spec():
    folders = {path.name for path in HERE.iterdir() if path.is_dir()}
    assert folders == {path.stem for path in SPECS}
