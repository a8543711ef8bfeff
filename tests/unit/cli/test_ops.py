from __future__ import annotations

import json

from typer.testing import CliRunner

from tilespec.cli.app import app
from tilespec.model.operations import OPERATIONS


def test_every_operation_is_listed():
    result = CliRunner().invoke(app, ["ops"])
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(OPERATIONS)


def test_one_operation_by_an_alias():
    result = CliRunner().invoke(app, ["ops", "layernorm"])
    assert result.stdout.startswith("layer_norm ")
    assert "aliases" in result.stdout
    assert (
        json.loads(CliRunner().invoke(app, ["ops", "layernorm", "--json"]).stdout)[0]["name"] == "layer_norm"
    )


def test_an_unknown_operation_suggests_one():
    result = CliRunner().invoke(app, ["ops", "sofmax"])
    assert result.exit_code == 2
    assert "did you mean `softmax`?" in result.output


def test_an_operation_says_all_that_the_registry_knows():
    lines = CliRunner().invoke(app, ["ops", "layernorm"]).stdout
    assert "signature                layer_norm(x, shape, weight, bias, eps)\n" in lines
    assert "reference generated      yes\n" in lines
    (row,) = json.loads(CliRunner().invoke(app, ["ops", "conv", "--json"]).stdout)
    assert row["signature"] == "conv2d(x, weight, bias)"
    assert row["families"] == ["convolution"]
    assert row["aten"] == ["convolution"]
    assert row["reference_from_operands"] is False


def test_every_operation_but_random_ones_is_generated_by_a_family():
    rows = json.loads(CliRunner().invoke(app, ["ops", "--json"]).stdout)
    assert [row["name"] for row in rows if not row["families"]] == ["dropout"]
    assert all(row["signature"].startswith(f"{row['name']}(") for row in rows)
