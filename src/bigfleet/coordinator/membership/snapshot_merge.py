"""After a restore from a snapshot: nothing is published before the shards have said what they hold.

The restored rows are older than what the shards have on disk. So no ownership is told, no
instruction is sent and no transfer made until every member has synced, in full, and three report
intervals have passed in which a member the snapshot does not know may appear. Then the rows are
made to agree with the claims, as many per transaction as a store takes, and the last transaction
publishes them as one revision above every reported one.

Numbers jump ahead first: an instruction must not have the name of one that a shard has done in the
time the snapshot does not know.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership import claims as claiming
from bigfleet.coordinator.membership import handovers
from bigfleet.coordinator.membership.claims import Claims, TargetRow
from bigfleet.coordinator.membership.domains import offer_default
from bigfleet.coordinator.rebalancing import transfers
from bigfleet.coordinator.tables import OverrideRow, ShardRow
from bigfleet.model.coordination import SyncRequest
from bigfleet.model.options import SECOND
from bigfleet.model.ownership import PROVIDER_KEY, Pair

#: More numbers than can have been used since a snapshot that is worth restoring.
NUMBERS_AHEAD = 1_000_000_000

#: Rows the largest step may need: a pair, and as many instructions as are sent at a time.
_STEP_ROWS = handovers.WAVE + 2

Step = Callable[[], None]
_WHY = "the store was restored from a snapshot"


def on_sync_while_merging(book: Book, draft: Draft, request: SyncRequest) -> None:
    """What it holds is in the book's memory; the second brings the rest."""
    if book.merging_since is None:
        book.merging_since = draft.at


def begin(book: Book, draft: Draft, request: SyncRequest) -> None:
    """A shard has a view that was never made here: these rows are older than the fleet."""
    if draft.numbers.merging:
        return
    draft.seq.put(replace(draft.numbers, merging=True, merge_from=0))
    book.merging_since = draft.at
    draft.note(
        "merge_begun",
        request.shard_id,
        f"{request.shard_id} has ownership of revision {request.ownership_revision}, the store ends"
        f" at {draft.numbers.revision}: every shard is asked what it holds",
    )


def waiting_for(book: Book, members: list[ShardRow]) -> list[str]:
    """Members that have not said what they hold."""
    since = book.merging_since
    return [row.id for row in members if since is None or not _has_told(book, row, since)]


def members_of(draft: Draft) -> list[ShardRow]:
    return [row for row in draft.shards.values() if not row.removed]


def go_on(book: Book, draft: Draft, most: int) -> None:
    """Once a second: ends the merge when it can be ended."""
    if not draft.numbers.merging:
        book.merging_since = None
        return
    if book.merging_since is None:
        book.merging_since = draft.at
    members = members_of(draft)
    if draft.at - book.merging_since < round(book.settings.stale_after * SECOND):
        return
    if waiting_for(book, members):
        return
    claims = claiming.claims_of(book, members)
    _jump(draft, claims.revision)
    for step in _steps(draft, claims, members, most):
        if draft.size + _STEP_ROWS > most:
            return
        step()
    if draft.size + _STEP_ROWS > most:
        return
    draft.seq.put(replace(draft.numbers, merging=False, merge_from=0))
    draft.note(
        "merge_ended",
        "",
        f"ownership of {len(members)} shards is agreed after the restore and published as revision"
        f" {draft.numbers.revision}",
    )


def _has_told(book: Book, row: ShardRow, since: int) -> bool:
    known = book.shards.get(row.id)
    if known is None or known.sync is None or known.synced_at is None:
        return False
    return known.sync.tells_all and known.sync.epoch == row.epoch and known.synced_at >= since


def _jump(draft: Draft, reported: int) -> None:
    """Above every number and every revision that was used after the snapshot."""
    numbers = draft.numbers
    if numbers.merge_from and numbers.revision > reported:
        return
    ahead = numbers.next + NUMBERS_AHEAD
    revision = max(numbers.revision, reported) + 1
    draft.seq.put(replace(numbers, next=ahead, merge_from=ahead, revision=revision))


# -- making rows agree -----------------------------------------------------------------------------


