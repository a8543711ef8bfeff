"""Reads the resources of a kernel from a cubin, which is an ELF file."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

__all__ = ["Resources", "resources"]

_FRAME_SIZE: Final = 0x11
_REGISTERS: Final = 0x2F
_THREADS: Final = 0x10
_SIZED: Final = 0x04
_ELF: Final = b"\x7fELF"


@dataclass(frozen=True)
class Resources:
    """Registers a thread, bytes of static shared memory, bytes of stack frame, threads a block."""

    registers: int = 0
    shared: int = 0
    frame: int = 0
    threads: int = 0


def _sections(data: bytes) -> dict[str, list[bytes]]:
    """Return the contents of each section by name; of one without contents, as many zeros as it is long."""
    offset, entry_size, count, names_index = (
        *struct.unpack_from("<Q", data, 0x28),
        *struct.unpack_from("<HHH", data, 0x3A),
    )
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + entry_size * index) for index in range(count)]
    names = headers[names_index]
    found: dict[str, list[bytes]] = {}
    for name_offset, kind, _flags, _address, start, size, *_ in headers:
        begin = names[4] + name_offset
        name = data[begin : data.index(b"\0", begin)].decode()
        found.setdefault(name, []).append(bytes(size) if kind == 8 else data[start : start + size])
    return found


def _attributes(info: bytes) -> list[tuple[int, bytes]]:
    """Split an `.nv.info` section into attribute and payload."""
    entries = []
    place = 0
    while place + 4 <= len(info):
        layout, attribute, size = struct.unpack_from("<BBH", info, place)
        place += 4
        if layout == _SIZED:
            entries.append((attribute, info[place : place + size]))
            place += size
    return entries


def resources(cubin: bytes) -> Resources:
    """Return what the kernels of a cubin use, the largest of each."""
    if not cubin.startswith(_ELF):
        return Resources()
    registers = shared = frame = threads = 0
    for name, contents in _sections(cubin).items():
        for content in contents:
            if name.startswith(".nv.shared."):
                shared = max(shared, len(content))
            if not name.startswith(".nv.info"):
                continue
            for attribute, payload in _attributes(content):
                if attribute == _REGISTERS and len(payload) == 8:
                    registers = max(registers, struct.unpack("<II", payload)[1])
                elif attribute == _FRAME_SIZE and len(payload) == 8:
                    frame = max(frame, struct.unpack("<II", payload)[1])
                elif attribute == _THREADS and len(payload) >= 4:
                    threads = max(threads, struct.unpack_from("<I", payload)[0])
    return Resources(registers, shared, frame, threads)
