"""The wheel holds what git holds, and works where no checkout is."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tilespec import __version__, _resources

# What git holds, and where the wheel puts it.
MAPPING = {"tilespec/": "tilespec/", "grammar/": "tilespec/_grammar/", "codegen/": "tilespec/_codegen/"}


@pytest.fixture(scope="module")
def distributions(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build a wheel and an sdist of the working tree."""
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(out)],
        cwd=repository,
        check=True,
        capture_output=True,
    )
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


def tracked(repository: Path) -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=repository,
        check=True,
        capture_output=True,
        text=True,
    )
    return {name for name in listed.stdout.splitlines() if (repository / name).is_file()}


def members(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_the_wheel_holds_what_git_holds(distributions: tuple[Path, Path], repository: Path):
    expected = {
        place + name.removeprefix(folder)
        for name in tracked(repository)
        for folder, place in MAPPING.items()
        if name.startswith(folder)
    }
    assert members(distributions[0]) == expected
    assert {"tilespec/py.typed", "tilespec/_grammar/tilespec.lark"} <= expected


def test_the_sdist_builds_the_same_wheel(distributions: tuple[Path, Path], tmp_path: Path):
    wheel, sdist = distributions
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    (rebuilt,) = (tmp_path / "dist").glob("*.whl")
    assert members(rebuilt) == members(wheel)


def test_the_wheel_works_where_no_checkout_is(
    distributions: tuple[Path, Path], repository: Path, tmp_path: Path
):
    site = tmp_path / "site"
    with zipfile.ZipFile(distributions[0]) as archive:
        archive.extractall(site)  # noqa: S202 - our own wheel
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PYTHONPATH"] = str(site)
    spec = tmp_path / "ffn.tilespec"
    spec.write_bytes((repository / "specs" / "ffn.tilespec").read_bytes())

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    located = run(
        "-c",
        "import tilespec._resources as r; print(r.__file__, r.resource('grammar'), r.resource('codegen'))",
    )
    assert located.split() == [
        str(site / "tilespec" / name) for name in ("_resources.py", "_grammar", "_codegen")
    ]
    assert run("-m", "tilespec", "--version") == f"tilespec {__version__}\n"
    assert run("-m", "tilespec", "lint", "--syntax", str(spec)) == "no findings in 1 file\n"
    run("-m", "tilespec", "build", str(spec), "--out", str(tmp_path / "build"))
    assert (tmp_path / "build" / "ffn" / "manifest.json").is_file()


def test_resources_are_found_in_the_checkout(repository: Path):
    assert _resources.resource("grammar").joinpath("tilespec.lark").is_file()
    assert Path(str(_resources.resource("codegen"))) == repository / "codegen"
