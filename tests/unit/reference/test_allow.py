"""The allow list names what exists, and nothing that reaches the system."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import torch
from torch.nn import functional

from tilespec.reference import allow

HOLDERS = {
    "torch": torch,
    "torch.nn.functional": functional,
    "torch.special": torch.special,
    "torch.linalg": torch.linalg,
    "math": math,
}
DANGEROUS = (
    "load", "save", "open", "file", "hub", "ops", "jit", "compile", "eval", "exec", "import", "hook", "apply", "map",
    "numpy", "storage", "data", "grad", "backward", "rand", "seed", "generator", "callback", "pickle", "buffer", "from_",
)  # fmt: skip


@pytest.mark.parametrize("module", HOLDERS)
def test_every_name_exists(module: str):
    assert set(allow.MODULES) == set(HOLDERS)
    assert [name for name in sorted(allow.MODULES[module]) if not hasattr(HOLDERS[module], name)] == []


def test_every_method_exists():
    assert [name for name in sorted(allow.METHODS) if not hasattr(torch.Tensor, name)] == []


def test_nothing_dangerous_is_listed():
    names = allow.METHODS | allow.ATTRIBUTES | allow.BUILTINS | frozenset().union(*allow.MODULES.values())
    assert len(names) > 300
    for name in names:
        assert not name.startswith("_")
        assert not name.endswith("_"), f"{name} writes in place"
        parts = name.split("_")
        assert not set(parts) & set(DANGEROUS), name


def test_the_page_lists_every_name_and_bound(repository: Path):
    page = (repository / "docs" / "reference" / "reference-language.md").read_text()
    names = set(allow.METHODS | allow.ATTRIBUTES | allow.INFO_ATTRIBUTES | allow.BUILTINS)
    names |= frozenset().union(*allow.MODULES.values())
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []
    assert [name for name, limit in allow.LIMITS.items() if f"| {limit:,} |" not in page] == []
    listed = set(re.findall(r"`([A-Za-z_0-9]+)`", page.partition("## Names")[2])) - {"torch", "F", "math"}
    assert listed <= names
