"""From the paths of a command line to spec files, and text back into a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tilespec.diagnostics import Diagnostic, SourceText

__all__ = ["collect", "write_text"]

SUFFIX = ".tilespec"


def collect(paths: Iterable[Path]) -> tuple[list[Path], list[Diagnostic]]:
    """Expand folders; a path that isn't a folder is kept as it is, so that reading it makes the finding."""
    files: dict[Path, None] = {}
    findings = []
    for path in paths:
        if not path.is_dir():
            files[path] = None
            continue
        inside = sorted(_walk(path), key=lambda each: each.parts)
        if not inside:
            from tilespec.rules.environment import NoSpecFiles

            shown = path.as_posix()
            findings.append(NoSpecFiles(shown).at(SourceText(shown, ""), None))
        files.update(dict.fromkeys(inside))
    return list(files), findings


def _walk(folder: Path) -> Iterable[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(root, name) for name in names if name.endswith(SUFFIX))


def write_text(path: Path, text: str) -> None:
    """Replace the text of a file in one step; a link stays a link, and the mode stays.

    Raises:
        OSError: the file can't be written; it is unchanged then.
    """
    try:
        _replace(path.resolve(), text)
    except OSError as error:
        # The path that was asked for, not that of the temporary file.
        raise OSError(error.errno, error.strerror, str(path)) from error


def _replace(target: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        temporary.chmod(target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
        temporary.replace(target)
    except BaseException:
        temporary.unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
