"""The editor files hold together, and know every field of the format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from tilespec.cli.app import app
from tilespec.model.dtypes import DTYPES
from tilespec.syntax.scanner import COMPLETENESS_FIELDS, FIELDS, SUMMARY_FIELDS


def grammar(repository: Path) -> dict[str, Any]:
    folder = repository / "docs" / "editors" / "vscode"
    package = json.loads((folder / "package.json").read_text())
    (entry,) = package["contributes"]["grammars"]
    (language,) = package["contributes"]["languages"]
    assert language["id"] == entry["language"]
    assert language["extensions"] == [".tilespec"]
    assert (folder / language["configuration"]).is_file()
    read: dict[str, Any] = json.loads((folder / entry["path"]).read_text())
    assert read["scopeName"] == entry["scopeName"]
    return read


def expressions(node: object) -> list[str]:
    if isinstance(node, dict):
        own = [
            value
            for key, value in node.items()
            if key in {"match", "begin", "end"} and isinstance(value, str)
        ]
        return own + [found for value in node.values() for found in expressions(value)]
    return [found for item in node for found in expressions(item)] if isinstance(node, list) else []


def test_the_grammar_compiles_and_its_references_exist(repository: Path):
    read = grammar(repository)
    for expression in expressions(read):
        # An `end` may name a group of its `begin`, which Python knows nothing of.
        re.compile(expression.replace("\\1", ""))
    used = set(re.findall(r'"include": "#(\w+)"', json.dumps(read)))
    assert used == set(read["repository"])


def test_the_grammar_knows_every_field_and_dtype(repository: Path):
    rules = grammar(repository)["repository"]
    field = re.compile(rules["field"]["begin"])
    for name in {*FIELDS.values(), *SUMMARY_FIELDS.values(), *COMPLETENESS_FIELDS.values()} - {"KERNEL SPEC"}:
        assert field.match(f"{name}: x"), name
    dtypes = next(item["match"] for item in rules["value"]["patterns"] if "dtype" in item.get("name", ""))
    assert all(re.search(dtypes, dtype) for dtype in DTYPES)
    assert re.match(rules["kernel"]["match"], "KERNEL SPEC: scores_softmax")
    assert re.match(rules["reference"]["begin"], "def reference_k(x):")
    assert not re.match(rules["field"]["begin"], "Descriptions of things: x")


def test_the_model_is_printed_and_matches_the_schema(repository: Path):
    result = CliRunner().invoke(app, ["show", "--model", str(repository / "specs" / "ffn.tilespec")])
    assert result.exit_code == 0
    read = json.loads(result.stdout)
    assert [kernel["id"] for kernel in read["kernels"]] == read["order"]
    schema = json.loads((repository / "docs" / "reference" / "model.schema.json").read_text())
    assert set(read) == set(schema["properties"])
