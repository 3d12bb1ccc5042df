"""A shard leaves for good: a person says that it is dead, and everything it had is free.

Law: it is never believed to be dead because it is silent. From the transaction that marks it
removed it takes part in nothing; what it had goes with it in the same transaction, or in the next
ones where a store takes only so many rows at once. Until all of it is gone no shard can join by its
name.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership import handovers
from bigfleet.coordinator.membership.checks import require
from bigfleet.coordinator.rebalancing import quotas, transfers
from bigfleet.coordinator.tables import ClusterRow, OverrideRow
from bigfleet.model.ownership import PROVIDER_KEY, Pair
from bigfleet.model.provider_calls import Code, Rejected

#: Rows the largest single step may need: those of a hand-over that completes.
_STEP_ROWS = 5

Step = Callable[[], None]


def remove_shard(book: Book, draft: Draft, shard: str, most_changes: int | None) -> None:
    """Raises Rejected. The caller must know that the shard is really dead."""
    require(shard_id=shard)
    row = draft.shards.get(shard)
    if row is None:
        raise Rejected(
            Code.NOT_FOUND, f"shard_id {shard} is not known; list the shards to see their names"
        )
    if not row.removed:
        draft.shards.put(replace(row, removed=True))
        draft.note("shard_removed", shard, f"{shard} is removed: all it had is free")
    book.shards.pop(shard, None)
    _sweep(book, draft, shard, most_changes)


def sweep_removed(book: Book, draft: Draft, most: int) -> bool:
    """Goes on with what one transaction did not hold; True: there is more to do."""
    for row in [each for each in draft.shards.values() if each.removed]:
        if draft.size + _STEP_ROWS > most or not _sweep(book, draft, row.id, most):
            return True
    return False


def _sweep(book: Book, draft: Draft, shard: str, most: int | None) -> bool:
    for step in _steps(book, draft, shard):
        if most is not None and draft.size + _STEP_ROWS > most:
            return False
        step()
    draft.shards.delete(shard)
    draft.note("shard_swept", shard, f"nothing of {shard} is left; its name is free")
    return True


def _steps(book: Book, draft: Draft, shard: str) -> Iterator[Step]:
    """A repeated call finds only what is left."""
    yield partial(transfers.drop_shard, book, draft, shard)
    yield partial(quotas.drop_shard, draft, shard)
    for told in draft.instructions.of_first(shard):
        yield partial(draft.drop_instruction, told)
    for bound in [row for row in draft.clusters.values() if row.shard == shard]:
        yield partial(_unbind, draft, bound)
    for moved in [row for row in draft.overrides.values() if shard in (row.shard, row.home)]:
        yield partial(_settle, draft, moved, shard)
    for pair in _pairs_of(draft, shard):
        yield partial(_leave, draft, pair, shard)


def _unbind(draft: Draft, row: ClusterRow) -> None:
    draft.clusters.delete(row.cluster)
    draft.note("cluster_unbound", row.cluster, f"cluster {row.cluster} is free of {row.shard}")


def _settle(draft: Draft, row: OverrideRow, shard: str) -> None:
    """A machine that was moved to it follows its domain again; one it gave away stays there."""
    draft.new_revision()
    if row.shard == shard:
        draft.overrides.delete(row.machine)
        draft.note("override", row.machine, f"{row.machine} follows its domain: {shard} is gone")
    else:
        draft.overrides.put(replace(row, home=row.shard))


def _pairs_of(draft: Draft, shard: str) -> list[Pair]:
    """What it owns, awaits or holds. All rows of a key are read only where it has one of them."""
    keys = {
        mark[0]
        for mark, rows in handovers.marks(draft).items()
        if rows > 0 and isinstance(mark, tuple) and mark[1] == shard
    }
    found = [
        row.pair
        for key in sorted(keys)
        for row in draft.domains.of_first(key)
        if shard == row.shard or shard in row.holders
    ]
    found += [
        (PROVIDER_KEY, row.provider)
        for row in draft.defaults.values()
        if shard == row.shard or shard in row.holders
    ]
    return found


def _leave(draft: Draft, pair: Pair, shard: str) -> None:
    row = handovers.holding(draft, pair)
    if row is None:
        return
    if row.shard == shard and row.holders:
        handovers.put(draft, pair, "", row.holders)
    elif row.shard == shard:
        draft.new_revision()
        handovers.delete(draft, pair)
        said = f"{handovers.pair_text(pair)} has no owner any more: {shard} is gone"
        draft.note("unassigned", handovers.subject_of(pair), said)
    handovers.on_given_up(draft, shard, pair, "it was removed")
