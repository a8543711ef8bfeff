"""Options and settings shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

REPOSITORY = Path(__file__).resolve().parent.parent

# Fixed seeds and no deadline: what fails here fails on every machine, and a slow machine fails nothing.
settings.register_profile(
    "tests",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite golden files and generated pages, and list what changed; refused when CI is set",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update-golden") and os.environ.get("CI"):
        message = "--update-golden is for people who read the diff; CI compares"
        raise pytest.UsageError(message)


def _has_gpu() -> bool:
    # nvidia's character device, not torch: asking torch would cost seconds in runs that need no torch.
    return Path("/dev/nvidiactl").exists()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if _has_gpu():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU on this machine"))


class GoldenUpdates:
    """Compares text with a golden file, or rewrites the file under `--update-golden`."""

    def __init__(self, *, update: bool) -> None:
        self.update = update
        self.written: list[Path] = []

    def check(self, path: Path, text: str) -> None:
        """Fail unless `path` holds exactly `text`; with `--update-golden` write it instead."""
        before = path.read_bytes().decode() if path.is_file() else None
        if before == text:
            return
        if not self.update:
            shown = path.relative_to(REPOSITORY) if path.is_relative_to(REPOSITORY) else path
            assert before == text, f"{shown} is stale: run `make golden` and read the diff"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        self.written.append(path)

    def check_absent(self, path: Path) -> None:
        """Fail if there is such a file, which nothing gives any more; with `--update-golden` remove it."""
        if not path.exists():
            return
        assert self.update, f"{path} is given by nothing: run `make golden` and read the diff"
        path.unlink()
        self.written.append(path)


_UPDATES: list[Path] = []


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Iterator[GoldenUpdates]:
    updates = GoldenUpdates(update=request.config.getoption("--update-golden"))
    yield updates
    _UPDATES.extend(updates.written)


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _UPDATES:
        terminalreporter.section("rewritten golden files")
        for path in sorted(set(_UPDATES)):
            terminalreporter.line(str(path))
