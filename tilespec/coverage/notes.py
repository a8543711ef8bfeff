"""Notes that ask for numerics which the reference and `Numerics` rule out.

Notes are free text, and only a few plain demands are understood: the form of GELU, the accumulator, TF32. A sentence that
allows something (`can use`, `may`) asks for nothing; one with a `not` in it is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tilespec.diagnostics import Diagnostic
from tilespec.model.types import Kernel, SpecFile
from tilespec.reference.graph import Graph, Node
from tilespec.rules import reference as rules

__all__ = ["check_notes"]

_SENTENCE = re.compile(r"[^.;!?]+(?:\.(?=\d)[^.;!?]*)*")
_ALLOWS = re.compile(r"\b(?:can|may|might|could|optional(?:ly)?|possibl[ey]|either|if)\b")
_DENIES = re.compile(r"\b(?:not|no|never|avoid|without|don't|doesn't|isn't|instead|rather)\b")
_LONGEST = 2000


def check_notes(spec: SpecFile, kernel: Kernel, graph: Graph) -> list[Diagnostic]:
    """Return a finding for each note that asks for something else than what is computed."""
    findings = []
    for note, span in zip(kernel.notes, kernel.note_spans, strict=False):
        for sentence in _SENTENCE.findall(note[:_LONGEST].lower()):
            if _ALLOWS.search(sentence) or _DENIES.search(sentence):
                continue
            findings += [
                rules.NoteContradicts(*fault).at(spec.source, span)
                for fault in _faults(sentence, kernel, graph)
            ]
    return findings


def _faults(sentence: str, kernel: Kernel, graph: Graph) -> Iterator[tuple[str, str, str]]:
    """Yield (what is asked for, what is there, the setting that gives what is asked for)."""
    numerics = kernel.numerics
    forms = {_gelu_form(node) for node in graph.nodes if node.op.startswith("aten.gelu")}
    if "gelu" in sentence and len(forms) == 1:
        (form,) = forms
        chosen = "tanh" if numerics.approximate.get("gelu") == "tanh" else form
        asked = "tanh" if "tanh" in sentence else "erf" if re.search(r"\b(?:erf|exact)\b", sentence) else None
        if asked == "tanh" and chosen == "erf":
            yield "the tanh form of GELU", "the reference computes the erf form", "approximate=[gelu: tanh]"
        elif asked == "erf" and chosen == "tanh":
            there = "the reference computes" if form == "tanh" else "`Numerics` chooses"
            yield "the erf form of GELU", f"{there} the tanh form", "approximate=[gelu: none]"
    accumulator = re.search(r"\b(?:accumulat\w*)\b", sentence) and re.search(
        r"\b(float|fp|f)(16|32|64)\b[ -]*(?:precision )?accumulat|accumulat\w*[^,]{0,20}?\b(?:in|at|with)\b[ ]*(?:a )?(float|fp|f)(16|32|64)\b",
        sentence,
    )
    if accumulator:
        wanted = f"float{accumulator[2] or accumulator[4]}"
        if wanted != numerics.accumulate:
            yield (
                f"a {wanted} accumulator",
                f"the kernel accumulates in {numerics.accumulate}",
                f"accumulate={wanted}",
            )
    if (
        re.search(r"\b(?:use|with|allow|in|enable)\b[^,]{0,20}\btf32\b", sentence)
        and numerics.tf32 == "never"
    ):
        yield "TF32", "TF32 is off", "tf32=allow"


def _gelu_form(node: Node) -> str:
    return "tanh" if "tanh" in [*node.args, *(value for _, value in node.kwargs)] else "erf"
