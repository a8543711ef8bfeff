"""Reading a file into text: bytes that are no text become findings."""

from __future__ import annotations

from pathlib import Path

from tilespec.diagnostics import Diagnostic, SourceText

__all__ = ["decode_source", "read_source"]

LARGEST = 4 * 1024 * 1024
"""Bytes of the largest file that is read: far above any spec, far below what would hurt."""


def read_source(path: Path | str) -> tuple[SourceText | None, list[Diagnostic]]:
    """Read a spec file; None with a finding when it can't be read or isn't text."""
    shown = Path(path).as_posix()
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - for many files, making paths takes longer than reading
            data = stream.read(LARGEST + 1)
    except IsADirectoryError:
        return None, _unreadable(shown, "is a folder")
    except FileNotFoundError:
        return None, _unreadable(shown, "doesn't exist")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return None, _unreadable(shown, f"can't be read: {reason.lower()}")
    return decode_source(shown, data)


def decode_source(path: str, data: bytes) -> tuple[SourceText | None, list[Diagnostic]]:
    """Decode UTF-8 with or without BOM; CRLF and CR become LF."""
    if len(data) > LARGEST:
        from tilespec.rules.syntax import FileTooLarge

        return None, [FileTooLarge(LARGEST // (1024 * 1024)).at(SourceText(path, ""), None)]
    if b"\0" in data:
        return None, _no_text(path, f"a NUL byte at offset {data.index(0)}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return None, _no_text(path, f"byte 0x{data[error.start]:02x} at offset {error.start} isn't UTF-8")
    return SourceText(path, text.replace("\r\n", "\n").replace("\r", "\n")), []


def _unreadable(path: str, reason: str) -> list[Diagnostic]:
    from tilespec.rules.syntax import UnreadableFile

    return [UnreadableFile(path, reason).at(SourceText(path, ""), None)]


def _no_text(path: str, reason: str) -> list[Diagnostic]:
    from tilespec.rules.syntax import NotText

    return [NotText(reason).at(SourceText(path, ""), None)]
