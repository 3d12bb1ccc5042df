"""Provision: bought, and brought to its cluster, in one walk or in two."""

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Assigned, MachineState
from bigfleet.model.metadata import encode
from bigfleet.model.provider_calls import ConfigureCall, CreateCall
from tests.execution.stage import PROFILE, SHOP, Stage

S = MachineState


def test_a_slot_is_stamped_with_whose_order_it_is() -> None:
    stage = Stage()
    stage.add("m-1", S.SPECULATIVE)
    stage.provision("m-1")
    machine = stage.machines.truth("m-1")
    assert machine.state is S.CREATING
    assert machine.cluster == ""
    assert machine.assigned == Assigned(cluster=SHOP, need_fingerprint=PROFILE.fingerprint)
    assert [type(call) for call in stage.mutations()] == [CreateCall]


def test_a_create_that_is_done_at_once_goes_straight_on_to_its_cluster() -> None:
    stage = Stage()
    stage.add("m-1", S.SPECULATIVE)
    stage.provision("m-1")
    stage.ack("m-1", S.IDLE)
    assert stage.state_of("m-1") is S.CONFIGURING
    assert stage.execution.is_pending("m-1")
    stage.give_blob()
    stage.ack("m-1", S.CONFIGURED)
    assert stage.state_of("m-1") is S.CONFIGURED
    assert stage.outcomes() == {"success": 1}
    assert stage.outcome(ActionKind.PROVISION, "success") == 1


def test_an_accepted_create_is_carried_on_by_the_lists() -> None:
    stage = Stage()
    stage.add("m-1", S.SPECULATIVE)
    stage.provision("m-1")
    stage.ack("m-1", S.CREATING)
    assert not stage.execution.is_pending("m-1")
    assert stage.execution.in_flight == 0
    assert stage.outcomes() == {}
    stage.lists("m-1", S.IDLE)
    machine = stage.machines.truth("m-1")
    assert (machine.state, machine.assigned) == (S.IDLE, Assigned())
    assert stage.outcomes() == {"success": 1}


def test_the_price_of_the_host_is_taken_from_the_answer() -> None:
    stage = Stage()
    stage.add("m-1", S.SPECULATIVE, price_per_hour=9.0)
    stage.provision("m-1")
    stage.ack("m-1", S.IDLE)
    machine = stage.machines.truth("m-1")
    assert machine.price_per_hour == 1.5
    assert machine.host.ref == "host-of-m-1"


def test_configure_carries_every_stamp_and_configured_gets_them_all() -> None:
    stage = Stage()
    stage.add("m-1", S.IDLE)
    stage.decide(ActionKind.BOOTSTRAP, "m-1", group="gang\0seven")
    assert stage.machines.truth("m-1").assigned.priority == 0
    stage.give_blob()
    (call,) = stage.mutations()
    assert isinstance(call, ConfigureCall)
    stage.ack("m-1", S.CONFIGURED)
    stamp = stage.machines.truth("m-1").assigned
    assert stamp == Assigned(500, 4.0, 2.0, SHOP, PROFILE.fingerprint, "gang\0seven")
    assert dict(call.shard_metadata) == encode(stamp)


def test_a_machine_configured_in_its_own_time_gets_its_stamps_when_a_list_shows_it() -> None:
    stage = Stage()
    stage.add("m-1", S.IDLE)
    stage.bootstrap("m-1")
    stage.give_blob()
    stage.ack("m-1", S.CONFIGURING)
    assert stage.machines.truth("m-1").assigned.priority == 0
    stage.wait(20)
    stage.lists("m-1", S.CONFIGURED)
    assert stage.machines.truth("m-1").assigned.priority == 500
    assert stage.outcomes() == {"success": 1}
    assert stage.told_of("m-1") == [S.CONFIGURING, S.CONFIGURED]


def test_what_is_already_configured_for_the_need_counts_as_done() -> None:
    stage = Stage()
    machine = stage.add("m-1", S.IDLE)
    stage.bootstrap("m-1")
    stage.give_blob()
    stage.ack("m-1", S.CONFIGURED)
    stage.bootstrap("m-1")
    assert stage.outcomes() == {"success": 2}
    assert len(stage.mutations()) == 1
    assert machine.id == "m-1"


def test_every_attempt_has_a_sequence_of_its_own() -> None:
    stage = Stage()
    for name in ("m-1", "m-2"):
        stage.add(name, S.SPECULATIVE)
        stage.provision(name)
    tokens = [call.token for call in stage.mutations()]
    assert [(t.shard_id, t.epoch, t.sequence) for t in tokens] == [
        ("shard-0", 7, 1),
        ("shard-0", 7, 2),
    ]


def test_a_pause_of_bootstraps_stops_a_bought_machine_on_its_way_to_the_cluster() -> None:
    stage = Stage()
    stage.add("m-1", S.SPECULATIVE)
    stage.provision("m-1")
    stage.pause(ActionKind.BOOTSTRAP)
    stage.ack("m-1", S.IDLE)
    assert stage.state_of("m-1") is S.IDLE
    assert stage.blob_requests() == []
    assert not stage.execution.is_pending("m-1")
    assert stage.execution.in_flight == 0
    assert stage.outcomes() == {"cancelled": 1}
