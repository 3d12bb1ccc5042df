"""What holds at every moment, seen from outside: in what processes say, and in the journal of the
provider.

Nothing here trusts a coordinator or a shard: the provider's own file says which shard mutated a
machine, by the token of the call.
"""

import sqlite3
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from bigfleet.edge.driver import RealClock
from bigfleet.model.coordination import Transfer
from bigfleet.model.machines import Instant
from bigfleet.model.shard_views import OwnerSource
from tests.coordinator_processes.fleet import SHARDS, Fleet, Replica


@dataclass(frozen=True, slots=True)
class Mutation:
    """Accepted by the provider."""

    machine: str
    kind: str
    shard: str
    at: Instant
    outcome: str
    ended: Instant


@dataclass(frozen=True, slots=True)
class Command:
    """A person asked for a domain to change hands; perhaps in vain."""

    zone: str
    at: Instant


def mutations(journal: Path) -> list[Mutation]:
    """In the order in which they were accepted."""
    asked = (
        "SELECT machine_id, kind, shard_id, accepted_at, outcome, finished_at FROM journal "
        "ORDER BY number"
    )
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as kept:
        return [Mutation(*row) for row in kept.execute(asked)]


@dataclass(slots=True)
class Laws:
    fleet: Fleet
    commands: list[Command] = field(default_factory=list)
    #: Who led in each term.
    leader_of: dict[int, str] = field(default_factory=dict)
    #: The newest term each shard has heard of; it survives the shard's death.
    heard: dict[str, int] = field(default_factory=dict)
    revisions: dict[str, int] = field(default_factory=dict)
    looks: int = 0

    def told(self, zone: str) -> None:
        """Before the coordinator is."""
        self.commands.append(Command(zone, RealClock().now()))

    async def look(self) -> None:
        for replica in self.fleet.replicas:
            await self._look_at(replica)
        await self._shards_only_move_on()
        await self._shards_are_disjoint()
        self.looks += 1

    async def _look_at(self, replica: Replica) -> None:
        """Of a term one is the leader, and once another leads no replica believes to lead in it."""
        newest = max(self.leader_of, default=0)
        status = await self.fleet.status(replica)
        if status is None or not status.is_leader:
            return
        led = self.leader_of.setdefault(status.term, status.replica_id)
        assert led == status.replica_id, (status, self.leader_of, self.fleet.story)
        assert status.term >= newest, (status, self.leader_of, self.fleet.story)

    async def _shards_only_move_on(self) -> None:
        for shard in self.fleet.shards:
            status = await shard.status()
            if status is None:
                continue
            told = (shard.name, status, self.fleet.story)
            # None of either is known right after a start, before the disk was read.
            if status.coordinator is not None and (term := status.coordinator.term):
                assert term >= self.heard.get(shard.name, 0), told
                self.heard[shard.name] = term
            assert status.ownership_revision >= self.revisions.get(shard.name, 0), told
            self.revisions[shard.name] = status.ownership_revision

    async def _shards_are_disjoint(self) -> None:
        """One cannot look at both at once: what the first has before and after, under one view,
        it had in between. To get back what it gave away it needs a newer view.
        """
        first, second = self.fleet.shards
        if first.admin is None or second.admin is None:
            return
        before, revision = await first.machines(), await first.status()
        others = await second.machines()
        again, after = await first.status(), await first.machines()
        assert revision is not None
        assert again is not None
        if revision.ownership_revision == again.ownership_revision:
            shared = before.keys() & after.keys() & others.keys()
            assert not shared, (sorted(shared), self.fleet.story)

    # -- the journal -----------------------------------------------------------------------------

    async def check_journal(self) -> None:
        """No shard mutates what another one has: between two shards lies a hand-over, and the first
        one has finished with the machine.
        """
        transfers = await self.fleet.transfers()
        zone_of = {name: record.zone for name, record in (await self.fleet.truth()).items()}
        of_machine: dict[str, list[Mutation]] = defaultdict(list)
        for each in mutations(self.fleet.journal):
            assert each.shard in SHARDS, each
            of_machine[each.machine].append(each)
        for machine, done in of_machine.items():
            handed = self._handed_over(machine, zone_of[machine], transfers)
            why = why_interleaved(done, handed)
            assert not why, (why, machine, done, handed, self.fleet.story)

    def _handed_over(
        self, machine: str, zone: str, transfers: tuple[Transfer, ...]
    ) -> list[Instant]:
        """When each hand-over that may have moved the machine began."""
        moved = [each.created_at for each in transfers if machine in each.machine_ids]
        return sorted(moved + [each.at for each in self.commands if each.zone == zone])

    async def owners_agree(self) -> str:
        """Empty where every machine is listed by the shard that the coordinator says owns it."""
        rows = {each.value: each.shard for each in await self.fleet.admin.domains()}
        if "" in rows.values():
            return f"domains change hands: {rows}"
        lists = {shard.name: await shard.machines() for shard in self.fleet.shards}
        for name, record in (await self.fleet.truth()).items():
            holders = [shard for shard, machines in lists.items() if name in machines]
            if len(holders) != 1:
                return f"{name} is listed by {holders}"
            owner = rows.get(record.zone, SHARDS[0])
            own_row = lists[holders[0]][name].owner_source is OwnerSource.OVERRIDE
            if holders[0] != owner and not own_row:
                return f"{name} of {record.zone} is listed by {holders[0]}, not by {owner}"
        return ""


def why_interleaved(done: list[Mutation], handed: list[Instant]) -> str:
    """Empty where each change of the shard has a hand-over of its own before it.

    A hand-over that began before the last change of shards explains no other one.
    """
    left = list(handed)
    for before, after in pairwise(done):
        if before.shard == after.shard:
            continue
        if not before.outcome or before.ended > after.at:
            return f"{after.shard} acted while {before.shard} was not done: {before} {after}"
        if before.kind == "configure" and before.outcome == "succeeded":
            return f"{after.shard} acted on what {before.shard} had configured: {before} {after}"
        begun = [at for at in left if at < after.at]
        if not begun:
            return f"nothing was handed over between {before} and {after}"
        left.remove(begun[0])
    return ""
