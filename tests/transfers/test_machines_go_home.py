"""Returns: a guest that stands idle is named as long as it does, and goes back the same way."""

from dataclasses import replace

from bigfleet.model.coordination import Transfer, TransferState, TransferTier
from bigfleet.model.coordinator_calls import Done, Refused
from bigfleet.model.ownership import MachineOverride
from tests.transfers.shards import Shard, adopt, idle, moving, need, offer, release

RETURN = TransferTier.RETURN


def host() -> Shard:
    """shard-b, with two guests whose home is shard-a."""
    shard = Shard(idle(4), name="shard-b")
    rows = [MachineOverride(m, "shard-b", "shard-a", "1-1") for m in ("m-00", "m-01")]
    shard.view(*rows)
    shard.run(1)
    return shard


def returning(state: TransferState) -> Transfer:
    """Both guests, by transfer 1-9."""
    there = moving(state, "m-00", "m-01", transfer="1-9", tier=RETURN)
    return replace(there, from_shard="shard-b", to_shard="shard-a")


def test_guests_that_are_idle_are_named_at_once() -> None:
    """For how long they have to be idle, the coordinator counts."""
    assert host().sync().returnable == ("m-00", "m-01")


def test_a_guest_that_is_in_use_stays() -> None:
    shard = host()
    shard.report("shop", need("shop", 1, 100))
    shard.run(3)
    assert shard.of("shop") == {"m-00"}
    assert shard.sync().returnable == ("m-01",)


def test_a_guest_that_a_need_has_claimed_is_not_named() -> None:
    """The cycle has decided, and its action waits in the queue."""
    shard = host()
    shard.report("shop", need("shop", 1, 100))
    shard.finish(shard.state.begin_cycle(shard.at))
    assert shard.sync().returnable == ("m-01",)


def test_a_guest_that_is_kept_for_its_shortfall_is_not_named() -> None:
    shard = Shard(idle(4), name="shard-b")
    rows = [MachineOverride(m, "shard-b", "shard-a", "1-1") for m in ("m-00", "m-01")]
    shard.view(*rows, transfers=[moving(TransferState.GRANTED, "m-00")])
    shard.run(1)
    assert shard.sync().returnable == ("m-01",)


def test_machines_that_are_at_home_are_not_named() -> None:
    shard = Shard(idle(4))
    shard.view(MachineOverride("m-00", "shard-a", "shard-a", "1-1"))
    shard.run(1)
    assert shard.sync().returnable == ()


def test_after_a_restart_none_is_named_before_the_first_decision() -> None:
    again = host().restarted()
    assert again.sync().returnable == ()
    again.run(1)
    assert again.sync().returnable == ("m-00", "m-01")


def test_a_guest_that_was_named_and_then_taken_by_a_need_is_not_released() -> None:
    shard = host()
    assert shard.sync().returnable == ("m-00", "m-01")
    shard.report("shop", need("shop", 2, 100))
    shard.run(3)
    assert shard.asked_for(offer(0, tier=RETURN), "m-00", "m-01").machine_ids == ()
    shard.sync(transfers=[returning(TransferState.RELEASING)])
    assert isinstance(shard.told(release("m-00", "m-01", transfer="1-9")), Refused)
    assert shard.of("shop") == {"m-00", "m-01"}


def test_asked_for_a_return_it_offers_what_is_still_free_and_keeps_no_margin() -> None:
    shard = host()
    shard.report("shop", need("shop", 1, 100))
    shard.run(3)
    reply = shard.asked_for(offer(0, tier=RETURN), "m-00", "m-01")
    assert reply.machine_ids == ("m-01",)


def test_a_guest_is_released_to_its_home_and_adopted_there() -> None:
    shard = host()
    shard.asked_for(offer(0, transfer="1-9", tier=RETURN), "m-00", "m-01")
    shard.sync(transfers=[returning(TransferState.RELEASING)])
    assert isinstance(shard.told(release("m-00", "m-01", transfer="1-9")), Done)
    assert not shard.has("m-00")

    home = Shard(idle(4))
    home.view(*[MachineOverride(m, "shard-b", "shard-a", "1-1") for m in ("m-00", "m-01")])
    home.run(1)
    assert not home.has("m-00")
    rows = [MachineOverride(m, "shard-a", "shard-a", "1-9") for m in ("m-00", "m-01")]
    home.view(*rows, transfers=[returning(TransferState.GRANTED)])
    home.run(1)
    assert isinstance(home.told(adopt("m-00", "m-01", transfer="1-9")), Done)
    assert home.reservations == {}
