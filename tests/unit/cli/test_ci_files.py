"""The files that other repositories use: their commands are run here."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

CLEAN = """\
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
---
"""


@pytest.fixture
def environment(tmp_path: Path, repository: Path) -> dict[str, str]:
    """An environment in which `tilespec` is this checkout."""
    tools = tmp_path / "tools"
    tools.mkdir()
    command = tools / "tilespec"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m tilespec "$@"\n')
    command.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "GITHUB_"))}
    return {**kept, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(repository)}


def run(command: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def hooks(repository: Path) -> dict[str, dict[str, Any]]:
    listed = yaml.safe_load((repository / ".pre-commit-hooks.yaml").read_text())
    return {hook["id"]: hook for hook in listed}


def test_the_hooks_accept_a_clean_file_and_refuse_a_broken_one(
    tmp_path: Path, repository: Path, environment: dict[str, str]
):
    found = hooks(repository)
    assert set(found) == {"tilespec-lint", "tilespec-fmt"}
    clean, broken = tmp_path / "clean.tilespec", tmp_path / "broken.tilespec"
    clean.write_text(CLEAN)
    broken.write_text(CLEAN.replace("dtype=float16", "dtype=float61"))
    for hook in found.values():
        assert hook["language"] == "python"
        assert re.search(hook["files"], clean.name)
        assert not re.search(hook["files"], "notes.md")
    entry = found["tilespec-lint"]["entry"]
    assert run(f"{entry} {clean.name}", tmp_path, environment).returncode == 0
    assert run(f"{entry} {clean.name} {broken.name}", tmp_path, environment).returncode == 1
    clean.write_text(CLEAN.replace("Operations: [mul]", "Operations:   [ mul ]"))
    assert run(f"{found['tilespec-fmt']['entry']} {clean.name}", tmp_path, environment).returncode == 0
    assert clean.read_text() == CLEAN


def lint_step(repository: Path) -> tuple[str, dict[str, str]]:
    """The script of the action's last step, and its variables as the defaults of the inputs give them."""
    action = yaml.safe_load((repository / "action.yml").read_text())
    step = action["runs"]["steps"][-1]
    values = {
        name: re.sub(
            r"\$\{\{ inputs\.(\w+) \}\}", lambda match: str(action["inputs"][match[1]]["default"]), value
        )
        for name, value in step["env"].items()
    }
    return step["run"], values


def test_the_action_runs(tmp_path: Path, repository: Path, environment: dict[str, str]):
    script, values = lint_step(repository)
    specs = tmp_path / "my specs"
    specs.mkdir()
    (specs / "a.tilespec").write_text(CLEAN)
    identity = "git -c user.name=t -c user.email=t@example.com"
    made = run(f"git init -q && git add -A && {identity} commit -qm one", tmp_path, environment)
    assert made.returncode == 0, made.stderr
    environment |= {
        **values,
        "TILESPEC_PATHS": "my specs\n",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    done = run(script, tmp_path, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| my specs/a.tilespec | 1 | 1 | none | none | 0 | 0 |" in (tmp_path / "summary.md").read_text()
    (specs / "a.tilespec").write_text(CLEAN.replace("[mul]", "[mul, relu]"))
    done = run(script, tmp_path, environment)
    assert done.returncode == 1
    assert "::error file=my specs/a.tilespec,line=3," in done.stdout
    environment |= {"TILESPEC_AGAINST": "HEAD", "TILESPEC_BUILT": "build"}
    done = run(script, tmp_path, environment)
    assert done.returncode == 1
    assert "TS721" in done.stdout


@pytest.mark.parametrize("name", ["TILESPEC_PATHS", "TILESPEC_AGAINST", "TILESPEC_BUILT"])
def test_an_input_of_the_action_is_no_command(
    name: str, tmp_path: Path, repository: Path, environment: dict[str, str]
):
    script, values = lint_step(repository)
    environment |= {**values, name: f'$(touch {tmp_path}/ran)"; touch {tmp_path}/ran; `touch {tmp_path}/ran`'}
    assert run(script, tmp_path, environment).returncode in {1, 2}
    assert not (tmp_path / "ran").exists()


def workflows(repository: Path) -> list[dict[str, Any]]:
    page = (repository / "docs" / "how-to" / "check-specs-in-ci.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    # YAML 1.1 reads the key `on` as a boolean.
    return [read for block in blocks if "jobs" in (read := yaml.safe_load(block))]


def test_the_documented_workflows_are_safe_on_forks(repository: Path):
    found = workflows(repository)
    assert len(found) == 2
    for workflow in found:
        triggers = workflow[True]
        assert "pull_request_target" not in triggers
        if "pull_request" in triggers:
            assert workflow["permissions"] == {"contents": "read"}
        for job in workflow["jobs"].values():
            assert "timeout-minutes" in job
            for step in job["steps"]:
                assert "secrets." not in str(step)
                assert "${{" not in step.get("run", "")
                if step.get("uses", "").startswith("actions/checkout@"):
                    assert step["with"]["persist-credentials"] is False


def test_the_documented_workflow_names_inputs_that_the_action_has(repository: Path):
    action = yaml.safe_load((repository / "action.yml").read_text())
    steps = workflows(repository)[0]["jobs"]["specs"]["steps"]
    (used,) = [step for step in steps if step.get("uses", "").startswith("tilespec/")]
    assert set(used["with"]) <= set(action["inputs"])
    assert all("${{" not in step["run"] for step in action["runs"]["steps"])


def test_the_command_for_code_scanning_runs(tmp_path: Path, repository: Path, environment: dict[str, str]):
    steps = workflows(repository)[1]["jobs"]["specs"]["steps"]
    (command,) = [step["run"] for step in steps if "sarif" in step.get("run", "")]
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "a.tilespec").write_text(CLEAN.replace("[mul]", "[mul, relu]"))
    assert run(command, tmp_path, environment).returncode == 0
    assert "TS421" in (tmp_path / "tilespec.sarif").read_text()
