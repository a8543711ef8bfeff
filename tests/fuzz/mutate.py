"""Mutations of real files: enough structure to get past the first stage, enough damage to leave the beaten path."""

from __future__ import annotations

import random
import re
from pathlib import Path

from tests.safety.attacks import ATTACKS

REPOSITORY = Path(__file__).resolve().parents[2]
TOKENS = (
    "KERNEL SPEC: ", "---\n", "Dims:\n  ", "from=", "inplace=", "layout=", "values=", "Inputs:\n", "[", "]", "(", ")",
    ", ", "->", "||", "//", "**", "..", "in {", "}", "= ", "```", "## Completeness Check\nGaps: ", "Keep in PyTorch: [",
    "# tilespec: ignore[TS401] ", "Types: ", "Numerics: ", "Bench: ", "Source: a.py:B\n", "scalar float", "9" * 40, "-1", "0",
    "\x00", "\r", "\t", "\ufeff", "\u202e", "\u0441", "\U0001f600", "dtype=", "shape=()", "return ", "def reference_", "lambda: ",
    "while True:\n", "torch.", "F.", ".shape[0]", "for i in range(9**9):\n", "None", "nan", "1e999", "x" * 200, "(" * 120,
)  # fmt: skip


_BLOCK = re.compile(r"^```tilespec\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ATTACKED = """\
KERNEL SPEC: a
Description: What a stranger wrote.
Operations: [relu]
Inputs:
  - x: shape=(N,), dtype=float32
Outputs:
  - y: shape=(N,), dtype=float32
Dependencies: none
PyTorch Reference:
"""


def corpus() -> list[str]:
    """Return the shipped specs and the case files of the rules, in a fixed order."""
    files = [
        *sorted((REPOSITORY / "specs").glob("*.tilespec")),
        *sorted((REPOSITORY / "tests" / "rules").glob("*.md")),
    ]
    return [path.read_text(encoding="utf-8") for path in files]


def deep_corpus() -> list[str]:
    """Return texts most of which reach the later stages: shipped specs, single cases of the rules, hostile references."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / "specs").glob("*.tilespec"))]
    cases = [block for text in corpus() for block in _BLOCK.findall(text)]
    hostile = [_ATTACKED + code for _, code in ATTACKS if len(code) < 2000]
    # As many shipped specs as others: they have the most to break.
    return texts * 10 + cases + hostile


def mutated(texts: list[str], choose: random.Random, most: int = 6) -> str:
    """Return one text with a few pieces cut, doubled, swapped with those of others or replaced by tokens."""
    return damaged(choose.choice(texts), texts, choose, most)


def damaged(text: str, texts: list[str], choose: random.Random, most: int = 6) -> str:
    """Return `text` with up to `most` pieces cut, doubled, swapped with those of `texts` or replaced by tokens."""
    for _ in range(choose.randint(1, most)):
        begin = choose.randint(0, len(text))
        end = min(len(text), begin + choose.choice((0, 1, 3, 20, 200)))
        kind = choose.randrange(6)
        if kind == 0:
            text = text[:begin] + text[end:]
        elif kind == 1:
            text = text[:end] + text[begin:end] * choose.randint(1, 4) + text[end:]
        elif kind == 2:
            text = text[:begin] + choose.choice(TOKENS) + text[end:]
        elif kind == 3:
            lines = choose.choice(texts).splitlines(keepends=True)
            text = text[:begin] + "".join(choose.sample(lines, min(len(lines), 3))) + text[end:]
        elif kind == 4:
            lines = text.splitlines(keepends=True)
            choose.shuffle(
                lines
            ) if choose.random() < 0.1 else lines.reverse() if choose.random() < 0.1 else None
            text = "".join(lines)
        else:
            text = (
                text[:begin]
                + chr(choose.choice((choose.randrange(1, 256), choose.randrange(1, 0xD800))))
                + text[begin:]
            )
    return text
