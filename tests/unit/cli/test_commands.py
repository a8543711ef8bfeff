from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.conftest import GoldenUpdates
from tilespec import __version__, cli
from tilespec.cli import app as apps
from tilespec.cli.app import COMMANDS, app
from tilespec.cli.files import collect, write_text
from tilespec.rules.codes import CODES

SPEC = """\
KERNEL SPEC: double
Description: Doubles.
Operations: [mul]

Inputs:
  - x: shape=(N,), dtype=float16

Outputs:
  - y: shape=(N,), dtype=float16

Dependencies: none

PyTorch Reference:
def reference_double(x):
    return x * 2
"""


def run(*arguments: str | Path, text: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=text)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "double.tilespec"
    path.write_text(SPEC)
    return path


def test_the_version():
    result = run("--version")
    assert (result.exit_code, result.output) == (0, f"tilespec {__version__}\n")


def test_help_is_what_the_reference_shows(
    golden: GoldenUpdates, repository: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "100")
    parts = ["# Commands\n", "Exit status: 0 clean, 1 findings, 2 usage, 130 interrupted.\n"]
    for name in ("", *(name for name, _ in COMMANDS)):
        result = CliRunner().invoke(app, [*([name] if name else []), "--help"], prog_name="tilespec")
        assert result.exit_code == 0
        title = f"tilespec {name}".strip()
        parts.append(f"## {title}\n\n```text\n{result.output.strip()}\n```\n")
    golden.check(repository / "docs" / "reference" / "cli.md", "\n".join(parts))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["lint", "--syntax", "specs/ffn.tilespec"],
        ["explain", "TS901"],
        ["fmt", "--check", "specs/softmax.tilespec"],
    ],
)
def test_what_needs_no_torch_loads_none(repository: Path, arguments: list[str]):
    script = (
        "import sys\nfrom tilespec.cli import main\n"
        "try:\n    main()\nexcept SystemExit as done:\n    status = done.code\n"
        "loaded = {'torch', 'jinja2', 'numpy', 'cuda.tile'} & set(sys.modules)\n"
        "sys.exit(f'loaded {loaded}' if loaded else status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["lint"], ["lint", "--format", "xml", "."], ["build", ".", "-j", "0"]]
)
def test_wrong_usage_exits_with_2(arguments: list[str]):
    assert run(*arguments).exit_code == 2


def test_an_unknown_target_is_wrong_usage_and_names_the_right_ones(spec: Path):
    result = run("build", spec, "--compile", "sm_90,sm_75")
    assert result.exit_code == 2
    assert "`sm_75` is not a target, take one of sm_80," in " ".join(result.output.split())


def test_explaining_every_code():
    for code, rule in CODES.items():
        result = run("explain", code)
        assert result.exit_code == 0
        assert result.output.startswith(f"# {code}: {rule.name}\n\n")
    assert run("explain", "no-gpu").output == run("explain", "ts901").output
    listed = run("explain").output.splitlines()
    assert [line.split()[0] for line in listed] == list(CODES)


def test_explaining_an_unknown_code_suggests_one():
    result = run("explain", "no-gpus")
    assert result.exit_code == 2
    assert "did you mean `no-gpu`?" in result.output


def test_explain_as_json():
    assert json.loads(run("explain", "TS906", "--json").output)["name"] == "older-cuda-home"
    assert {row["code"] for row in json.loads(run("explain", "--json").output)} == set(CODES)


def test_linting_a_clean_file(spec: Path):
    result = run("lint", "--syntax", spec)
    assert (result.exit_code, result.output) == (0, "no findings in 1 file\n")


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("missing", None, "TS101"),
        ("junk", bytes(range(256)), "TS102"),
        ("empty", b"", "TS104"),
        ("bracket", SPEC.replace("[mul]", "[mul").encode(), "TS105"),
        ("field", SPEC.replace("Dependencies", "Dependancies").encode(), "TS108"),
    ],
)
def test_bad_files_end_in_findings(tmp_path: Path, name: str, content: bytes | None, code: str):
    path = tmp_path / f"{name}.tilespec"
    if content is not None:
        path.write_bytes(content)
    result = run("lint", "--syntax", path, "--format", "json")
    assert result.exit_code == 1
    assert code in {finding["code"] for finding in json.loads(result.stdout)["findings"]}


def test_a_folder_is_searched_and_hidden_folders_are_not(tmp_path: Path):
    for name in ("b.tilespec", "sub/a.tilespec", ".git/c.tilespec", "notes.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    files, findings = collect([tmp_path, tmp_path / "b.tilespec"])
    assert [file.relative_to(tmp_path).as_posix() for file in files] == ["b.tilespec", "sub/a.tilespec"]
    assert findings == []


def test_a_folder_without_specs_is_a_finding(tmp_path: Path):
    result = run("lint", "--syntax", tmp_path)
    assert result.exit_code == 1
    assert "TS923" in result.output


def test_writing_keeps_links_and_modes_and_leaves_nothing_behind(tmp_path: Path):
    target = tmp_path / "real"
    target.write_text("old")
    target.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(target)
    write_text(link, "new\n")
    assert link.is_symlink()
    assert target.read_text() == "new\n"
    assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(item.name for item in tmp_path.iterdir()) == ["link", "real"]


def test_a_failed_write_names_the_file_and_leaves_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    target = tmp_path / "spec"
    target.write_text("old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left") as failed:
        write_text(target, "new")
    assert failed.value.filename == str(target)
    assert [item.name for item in tmp_path.iterdir()] == ["spec"]
    assert target.read_text() == "old"


def main_with(fault: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    def fail() -> None:
        raise fault

    monkeypatch.setattr(apps, "app", fail)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "build/x"), 1, "TS922"),
        (OSError(errno.EROFS, "Read-only file system", "build"), 1, "TS921"),
        (PermissionError(errno.EACCES, "Permission denied", "build"), 1, "TS921"),
        (OSError(errno.EIO, "Input/output error", "build"), 1, "TS999"),
        (RuntimeError("two\nlines"), 1, "TS999"),
        (ModuleNotFoundError("No module named 'torch'", name="torch"), 1, "TS914"),
        (ModuleNotFoundError("No module named 'tilespec.x'", name="tilespec.x"), 1, "TS999"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_faults_end_as_findings(
    fault: BaseException,
    status: int,
    code: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    assert main_with(fault, monkeypatch) == status
    said = capsys.readouterr().err
    assert said.startswith(f"error[{code}]: ") if code else said == ""
    assert "Traceback" not in said


def test_a_fault_of_ours_can_be_seen_in_full(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("TILESPEC_TRACEBACK", "1")
    assert main_with(RuntimeError("broken"), monkeypatch) == 1
    assert "RuntimeError: broken" in capsys.readouterr().err.splitlines()[-1]


def test_a_reader_that_goes_away_is_no_fault(repository: Path):
    environment = os.environ | {"PYTHONPATH": str(repository)}
    command = f"{sys.executable} -m tilespec explain --json | head -c 1"
    done = subprocess.run(
        ["bash", "-c", command], cwd=repository, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
