"""Big Lists as columns: machines are told apart by keys of their bytes, and only what is new to us
is read.

`listed` splits an answer into rows; `KnownMachines` says which rows differ from what was seen
before; `batch_of` turns rows into a MachineBatch, reading each offering, cluster and stamp once and
leaving host references and node names as places in the answer. Records that break an invariant (a
state without its host, an invalid price) come apart, one by one, for the shard to count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bigfleet.model.batches import NEVER, Hosts, MachineBatch, Offering, Texts
from bigfleet.model.machines import Assigned, MachineState
from bigfleet.model.metadata import decode
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.requirements import HOSTNAME_KEY
from bigfleet.model.resources import Resources
from bigfleet.wire import list_walker as walker
from bigfleet.wire.machines import record_of

Rows = NDArray[np.int64]
Keys = NDArray[np.uint64]
_NO_ROWS: Rows = np.zeros(0, np.int64)
#: The key no machine has.
_NEVER_SEEN = np.uint64(0)


@dataclass(frozen=True, slots=True)
class Listed:
    """A MachineList as it came, split into rows; its texts are read when they are asked for."""

    content: bytes
    revision: bytes
    spans: NDArray[np.int64]
    keys: Keys
    states: NDArray[np.int32]
    flags: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.states)

    def rows(self) -> Rows:
        """One row per id, the first where an id came twice."""
        _, first = np.unique(self.keys[:, walker.ID_KEY], return_index=True)
        return np.sort(first)

    def repeated_rows(self) -> Rows:
        """Rows whose id came before: a provider that does this is wrong."""
        return np.setdiff1d(np.arange(len(self)), self.rows(), assume_unique=True)

    def record(self, row: int) -> MachineRecord:
        start, end = self.spans[row, walker.MACHINE : walker.MACHINE + 2].tolist()
        return record_of(self.content[start:end])

    def ids_of(self, rows: Rows) -> list[str]:
        return self._read(rows, walker.ID)

    def clusters_of(self, rows: Rows) -> list[str]:
        return self._read(rows, walker.CLUSTER)

    def texts(self, rows: Rows, column: int) -> Texts:
        """Texts as places in the answer; raises ValueError if one is not UTF-8."""
        starts, ends = self.spans[rows, column], self.spans[rows, column + 1]
        texts = Texts(np.frombuffer(self.content, np.uint8), starts, ends)
        foreign = walker.rows_beyond_ascii(texts.content, starts, ends)
        texts.taken(foreign).read()
        return texts

    def _read(self, rows: Rows, column: int) -> list[str]:
        starts = self.spans[rows, column].tolist()
        ends = self.spans[rows, column + 1].tolist()
        content = self.content
        return [str(content[a:b], "utf-8") for a, b in zip(starts, ends, strict=True)]


def listed(answer: bytes) -> Listed:
    """Raises ValueError where the bytes are not a MachineList; texts are checked when read."""
    content = np.frombuffer(answer, np.uint8)
    # Where there are no rows to fill, machines are only counted.
    count = walker.walk_list(content, *walker.rows_to_fill(0))
    filled = walker.rows_to_fill(max(0, count))
    if count < 0 or walker.walk_list(content, *filled) < 0:
        raise ValueError("no MachineList")
    spans, keys, states, flags, revision = filled
    start, end = revision.tolist()
    return Listed(answer, answer[start:end], spans, keys, states, flags)


@dataclass(frozen=True, slots=True)
class KnownMachines:
    """What was taken over from a provider before, by keys: enough to say what differs now."""

    #: Ascending and distinct; the other two lie beside it.
    id_keys: Keys
    wholes: Keys
    ids: NDArray[np.object_]

    @classmethod
    def none(cls) -> Self:
        return cls(np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(0, np.object_))

    def rows_unlike(self, now: Listed) -> Rows:
        """Rows of machines that are new or differ; of an id that came twice, the first."""
        rows = now.rows()
        place, known = self._places(now.keys[rows, walker.ID_KEY])
        same = known.copy()
        same[known] = self.wholes[place[known]] == now.keys[rows[known], walker.WHOLE]
        return rows[~same]

    def ids_gone_from(self, now: Listed) -> list[str]:
        """Ids that an answer without filter, cap and cursor does not name any more."""
        here = np.isin(self.id_keys, now.keys[:, walker.ID_KEY])
        gone: list[str] = self.ids[~here].tolist()
        return gone

    def after(self, now: Listed, *, whole: bool, unread: Rows = _NO_ROWS) -> "KnownMachines":
        """With the answer taken over; a whole answer also takes away.

        Rows that were not taken over, such as those of machines with an action under way, never
        equal the next ones.
        """
        rows = now.rows()
        keys = now.keys[rows, walker.ID_KEY]
        place, known = self._places(keys)
        ids = np.empty(len(rows), np.object_)
        ids[known] = self.ids[place[known]]
        ids[~known] = now.ids_of(rows[~known])
        wholes = np.where(np.isin(rows, unread), _NEVER_SEEN, now.keys[rows, walker.WHOLE])
        if not whole:
            kept = ~np.isin(self.id_keys, keys)
            keys = np.concatenate((self.id_keys[kept], keys))
            wholes = np.concatenate((self.wholes[kept], wholes))
            ids = np.concatenate((self.ids[kept], ids))
        order = np.argsort(keys)
        return KnownMachines(keys[order], wholes[order], ids[order])

    def _places(self, keys: Keys) -> tuple[Rows, NDArray[np.bool_]]:
        """Where each key lies among ours, and whether it does."""
        place = np.searchsorted(self.id_keys, keys)
        known = place < len(self.id_keys)
        known[known] = self.id_keys[place[known]] == keys[known]
        return place, known


@dataclass(frozen=True, slots=True)
class ReadRows:
    #: Sound machines only.
    batch: MachineBatch
    #: Machines that break an invariant.
    apart: tuple[MachineRecord, ...]
    #: One sentence per stamp that could not be read.
    problems: tuple[str, ...]


def batch_of(now: Listed, rows: Rows) -> ReadRows:
    """Raises ValueError if a text of these rows is not UTF-8."""
    offering_of_row, offerings = _offerings(now, rows)
    cluster_of_row, first_of_cluster = _numbered(now.keys[rows, walker.CLUSTER_KEY])
    stamp_of_row, stamps, problems = _stamps(now, rows)
    batch = MachineBatch(
        ids=now.ids_of(rows),
        offerings=offerings,
        clusters=now.clusters_of(rows[first_of_cluster]),
        stamps=stamps,
        offering_of_machine=offering_of_row,
        state_of_machine=now.states[rows].astype(np.int8),
        cluster_of_machine=cluster_of_row,
        stamp_of_machine=stamp_of_row,
        idle_since_of_machine=np.full(len(rows), NEVER, np.int64),
        hosts=_hosts(now, rows),
        node_names=now.texts(rows, walker.HOSTNAME),
        errors=_errors(now, rows),
    )
    sound = batch.sound()
    apart = tuple(now.record(int(row)) for row in rows[~sound])
    return ReadRows(batch.taken(sound), apart, problems)


def _numbered(keys: Keys) -> tuple[NDArray[np.int32], Rows]:
    """A number per distinct key, -1 for the key 0 (nothing there), and where each was first."""
    distinct, first, number = np.unique(keys, return_index=True, return_inverse=True)
    if len(distinct) and distinct[0] == 0:
        return number.astype(np.int32) - 1, first[1:]
    return number.astype(np.int32), first


def _offerings(now: Listed, rows: Rows) -> tuple[NDArray[np.int32], Sequence[Offering]]:
    number, first = _numbered(now.keys[rows, walker.OFFERING])
    records = [now.record(int(row)) for row in rows[first]]
    named = (now.spans[rows[first], walker.HOSTNAME + 1] > 0).tolist()
    return number, [_offering_of(r, apart) for r, apart in zip(records, named, strict=True)]


def _offering_of(record: MachineRecord, hostname_apart: bool) -> Offering:
    labels = {k: v for k, v in record.labels.items() if not (hostname_apart and k == HOSTNAME_KEY)}
    return Offering(
        capacity_type=record.capacity_type,
        instance_type=record.instance_type,
        zone=record.zone,
        labels=tuple(sorted(labels.items())),
        resources=Resources.parse_leniently(record.resources),
        allocatable=Resources.parse_leniently(record.allocatable),
        price_per_hour=record.price_per_hour,
        interruption_probability=record.interruption_probability,
    )


def _stamps(
    now: Listed, rows: Rows
) -> tuple[NDArray[np.int32], Sequence[Assigned], tuple[str, ...]]:
    number, first = _numbered(now.keys[rows, walker.STAMP])
    stamps, problems = [], []
    for row in rows[first]:
        stamp, unread = decode(now.record(int(row)).shard_metadata, Assigned())
        stamps.append(stamp)
        problems += unread
    return number, stamps, tuple(problems)


def _hosts(now: Listed, rows: Rows) -> Hosts:
    """A host is there where either of its texts is; one without a provider has the empty one."""
    hosted = (now.flags[rows] & walker.HAS_HOST) != 0
    distinct, first, number = np.unique(
        now.keys[rows[hosted], walker.HOST_KEY], return_index=True, return_inverse=True
    )
    hosts = [now.record(int(row)).host for row in rows[hosted][first]]
    provider_of_row = np.full(len(rows), -1, np.int32)
    provider_of_row[hosted] = number
    providers = [host.provider if host else "" for host in hosts]
    assert len(distinct) == len(providers)
    return Hosts(providers, provider_of_row, now.texts(rows, walker.REF))


def _errors(now: Listed, rows: Rows) -> dict[int, str]:
    failed = (now.states[rows] == MachineState.FAILED) & ((now.flags[rows] & walker.HAS_ERROR) != 0)
    return {at: now.record(int(rows[at])).last_error for at in np.flatnonzero(failed).tolist()}
