"""Machines between two shards: their slots are used by neither before they are its own."""

import pytest

from bigfleet.model.coordination import (
    QuotaGrant,
    SyncReply,
    Transfer,
    TransferState,
    TransferTier,
)
from bigfleet.model.coordinator_calls import Done
from bigfleet.model.ownership import MachineOverride
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.shard.effects import COORDINATION
from tests.transfers.shards import S, Shard, idle, machine, moving, need, offer, release

RELEASING, GRANTED = TransferState.RELEASING, TransferState.GRANTED
DONE, CANCELLED = TransferState.DONE, TransferState.CANCELLED
SLOTS = TransferTier.SPECULATIVE


def slots(count: int) -> list[MachineRecord]:
    return [machine(f"slot-{n}", S.SPECULATIVE, price=9.0) for n in range(count)]


def granted(allocated: int) -> tuple[QuotaGrant, ...]:
    return (QuotaGrant("cloud", "", allocated),)


def hosts(shard: Shard) -> int:
    """Of its provider, whosever they are."""
    return sum(1 for record in shard.shelf.values() if record.state is not S.SPECULATIVE)


class Donor:
    """A shard that may have five machines and has released two, by a transfer of that tier."""

    def __init__(self, tier: TransferTier) -> None:
        self.tier = tier
        self.shard = Shard([*idle(0 if tier is SLOTS else 4), *slots(8)])
        self.shard.grants = granted(5)
        self.shard.sync()
        self.shard.run(1)
        self.machines = self.shard.asked_for(offer(2, tier=tier)).machine_ids
        self.shard.sync(transfers=[self.transfer(RELEASING)])
        told = release(*self.machines, slots=tier is SLOTS)
        assert self.shard.told(told) == Done("2 machines released to shard-b")

    def transfer(self, state: TransferState) -> Transfer:
        return moving(state, *self.machines, tier=self.tier)

    def hears(self, state: TransferState, allocated: int) -> None:
        self.shard.grants = granted(allocated)
        self.shard.sync(transfers=[self.transfer(state)])

    def wants_everything(self) -> int:
        """How many machines it has then."""
        self.shard.report("shop", need("shop", 20, 100))
        self.shard.run(5)
        return len(self.shard.of("shop"))


BOTH = pytest.mark.parametrize("tier", [TransferTier.IDLE, SLOTS], ids=["hosts", "slots"])


@BOTH
def test_what_was_released_is_not_bought_anew_before_the_next_sync(tier: TransferTier) -> None:
    assert Donor(tier).wants_everything() == 3


@BOTH
def test_a_grant_that_does_not_know_of_the_release_gives_nothing_back(tier: TransferTier) -> None:
    donor = Donor(tier)
    donor.hears(RELEASING, 5)
    assert donor.wants_everything() == 3


@BOTH
@pytest.mark.parametrize("state", [GRANTED, DONE], ids=["granted", "done"])
def test_a_grant_after_the_move_counts_as_it_is(tier: TransferTier, state: TransferState) -> None:
    donor = Donor(tier)
    donor.hears(state, 3)
    assert donor.wants_everything() == 3
    donor.hears(state, 4)
    donor.shard.run(5)
    assert len(donor.shard.of("shop")) == 4


@BOTH
def test_a_transfer_that_is_off_gives_them_back_with_the_grant(tier: TransferTier) -> None:
    donor = Donor(tier)
    donor.hears(CANCELLED, 5)
    assert donor.wants_everything() == 5
    assert hosts(donor.shard) == 5


def test_hosts_that_come_back_count_before_a_list_shows_them() -> None:
    donor = Donor(TransferTier.IDLE)
    shard = donor.shard
    donor.hears(CANCELLED, 5)
    shard.report("shop", need("shop", 20, 100))
    shard.finish(shard.state.begin_cycle(shard.at))
    assert not shard.has(donor.machines[0])
    shard.run(5)
    assert hosts(shard) == 5


