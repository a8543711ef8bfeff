"""Large trees are made without searches for cycles, so that time grows as the file does."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pytest

from tests.bench.lint import kernels
from tilespec.collector import paused
from tilespec.diagnostics import SourceText
from tilespec.model import build, build_model
from tilespec.syntax import parse, parser


@contextmanager
def searches() -> Iterator[list[int]]:
    """Generations that were searched meanwhile."""
    found: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            found.append(info["generation"])

    before = gc.get_threshold()
    gc.set_threshold(50, 5, 5)
    gc.callbacks.append(note)
    try:
        yield found
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*before)


def searches_of(source: SourceText) -> int:
    with searches() as found:
        tree, _ = parse(source)
        build_model(tree)
    return len(found)


def test_parsing_and_modelling_search_hardly(monkeypatch: pytest.MonkeyPatch):
    source = kernels(200)
    searches_of(source)
    few = searches_of(source)
    monkeypatch.setattr(parser, "paused", nullcontext)
    monkeypatch.setattr(build, "paused", nullcontext)
    # A test runner has threads of its own, which allocate, too.
    assert 10 * few < searches_of(source)


def test_the_collector_is_left_as_it_was():
    def fail() -> None:
        with paused():
            assert not gc.isenabled()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert gc.isenabled()
    gc.disable()
    try:
        with paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
