from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from tilespec.cli.app import app


def test_the_graph_of_a_file_with_solved_wiring(repository: Path):
    result = CliRunner().invoke(app, ["graph", str(repository / "specs" / "ffn.tilespec")])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "flowchart TD"
    assert '  kernel_ffn_linear2["ffn_linear2<br/>matmul, bias_add"]' in lines
    assert '  kernel_ffn_linear2 -->|"y as x"| kernel_residual_layernorm' in lines
    assert '  in_x -->|"residual"| kernel_residual_layernorm' in lines
    assert lines[-1] == '  kernel_residual_layernorm --> out_residual_layernorm_y(["y"])'


def test_a_broken_file_gives_findings_and_no_graph(tmp_path: Path):
    path = tmp_path / "broken.tilespec"
    path.write_text("KERNEL SPEC: a\nOperations: [add\n")
    result = CliRunner().invoke(app, ["graph", str(path)])
    assert result.exit_code == 1
    assert "error[TS105]" in result.stdout
    assert "flowchart" not in result.stdout
