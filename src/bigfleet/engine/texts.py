"""A column of texts that are read one at a time: bytes in one place, not an object per machine.

New texts go to the end; unused ones are swept away once they are half of the bytes, so the column
costs little more than its texts however often they change.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bigfleet.engine.kernels.compiled import Int32s, Int64s
from bigfleet.model.batches import Texts

T = TypeVar("T")

#: Bytes below which garbage is not worth collecting.
_FEW_BYTES = 4096


class TextColumn:
    def __init__(self) -> None:
        self._bytes: NDArray[np.uint8] = np.zeros(0, np.uint8)
        self._used = 0
        self._starts: Int64s = np.zeros(0, np.int64)
        self._lengths: Int32s = np.zeros(0, np.int32)
        #: Sum of the lengths.
        self._live = 0

    def __len__(self) -> int:
        return len(self._starts)

    def nbytes(self) -> int:
        return self._bytes.nbytes + self._starts.nbytes + self._lengths.nbytes

    def text(self, row: int) -> str:
        start = int(self._starts[row])
        return str(self._bytes[start : start + int(self._lengths[row])].data, "utf-8")

    def lengthen(self, count: int) -> None:
        """More rows at the end, all empty."""
        self._starts = np.concatenate((self._starts, np.zeros(count, np.int64)))
        self._lengths = np.concatenate((self._lengths, np.zeros(count, np.int32)))

    def take(self, rows: Int64s) -> None:
        """Rows in another order, or fewer of them."""
        self._starts, self._lengths = self._starts[rows], self._lengths[rows]
        self._live = int(self._lengths.sum())

    def write(self, rows: Int64s, texts: Texts) -> None:
        lengths = texts.ends - texts.starts
        total = int(lengths.sum())
        self._make_room(total)
        ends = np.cumsum(lengths)
        starts = ends - lengths
        self._bytes[self._used : self._used + total] = _gathered(texts.content, texts.starts, ends)
        self._live += total - int(self._lengths[rows].sum())
        self._starts[rows] = self._used + starts
        self._lengths[rows] = lengths
        self._used += total
        self._sweep()

    def differ(self, rows: Int64s, texts: Texts) -> NDArray[np.bool_]:
        """Which of these rows hold another text."""
        lengths = texts.ends - texts.starts
        other: NDArray[np.bool_] = self._lengths[rows] != lengths
        same_length = np.flatnonzero(~other & (lengths > 0))
        if len(same_length):
            ends = np.cumsum(lengths[same_length])
            mine = _gathered(self._bytes, self._starts[rows[same_length]], ends)
            theirs = _gathered(texts.content, texts.starts[same_length], ends)
            unlike = np.add.reduceat(mine != theirs, ends - lengths[same_length], dtype=np.int64)
            other[same_length] = unlike > 0
        return other

    def _make_room(self, more: int) -> None:
        if self._used + more > len(self._bytes):
            grown = np.zeros(max(self._used + more, len(self._bytes) * 5 // 4), np.uint8)
            grown[: self._used] = self._bytes[: self._used]
            self._bytes = grown

    def _sweep(self) -> None:
        if self._used <= 2 * self._live + _FEW_BYTES:
            return
        ends = np.cumsum(self._lengths, dtype=np.int64)
        self._bytes = _gathered(self._bytes, self._starts, ends)
        self._starts, self._used = ends - self._lengths, self._live


def _gathered(content: NDArray[np.uint8], starts: Int64s, ends: Int64s) -> NDArray[np.uint8]:
    """The texts that begin at `starts`, one behind the other so that they end at `ends`."""
    lengths = np.diff(ends, prepend=0)
    shift = np.repeat(starts - (ends - lengths), lengths)
    return content[shift + np.arange(len(shift))]


def put_or_drop(sidecar: dict[str, T], machine_id: str, value: T | None) -> None:
    """Keep what few machines have; None: this one has it no more."""
    if value is None:
        sidecar.pop(machine_id, None)
    else:
        sidecar[machine_id] = value
