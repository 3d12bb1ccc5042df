"""A real coordinator on its file, real shards that it knows, and the command line between them."""

import json
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message

from bigfleet.cli.settings.asking_sections import CliSettings
from bigfleet.coordinator.settings import CoordinatorSettings, RebalanceSettings
from bigfleet.edge.driver import RealClock
from bigfleet.model.coordination import (
    ProviderEntry,
    QuotaUsage,
    ShortfallDetail,
    SyncReply,
    SyncRequest,
    Transfer,
)
from bigfleet.model.coordinator_calls import InstructionAck, ReportReply, ShardReport
from bigfleet.model.machines import Instant
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from bigfleet.model.settings import Seconds
from bigfleet.model.shard_views import ShardSummary, ShortfallRow
from bigfleet.shard.settings import ShardSettings
from tests.cli.shard_commands.rig import SETTINGS, LiveShard, living_shard, need, run
from tests.coordinator_process.rig import DEADLINE, PROVIDER, QUICK, CoordinatorRig, coordinated
from tests.shard_system.waiting import until_told

ZONE = "topology.kubernetes.io/zone"
SUMMARY = ShardSummary(7, 4, {"a3": 5, "b1": 2}, {"z1": 5, "z2": 2}, PROVIDER)
#: No server listens there.
NOWHERE = "127.0.0.1:1"
FOUR = Resources.parse({"cpu": "4"})
#: Moves begin as soon as they may.
EAGER = replace(QUICK, rebalance=RebalanceSettings(interval=Seconds(0.02)))


@dataclass(slots=True)
class LiveFleet:
    rig: CoordinatorRig
    shards: Mapping[str, LiveShard]
    cycles: dict[str, int] = field(default_factory=dict)

    async def run(self, *words: str) -> Result:
        return await run(*words, "--coordinator", self.rig.address)

    async def shown(self, *words: str) -> str:
        result = await self.run(*words)
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        return result.stdout

    async def document(self, *words: str) -> Any:
        return json.loads(await self.shown(*words, "-o", "json"))

    async def refused(self, code: int, *words: str) -> str:
        """What it says on standard error; nothing is shown."""
        result = await self.run(*words)
        assert (result.exit_code, result.stdout) == (code, ""), result.output
        return result.stderr

    async def report(
        self,
        shard: str,
        address: str = "",
        *,
        acks: tuple[InstructionAck, ...] = (),
        shortfalls: tuple[ShortfallRow, ...] = (),
    ) -> ReportReply:
        """The shard says that it lives, where, and what it has."""
        self.cycles[shard] = cycle = self.cycles.get(shard, 0) + 1
        where = address or self.shards[shard].address
        told = ShardReport(shard, cycle, 0, 1, where, SUMMARY, shortfalls, acks)
        return await self.rig.lines.report(self.rig.address, told, DEADLINE)

    async def sync(
        self,
        shard: str,
        *clusters: str,
        provider: str = PROVIDER,
        usage: tuple[QuotaUsage, ...] = (),
        shortfalls: tuple[ShortfallDetail, ...] = (),
    ) -> SyncReply:
        request = SyncRequest(
            shard,
            epoch=1,
            cycle=self.cycles[shard],
            cluster_ids=clusters,
            providers=(ProviderEntry("sim", provider, "eu"),),
            quota_usage=usage,
            shortfalls=shortfalls,
        )
        return await self.rig.lines.sync(self.rig.address, request, DEADLINE)

    async def transfer_to(self, receiver: str, donor: str) -> Transfer:
        """One that was offered: the receiver is short of what the donor has."""
        short = ShortfallDetail("web", (), FOUR, FOUR, priority=1000, age_cycles=9)
        await self.sync(donor)
        for _ in range(2):
            await self.report(receiver)
            await self.sync(receiver, shortfalls=(short,))
        await until_told(self.rig.client.transfers)
        return (await self.rig.client.transfers())[0]


@asynccontextmanager
async def living_fleet(
    folder: Path,
    *names: str,
    settings: CoordinatorSettings = QUICK,
    clock: RealClock | None = None,
    shard: ShardSettings = SETTINGS,
    sim: bool = False,
    with_sim: Collection[str] = (),
) -> AsyncIterator[LiveFleet]:
    """These shards live and have reported; a sim for all, or for these."""
    async with AsyncExitStack() as stack:
        rig = await stack.enter_async_context(
            coordinated(folder / "coordinator", settings, clock=clock)
        )
        shards = {}
        for name in names:
            own = replace(shard, id=name)
            (folder / name).mkdir()
            living = living_shard(folder / name, own, sim=sim or name in with_sim)
            shards[name] = await stack.enter_async_context(living)
        fleet = LiveFleet(rig, shards)
        for name in names:
            await fleet.report(name)
        yield fleet


@asynccontextmanager
async def two_shards(folder: Path) -> AsyncIterator[LiveFleet]:
    """shop asks shard-0, which has no machines; ml has two of the fourteen of shard-1."""
    async with living_fleet(folder, "shard-0", "shard-1", with_sim=["shard-1"]) as fleet:
        zero, one = fleet.shards["shard-0"], fleet.shards["shard-1"]
        async with (
            zero.operator("shop", need("shop", 1, priority=50)),
            one.operator("ml", need("ml", 2)),
        ):
            await one.until_bound("ml", 2)
            # A cycle has seen them there.
            await one.until(lambda: one.process.state.decision_loop.ledger.counts("ml").met == 1)
            await zero.until(lambda: zero.process.state.decision_loop.ledger.unsatisfied == 1)
            yield fleet


class LateClock(RealClock):
    """A minute behind: a shard that it hears now was heard a minute ago by the others."""

    def now(self) -> Instant:
        return super().now() - 60 * SECOND


def by_default(monkeypatch: pytest.MonkeyPatch, *, coordinator: str, shard: str) -> None:
    """Where the command line asks when no address is given; no test relies on the real ports."""
    known = CliSettings.__dataclass_fields__
    monkeypatch.setattr(known["coordinator"], "default", (coordinator,))
    monkeypatch.setattr(known["shard"], "default", (shard,))


def reads_as(message: Message, document: Mapping[str, Any], *beside: str) -> bool:
    """Whether it is that message in lowerCamelCase, and nothing but what we say we add."""
    ParseDict({k: v for k, v in document.items() if k not in beside}, message)
    return all(name in document for name in beside)


def shortfall(priority: int, age: int = 9) -> ShortfallRow:
    return ShortfallRow(Need("", Profile.of((), (), priority), FOUR), FOUR, age)
