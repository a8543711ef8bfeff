"""Hostile files: what stands in prose, ids and paths never becomes code or a path outside the package."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tilespec.cli.report.text import render_all
from tilespec.pipeline import BuildOptions, build_paths

SPEC = """\
{top}KERNEL SPEC: {id}
Description: {description}
Operations: [relu]
Inputs:
  - {name}: shape=(N,), dtype=float32{remark}
Outputs:
  - y: shape=(N,), dtype=float32
Dependencies: none
PyTorch Reference:
def reference_{id}({name}):
    return F.relu({name})
Notes:
- {note}
---
"""
PLAIN = {"top": "", "id": "k", "description": "One.", "name": "x", "remark": "", "note": "A note"}
PROSE = [
    '""" + EVIL() + """',
    "''' + EVIL() + '''",
    'ends in a backslash and a quote \\" EVIL() \\',
    "{{ EVIL() }}",
    "{% for a in EVIL() %}{% endfor %}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }} EVIL()",
    "# EVIL()",
    "\\N{BULLET} \\x22\\x22\\x22 EVIL()",
    "\u2028EVIL()\u2028",
    "\u202e)(LIVE EVIL()",
    "%s %(EVIL)s {EVIL} ${EVIL} `EVIL()` $(EVIL)",
    "<script>EVIL()</script>",
    '"""\\nEVIL()\\n"""',
]
NAMES = [
    "../../evil", "/etc/passwd", "k/../../x", "..", "k.py", "__init__", "__class__", "k;EVIL()", "k\\x", "con\u0430", "class",
    "{{EVIL}}", "import", "a b", "-rf", "torch", "\uff4b",
]  # fmt: skip
SOURCES = [
    "../../../etc/passwd:x",
    "/etc/passwd:EVIL",
    "os.py:system",
    "a.py:__import__('os')",
    "http://x/y.py:Z",
    "evil.py:EVIL",
]


def build(tmp_path: Path, **fields: str) -> tuple[list[str], list[Path]]:
    path = tmp_path / "in" / "file.tilespec"
    path.parent.mkdir()
    path.write_text(SPEC.format(**{**PLAIN, **fields}), encoding="utf-8")
    (path.parent / "evil.py").write_text("raise SystemExit('imported')\n")
    report = build_paths([path], BuildOptions(out=tmp_path / "out"))
    assert "\x1b" not in render_all(report.findings)
    return [item.code for item in report.findings], sorted(tmp_path.rglob("*"))


def no_code(files: list[Path]) -> None:
    for file in files:
        if file.suffix == ".py" and "out" in file.parts:
            tree = ast.parse(file.read_text(encoding="utf-8"))
            names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            assert not names & {"EVIL", "LIVE", "system"}, file


@pytest.mark.parametrize("text", PROSE)
@pytest.mark.parametrize("field", ["description", "note", "remark", "top"])
def test_prose_is_no_code(field: str, text: str, tmp_path: Path):
    value = {"remark": f" ({text})", "top": f"{text}\n\n---\n"}.get(field, text)
    codes, files = build(tmp_path, **{field: value})
    no_code(files)
    assert codes or any(file.name == "manifest.json" for file in files)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("field", ["id", "name"])
def test_a_name_is_an_identifier_or_refused(field: str, name: str, tmp_path: Path):
    before = {path.name for path in tmp_path.parent.iterdir()}
    codes, files = build(tmp_path, **{field: name})
    assert codes
    assert not any(file.name == "manifest.json" for file in files)
    assert {path.name for path in tmp_path.parent.iterdir()} == before


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_is_not_imported(source: str, tmp_path: Path):
    codes, files = build(tmp_path, top=f"Source: {source}\n---\n")
    assert codes
    no_code(files)
