from __future__ import annotations

from pathlib import Path

import pytest

from tilespec.diagnostics import SourceText
from tilespec.syntax import format_source, read_source

CANONICAL = """KERNEL SPEC: double
Description: Doubles a vector.
Operations: [scale]

Inputs:
  - x: shape=(N,), dtype=float16
  - s: scalar float = 2.0

Outputs:
  - y: shape=(N,), dtype=float16

Dependencies: none

PyTorch Reference:
def reference_double(x, s=2.0):
    return x * s

Notes:
- a note
  - with another inside
---
"""


def formatted(text: str) -> str:
    out, findings = format_source(SourceText("a.tilespec", text))
    assert [finding.message for finding in findings] == []
    assert out is not None
    again, _ = format_source(SourceText("a.tilespec", out))
    assert again == out
    return out


def test_the_base_format_is_canonical(repository: Path) -> None:
    source, _ = read_source(repository / "specs" / "ffn.tilespec")
    assert source is not None
    assert formatted(source.text) == source.text.rstrip("\n") + "\n"


def test_the_canonical_form_is_itself() -> None:
    assert formatted(CANONICAL) == CANONICAL


@pytest.mark.parametrize(
    "text",
    [
        CANONICAL.replace("\n\n", "\n").replace("---\n", ""),
        CANONICAL.replace("  - x", "  * x").replace("  - y", "• y"),
        CANONICAL.replace("float16", "half"),
        CANONICAL.replace("(N,)", "[ N ]"),
        CANONICAL.replace("[scale]", "scale"),
        CANONICAL.replace("[scale]", "\n  - scale"),
        CANONICAL.replace("Dependencies: none\n\n", ""),
        CANONICAL.replace("def ref", "```python\ndef ref").replace("x * s\n", "x * s\n```\n"),
        CANONICAL.replace("def ref", "    def ref").replace("    return", "        return"),
        CANONICAL.replace("Doubles a vector.", "Doubles\n  a vector."),
        CANONICAL.replace("KERNEL SPEC", "### KERNEL SPEC"),
        CANONICAL.replace("KERNEL SPEC: double", "KERNEL SPEC: `double`"),
        CANONICAL.replace("Inputs:", "**Inputs:**").replace("Outputs:", "**Outputs**:"),
        CANONICAL.replace("none", "[]").replace("Notes:", "Notes: "),
        CANONICAL.replace("dtype=float16\n  - s", "dtype=torch.float16\n  - s"),
    ],
)
def test_variations_have_one_form(text: str) -> None:
    assert text != CANONICAL
    assert formatted(text) == CANONICAL


def test_fields_get_the_order_of_the_base_format() -> None:
    head, rest = CANONICAL.split("Inputs:", 1)
    inputs, rest = rest.split("\nOutputs:", 1)
    moved = head + "Outputs:" + rest.replace("Dependencies", f"Inputs:{inputs}\nDependencies")
    assert formatted(moved) == CANONICAL


def test_comments_stay() -> None:
    text = (
        "# top\n"
        + CANONICAL.replace("Operations", "# before operations\nOperations")
        .replace("[scale]", "[scale]  # behind operations")
        .replace("  - s:", "  # before s\n  - s:")
        .replace("= 2.0\n", "= 2.0 # behind s\n", 1)
        .replace("---", "# at the end\n---")
        + "\n# below\n"
    )
    out = formatted(text)
    for comment in (
        "top",
        "before operations",
        "behind operations",
        "before s",
        "behind s",
        "at the end",
        "below",
    ):
        assert out.count(f"# {comment}") == 1
    assert out.index("# behind s") < out.index("- s: scalar")
    assert out.index("# before s") > out.index("- x:")


def test_a_comment_behind_a_reference_stays_code() -> None:
    text = CANONICAL.replace("Notes:", "# about the code\nNotes:")
    assert formatted(text) == text.replace("# about the code\n", "# about the code\n\n")


def test_prose_and_file_fields() -> None:
    text = (
        "# Title\n\nWords:   kept  as they are.\n\nDims:\n   B:1..64\n   D:  = 4 * B\nTypes: T in {half,float32}\n"
        "Bench: B = 8\nBench: B=16\n\n## decomposition summary\nTotal kernels:   1\nExecution order:  double\n\n"
        "## Kernel Specifications\n---\n---\n" + CANONICAL + "---\n## Composition Notes\nWords.\n"
    )
    out = formatted(text)
    assert (
        "Words:   kept  as they are.\n\nDims:\n  B: 1..64\n  D: = 4*B\nTypes: T in {float16, float32}\n"
        in out
    )
    assert "## Decomposition Summary\nTotal kernels: 1\nExecution order: double\n" in out
    assert "## Kernel Specifications\n\n---\nKERNEL SPEC: double\n" in out
    assert out.endswith("---\n\n## Composition Notes\nWords.\n")


