"""R16 with real shards: a domain reaches the shard it is given to, and binds both of them.

Two shard processes list one provider over real gRPC, and hear of domains through their reports and
syncs. What lies in the domain leaves the one before it comes to the other.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bigfleet.model.coordination import SyncReply
from bigfleet.model.coordinator_calls import AckOutcome
from bigfleet.model.ownership import OwnershipView, Pair
from bigfleet.model.requirements import ZONE_KEY
from bigfleet.model.settings import Seconds
from bigfleet.shard.settings import ReportSettings
from bigfleet.v1alpha1 import coordinator_pb2 as pb
from tests.coordclient.coordinators import Coordinator, coordinators
from tests.shard_system.demand import whole_nodes
from tests.shard_system.operators import operating
from tests.shard_system.rig import QUICK, ShardRig, offered, provided, sharded
from tests.shard_system.waiting import until, until_told

OFTEN = ReportSettings(interval=Seconds(0.05), backoff_min=Seconds(0.01), backoff_max=Seconds(0.05))
ZONE: Pair = (ZONE_KEY, "sim-1b")


@asynccontextmanager
async def coordinated(
    name: str, folder: Path, provider: str, coordinator: Coordinator
) -> AsyncIterator[ShardRig]:
    settings = replace(QUICK, id=name, coordinator_addr=(coordinator.address,), report=OFTEN)
    own = folder / name
    own.mkdir(exist_ok=True)
    async with sharded(own, [provider], settings) as rig:
        yield rig


def ids(rig: ShardRig) -> set[str]:
    return set(rig.process.state.parts.machines.ids())


def order(name: str, *, take_away: bool) -> pb.CoordinatorInstruction:
    made = pb.CoordinatorInstruction(coordinator_term=1, sequence_number=1, instruction_id=name)
    domain = made.unassign_domain if take_away else made.assign_domain
    domain.topology_key, domain.topology_value = ZONE
    return made


def accepted(coordinator: Coordinator, name: str) -> bool:
    return any(
        ack.instruction_id == name and AckOutcome(ack.outcome) is AckOutcome.ACCEPTED
        for report in coordinator.heard
        for ack in report.instruction_acks
    )


async def test_after_a_domain_was_assigned_two_shards_of_one_provider_share_nothing(
    tmp_path: Path,
) -> None:
    async with (
        coordinators(2) as [of_a, of_b],
        provided(
            tmp_path, [offered("bare_metal", 3, "sim-1a"), offered("bare_metal", 3, "sim-1b")]
        ) as provider,
        AsyncExitStack() as stack,
    ):

        def say(revision: int, domains: dict[Pair, str]) -> None:
            owners = {provider.address: "shard-a"}
            view = OwnershipView.of(revision, domains=domains, default_owners=owners)
            for each in (of_a, of_b):
                each.sync_reply = SyncReply(1, ownership=view, next_sync_millis=20)

        say(1, {})
        first = coordinated("shard-a", tmp_path, provider.address, of_a)
        second = coordinated("shard-b", tmp_path, provider.address, of_b)
        a, b = await stack.enter_async_context(first), await stack.enter_async_context(second)
        everything = set(await provider.machines())
        await until(lambda: ids(a) == everything)
        assert ids(b) == set()
        in_zone = {name for name, m in (await provider.machines()).items() if m.zone == "sim-1b"}

        # Machines of a cluster in the domain: they are waited for.
        shop = await stack.enter_async_context(operating("shop", a.address))
        await shop.report(whole_nodes("shop", 6))
        await until(lambda: len(shop.configured()) == 6)
        say(2, {ZONE: ""})
        of_a.asks(order("dom-1/unassign", take_away=True))
        await until(lambda: a.process.state.parts.owned_machines.ownership.revision == 2)
        assert ids(a) == everything
        assert not accepted(of_a, "dom-1/unassign")

        # Once the cluster is gone from there, they leave, and only then it is acknowledged.
        await shop.report(whole_nodes("shop", 0))
        await until(lambda: accepted(of_a, "dom-1/unassign"), lambda: sorted(ids(a)))
        assert ids(a) == everything - in_zone
        assert ids(b) == set()

        say(3, {ZONE: "shard-b"})
        of_a.asks()
        of_b.asks(order("dom-1/assign", take_away=False))
        await until(lambda: ids(b) == in_zone)
        await until(lambda: accepted(of_b, "dom-1/assign"))
        assert ids(a).isdisjoint(ids(b))
        assert ids(a) | ids(b) == everything

        # Each serves from its own.
        yard = await stack.enter_async_context(operating("yard", b.address))
        await yard.report(whole_nodes("yard", 6))
        await until(lambda: len(yard.configured()) == 3)

        async def bound_in_zone() -> bool:
            return await provider.bound_to("yard") == in_zone

        await until_told(bound_in_zone)
        await until(lambda: b.counted("machines_ignored_unowned", provider="p0") == 3)


async def test_a_shard_that_was_started_again_owns_what_it_was_given(tmp_path: Path) -> None:
    """Without its coordinator: the view is on disk."""
    async with (
        coordinators(1) as [coordinator],
        provided(
            tmp_path, [offered("bare_metal", 2, "sim-1a"), offered("bare_metal", 2, "sim-1b")]
        ) as provider,
    ):
        view = OwnershipView.of(4, domains={ZONE: "shard-b"})
        coordinator.sync_reply = SyncReply(1, ownership=view)
        async with coordinated("shard-b", tmp_path, provider.address, coordinator) as b:
            await until(lambda: len(ids(b)) == 2)
            in_zone = ids(b)
        coordinator.broken = True
        async with coordinated("shard-b", tmp_path, provider.address, coordinator) as again:
            await until(lambda: ids(again) == in_zone)
            assert again.process.state.status().ownership_revision == 4
            await until(lambda: not again.process.state.why_not_ready())


async def test_a_shard_without_a_view_is_not_ready_and_touches_nothing(tmp_path: Path) -> None:
    async with (
        coordinators(1) as [coordinator],
        provided(tmp_path, [offered("bare_metal", 2)]) as provider,
    ):
        coordinator.broken = True
        async with coordinated("shard-c", tmp_path, provider.address, coordinator) as rig:
            state = rig.process.state
            await until(lambda: state.listed_once())
            assert ids(rig) == set()
            assert state.why_not_ready() == "what this shard owns is not known yet"
            assert rig.cycles == 0
