"""Reading a List: what differs from what was taken over before, and nothing else.

Pure, and made to run in a thread: it sees what the reconciler remembered when the List was asked
for, and its result says all the loop has to know.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bigfleet.model.batches import MachineBatch
from bigfleet.model.machines import MachineState
from bigfleet.model.syntax import printable
from bigfleet.shard.events import ListArrived
from bigfleet.shard.reconciling.machine_texts import rows_with_bad_texts, told_id
from bigfleet.shard.reconciling.record_checks import (
    DUPLICATE_ID,
    STRUCTURAL,
    Rejection,
    labelled_batch,
    machine_at,
    nameless,
    rejection_of_texts,
    why_rejected,
)
from bigfleet.wire import list_walker as walker
from bigfleet.wire.machine_batches import KnownMachines, Listed, ReadRows, batch_of, listed

Rows = NDArray[np.int64]

_UNBOUND = (MachineState.IDLE, MachineState.SPECULATIVE)


@dataclass(frozen=True, slots=True)
class LastList:
    """What was taken over from a provider, at the moment a List was asked for."""

    machines: KnownMachines
    #: Machines that were changed since: what is listed of them is looked at again.
    doubted: frozenset[str] = frozenset()
    generation: int = 0
    #: Of machines of this provider that are listed without these labels.
    label_defaults: Mapping[str, str] = field(default_factory=dict)


NOTHING_REMEMBERED = LastList(KnownMachines.none())


@dataclass(frozen=True, slots=True)
class ListReading:
    #: Distinct ids the answer named.
    count: int
    revision: bytes
    #: Sound machines that are new, differ, or were doubted. Idle and Speculative ones are unbound.
    batch: MachineBatch
    #: Of rows that differ; the last good record stays.
    rejected: tuple[Rejection, ...]
    #: Remembered ids a whole answer does not name.
    gone: tuple[str, ...]
    #: What is remembered once this is taken over.
    known: KnownMachines
    doubted: frozenset[str]
    generation: int
    #: One sentence per stamp that could not be read.
    problems: tuple[str, ...] = ()


def read_list(content: bytes, remembered: LastList, *, whole: bool) -> ListReading:
    """Raises ValueError where the bytes are not a MachineList."""
    now = listed(content)
    known = _doubting(remembered)
    rows = known.rows_unlike(now)
    read, unread = _read(now, rows)
    count = len(now.rows())
    repeated = now.repeated_rows() if count != len(now) else rows[:0]
    rejected = [why for record in read.apart if (why := why_rejected(record)) is not None]
    rejected += [_unreadable(now, row) for row in unread]
    rejected += [_repeated(now, row) for row in repeated]
    named = np.array([name != "" for name in read.batch.ids], np.bool_)
    rejected += [nameless() for _ in range(len(named) - int(np.count_nonzero(named)))]
    batch = read.batch.taken(named)
    bad = rows_with_bad_texts(batch)
    rejected += _refused_texts(batch, bad)
    as_before = len(rows) == 0 and (not whole or count == len(known.ids))
    return ListReading(
        count=count,
        revision=now.revision,
        batch=labelled_batch(_cleaned(batch.taken(~bad)), remembered.label_defaults),
        rejected=tuple(rejected),
        gone=() if as_before or not whole else tuple(known.ids_gone_from(now)),
        known=known if as_before else _after(known, now, unread, whole=whole),
        doubted=remembered.doubted,
        generation=remembered.generation,
        problems=read.problems,
    )


def _doubting(remembered: LastList) -> KnownMachines:
    """Doubted machines count as changed."""
    machines, doubted = remembered.machines, remembered.doubted
    if not doubted:
        return machines
    places = [at for at, name in enumerate(machines.ids.tolist()) if name in doubted]
    wholes = machines.wholes.copy()
    wholes[places] = 0
    return replace(machines, wholes=wholes)


def _read(now: Listed, rows: Rows) -> tuple[ReadRows, Rows]:
    """The rows, and those of them with a broken text: only then is each tried alone."""
    try:
        return batch_of(now, rows), rows[:0]
    except ValueError:
        sound = np.array([_is_text(now, int(row)) for row in rows], np.bool_)
        return batch_of(now, rows[sound]), rows[~sound]


def _is_text(now: Listed, row: int) -> bool:
    try:
        now.record(row)
    except ValueError:
        return False
    return True


def _refused_texts(batch: MachineBatch, bad: NDArray[np.bool_]) -> list[Rejection]:
    machines = (machine_at(batch, row) for row in np.flatnonzero(bad).tolist())
    return [why for machine in machines if (why := rejection_of_texts(machine)) is not None]


def _unreadable(now: Listed, row: np.int64) -> Rejection:
    return Rejection(_id_of(now, row), STRUCTURAL, "a text of the record is no UTF-8")


def _repeated(now: Listed, row: np.int64) -> Rejection:
    return Rejection(_id_of(now, row), DUPLICATE_ID, "the id came before in the same List")


def _id_of(now: Listed, row: np.int64) -> str:
    try:
        return told_id(now.ids_of(np.array([row]))[0])
    except ValueError:
        return ""


def _after(known: KnownMachines, now: Listed, unread: Rows, *, whole: bool) -> KnownMachines:
    """An unreadable row of a known machine keeps it known; of an unknown one it says nothing."""
    if len(unread):
        strange = unread[~np.isin(now.keys[unread, walker.ID_KEY], known.id_keys)]
        kept = np.setdiff1d(np.arange(len(now)), strange)
        unread = np.searchsorted(kept, np.setdiff1d(unread, strange))
        now = replace(
            now,
            spans=now.spans[kept],
            keys=now.keys[kept],
            states=now.states[kept],
            flags=now.flags[kept],
        )
    return known.after(now, whole=whole, unread=unread)


def _cleaned(batch: MachineBatch) -> MachineBatch:
    """Idle and Speculative machines belong to no cluster, and an error is one printable line;
    what else a provider has left on them is dropped."""
    free = np.isin(batch.state_of_machine, _UNBOUND)
    none = np.int32(-1)
    return replace(
        batch,
        cluster_of_machine=np.where(free, none, batch.cluster_of_machine),
        stamp_of_machine=np.where(free, none, batch.stamp_of_machine),
        errors={row: printable(text) for row, text in batch.errors.items()},
    )


#: How much of a List is taken over at a time: some 20 ms of work on a fleet of 100K machines.
COLUMNS_AT_A_TIME = 4_096
RECORDS_AT_A_TIME = 256

Listing = ListArrived[ListReading]
T = TypeVar("T")


def pieces_of(whole: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (whole[start : start + size] for start in range(0, len(whole), size))
