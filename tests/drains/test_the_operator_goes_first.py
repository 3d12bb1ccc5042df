"""Drains: the operator empties the node before the provider takes the machine."""

import pytest

from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.machines import Assigned, MachineState
from bigfleet.model.provider_calls import Code, DrainCall
from bigfleet.model.shard_views import DrainStage
from tests.execution.rig import SHOP, Rig

S = MachineState
BOTH = pytest.mark.parametrize(
    "kind", [ActionKind.RECLAIM, ActionKind.PREEMPT], ids=lambda kind: kind.label
)


def draining(kind: ActionKind = ActionKind.RECLAIM) -> Rig:
    rig = Rig()
    rig.add("m-1", S.CONFIGURED)
    rig.decide(kind, "m-1", grace_seconds=120)
    return rig


def stage_of(rig: Rig) -> DrainStage:
    intent = rig.drains.intent("m-1")
    assert intent is not None
    return intent.stage


@BOTH
def test_the_operator_is_told_which_node_and_how_long_it_has(kind: ActionKind) -> None:
    rig = draining(kind)
    (instruction,) = rig.instructions()
    assert instruction.instruction_id.startswith("bf1-")
    assert instruction.nodes == ("m-1",)
    reclaimed = kind is ActionKind.RECLAIM
    assert instruction.grace_period_seconds == (600 if reclaimed else 120)
    assert instruction.preemptor_priority == (0 if reclaimed else 900)
    assert stage_of(rig) is DrainStage.NOTIFY
    assert rig.mutations() == []


def test_a_node_is_called_by_its_name_where_it_is_known() -> None:
    rig = Rig()
    rig.add("m-1", S.CONFIGURED, labels={"kubernetes.io/hostname": "ip-10-0-0-7"})
    rig.reclaim("m-1")
    assert rig.instructions()[0].nodes == ("ip-10-0-0-7",)


@BOTH
def test_the_provider_is_called_when_the_operator_is_done(kind: ActionKind) -> None:
    rig = draining(kind)
    rig.acknowledge()
    assert stage_of(rig) is DrainStage.EVICTING
    assert rig.mutations() == []
    rig.wait(20)
    rig.acknowledge()
    assert stage_of(rig) is DrainStage.PROVIDER
    (call,) = rig.mutations()
    assert isinstance(call, DrainCall)
    assert call.grace_period_seconds == (580 if kind is ActionKind.RECLAIM else 100)
    assert rig.state_of("m-1") is S.DRAINING


@BOTH
def test_the_binding_ends_when_the_machine_is_idle_and_not_before(kind: ActionKind) -> None:
    rig = draining(kind)
    rig.acknowledge()
    rig.acknowledge()
    rig.ack("m-1", S.DRAINING)
    assert rig.machines.truth("m-1").cluster == SHOP
    assert not rig.execution.is_pending("m-1")
    rig.wait(30)
    rig.lists("m-1", S.IDLE)
    machine = rig.machines.truth("m-1")
    assert (machine.state, machine.cluster, machine.assigned) == (S.IDLE, "", Assigned())
    assert rig.drains.intent("m-1") is None
    assert rig.outcome(kind, "success") == 1
    assert rig.told_of("m-1") == [S.CONFIGURED, S.DRAINING, S.IDLE]


def test_a_drain_that_is_done_at_once_is_done() -> None:
    rig = draining()
    rig.acknowledge()
    rig.acknowledge()
    rig.ack("m-1", S.IDLE)
    assert rig.state_of("m-1") is S.IDLE
    assert rig.outcomes() == {"success": 1}
    assert rig.stored["drains"] == {}


def test_a_preempted_machine_counts_as_draining_from_the_start() -> None:
    rig = draining(ActionKind.PREEMPT)
    assert rig.machines.inventory.machine_of("m-1").state is S.DRAINING
    assert rig.state_of("m-1") is S.CONFIGURED


def test_a_reclaimed_machine_can_still_be_claimed() -> None:
    rig = draining(ActionKind.RECLAIM)
    assert rig.machines.inventory.machine_of("m-1").state is S.CONFIGURED
    assert rig.drains.reclaiming() == {"m-1"}


def test_pods_left_are_not_an_empty_node() -> None:
    rig = draining()
    rig.acknowledge()
    rig.acknowledge(nodes=0)
    assert rig.mutations() == []


def test_an_answer_of_another_cluster_is_not_heard() -> None:
    rig = draining()
    rig.acknowledge(cluster="bank")
    assert stage_of(rig) is DrainStage.NOTIFY


def test_an_eviction_is_measured_to_its_end() -> None:
    rig = draining()
    rig.acknowledge()
    rig.wait(42)
    rig.acknowledge()
    histogram = rig.counts.histograms["eviction_seconds", (("kind", "Reclaim"),)]
    assert (histogram.count, histogram.total) == (1, 42.0)


def test_a_machine_that_moved_on_is_not_drained() -> None:
    rig = Rig()
    rig.add("m-1", S.CONFIGURED, cluster="bank")
    rig.reclaim("m-1")
    assert rig.instructions() == []
    assert rig.outcomes() == {"transition_raced": 1}


def test_a_lost_drain_that_never_began_leaves_the_machine_where_it_was() -> None:
    rig = draining(ActionKind.PREEMPT)
    rig.reserve("m-1")
    rig.acknowledge()
    rig.acknowledge()
    rig.refuse("m-1", Code.UNAVAILABLE)
    rig.wait(1)
    rig.show("m-1", S.CONFIGURED)
    assert rig.state_of("m-1") is S.CONFIGURED
    assert rig.outcomes() == {"unknown_rolled_back": 1}
    assert not rig.is_reserved("m-1")
    assert rig.told_of("m-1")[-1] is S.CONFIGURED


def test_open_drains_are_counted_by_stage() -> None:
    rig = draining()
    rig.wait(1)
    assert rig.counts.of("drains_open", stage="notify") == 1
    rig.acknowledge()
    rig.wait(1)
    assert rig.counts.of("drains_open", stage="notify") == 0
    assert rig.counts.of("drains_open", stage="evicting") == 1


def test_a_machine_that_fails_on_the_way_ends_its_drain() -> None:
    rig = draining(ActionKind.PREEMPT)
    rig.reserve("m-1")
    rig.lists("m-1", S.FAILED)
    assert rig.drains.intent("m-1") is None
    assert rig.outcomes() == {"drain_error": 1}
    assert not rig.is_reserved("m-1")


def test_a_reclaim_without_session_waits_for_one() -> None:
    rig = Rig()
    rig.add("m-1", S.CONFIGURED)
    rig.disconnect()
    action = Action(ActionKind.RECLAIM, "m-1", SHOP, Rule.EXCESS)
    reason = rig.execution.why_backed_off(action, rig.now)
    assert reason is not None
    assert reason.code == "rail.no-session"
    rig.reclaim("m-1")
    assert rig.drains.intent("m-1") is None
    assert rig.outcomes() == {"no_session": 1}
