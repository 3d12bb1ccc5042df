"""What the shards hold, as all of them have told a coordinator that lost its memory.

Law: what is published after a restore gives no shard anything that another shard may still act on.
A pair that a shard claims is its own, and has been since every other shard gave it up. A pair that
only the restored rows know may be held by default owners or by keys that are asked later, so it
changes hands once more. An adopted machine stays with its adopter.
"""

from collections import defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership.handovers import Holding, is_member
from bigfleet.coordinator.tables import ANY_PROVIDER, OverrideRow, ShardRow
from bigfleet.model.ownership import MachineOverride, Pair


@dataclass(frozen=True, slots=True)
class Claims:
    #: Who owns a pair, or is giving it up.
    pairs: Mapping[Pair, Set[str]]
    #: By machine, rows by which a shard has it.
    machines: Mapping[str, Mapping[str, MachineOverride]]
    #: Machines a shard has released: it has them no more, even if it still has a row.
    released: Set[tuple[str, str]]
    #: The highest revision of a view that any shard has.
    revision: int


@dataclass(frozen=True, slots=True)
class TargetRow:
    """What the row of a pair is to be; an empty shard without holders: there is to be none."""

    shard: str
    holders: tuple[str, ...] = ()


def claims_of(book: Book, members: list[ShardRow]) -> Claims:
    pairs: dict[Pair, set[str]] = defaultdict(set)
    machines: dict[str, dict[str, MachineOverride]] = defaultdict(dict)
    released: set[tuple[str, str]] = set()
    revision = 0
    for member in members:
        sync = book.memory(member.id).sync
        assert sync is not None, "asked when every member has synced"
        revision = max(revision, sync.ownership_revision)
        for pair in sync.held_pairs:
            pairs[pair].add(member.id)
        for row in sync.held_overrides:
            if row.shard == member.id:
                machines[row.machine][member.id] = row
            elif not row.shard:
                released.add((member.id, row.machine))
    return Claims(pairs, machines, released, revision)


def wanted_of_claimed(draft: Draft, row: Holding | None, claimants: Set[str]) -> TargetRow:
    """Of a pair that a shard claims. A hand-over that was under way goes on."""
    members = [h for h in row.holders if is_member(draft, h)] if row is not None else []
    target = row.shard if row is not None and is_member(draft, row.shard) else ""
    if len(claimants) == 1:
        (shard,) = claimants
        if shard in members:
            return TargetRow(target, tuple(members))
        return TargetRow(shard)
    return TargetRow(target, tuple(sorted({*members, *claimants} - {target})))


def wanted_of_unclaimed(draft: Draft, row: Holding, may_hold: Set[str]) -> TargetRow:
    """Of a pair that only the restored rows know. Holders that claim nothing hold nothing."""
    if not is_member(draft, row.shard):
        return TargetRow("")
    holders = sorted(h for h in may_hold - {row.shard} if is_member(draft, h))
    return TargetRow(row.shard, tuple(holders))


def wanted_override(draft: Draft, machine: str, claims: Claims) -> OverrideRow | None:
    """None: the machine follows its domain, as every shard sees it that has not adopted it."""
    rows = claims.machines.get(machine, {})
    kept = {shard for shard in rows if (shard, machine) not in claims.released}
    if not (chosen := kept or set(rows)):
        return None
    shard = min(chosen)
    row, known = rows[shard], draft.overrides.get(machine)
    moved_at = known.moved_at if known is not None and known.shard == shard else draft.at
    provider = known.provider if known is not None else _provider_of(draft, shard)
    return OverrideRow(machine, shard, row.home or shard, row.transfer, provider, moved_at)


def _provider_of(draft: Draft, shard: str) -> str:
    """A claim does not name the machine's provider."""
    row = draft.shards.get(shard)
    providers = row.providers if row is not None else ()
    return providers[0] if len(providers) == 1 else ANY_PROVIDER
