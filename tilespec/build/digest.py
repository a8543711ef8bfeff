"""What an output depends on, as one hash: the spec, the tool, its templates."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from tilespec import __version__
from tilespec._resources import resource
from tilespec.diagnostics import SourceText

__all__ = ["is_fresh", "source_digest", "text_digest", "tool_digest"]


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=1)
def tool_digest() -> str:
    """Return a hash of the tool itself: its version, its code, its templates and tuning files."""
    digest = hashlib.sha256(__version__.encode())
    package = Path(__file__).resolve().parent.parent
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    _add(digest, resource("codegen"))
    _add(digest, resource("grammar"))
    return digest.hexdigest()


def _add(digest: Any, folder: Traversable) -> None:  # noqa: ANN401 - hashlib gives its objects no public type
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.is_dir():
            _add(digest, entry)
        elif not entry.name.startswith("."):
            digest.update(entry.name.encode())
            digest.update(entry.read_bytes())


def source_digest(source: SourceText) -> str:
    """Return the hash of everything that the package of `source` is made from."""
    return text_digest(f"{tool_digest()}\n{source.path}\n{source.text}")


def is_fresh(folder: Path, digest: str) -> bool:
    """Whether `folder` holds the complete, unchanged package with this digest."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        recorded = manifest["files"]
        return manifest["digest"] == digest and all(
            text_digest((folder / name).read_text(encoding="utf-8")) == value
            for name, value in recorded.items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
