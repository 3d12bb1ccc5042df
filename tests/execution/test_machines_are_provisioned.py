"""Provision: bought, and brought to its cluster, in one walk or in two."""

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Assigned, MachineState
from bigfleet.model.metadata import encode
from bigfleet.model.provider_calls import ConfigureCall, CreateCall
from tests.execution.rig import PROFILE, SHOP, Rig

S = MachineState


def test_a_slot_is_stamped_with_whose_order_it_is() -> None:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    machine = rig.machines.truth("m-1")
    assert machine.state is S.CREATING
    assert machine.cluster == ""
    assert machine.assigned == Assigned(cluster=SHOP, need_fingerprint=PROFILE.fingerprint)
    assert [type(call) for call in rig.mutations()] == [CreateCall]


def test_a_create_that_is_done_at_once_goes_straight_on_to_its_cluster() -> None:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    rig.ack("m-1", S.IDLE)
    assert rig.state_of("m-1") is S.CONFIGURING
    assert rig.execution.is_pending("m-1")
    rig.give_blob()
    rig.ack("m-1", S.CONFIGURED)
    assert rig.state_of("m-1") is S.CONFIGURED
    assert rig.outcomes() == {"success": 1}
    assert rig.outcome(ActionKind.PROVISION, "success") == 1


def test_an_accepted_create_is_carried_on_by_the_lists() -> None:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    rig.ack("m-1", S.CREATING)
    assert not rig.execution.is_pending("m-1")
    assert rig.execution.in_flight == 0
    assert rig.outcomes() == {}
    rig.lists("m-1", S.IDLE)
    machine = rig.machines.truth("m-1")
    assert (machine.state, machine.assigned) == (S.IDLE, Assigned())
    assert rig.outcomes() == {"success": 1}


def test_the_price_of_the_host_is_taken_from_the_answer() -> None:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE, price_per_hour=9.0)
    rig.provision("m-1")
    rig.ack("m-1", S.IDLE)
    machine = rig.machines.truth("m-1")
    assert machine.price_per_hour == 1.5
    assert machine.host.ref == "host-of-m-1"


def test_configure_carries_every_stamp_and_configured_gets_them_all() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    rig.decide(ActionKind.BOOTSTRAP, "m-1", group="gang\0seven")
    assert rig.machines.truth("m-1").assigned.priority == 0
    rig.give_blob()
    (call,) = rig.mutations()
    assert isinstance(call, ConfigureCall)
    rig.ack("m-1", S.CONFIGURED)
    stamp = rig.machines.truth("m-1").assigned
    assert stamp == Assigned(500, 4.0, 2.0, SHOP, PROFILE.fingerprint, "gang\0seven")
    assert dict(call.shard_metadata) == encode(stamp)


def test_a_machine_configured_in_its_own_time_gets_its_stamps_when_a_list_shows_it() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    rig.bootstrap("m-1")
    rig.give_blob()
    rig.ack("m-1", S.CONFIGURING)
    assert rig.machines.truth("m-1").assigned.priority == 0
    rig.wait(20)
    rig.lists("m-1", S.CONFIGURED)
    assert rig.machines.truth("m-1").assigned.priority == 500
    assert rig.outcomes() == {"success": 1}
    assert rig.told_of("m-1") == [S.CONFIGURING, S.CONFIGURED]


def test_what_is_already_configured_for_the_need_counts_as_done() -> None:
    rig = Rig()
    machine = rig.add("m-1", S.IDLE)
    rig.bootstrap("m-1")
    rig.give_blob()
    rig.ack("m-1", S.CONFIGURED)
    rig.bootstrap("m-1")
    assert rig.outcomes() == {"success": 2}
    assert len(rig.mutations()) == 1
    assert machine.id == "m-1"


def test_every_attempt_has_a_sequence_of_its_own() -> None:
    rig = Rig()
    for name in ("m-1", "m-2"):
        rig.add(name, S.SPECULATIVE)
        rig.provision(name)
    tokens = [call.token for call in rig.mutations()]
    assert [(t.shard_id, t.epoch, t.sequence) for t in tokens] == [
        ("shard-0", 7, 1),
        ("shard-0", 7, 2),
    ]


def test_a_pause_of_bootstraps_stops_a_bought_machine_on_its_way_to_the_cluster() -> None:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    rig.pause(ActionKind.BOOTSTRAP)
    rig.ack("m-1", S.IDLE)
    assert rig.state_of("m-1") is S.IDLE
    assert rig.blob_requests() == []
    assert not rig.execution.is_pending("m-1")
    assert rig.execution.in_flight == 0
    assert rig.outcomes() == {"cancelled": 1}
