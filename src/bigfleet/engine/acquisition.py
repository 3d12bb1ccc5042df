"""Phase 1, acquisition: optimistic workers, one broker, the outcome of a single pass (ADR-0005).

Needs that are short queue in precedence order. Workers propose for whole contention areas, which
cannot disturb each other; an area too large for one worker is cut where few of its Needs would
meet, and there the later cut may find its proposals stale. The broker commits all proposals in the
order of the queue.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Protocol

import numpy as np

from bigfleet.engine.decision import Counters, Mode
from bigfleet.engine.kernels.broker import (
    Ledger,
    commit_queue,
    conflicts_of_cut,
    contention_areas,
    propose_slice,
)
from bigfleet.engine.kernels.compiled import Bools, Int32s, Int64s
from bigfleet.engine.kernels.records import KindArrays, NeedArrays, PoolArrays, SupplyArrays
from bigfleet.model.options import EngineOptions

#: Whose counters the rows of the broker's ledger are.
_ROWS = (Mode.INCREMENTAL, Mode.ALL_OR_NOTHING)


class RunWorkers(Protocol):
    """Applies a function to each item, possibly at once; results in the order of the items."""

    def __call__(self, work: Callable[[Any], Any], items: Sequence[Any], /) -> Iterable[Any]: ...


@dataclass(frozen=True, slots=True)
class Credit:
    """What the pre-pass found, per Need; `holder` is per machine and grows with every claim."""

    holder: Int32s
    remaining: Int64s
    domain: Int32s
    satisfiable: Bools
    may_acquire: Bools


@dataclass(frozen=True, slots=True)
class Acquired:
    """What each Need took: `taken[start[n]:start[n] + count[n]]`, in pool order."""

    taken: Int32s
    start: Int64s
    count: Int64s
    #: A spread Need that stopped with candidates its skew forbids.
    skew_stopped: Bools
    #: Over both modes.
    counters: Counters
    counters_of_mode: Mapping[Mode, Counters]


def acquire(
    needs: NeedArrays,
    kinds: KindArrays,
    supply: SupplyArrays,
    pool: PoolArrays,
    credit: Credit,
    all_or_nothing: Bools,
    queue: Int64s,
    options: EngineOptions,
    run_workers: RunWorkers,
    part_ended: Callable[[str], None],
) -> Acquired:
    """Let the Needs of `queue`, short and in precedence order, take what they may.

    `part_ended` hears when the workers are done ("propose") and when the broker is ("commit").
    """
    size = len(needs.key)
    most = len(queue) // max(1, options.smallest_share)
    busy = max(1, min(options.workers, most))
    worker, contested = _dealt(queue, needs, pool, busy, options.most_conflicts)
    shares = [np.flatnonzero(worker == w) for w in range(busy)]
    work = partial(_proposals, needs, kinds, supply, pool, credit)
    run = run_workers if sum(len(share) > 0 for share in shares) > 1 else map
    proposals = list(run(work, [queue[share] for share in shares]))
    start, end = np.zeros(len(queue), np.int64), np.zeros(len(queue), np.int64)
    offset = 0
    for share, (rows, starts) in zip(shares, proposals, strict=True):
        start[share], end[share] = starts[:-1] + offset, starts[1:] + offset
        offset += len(rows)
    part_ended("propose")
    ledger = Ledger(
        holder=credit.holder,
        remaining=credit.remaining,
        taken=np.empty(len(pool.rows), np.int32),
        taken_start=np.zeros(size, np.int64),
        taken_count=np.zeros(size, np.int64),
        skew_stopped=np.zeros(size, np.bool_),
        counters=np.zeros((len(_ROWS), len(fields(Counters))), np.int64),
    )
    rows = np.concatenate([rows for rows, _ in proposals])
    # Where each worker saw the runs; asked for only where two workers meet.
    expected = np.tile(pool.start, (busy if contested.any() else 0, 1))
    cursor = pool.start.copy()
    commit_from = partial(
        commit_queue,
        queue=queue,
        worker=worker,
        contested=contested,
        proposed=rows,
        proposed_start=start,
        proposed_end=end,
        expected=expected,
        cursor=cursor,
        needs=needs,
        kinds=kinds,
        kind_of_row=supply.kind,
        pool=pool,
        all_or_nothing=all_or_nothing,
        ledger=ledger,
    )
    place, taken = commit_from(0, 0, rows[:0], False)
    while place < len(queue):
        # Stale, which is rare: a second copy of `propose_slice` would take a second to compile.
        again, _ = work(queue[place : place + 1], cursor)
        place, taken = commit_from(place, taken, again, True)
    part_ended("commit")
    return Acquired(
        ledger.taken,
        ledger.taken_start,
        ledger.taken_count,
        ledger.skew_stopped,
        Counters(*ledger.counters.sum(axis=0).tolist()),
        {mode: Counters(*ledger.counters[row].tolist()) for row, mode in enumerate(_ROWS)},
    )


def _dealt(
    queue: Int64s, needs: NeedArrays, pool: PoolArrays, busy: int, most_conflicts: float
) -> tuple[Int32s, Bools]:
    """Which of `busy` workers proposes for each place of the queue, and where that is contested.

    Areas go to the worker with the least to do, largest first. An area above a fair share is cut
    into one piece a worker, in queue order, unless its pieces would mostly conflict.
    """
    worker = np.zeros(len(queue), np.int32)
    contested = np.zeros(len(queue), np.bool_)
    if busy == 1:
        return worker, contested
    key = needs.key[queue]
    keys = len(pool.key_starts) - 1
    shared = (len(pool.start), pool.key_starts, pool.key_runs)
    area_of_key = contention_areas(np.bincount(key, minlength=keys) > 0, *shared)
    area = area_of_key[key]
    sizes = np.bincount(area + 1, minlength=len(pool.start) + 1)
    owner = np.zeros(len(sizes), np.int32)
    load = [0] * busy
    for a in np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)].tolist():
        if sizes[a] * busy > len(queue) and a > 0:
            places = np.flatnonzero(area + 1 == a)
            pieces = (np.arange(len(places)) * busy // len(places)).astype(np.int32)
            if conflicts_of_cut(key[places], pieces, *shared) <= most_conflicts * len(places):
                contested[places] = True
                worker[places] = pieces
                continue
        owner[a] = load.index(min(load))
        load[owner[a]] += int(sizes[a])
    return np.where(contested, worker, owner[area + 1]).astype(np.int32), contested


def _proposals(
    needs: NeedArrays,
    kinds: KindArrays,
    supply: SupplyArrays,
    pool: PoolArrays,
    credit: Credit,
    share: Int64s,
    cursor: Int32s | None = None,
) -> tuple[Int32s, Int64s]:
    """What these Needs take from the runs as `cursor` sees them; a worker sees them untouched."""
    return propose_slice(
        share,
        needs,
        kinds,
        supply,
        pool,
        credit.holder,
        credit.domain,
        credit.may_acquire,
        credit.remaining,
        pool.start.copy() if cursor is None else cursor,
    )
