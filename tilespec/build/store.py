"""Writes a package so that nobody ever reads half of it, and two writers don't mix."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

__all__ = ["write_package"]


def write_package(folder: Path, files: Mapping[str, str]) -> None:
    """Bring `folder` to exactly these files; the manifest comes last, so that it vouches for the others.

    Each file is written under a temporary name and renamed. Files of an earlier package that are not among these go;
    other files stay.

    Raises:
        OSError: something can't be written; every file is either the old or the new one then.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        staged: list[tuple[Path, Path]] = []
        try:
            for name in sorted(files, key=lambda item: (item == "manifest.json", item)):
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                staged.append((_stage(target, files[name]), target))
            for temporary, target in staged:
                temporary.replace(target)
        finally:
            for temporary, _ in staged:
                temporary.unlink(missing_ok=True)
        kernels = folder / "kernels"
        if kernels.is_dir():
            for path in kernels.glob("*.py"):
                if f"kernels/{path.name}" not in files:
                    path.unlink()


def _stage(target: Path, text: str) -> Path:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        temporary.chmod(0o644)
    except BaseException:
        temporary.unlink()
        raise
    return temporary


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / ".lock").open("w", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
