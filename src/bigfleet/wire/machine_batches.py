"""Big Lists as columns: machines are told apart by keys of their bytes, and only what is new to us
is read.

`listed` splits an answer into rows; `KnownMachines` says which rows differ from what was seen
before; `batch_of` turns rows into a MachineBatch, reading each offering, cluster and stamp once.
What a batch cannot carry, or what the shard must look at itself (Failed, a state without its host,
a price that is none), comes apart as single records. Nothing is screened away here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bigfleet.model.batches import NEVER, MachineBatch, Offering
from bigfleet.model.machines import Assigned, MachineState
from bigfleet.model.metadata import decode
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.resources import Resources
from bigfleet.wire import list_walker as walker
from bigfleet.wire.machines import record_of

HOSTNAME = "kubernetes.io/hostname"

Rows = NDArray[np.int64]
Keys = NDArray[np.uint64]


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
        return self._texts(rows, walker.ID)

    def host_refs_of(self, rows: Rows) -> list[str]:
        return self._texts(rows, walker.REF)

    def clusters_of(self, rows: Rows) -> list[str]:
        return self._texts(rows, walker.CLUSTER)

    def hostnames_of(self, rows: Rows) -> list[str]:
        """Empty where a machine has no such label."""
        return self._texts(rows, walker.HOSTNAME)

    def _texts(self, rows: Rows, column: int) -> list[str]:
        starts = self.spans[rows, column].tolist()
        ends = self.spans[rows, column + 1].tolist()
        content = self.content
        return [content[a:b].decode() for a, b in zip(starts, ends, strict=True)]


def listed(answer: bytes) -> Listed:
    """Raises ValueError where the bytes are no MachineList; texts are checked when read."""
    content = np.frombuffer(answer, np.uint8)
    count = walker.count_machines(content)
    if count < 0:
        raise ValueError("no MachineList")
    spans = np.zeros((count, walker.SPANS), np.int64)
    keys = np.zeros((count, walker.KEYS), np.uint64)
    states, flags = np.zeros(count, np.int32), np.zeros(count, np.uint8)
    revision = np.zeros(2, np.int64)
    if not walker.walk_list(content, spans, keys, states, flags, revision):
        raise ValueError("no MachineList")
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

    def after(self, now: Listed, *, whole: bool) -> "KnownMachines":
        """With everything of the answer taken over; a whole answer also takes away."""
        rows = now.rows()
        keys = now.keys[rows, walker.ID_KEY]
        place, known = self._places(keys)
        ids = np.empty(len(rows), np.object_)
        ids[known] = self.ids[place[known]]
        ids[~known] = now.ids_of(rows[~known])
        wholes = now.keys[rows, walker.WHOLE]
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
    batch: MachineBatch
    #: Of the machines of the batch whose host is not named like themselves.
    host_refs: Mapping[str, str]
    #: Node names of those that have one: the one label that is not part of their offering.
    hostnames: Mapping[str, str]
    #: Machines that need a look of their own.
    apart: tuple[MachineRecord, ...]
    #: One sentence per stamp that could not be read.
    problems: tuple[str, ...]


def batch_of(now: Listed, rows: Rows) -> ReadRows:
    """Raises ValueError where a text of these rows is no text."""
    offering_of_row, offerings, unsound = _offerings(now, rows)
    provider, carried = _carried(now, rows)
    carried &= ~unsound[offering_of_row]
    apart = tuple(now.record(int(row)) for row in rows[~carried])
    rows, offering_of_row = rows[carried], offering_of_row[carried]
    cluster_of_row, first_of_cluster = _numbered(now.keys[rows, walker.CLUSTER_KEY])
    stamp_of_row, stamps, problems = _stamps(now, rows)
    ids = now.ids_of(rows)
    return ReadRows(
        MachineBatch(
            ids=ids,
            offerings=offerings,
            clusters=now.clusters_of(rows[first_of_cluster]),
            stamps=stamps,
            offering_of_machine=offering_of_row,
            state_of_machine=now.states[rows].astype(np.int8),
            cluster_of_machine=cluster_of_row,
            stamp_of_machine=stamp_of_row,
            idle_since_of_machine=np.full(len(rows), NEVER, np.int64),
            provider=provider,
        ),
        _host_refs(now, rows, ids),
        {i: name for i, name in zip(ids, now.hostnames_of(rows), strict=True) if name},
        apart,
        problems,
    )


def _numbered(keys: Keys) -> tuple[NDArray[np.int32], Rows]:
    """A number per distinct key, -1 for the key 0 (nothing there), and where each was first."""
    distinct, first, number = np.unique(keys, return_index=True, return_inverse=True)
    if len(distinct) and distinct[0] == 0:
        return number.astype(np.int32) - 1, first[1:]
    return number.astype(np.int32), first


def _offerings(
    now: Listed, rows: Rows
) -> tuple[NDArray[np.int32], Sequence[Offering], NDArray[np.bool_]]:
    """The offering of each row, the offerings, and which of them no sound machine can have."""
    number, first = _numbered(now.keys[rows, walker.OFFERING])
    records = [now.record(int(row)) for row in rows[first]]
    unsound = [
        not (0.0 <= r.price_per_hour < np.inf and 0.0 <= r.interruption_probability <= 1.0)
        for r in records
    ]
    named = (now.spans[rows[first], walker.HOSTNAME + 1] > 0).tolist()
    offerings = [_offering_of(r, set_apart) for r, set_apart in zip(records, named, strict=True)]
    return number, offerings, np.array(unsound, np.bool_)


def _offering_of(record: MachineRecord, hostname_apart: bool) -> Offering:
    labels = {k: v for k, v in record.labels.items() if not (hostname_apart and k == HOSTNAME)}
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


_HOSTLESS = [MachineState.SPECULATIVE, MachineState.CREATING]
_BOUND = [MachineState.CONFIGURED, MachineState.DRAINING]
_APART = [MachineState.UNSPECIFIED, MachineState.FAILED]


def _carried(now: Listed, rows: Rows) -> tuple[str, NDArray[np.bool_]]:
    """The provider that most likely owns the hosts, and the rows a batch can carry."""
    state, flags = now.states[rows], now.flags[rows]
    hosted = (flags & walker.HAS_HOST) != 0
    bound = (flags & walker.HAS_CLUSTER) != 0
    hostless = np.isin(state, _HOSTLESS)
    sound = ~np.isin(state, _APART) & ((flags & walker.HAS_ERROR) == 0)
    sound &= np.where(hostless, ~hosted & ~bound, hosted)
    sound &= bound | ~np.isin(state, _BOUND)
    if not hosted.any():
        return "", sound
    first = int(rows[hosted][0])
    host = now.record(first).host
    ours = now.keys[rows, walker.HOST_KEY] == now.keys[first, walker.HOST_KEY]
    return host.provider if host else "", sound & (ours | ~hosted)


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


def _host_refs(now: Listed, rows: Rows, ids: Sequence[str]) -> dict[str, str]:
    hosted = (now.flags[rows] & walker.HAS_HOST) != 0
    refs = zip(ids, hosted.tolist(), now.host_refs_of(rows), strict=True)
    return {name: ref for name, has_host, ref in refs if has_host and ref != name}
