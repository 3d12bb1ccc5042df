"""Frames: how records lie in a file.

A frame is the length of its content, the CRC-32 of it, and the CRC-32 of these eight bytes, four
bytes each (little-endian); then the content: one record, compressed by zlib. A crash leaves a file
that ends within a frame, or zeros where its end was never written. Everything else was damaged
later: the head has a checksum of its own so that a damaged length does not pass for a torn end.
"""

import struct
import zlib
from collections.abc import Callable, Iterator

_HEAD = struct.Struct("<II")
_HEAD_CRC = struct.Struct("<I")
_HEAD_BYTES = _HEAD.size + _HEAD_CRC.size
#: A day of uber-50k at 2 % a minute is 4.6 GiB at level 1, 3.9 at 5 and 3.8 at 6, which takes twice
#: the time (`bigfleet bench journal`). No cycle waits for it.
_LEVEL = 5
#: Of what is smaller than a key frame of a large fleet: a day is 4.03 GiB at 5, with notes.
_LEVEL_OF_SMALL = 6
_SMALL_BYTES = 2**20
#: Of a record, compressed or not: what tells its kind is in the first thirty.
_BEGINNING_BYTES = 256
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
    level = _LEVEL_OF_SMALL if len(record) < _SMALL_BYTES else _LEVEL
    content = zlib.compress(record, level)
    head = _HEAD.pack(len(content), zlib.crc32(content))
    return head + _HEAD_CRC.pack(zlib.crc32(head)) + content


def records_in(
    content: memoryview, start: int = 0, wanted: Callable[[bytes], bool] | None = None
) -> Iterator[tuple[int, bytes]]:
    """Each record with the offset of its frame; raises BrokenFrame at the first that is broken.

    `wanted` is asked with the first bytes of a record: those it does not want are checked for
    damage and not decompressed, which is many times faster.
    """
    at, size = start, len(content)
    while at < size:
        body, end = _read(content, at)
        if wanted is None or wanted(_beginning(body, at)):
            yield at, _decompressed(body, at)
        at = end


def beginnings_in(content: memoryview) -> Iterator[tuple[int, bytes]]:
    """The offset of each frame with the first bytes of its record; raises BrokenFrame."""
    at, size = 0, len(content)
    while at < size:
        body, end = _read(content, at)
        yield at, _beginning(body, at)
        at = end


def sound_length(content: memoryview) -> int:
    """How many bytes from the start are not the torn end of a crash."""
    at, size = 0, len(content)
    while at < size:
        try:
            _, at = _read(content, at)
        except BrokenFrame as broken:
            return at if broken.torn else size
    return at


def _read(content: memoryview, at: int) -> tuple[memoryview, int]:
    left = len(content) - at
    if left < _HEAD_BYTES:
        text = f"{left} bytes are left, a frame has a head of {_HEAD_BYTES}"
        raise BrokenFrame(at, text, torn=True)
    length, crc = _HEAD.unpack_from(content, at)
    if zlib.crc32(content[at : at + _HEAD.size]) != _HEAD_CRC.unpack_from(content, at + 8)[0]:
        is_unwritten = not any(content[at:])
        raise BrokenFrame(at, "its head was damaged", torn=is_unwritten)
    begin, end = at + _HEAD_BYTES, at + _HEAD_BYTES + length
    if end > len(content):
        text = f"{length} bytes were to follow, {left - _HEAD_BYTES} do"
        raise BrokenFrame(at, text, torn=True)
    body = content[begin:end]
    if zlib.crc32(body) != crc:
        raise BrokenFrame(at, "its checksum differs: it was damaged", torn=False)
    return body, end


def _beginning(body: memoryview, at: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(body[:_BEGINNING_BYTES], _BEGINNING_BYTES)
    except zlib.error as problem:
        raise BrokenFrame(at, f"it cannot be decompressed: {problem}", torn=False) from None


def _decompressed(body: memoryview, at: int) -> bytes:
    reader = zlib.decompressobj()
    try:
        record = reader.decompress(body, LARGEST_RECORD)
    except zlib.error as problem:
        raise BrokenFrame(at, f"it cannot be decompressed: {problem}", torn=False) from None
    if not reader.eof or reader.unused_data:
        raise BrokenFrame(at, "it is not one whole compressed record", torn=False)
    return record
