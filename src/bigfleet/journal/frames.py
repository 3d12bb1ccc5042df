"""Frames: how records lie in a file.

A frame is the length of its content and the CRC-32 of it, four bytes each (little-endian), and the
content: one record, compressed by zlib. Only the end of a file may be torn; a frame that is broken
before the end was damaged later.
"""

import struct
import zlib
from collections.abc import Iterator

_HEAD = struct.Struct("<II")
#: Speed before size: repeated texts shrink at any level.
_LEVEL = 1
#: A record of half a million machines takes a tenth of this.
LARGEST_RECORD = 2**30


class BrokenFrame(Exception):
    def __init__(self, offset: int, why: str, *, torn: bool) -> None:
        """`torn`: the file ends within the frame, as after a crash."""
        super().__init__(f"at byte {offset}: {why}")
        self.offset = offset
        self.why = why
        self.torn = torn


def frame_of(record: bytes) -> bytes:
    content = zlib.compress(record, _LEVEL)
    return _HEAD.pack(len(content), zlib.crc32(content)) + content


def records_in(content: memoryview, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Each record with the offset of its frame; raises BrokenFrame at the first that is broken."""
    at, size = start, len(content)
    while at < size:
        record, end = _read(content, at)
        yield at, record
        at = end


def sound_length(content: memoryview) -> int:
    """How many bytes from the start are whole frames."""
    at, size = 0, len(content)
    while at < size:
        try:
            _, at = _read(content, at)
        except BrokenFrame:
            break
    return at


def _read(content: memoryview, at: int) -> tuple[bytes, int]:
    left = len(content) - at
    if left < _HEAD.size:
        raise BrokenFrame(at, f"{left} bytes are left, a frame has a head of 8", torn=True)
    length, crc = _HEAD.unpack_from(content, at)
    begin, end = at + _HEAD.size, at + _HEAD.size + length
    if end > len(content):
        raise BrokenFrame(at, f"{length} bytes were to follow, {left - 8} do", torn=True)
    body = content[begin:end]
    if zlib.crc32(body) != crc:
        raise BrokenFrame(at, "its checksum differs: it was damaged", torn=end == len(content))
    return _decompressed(body, at), end


def _decompressed(body: memoryview, at: int) -> bytes:
    reader = zlib.decompressobj()
    try:
        record = reader.decompress(body, LARGEST_RECORD)
    except zlib.error as problem:
        raise BrokenFrame(at, f"it cannot be decompressed: {problem}", torn=False) from None
    if not reader.eof or reader.unused_data:
        raise BrokenFrame(at, "it is not one whole compressed record", torn=False)
    return record