def _steps(draft: Draft, claims: Claims, members: list[ShardRow], most: int) -> Iterator[Step]:
    """What is still to be done; done in part, the next pass finds the rest."""
    numbers = draft.numbers
    for row in list(draft.instructions.values()):
        if row.sequence < numbers.merge_from:
            yield partial(draft.drop_instruction, row)
    yield partial(transfers.abandon_open, draft, _WHY, most)
    for machine in {*_machines(draft), *claims.machines}:
        wanted = claiming.wanted_override(draft, machine, claims)
        if draft.overrides.get(machine) != wanted:
            yield partial(_put_override, draft, machine, wanted)
    yield from _claimed(draft, claims)
    yield from _unclaimed(draft, claims)
    for member in sorted(members, key=lambda row: (row.registered_at, row.id)):
        for address in member.providers:
            if draft.defaults.get(address) is None:
                yield partial(offer_default, draft, member.id, address)


def _machines(draft: Draft) -> list[str]:
    return [row.machine for row in draft.overrides.values()]


def _put_override(draft: Draft, machine: str, wanted: OverrideRow | None) -> None:
    if wanted is None:
        draft.overrides.delete(machine)
        draft.note("override", machine, f"{machine} follows its domain: no shard has adopted it")
    else:
        draft.overrides.put(wanted)
        draft.note("override", machine, f"{machine} stays with {wanted.shard}")


def _claimed(draft: Draft, claims: Claims) -> Iterator[Step]:
    asked = _asked(draft)
    for pair, claimants in claims.pairs.items():
        row = handovers.holding(draft, pair)
        wanted = claiming.wanted_of_claimed(draft, row, claimants)
        if not _is_so(draft, pair, wanted, asked):
            yield partial(_put_pair, draft, pair, wanted, asked)


def _unclaimed(draft: Draft, claims: Claims) -> Iterator[Step]:
    """After the claimed ones: who may hold what is asked of rows that agree with the claims."""
    asked = _asked(draft)
    pairs = [row.pair for row in draft.domains.values()]
    pairs += [(PROVIDER_KEY, row.provider) for row in draft.defaults.values()]
    may_hold: dict[str, set[str]] = {PROVIDER_KEY: set()}
    for pair in pairs:
        row = None if pair in claims.pairs else handovers.holding(draft, pair)
        if row is None:
            continue
        if pair[0] not in may_hold:
            may_hold[pair[0]] = handovers.may_hold(draft, pair[0])
        wanted = claiming.wanted_of_unclaimed(draft, row, may_hold[pair[0]])
        if not _is_so(draft, pair, wanted, asked):
            yield partial(_put_pair, draft, pair, wanted, asked)


Asked = set[tuple[str, Pair]]


def _asked(draft: Draft) -> Asked:
    """Who is told to give up what, since the numbers jumped."""
    return {
        (row.shard, handovers.pair_of(row.instruction))
        for row in draft.instructions.values()
        if row.instruction.kind is handovers.UNASSIGN and row.sequence >= draft.numbers.merge_from
    }


def _is_so(draft: Draft, pair: Pair, wanted: TargetRow, asked: Asked) -> bool:
    row = handovers.holding(draft, pair)
    if row is None:
        return not (wanted.shard or wanted.holders)
    if (row.shard, row.holders) != (wanted.shard, wanted.holders) or not (row.shard or row.holders):
        return False
    return all((shard, pair) in asked for shard in row.holders[: handovers.WAVE])


def _put_pair(draft: Draft, pair: Pair, wanted: TargetRow, asked: Asked) -> None:
    text = handovers.pair_text(pair)
    if not (wanted.shard or wanted.holders):
        handovers.delete(draft, pair)
        said = f"{text} has no row any more: no shard has it since the restore"
    else:
        handovers.put(draft, pair, wanted.shard, wanted.holders)
        said = f"{text} stays with {wanted.shard}"
        if wanted.holders:
            then = f"then it goes to {wanted.shard}" if wanted.shard else "then no shard owns it"
            said = f"{text} is given up by {', '.join(wanted.holders)}; {then}"
    draft.note("merged", handovers.subject_of(pair), said)
    for shard in wanted.holders[: handovers.WAVE]:
        if (shard, pair) not in asked:
            handovers.tell(draft, shard, pair, handovers.UNASSIGN)
