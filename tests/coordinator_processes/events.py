"""What befalls a fleet: each event breaks something, sees that the shards go on, and mends it."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random

from bigfleet.model.coordination import Transfer
from bigfleet.model.provider_calls import Rejected
from bigfleet.model.requirements import ZONE_KEY
from bigfleet.model.shard_admin import Audit
from tests.coordinator_processes.fleet import SHARDS, ZONES, Fleet, Shard
from tests.coordinator_processes.laws import Laws
from tests.etcd_cluster import Member
from tests.etcd_links import Link
from tests.shard_system.demand import LOW
from tests.shard_system.waiting import until_told

ADA = Audit("ada", "a schedule says so")
#: Decisions a shard makes in an outage before it is mended.
CYCLES = 3
#: Within so many of the receiver's decisions a donor has been asked for machines, if ever.
CYCLES_OF_A_TRANSFER = 20


@dataclass(slots=True)
class FaultEvents:
    fleet: Fleet
    laws: Laws
    chance: Random

    async def shards_go_on(self) -> None:
        """Every shard that lives decides on, also while other parts are broken."""
        before = {shard.name: await self._cycle(shard) for shard in self.fleet.shards}

        async def decided() -> bool:
            await self.laws.look()
            return all(
                [
                    shard.admin is None or await self._cycle(shard) >= before[shard.name] + CYCLES
                    for shard in self.fleet.shards
                ]
            )

        await until_told(decided, lambda: ("cycles stand still", before, self.fleet.story))

    async def _cycle(self, shard: Shard) -> int:
        status = await shard.status()
        return 0 if status is None else status.cycle

    def say(self, text: str) -> None:
        self.fleet.story.append(text)

    # -- what people ask for ---------------------------------------------------------------------

    async def a_domain_moves(self) -> None:
        """To another shard, or to no shard: then the default owner has it."""
        zone = self.chance.choice(ZONES)
        wished = self.fleet.wished
        shard = self.chance.choice([s for s in (*SHARDS, "") if s != wished.get(zone, "")])
        wished[zone] = shard
        self.say(f"{zone} to {shard or 'no shard'}")
        await self._ask(
            zone, self.fleet.admin.unassign_domain(ADA, topology_key=ZONE_KEY, topology_value=zone)
        )
        if shard:
            await self._ask(
                zone,
                self.fleet.admin.assign_domain(
                    ADA, topology_key=ZONE_KEY, topology_value=zone, shard_id=shard
                ),
            )
        await self.laws.look()

    async def _ask(self, zone: str, asked: Awaitable[None]) -> None:
        self.laws.told(zone)
        try:
            await asked
        except Rejected as problem:
            self.say(f"refused: {problem.code.name}")

    async def demand_changes(self) -> None:
        which = self.chance.randrange(len(self.fleet.operators))
        await self._wants(which, self.chance.choice((0, 2, 5, 12)))
        await self.laws.look()

    async def a_shard_becomes_short(self) -> None:
        """Returns at once, or in the middle of the transfer that helps it.

        Perhaps none does: what a domain that changes hands has left idle has no owner until the
        last machine in use there is given up.
        """
        which = self.chance.randrange(len(self.fleet.operators))
        shard = self.fleet.shards[which]
        owned = len(await shard.machines())
        await self._wants(which, owned + self.chance.randint(1, 3))
        if self.chance.random() < 0.3:
            return
        enough = await self._cycle(shard) + CYCLES_OF_A_TRANSFER

        async def helped() -> bool:
            await self.laws.look()
            return bool(await self.transfers()) or await self._cycle(shard) >= enough

        await until_told(helped, lambda: ("cycles stand still", self.fleet.story))

    async def transfers(self) -> tuple[Transfer, ...]:
        try:
            return await self.fleet.admin.transfers()
        except Rejected:
            return ()

    async def _wants(self, which: int, machines: int) -> None:
        operator = self.fleet.operators[which]
        self.say(f"{operator.cluster} wants {machines}")
        await operator.wants(machines, LOW)

    # -- etcd ------------------------------------------------------------------------------------

    async def a_member_is_killed(self) -> None:
        await self._members_are_killed(1)

    async def the_quorum_is_killed(self) -> None:
        await self._members_are_killed(2)

    async def _members_are_killed(self, count: int) -> None:
        members = self.chance.sample(self.fleet.etcd.members, count)
        self.say(f"etcd {' and '.join(member.name for member in members)} killed")
        for member in members:
            await asyncio.to_thread(member.kill)
        await self.shards_go_on()
        await asyncio.to_thread(_restart, members)

    # -- coordinators ----------------------------------------------------------------------------

    async def the_leader_is_killed(self) -> None:
        leader = await self.fleet.some_leader()
        self.say(f"leader {leader.name} killed")
        await self.fleet.kill_replica(leader)
        await self.shards_go_on()
        if self.chance.random() < 0.5:
            await self.fleet.some_leader()
        await self.fleet.start_replica(leader)

    async def the_leader_is_stopped_beyond_its_lease(self) -> None:
        leader = await self.fleet.some_leader()
        self.say(f"leader {leader.name} stopped")
        leader.send(signal.SIGSTOP)
        await self.shards_go_on()
        await self.fleet.some_leader()
        await self.laws.look()
        leader.send(signal.SIGCONT)
        await self.laws.look()

    # -- links -----------------------------------------------------------------------------------

    async def the_leader_loses_etcd(self) -> None:
        leader = await self.fleet.some_leader()
        how = self._break(leader.ways)
        self.say(f"leader {leader.name} and etcd: {how}")
        await self.shards_go_on()
        if self.chance.random() < 0.5:
            await self.fleet.some_leader(other_than=leader)
            await self.laws.look()
        self._mend(leader.ways)

    async def the_leader_is_cut_off(self) -> None:
        leader = await self.fleet.some_leader()
        self.say(f"shards and leader {leader.name}: {self._break([leader.link])}")
        await self.shards_go_on()
        self._mend([leader.link])

    async def every_line_is_cut(self) -> None:
        links = [replica.link for replica in self.fleet.replicas]
        self.say(f"shards and coordinators: {self._break(links)}")
        await self.shards_go_on()
        self._mend(links)

    def _break(self, links: list[Link]) -> str:
        how = self.chance.choice((Link.cut, Link.silence))
        for link in links:
            how(link)
        return how.__name__

    def _mend(self, links: list[Link]) -> None:
        for link in links:
            link.mend()

    # -- shards ----------------------------------------------------------------------------------

    async def a_shard_is_killed(self) -> None:
        shard = self.chance.choice(self.fleet.shards)
        self.say(f"{shard.name} killed")
        await self.fleet.kill_shard(shard)
        await self.shards_go_on()
        await self.fleet.start_shard(shard)


Event = Callable[[FaultEvents], Awaitable[None]]
ASKED: tuple[Event, ...] = (
    FaultEvents.a_domain_moves,
    FaultEvents.a_domain_moves,
    FaultEvents.demand_changes,
    FaultEvents.a_shard_becomes_short,
)
FAULTS: tuple[Event, ...] = (
    FaultEvents.a_member_is_killed,
    FaultEvents.the_quorum_is_killed,
    FaultEvents.the_leader_is_killed,
    FaultEvents.the_leader_is_stopped_beyond_its_lease,
    FaultEvents.the_leader_loses_etcd,
    FaultEvents.the_leader_is_cut_off,
    FaultEvents.every_line_is_cut,
    FaultEvents.a_shard_is_killed,
)


def _restart(members: list[Member]) -> None:
    """Together: where the quorum is gone one alone does not serve."""
    for member in members:
        member.start()
    for member in members:
        member.ready()
