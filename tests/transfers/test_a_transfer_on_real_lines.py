"""Two real shards on a real provider: an idle machine of the one serves a cluster of the other."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bigfleet.model.coordination import (
    OfferReply,
    OfferRequest,
    SyncReply,
    Transfer,
    TransferState,
    TransferTier,
    adopt_id,
    release_id,
)
from bigfleet.model.coordinator_calls import AckOutcome
from bigfleet.model.ownership import MachineOverride, OwnershipView
from bigfleet.model.settings import Seconds
from bigfleet.model.shard_views import StorySource
from bigfleet.shard.settings import ReportSettings
from bigfleet.v1alpha1 import coordinator_pb2 as pb
from tests.coordclient.coordinators import Coordinator, coordinators
from tests.shard_system.demand import whole_nodes
from tests.shard_system.operators import operating
from tests.shard_system.rig import QUICK, ShardRig, offered, provided, sharded
from tests.shard_system.waiting import until

OFTEN = ReportSettings(interval=Seconds(0.05), backoff_min=Seconds(0.01), backoff_max=Seconds(0.05))


@asynccontextmanager
async def coordinated(
    name: str, folder: Path, provider: str, coordinator: Coordinator
) -> AsyncIterator[ShardRig]:
    """A shard that owns what its coordinator gives it."""
    settings = replace(QUICK, id=name, coordinator_addr=(coordinator.address,), report=OFTEN)
    own = folder / name
    own.mkdir(exist_ok=True)
    async with sharded(own, [provider], settings) as rig:
        yield rig


def says(
    coordinator: Coordinator,
    view: OwnershipView,
    *transfers: Transfer,
    offers: tuple[OfferRequest, ...] = (),
) -> None:
    """In every sync from now on."""
    coordinator.sync_reply = SyncReply(
        1, ownership=view, transfers=transfers, offers=offers, next_sync_millis=20
    )


def order(name: str, machines: tuple[str, ...]) -> pb.CoordinatorInstruction:
    moved = pb.TransferOwnership(
        machine_ids=machines, from_shard_id="shard-a", to_shard_id="shard-b"
    )
    return pb.CoordinatorInstruction(
        coordinator_term=1, sequence_number=1, instruction_id=name, transfer_ownership=moved
    )


def offer_of(coordinator: Coordinator) -> OfferReply | None:
    return next((reply for said in coordinator.synced for reply in said.offer_replies), None)


def accepted(coordinator: Coordinator, name: str) -> bool:
    return any(
        ack.instruction_id == name and AckOutcome(ack.outcome) is AckOutcome.ACCEPTED
        for report in coordinator.heard
        for ack in report.instruction_acks
    )


async def test_an_idle_machine_moves_and_serves_the_other_shard(tmp_path: Path) -> None:
    async with (
        coordinators(2) as [of_a, of_b],
        provided(tmp_path, [offered("bare_metal", 4)]) as provider,
        AsyncExitStack() as stack,
    ):
        owner = {provider.address: "shard-a"}
        first = OwnershipView.of(1, default_owners=owner)
        for coordinator in (of_a, of_b):
            says(coordinator, first)
        starting = coordinated("shard-a", tmp_path, provider.address, of_a)
        donor = await stack.enter_async_context(starting)
        starting = coordinated("shard-b", tmp_path, provider.address, of_b)
        receiver = await stack.enter_async_context(starting)
        operator = await stack.enter_async_context(operating("shop", receiver.address))
        await until(lambda: donor.process.state.status().machines == 4)
        await operator.report(whole_nodes("shop", 1))
        await until(lambda: any(said.shortfalls for said in of_b.synced))
        short = next(said.shortfalls[0] for said in of_b.synced if said.shortfalls)

        moved = Transfer("1-1", TransferTier.IDLE, "shard-a", "shard-b", TransferState.OFFERED)
        moved = replace(moved, fingerprint=short.fingerprint, reason="shard-b is short")
        asked = OfferRequest(
            "1-1",
            TransferTier.IDLE,
            short.requirements,
            short.min_unit,
            short.deficit,
            short.priority,
            provider_address=provider.address,
        )
        says(of_a, first, moved, offers=(asked,))
        await until(lambda: offer_of(of_a))
        reply = offer_of(of_a)
        assert reply is not None
        [machine] = reply.machine_ids

        moved = replace(moved, state=TransferState.RELEASING, machine_ids=(machine,))
        says(of_a, first, moved)
        of_a.asks(order(release_id("1-1"), (machine,)))
        await until(lambda: accepted(of_a, release_id("1-1")))
        assert donor.process.state.status().machines == 3
        assert receiver.process.state.status().machines == 0

        moved = replace(moved, state=TransferState.GRANTED)
        row = MachineOverride(machine, "shard-b", "shard-a", "1-1")
        second = OwnershipView.of(2, overrides=[row], default_owners=owner)
        for coordinator in (of_a, of_b):
            says(coordinator, second, moved)
        of_a.asks()
        of_b.asks(order(adopt_id("1-1"), (machine,)))
        await until(lambda: accepted(of_b, adopt_id("1-1")))
        await until(lambda: operator.configured())
        assert await provider.bound_to("shop") == {machine}

        for rig in (donor, receiver):
            told = rig.process.state.effects.stories.of(machine)
            assert any(event.source is StorySource.COORDINATOR for event in told)
