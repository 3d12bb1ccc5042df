"""Hosts that end behind the provider's back, notices before they do, describes that lie."""

from dataclasses import replace

from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.provider import Gone, HostStatus, Interruption, Kind, PriceChanged
from bigfleet.provider.backend import UNKNOWN, OfferingKey, Price, PriceTable
from bigfleet.provider.testing import FakeSubstrate, slots
from tests.provider.rig import Rig, running

SPOT = slots(2, "s", capacity_type=CapacityType.SPOT, interruption_probability=0.3)


async def described(rig: Rig, times: int) -> None:
    for _ in range(times):
        await rig.clock.advance(121)


async def test_a_vanished_host_fails_after_three_describes() -> None:
    async with running(slots(3)) as rig:
        await rig.to_configured("m-0")
        await rig.to_idle("m-1")
        rig.substrate.vanish("m-0")
        await described(rig, 2)
        assert await rig.state("m-0") is MachineState.CONFIGURED
        await described(rig, 1)
        record = await rig.get("m-0")
        assert record.last_error == "vanished: the substrate no longer shows the host"
        assert record.cluster == "shop"


async def test_a_host_that_inspect_still_sees_has_not_vanished() -> None:
    class Doubtful(FakeSubstrate):
        async def inspect(self, machine: object) -> HostStatus:
            return UNKNOWN

    async with running(substrate=Doubtful(slots(2))) as rig:
        await rig.to_idle("m-0")
        await rig.to_idle("m-1")
        rig.substrate.vanish("m-0")
        await described(rig, 6)
        assert await rig.state("m-0") is MachineState.IDLE


async def test_an_incomplete_describe_proves_no_absence() -> None:
    async with running(slots(2)) as rig:
        await rig.to_idle("m-0")
        await rig.to_idle("m-1")
        rig.substrate.complete = False
        rig.substrate.vanish("m-0")
        await described(rig, 6)
        assert await rig.state("m-0") is MachineState.IDLE


async def test_an_empty_describe_keeps_the_inventory_and_says_so() -> None:
    async with running(slots(8)) as rig:
        await rig.to_idle("m-0")
        kept = dict(rig.substrate.instances)
        rig.substrate.instances.clear()
        await described(rig, 4)
        assert len((await rig.ids())[0]) == 8
        assert rig.server.metrics.counts.of("describe_quarantined") == 1
        rig.substrate.instances.update(kept)
        await described(rig, 1)
        assert rig.server.metrics.counts.of("describe_quarantined") == 0
        assert await rig.state("m-0") is MachineState.IDLE


async def test_a_slot_that_leaves_the_offering_leaves_the_list() -> None:
    async with running(slots(4)) as rig:
        del rig.substrate.instances["m-2"]
        await described(rig, 3)
        assert (await rig.ids())[0] == ["m-0", "m-1", "m-3"]


async def test_a_new_slot_joins_the_list() -> None:
    async with running(slots(1)) as rig:
        rig.substrate.instances |= {i.id: i for i in slots(1, "new")}
        await described(rig, 1)
        assert (await rig.ids())[0] == ["m-0", "new-0"]


async def test_a_broken_record_is_skipped_and_the_rest_taken() -> None:
    async with running(slots(2)) as rig:
        broken = slots(1, "bad", price_per_hour=float("nan"))
        rig.substrate.instances |= {i.id: i for i in [*broken, *slots(1, "new")]}
        await described(rig, 1)
        assert (await rig.ids())[0] == ["m-0", "m-1", "new-0"]
        assert rig.server.metrics.counts.of("invalid_records_total") == 1


async def test_a_gone_signal_acts_at_once() -> None:
    async with running() as rig:
        await rig.to_idle("m-0")
        rig.substrate.signals.put_nowait(Gone("m-0", "terminated"))
        assert (await rig.get("m-0")).last_error == "vanished: terminated"


async def test_a_notice_makes_the_loss_certain_and_names_it_spot() -> None:
    async with running(SPOT) as rig:
        await rig.to_configured("s-0")
        _, before = await rig.ids()
        rig.substrate.signals.put_nowait(Interruption("s-0", at=rig.clock.now() + 120))
        noticed = await rig.get("s-0")
        assert (noticed.interruption_probability, noticed.state) == (1.0, MachineState.CONFIGURED)
        assert (await rig.ids(since=before))[0] == ["s-0"]
        await described(rig, 1)
        assert (await rig.get("s-0")).interruption_probability == 1.0
        rig.substrate.vanish("s-0")
        rig.substrate.signals.put_nowait(Gone("s-0"))
        assert (await rig.get("s-0")).last_error == "spot: the substrate took the host"


async def test_a_host_lost_in_the_middle_of_work_ends_that_work() -> None:
    async with running() as rig:
        await rig.to_idle("m-0")
        rig.substrate.hold(Kind.CONFIGURE)
        ack = await rig.configure("m-0")
        await rig.get("m-0")
        rig.substrate.signals.put_nowait(Gone("m-0"))
        assert await rig.state("m-0") is MachineState.FAILED
        rows = {row.operation_id: row.outcome for row in rig.server._store.journal()}
        assert rows[ack.operation_id] == "failed"
        assert len(rig.server.parts.operations) == 0
        rig.substrate.release()
        assert await rig.state("m-0") is MachineState.FAILED


async def test_a_host_lost_while_it_is_deleted_is_deleted() -> None:
    async with running() as rig:
        await rig.to_idle("m-0")
        rig.substrate.hold(Kind.DELETE)
        await rig.delete("m-0")
        await rig.get("m-0")
        rig.substrate.signals.put_nowait(Gone("m-0"))
        assert await rig.state("m-0") is MachineState.SPECULATIVE


async def test_pushed_prices_outlast_the_next_describe() -> None:
    async with running(slots(2)) as rig:
        offering = OfferingKey("std-2", "z1", CapacityType.ON_DEMAND)
        table = PriceTable({offering: Price(0.5)}, {"m-1": Price(0.7, 0.2)})
        rig.substrate.signals.put_nowait(PriceChanged(table))
        assert (await rig.get("m-0")).price_per_hour == 0.5
        record = await rig.get("m-1")
        assert (record.price_per_hour, record.interruption_probability) == (0.7, 0.2)
        _, before = await rig.ids()
        await described(rig, 1)
        assert await rig.ids(since=before) == ([], before)


async def test_a_described_change_of_identity_is_ignored() -> None:
    async with running(slots(1)) as rig:
        rig.substrate.instances["m-0"] = replace(
            rig.substrate.instances["m-0"], zone="z9", price_per_hour=9.0
        )
        await described(rig, 1)
        record = await rig.get("m-0")
        assert (record.zone, record.price_per_hour) == ("z1", 0.1)
