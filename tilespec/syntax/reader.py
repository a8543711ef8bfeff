"""Reading a file into text: bytes that are no text become findings."""

from __future__ import annotations

from pathlib import Path

from tilespec.diagnostics import Diagnostic, SourceText
from tilespec.rules.syntax import FileTooLarge, NotText, UnreadableFile

__all__ = ["decode_source", "read_source"]

LARGEST = 16 * 1024 * 1024
"""Bytes of the largest file that is read: far above any spec, far below what would hurt."""


def read_source(path: Path | str) -> tuple[SourceText | None, list[Diagnostic]]:
    """Read a spec file; None with a finding when it can't be read or isn't text."""
    shown = Path(path).as_posix()
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except IsADirectoryError:
        return None, [UnreadableFile(shown, "is a folder").at(SourceText(shown, ""), None)]
    except FileNotFoundError:
        return None, [UnreadableFile(shown, "doesn't exist").at(SourceText(shown, ""), None)]
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return None, [
            UnreadableFile(shown, f"can't be read: {reason.lower()}").at(SourceText(shown, ""), None)
        ]
    return decode_source(shown, data)


def decode_source(path: str, data: bytes) -> tuple[SourceText | None, list[Diagnostic]]:
    """Decode UTF-8 with or without BOM; CRLF and CR become LF."""
    empty = SourceText(path, "")
    if len(data) > LARGEST:
        return None, [FileTooLarge(LARGEST // (1024 * 1024)).at(empty, None)]
    if b"\0" in data:
        return None, [NotText(f"a NUL byte at offset {data.index(0)}").at(empty, None)]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return None, [
            NotText(f"byte 0x{data[error.start]:02x} at offset {error.start} isn't UTF-8").at(empty, None)
        ]
    return SourceText(path, text.replace("\r\n", "\n").replace("\r", "\n")), []
