"""A snapshot of the coordinator's state on the line: what it is first, then its bytes in frames."""

import hashlib
from collections.abc import Iterator

import orjson

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.v1alpha1 import coordinator_pb2 as pb
from bigfleet.wire.coordinator_handlers import Snapshot, SnapshotMeta
from bigfleet.wire.record_codecs import Document

#: Bytes of data in a frame: the whole frame has a mebibyte at most.
MOST_IN_FRAME = 1024 * 1024 - 16
_KEYS = {
    "ID": "id",
    "Index": "index",
    "Term": "term",
    "Size": "size",
    "Version": "version",
    "Backend": "backend",
    "SHA256": "sha256",
    "CreatedUnixNanos": "created_unix_nanos",
}


def chunks_of(snapshot: Snapshot) -> Iterator[pb.SnapshotSaveChunk]:
    yield pb.SnapshotSaveChunk(meta_json=meta_json(snapshot.meta))
    for start in range(0, len(snapshot.data), MOST_IN_FRAME):
        yield pb.SnapshotSaveChunk(data=snapshot.data[start : start + MOST_IN_FRAME])


def meta_json(meta: SnapshotMeta) -> bytes:
    return orjson.dumps({key: getattr(meta, field) for key, field in _KEYS.items()})


def meta_of(content: bytes) -> SnapshotMeta:
    """Raises ValueError where it is not the JSON of a snapshot."""
    told = orjson.loads(content)
    if not isinstance(told, dict) or not _KEYS.keys() <= told.keys():
        raise ValueError(f"a snapshot says {', '.join(_KEYS)}")
    numbers = ("Index", "Term", "Size", "Version", "CreatedUnixNanos")
    if not all(type(told[key]) is (int if key in numbers else str) for key in _KEYS):
        raise ValueError(f"of a snapshot {', '.join(numbers)} are numbers, the others texts")
    return SnapshotMeta(**{field: told[key] for key, field in _KEYS.items()})


class SnapshotReader:
    """Takes the chunks in order; what it gives is of no use until `meta` says that it is whole."""

    def __init__(self) -> None:
        self._meta: SnapshotMeta | None = None
        self._digest = hashlib.sha256()
        self._size = 0

    def data_in(self, chunk: pb.SnapshotSaveChunk) -> bytes:
        """Empty for the chunk that says what it is; ValueError where it cannot be read."""
        if chunk.HasField("meta_json"):
            self._meta = meta_of(chunk.meta_json)
        self._digest.update(chunk.data)
        self._size += len(chunk.data)
        return chunk.data

    def meta(self) -> SnapshotMeta:
        """After the last frame: of a snapshot that came whole. Raises Rejected where it did not."""
        meta = self._meta
        if meta is None:
            raise Rejected(Code.DATA_LOSS, "the snapshot came without its meta_json; take another")
        if (meta.size, meta.sha256) != (self._size, self._digest.hexdigest()):
            text = f"of {meta.size} bytes {self._size} came, or others than were sent; take another"
            raise Rejected(Code.DATA_LOSS, text)
        return meta


def snapshot_document(meta: SnapshotMeta) -> Document:
    """By what people call it, not by the names on the line."""
    return {
        "id": meta.id,
        "revision": meta.index,
        "term": meta.term,
        "bytes": meta.size,
        "backend": meta.backend,
        "sha256": meta.sha256,
        "createdUnixNanos": meta.created_unix_nanos,
    }
