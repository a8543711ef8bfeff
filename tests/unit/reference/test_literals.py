"""Numbers stated as text."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tilespec.reference.literals import evaluate_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-5", 1e-5),
        ("-3", -3),
        ("(W + 2*P - K) // S + 1", 8),
        ("W ** 2 % 7", 256 % 7),
        ("math.sqrt(W)", 4.0),
        ("1 / math.sqrt(64)", 0.125),
        ("max(W, K) if W > K else 0", 16),
        ("float('inf')", float("inf")),
        ("True", True),
        ("round(2.5)", 2),
    ],
)
def test_numbers(text: str, value: float):
    assert evaluate_text(text, {"W": 16, "P": 1, "K": 3, "S": 2}) == (value, [])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("9**9**9", "TS411"),
        ("10**70 * 10**70", "TS411"),
        ("1 // 0", "TS408"),
        ("(-1) ** 0.5", "TS408"),
        ("torch.load('a')", "TS403"),
        ("__import__('os')", "TS402"),
        ("open('a')", "TS404"),
        ("x", "TS404"),
        ("'a'", "TS408"),
        ("(1, 2)", "TS408"),
        ("1 +", "TS401"),
        ("1)\n    import os\n    return (1", "TS402"),
        ("(1).real", "TS403"),
        ("(lambda: 1)()", "TS402"),
    ],
)
def test_what_is_no_number(text: str, code: str):
    value, findings = evaluate_text(text)
    assert value is None
    assert findings[0].code == code


def test_torch_stays_out():
    code = "import sys, tilespec.reference.literals; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
