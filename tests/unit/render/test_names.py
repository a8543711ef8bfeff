"""Names in a kernel body: the reference's own, unique where both live, of one kind everywhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - torch's own abbreviation

from tests.unit.pipeline.packages import build, spec_text
from tests.unit.render.kernels import planned, rendered

X, W = torch.ones(33, 65), torch.ones(65, 48)
LONG = torch.ones(3, 20000)
Q = torch.ones(2, 3, 17, 16)


@pytest.mark.parametrize(
    ("make", "inputs"),
    [
        (lambda x: F.layer_norm(x, (65,)), (X,)),
        (lambda x: torch.softmax(x, -1), (LONG,)),
        (lambda x: F.layer_norm(x, (20000,)), (LONG,)),
        (lambda x: x / x.std(-1, keepdim=True) - x.mean(-1, keepdim=True), (LONG,)),
        (lambda x, w: F.silu(x @ w) * (x @ w.flip(0)), (X, W)),
        (lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2), -1) @ v, (Q, Q, Q)),
        (lambda x: ((x - x.mean()) ** 2).mean(), (X,)),
        (lambda x: x.cumsum(1) * x.cumsum(1), (X,)),
    ],
)
def test_every_name_is_bound_before_it_is_read(make: Callable[..., object], inputs: tuple[torch.Tensor, ...]):
    tree = ast.parse(rendered(planned(make, *inputs)))
    functions = {item.name for item in tree.body if isinstance(item, ast.FunctionDef)}
    for function in (item for item in tree.body if isinstance(item, ast.FunctionDef)):
        if not function.decorator_list:
            continue
        known = {*functions, "ct", "range", "min", "max", "float"} | {item.arg for item in function.args.args}
        unread = bind(function.body, known)
        assert not unread, f"{unread} in {function.name}"


def bind(body: list[ast.stmt], known: set[str]) -> set[str]:
    """Add what a body binds to `known`; return the names that are read before."""
    missing: set[str] = set()
    for statement in body:
        if isinstance(statement, ast.For):
            missing |= reads(statement.iter) - known
            assert isinstance(statement.target, ast.Name)
            known.add(statement.target.id)
            missing |= bind(statement.body, known)
            continue
        if isinstance(statement, ast.Assign):
            missing |= reads(statement.value) - known
            known |= {item.id for item in statement.targets if isinstance(item, ast.Name)}
            continue
        missing |= reads(statement) - known
    return missing


def reads(node: ast.AST) -> set[str]:
    return {
        item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)
    }


def test_values_are_called_as_in_the_reference(tmp_path):  # noqa: ANN001 - pytest's
    text = spec_text(
        "normed",
        {"x": "shape=(M, N), dtype=float16", "gain": "shape=(N,), dtype=float16"},
        {"y": "shape=(M, N), dtype=float16"},
        "mean, sub, mul",
        "centre = x.float().mean(dim=-1, keepdim=True)\nshifted = x.float() - centre\nreturn (shifted * gain).half()",
    )
    package, _ = build(text, tmp_path)
    body = (package / "kernels" / "normed.py").read_text()
    assert re.search(r"^    centre = ", body, re.MULTILINE)
    assert re.search(r"^    shifted = ", body, re.MULTILINE)


def test_lines_of_the_spec_stand_above_what_they_gave(tmp_path):  # noqa: ANN001 - pytest's
    text = spec_text(
        "scaled",
        {"x": "shape=(M, N), dtype=float32"},
        {"y": "shape=(M,), dtype=float32"},
        "sum, mul",
        "total = x.sum(dim=-1)\nreturn total * 2",
    )
    package, _ = build(text, tmp_path)
    lines = text.splitlines()
    found = re.findall(r"^ *# (\d+): (.*)$", (package / "kernels" / "scaled.py").read_text(), re.MULTILINE)
    assert found
    for number, quoted in found:
        assert lines[int(number) - 1].strip() == quoted


def test_a_loop_s_names_serve_again_for_tiles_of_one_kind_only():
    text = rendered(planned(lambda x: F.layer_norm(x, (20000,)), LONG))
    tree = ast.parse(text)
    shapes: dict[tuple[str, str], set[str]] = {}
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or not function.decorator_list:
            continue
        for node in ast.walk(function):
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                continue
            called = node.value
            if isinstance(called.func, ast.Attribute) and called.func.attr == "load":
                assert isinstance(node.targets[0], ast.Name)
                shapes.setdefault((function.name, node.targets[0].id), set()).add(ast.unparse(called.args[2]))
    assert shapes
    assert all(len(found) == 1 for found in shapes.values())


def test_a_long_row_is_read_again_not_kept():
    text = rendered(planned(lambda x: F.layer_norm(x, (20000,)), LONG))
    assert text.count("ct.load(x0") >= 2
    assert "for " in text
