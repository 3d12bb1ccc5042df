"""Drains: the operator empties the node before the provider takes the machine."""

import pytest

from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.machines import Assigned, MachineState
from bigfleet.model.provider_calls import Code, DrainCall
from bigfleet.model.shard_views import DrainStage
from tests.execution.stage import SHOP, Stage

S = MachineState
BOTH = pytest.mark.parametrize(
    "kind", [ActionKind.RECLAIM, ActionKind.PREEMPT], ids=lambda kind: kind.label
)


def draining(kind: ActionKind = ActionKind.RECLAIM) -> Stage:
    stage = Stage()
    stage.add("m-1", S.CONFIGURED)
    stage.decide(kind, "m-1", grace_seconds=120)
    return stage


def stage_of(stage: Stage) -> DrainStage:
    intent = stage.drains.intent("m-1")
    assert intent is not None
    return intent.stage


@BOTH
def test_the_operator_is_told_which_node_and_how_long_it_has(kind: ActionKind) -> None:
    stage = draining(kind)
    (instruction,) = stage.instructions()
    assert instruction.instruction_id.startswith("bf1-")
    assert instruction.nodes == ("m-1",)
    reclaimed = kind is ActionKind.RECLAIM
    assert instruction.grace_period_seconds == (600 if reclaimed else 120)
    assert instruction.preemptor_priority == (0 if reclaimed else 900)
    assert stage_of(stage) is DrainStage.NOTIFY
    assert stage.mutations() == []


def test_a_node_is_called_by_its_name_where_it_is_known() -> None:
    stage = Stage()
    stage.add("m-1", S.CONFIGURED, labels={"kubernetes.io/hostname": "ip-10-0-0-7"})
    stage.reclaim("m-1")
    assert stage.instructions()[0].nodes == ("ip-10-0-0-7",)


@BOTH
def test_the_provider_is_called_when_the_operator_is_done(kind: ActionKind) -> None:
    stage = draining(kind)
    stage.acknowledge()
    assert stage_of(stage) is DrainStage.EVICTING
    assert stage.mutations() == []
    stage.wait(20)
    stage.acknowledge()
    assert stage_of(stage) is DrainStage.PROVIDER
    (call,) = stage.mutations()
    assert isinstance(call, DrainCall)
    assert call.grace_period_seconds == (580 if kind is ActionKind.RECLAIM else 100)
    assert stage.state_of("m-1") is S.DRAINING


@BOTH
def test_the_binding_ends_when_the_machine_is_idle_and_not_before(kind: ActionKind) -> None:
    stage = draining(kind)
    stage.acknowledge()
    stage.acknowledge()
    stage.ack("m-1", S.DRAINING)
    assert stage.machines.truth("m-1").cluster == SHOP
    assert not stage.execution.is_pending("m-1")
    stage.wait(30)
    stage.lists("m-1", S.IDLE)
    machine = stage.machines.truth("m-1")
    assert (machine.state, machine.cluster, machine.assigned) == (S.IDLE, "", Assigned())
    assert stage.drains.intent("m-1") is None
    assert stage.outcome(kind, "success") == 1
    assert stage.told_of("m-1") == [S.CONFIGURED, S.DRAINING, S.IDLE]


def test_a_drain_that_is_done_at_once_is_done() -> None:
    stage = draining()
    stage.acknowledge()
    stage.acknowledge()
    stage.ack("m-1", S.IDLE)
    assert stage.state_of("m-1") is S.IDLE
    assert stage.outcomes() == {"success": 1}
    assert stage.stored["drains"] == {}


def test_a_preempted_machine_counts_as_draining_from_the_start() -> None:
    stage = draining(ActionKind.PREEMPT)
    assert stage.machines.inventory.machine_of("m-1").state is S.DRAINING
    assert stage.state_of("m-1") is S.CONFIGURED


def test_a_reclaimed_machine_can_still_be_claimed() -> None:
    stage = draining(ActionKind.RECLAIM)
    assert stage.machines.inventory.machine_of("m-1").state is S.CONFIGURED
    assert stage.drains.reclaiming() == {"m-1"}


def test_pods_left_are_not_an_empty_node() -> None:
    stage = draining()
    stage.acknowledge()
    stage.acknowledge(nodes=0)
    assert stage.mutations() == []


def test_an_answer_of_another_cluster_is_not_heard() -> None:
    stage = draining()
    stage.acknowledge(cluster="bank")
    assert stage_of(stage) is DrainStage.NOTIFY


def test_an_eviction_is_measured_to_its_end() -> None:
    stage = draining()
    stage.acknowledge()
    stage.wait(42)
    stage.acknowledge()
    histogram = stage.counts.histograms["eviction_seconds", (("kind", "Reclaim"),)]
    assert (histogram.count, histogram.total) == (1, 42.0)


def test_a_machine_that_moved_on_is_not_drained() -> None:
    stage = Stage()
    stage.add("m-1", S.CONFIGURED, cluster="bank")
    stage.reclaim("m-1")
    assert stage.instructions() == []
    assert stage.outcomes() == {"transition_raced": 1}


def test_a_lost_drain_that_never_began_leaves_the_machine_where_it_was() -> None:
    stage = draining(ActionKind.PREEMPT)
    stage.reserve("m-1")
    stage.acknowledge()
    stage.acknowledge()
    stage.refuse("m-1", Code.UNAVAILABLE)
    stage.wait(1)
    stage.show("m-1", S.CONFIGURED)
    assert stage.state_of("m-1") is S.CONFIGURED
    assert stage.outcomes() == {"unknown_rolled_back": 1}
    assert not stage.is_reserved("m-1")
    assert stage.told_of("m-1")[-1] is S.CONFIGURED


def test_open_drains_are_counted_by_stage() -> None:
    stage = draining()
    stage.wait(1)
    assert stage.counts.of("drains_open", stage="notify") == 1
    stage.acknowledge()
    stage.wait(1)
    assert stage.counts.of("drains_open", stage="notify") == 0
    assert stage.counts.of("drains_open", stage="evicting") == 1


def test_a_machine_that_fails_on_the_way_ends_its_drain() -> None:
    stage = draining(ActionKind.PREEMPT)
    stage.reserve("m-1")
    stage.lists("m-1", S.FAILED)
    assert stage.drains.intent("m-1") is None
    assert stage.outcomes() == {"drain_error": 1}
    assert not stage.is_reserved("m-1")


def test_a_reclaim_without_session_waits_for_one() -> None:
    stage = Stage()
    stage.add("m-1", S.CONFIGURED)
    stage.disconnect()
    action = Action(ActionKind.RECLAIM, "m-1", SHOP, Rule.EXCESS)
    reason = stage.execution.why_backed_off(action, stage.now)
    assert reason is not None
    assert reason.code == "rail.no-session"
    stage.reclaim("m-1")
    assert stage.drains.intent("m-1") is None
    assert stage.outcomes() == {"no_session": 1}