def test_a_fence_around_kernels_stays() -> None:
    out = formatted(f"# Title\n\n```tilespec\n{CANONICAL.removesuffix('---' + chr(10))}```\n\nAfter.\n")
    assert out == f"# Title\n\n```tilespec\n{CANONICAL.removesuffix('---' + chr(10))}```\n\nAfter.\n"


def test_code_that_would_end_early_keeps_its_fence() -> None:
    code = (
        'def reference_double(x, s=2.0):\n    """Doubles.\n\nNotes: not a field.\n    """\n    return x * s'
    )
    text = CANONICAL.replace("def reference_double(x, s=2.0):\n    return x * s", f"```python\n{code}\n```")
    assert formatted(text) == text


def test_a_file_with_errors_is_left_alone() -> None:
    out, findings = format_source(SourceText("a", CANONICAL.replace("(N,)", "(N")))
    assert out is None
    assert {finding.code for finding in findings} == {"TS105"}


HEAD = "KERNEL SPEC: a\nDescription: A.\nOperations: [relu]\n"
BODY = "Inputs:\n  - x: shape=(N,), dtype=float32\nOutputs:\n  - y: shape=(N,), dtype=float32\n"


@pytest.mark.parametrize(
    "text",
    [
        # A comment between the lines of a note, and an empty field above prose.
        HEAD + BODY + "Notes:\n- One note\n# a comment\n  goes on\n---\n",
        "## Decomposition Summary\nParallel groups: one\nBench:\nprose below\n---\n" + HEAD + BODY + "---\n",
        HEAD + BODY + "Bench: N=8 # Decomposition Summary\n---\n",
    ],
    ids=["comment in a note", "empty field above prose", "comment like a heading"],
)
def test_formatting_twice_is_formatting_once(text: str) -> None:
    once, _ = format_source(SourceText("a.tilespec", text))
    assert once is not None
    assert format_source(SourceText("a.tilespec", once))[0] == once
    assert once.count("# a comment") <= 1


KERNEL = """\
KERNEL SPEC: double
Description: Doubles a vector.
Operations: [scale]
Inputs:
  - x: shape=(N,), dtype=float32
Outputs:
  - y: shape=(N,), dtype=float32
"""


def test_words_behind_the_number_of_kernels_stay() -> None:
    text = "Total kernels:  2  (of which   one is fused) # checked\n\n" + KERNEL + "---\n"
    assert "# checked\nTotal kernels: 2 (of which one is fused)\n" in formatted(text)


@pytest.mark.parametrize(
    "field", ["Total kernels: 1", "Parallel groups: none", "Numerics: tf32=never", "Source: a.py:B"]
)
def test_prose_below_a_field_stays(field: str) -> None:
    for between in ("\n\n", "\n```text\n", "\n\n```text\n\n"):
        out = formatted(f"{field}{between}Some words.\n\nMore words.\n\n{KERNEL}---\n")
        assert f"{field}\n" in out
        assert "Some words.\n\nMore words.\n" in out


def test_code_right_behind_a_kernel_does_not_join_it() -> None:
    for fence in ("```python", "```", "~~~"):
        out = formatted(
            f"{KERNEL}---\n\n{fence}\nx = 1\n{fence[:3]}\n\nWords:\n\n{KERNEL.replace('double', 'b')}"
        )
        assert f"---\n\n{fence}\nx = 1\n{fence[:3]}\n" in out


def test_the_end_of_a_fence_around_kernels_takes_the_place_of_the_last_rule() -> None:
    for rule in ("", "---\n", "\n---\n\n"):
        out = formatted(f"Words.\n\n```tilespec\n{KERNEL}{rule}```\n\nMore words.\n")
        assert "\n\nDependencies: none\n```\n\nMore words.\n" in out


@pytest.mark.parametrize("key", ["Parallel groups", "Execution order", "Dims", "Numerics", "Bench"])
def test_a_field_without_a_value_stays(key: str) -> None:
    assert formatted(f"## Decomposition Summary\n{key}:\n## Kernel Specifications\n---\n{KERNEL}").startswith(
        f"## Decomposition Summary\n{key}:\n"
    )


def test_code_that_looks_like_a_kernel_stays_code() -> None:
    code = "def reference_double(x):\n    KERNEL SPEC: no\n    return x\nNotes: code = 1\n"
    for text in (f"{KERNEL}PyTorch Reference:\n```\n{code}```\n", f"{KERNEL}PyTorch Reference:\n{code}"):
        out = formatted(text)
        assert "    KERNEL SPEC: no\n" in out
        assert formatted(out) == out


def test_a_comment_behind_a_field_below_code_does_not_join_the_code() -> None:
    code = "def reference_all(x):\n    return x\n"
    for blank in ("", "\n\n"):
        out = formatted(f"{KERNEL}---\n## Composition Notes\n{code}{blank}Numerics: tf32=never  # why\n")
        assert out.endswith(f"{code}{blank}Numerics: tf32=never\n# why\n")
