"""Rows of Needs as JSON, recognised by the bytes they come as.

A shard sends the same bytes for a Need that did not change, so its JSON is made once, for all pages
and cycles, until other rows take its place.
"""

from bigfleet.web.answers import json_bytes
from bigfleet.wire.need_documents import NeedDocuments

#: A generation that is larger when a page begins is put away, as long as the next one lasts.
_GENERATION_BYTES = 16 * 2**20


class NeedRowJson:
    def __init__(self, generation_bytes: int = _GENERATION_BYTES) -> None:
        self._documents = NeedDocuments()
        self._most = generation_bytes
        #: What was asked for since the older ones were put away, and its size.
        self._newer: dict[bytes, bytes] = {}
        self._bytes = 0
        self._older: dict[bytes, bytes] = {}

    @property
    def size(self) -> int:
        """Bytes of what is kept."""
        kept = (self._newer.items(), self._older.items())
        return sum(len(row) + len(made) for each in kept for row, made in each)

    def begin_page(self) -> None:
        """Never within a page: of one that is larger than all that may be kept, no row would be
        found again."""
        if self._bytes > self._most:
            self._older, self._newer, self._bytes = self._newer, {}, 0

    def of(self, row: bytes) -> bytes:
        known = self._newer.get(row)
        if known is not None:
            return known
        known = self._older.get(row)
        if known is None:
            known = json_bytes(self._documents.read(row))
        self._newer[row] = known
        self._bytes += len(row) + len(known)
        return known