@BOTH
def test_an_unknown_transfer_gives_them_back(tier: TransferTier) -> None:
    donor = Donor(tier)
    marks = [moving(CANCELLED, transfer="1-1", tier=TransferTier.IDLE)]
    donor.shard.sync(transfers=marks)
    assert donor.wants_everything() == 5


@BOTH
def test_another_life_counts_them_too(tier: TransferTier) -> None:
    donor = Donor(tier)
    donor.shard = donor.shard.restarted()
    donor.shard.run(1)
    assert donor.wants_everything() == 3
    donor.hears(RELEASING, 5)
    donor.shard.run(5)
    assert len(donor.shard.of("shop")) == 3


@BOTH
@pytest.mark.parametrize("state", [GRANTED, CANCELLED], ids=["granted", "off"])
def test_nothing_is_left_of_it_when_it_is_over(tier: TransferTier, state: TransferState) -> None:
    donor = Donor(tier)
    kept = donor.shard.disk[COORDINATION]
    assert "released/1-1" in kept
    donor.hears(state, 5)
    donor.shard.run(2)
    assert "released/1-1" not in kept
    assert donor.shard.state.coordination.sizes()["in_transit"] == 0


@BOTH
def test_the_coordinator_is_told_that_they_still_count(tier: TransferTier) -> None:
    donor = Donor(tier)
    (usage,) = donor.shard.state.coordination.request(donor.shard.at, False).quota_usage
    assert (usage.allocated, usage.in_use) == (5, 2 if tier is SLOTS else 4)


@BOTH
def test_a_coordinator_without_a_memory_is_told_what_is_left(tier: TransferTier) -> None:
    """It knows nothing of the transfer: who has the machines now has their slots as well."""
    donor = Donor(tier)
    shard = donor.shard
    coordination = shard.state.coordination
    (usage,) = coordination.request(shard.at, True).quota_usage
    assert (usage.allocated, usage.in_use) == (3, 0 if tier is SLOTS else 2)
    shard.sync(merging=True)
    assert donor.wants_everything() == 3, "it has not been told everything yet"


@BOTH
def test_what_it_was_told_is_what_it_grants_again(tier: TransferTier) -> None:
    donor = Donor(tier)
    shard = donor.shard
    told = shard.state.coordination.request(shard.at, True)
    reply = SyncReply(1, quotas=granted(told.quota_usage[0].allocated), merging=True)
    shard.state.take_sync(reply, told, shard.at)
    assert donor.wants_everything() == 3


def test_hosts_that_were_granted_count_before_a_list_shows_them() -> None:
    """Their slots came with the grant, and a slot of its own is bought with none of them."""
    shard = Shard([*idle(2), *slots(4)], name="shard-b")
    shard.view(*[MachineOverride(f"slot-{n}", "shard-b", "shard-a", "1-0") for n in range(4)])
    shard.grants = granted(0)
    shard.sync()
    shard.run(1)
    shard.report("train", need("train", 6, 1000))
    shard.run(2)
    assert shard.of("train") == set()
    shard.grants = granted(2)
    rows = [MachineOverride(m, "shard-b", "shard-a", "1-1") for m in ("m-00", "m-01")]
    shard.view(*rows, transfers=[moving(GRANTED, "m-00", "m-01")])
    shard.finish(shard.state.begin_cycle(shard.at))
    assert hosts(shard) == 2
    shard.run(5)
    assert shard.of("train") == {"m-00", "m-01"}
    shard.grants = granted(3)
    shard.sync(transfers=[moving(DONE, "m-00", "m-01")])
    shard.run(5)
    assert len(shard.of("train")) == 3


def test_slots_that_were_granted_may_be_bought_at_once() -> None:
    shard = Shard([*idle(0), *slots(4)], name="shard-b")
    shard.grants = granted(2)
    rows = [MachineOverride(f"slot-{n}", "shard-b", "shard-a", "1-1") for n in range(2)]
    shard.view(*rows, transfers=[moving(GRANTED, "slot-0", "slot-1", tier=SLOTS)])
    shard.report("train", need("train", 6, 1000))
    shard.run(5)
    assert shard.of("train") == {"slot-0", "slot-1"}
