"""Bootstrap blobs: asked of the operator, used in time, and no harm done where there is none."""

from dataclasses import replace

import pytest

from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.machines import Assigned, MachineState
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import ConfigureCall
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, Operator, Requirement
from bigfleet.model.session_frames import BootstrapResponse
from bigfleet.model.settings import Seconds
from bigfleet.shard.settings import DeadlineSettings, ShardSettings
from tests.execution.stage import PROFILE, SHOP, Stage

S = MachineState


def bootstrapping(machine: str = "m-1") -> Stage:
    stage = Stage()
    stage.add(machine, S.IDLE)
    stage.bootstrap(machine)
    return stage


def order(machine: str = "m-1", cluster: str = SHOP) -> Action:
    return Action(ActionKind.BOOTSTRAP, machine, cluster, Rule.IDLE, source_profile=PROFILE)


def test_the_request_says_for_which_requirements() -> None:
    wanted = Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, ["m5.large"])
    stage = Stage()
    stage.add("m-1", S.IDLE)
    stage.decide(ActionKind.BOOTSTRAP, "m-1", profile=Profile.of([wanted], priority=5))
    (request,) = stage.blob_requests()
    assert (request.cluster_id, request.requirements) == (SHOP, (wanted,))


def test_the_blob_reaches_the_provider_and_no_text() -> None:
    stage = bootstrapping()
    stage.give_blob()
    call = stage.call_of("m-1").call
    assert isinstance(call, ConfigureCall)
    assert (call.bootstrap_blob, call.cluster_id) == (b"#cloud-config", SHOP)
    assert "cloud-config" not in repr(call)
    assert "cloud-config" not in stage.story_of("m-1")
    assert stage.counts.histograms["request_bootstrap_seconds", ()].count == 1


def test_an_operator_that_does_not_answer_gets_its_machine_taken_back() -> None:
    stage = bootstrapping()
    stage.wait(29)
    assert stage.state_of("m-1") is S.CONFIGURING
    stage.wait(1)
    machine = stage.machines.truth("m-1")
    assert (machine.state, machine.cluster, machine.assigned) == (S.IDLE, "", Assigned())
    assert stage.outcomes() == {"blob_timeout": 1}
    assert stage.told_of("m-1") == [S.CONFIGURING, S.IDLE]


def test_a_cluster_that_is_not_connected_gets_nothing() -> None:
    stage = Stage()
    stage.add("m-1", S.IDLE)
    stage.disconnect()
    stage.bootstrap("m-1")
    assert stage.state_of("m-1") is S.IDLE
    assert stage.outcomes() == {"no_session": 1}


def test_a_session_that_ends_ends_its_waits() -> None:
    stage = bootstrapping()
    stage.disconnect()
    assert stage.state_of("m-1") is S.IDLE
    assert stage.outcomes() == {"no_session": 1}


def test_a_cluster_without_answers_rests_longer_and_longer() -> None:
    stage = Stage()
    stage.add("m-1", S.IDLE)
    stage.disconnect()
    rests = []
    for _ in range(8):
        stage.bootstrap("m-1")
        reason = stage.execution.why_backed_off(order(), stage.now)
        assert reason is not None
        rests.append(reason.facts["left"])
        stage.leap(reason.facts["left"])
    assert rests == [1, 2, 4, 8, 16, 32, 60, 60]
    assert stage.execution.why_backed_off(order(), stage.now) is None


def test_only_the_cluster_without_answers_rests() -> None:
    stage = Stage()
    stage.connect("bank")
    stage.add("m-1", S.IDLE)
    stage.disconnect()
    stage.bootstrap("m-1")
    assert stage.execution.why_backed_off(order(cluster="bank"), stage.now) is None


def test_after_a_rest_one_machine_asks_before_the_others() -> None:
    stage = Stage()
    for name in ("m-1", "m-2"):
        stage.add(name, S.IDLE)
    stage.bootstrap("m-1")
    stage.wait(31)
    stage.bootstrap("m-1")
    stage.bootstrap("m-2")
    assert stage.state_of("m-1") is S.CONFIGURING
    assert stage.state_of("m-2") is S.IDLE
    assert stage.execution.why_backed_off(order("m-2"), stage.now) is not None
    stage.give_blob()
    assert stage.execution.why_backed_off(order("m-2"), stage.now) is None


def test_an_operator_that_says_no_gets_its_machine_taken_back_and_its_profile_rests() -> None:
    stage = bootstrapping()
    stage.give_blob(error="no template for arm")
    assert stage.state_of("m-1") is S.IDLE
    assert stage.outcomes() == {"blob_error": 1}
    assert "no template for arm" in stage.story_of("m-1")
    assert stage.execution.why_backed_off(order(), stage.now) is not None
    other = replace(order(), source_profile=Profile.of(priority=1))
    assert stage.execution.why_backed_off(other, stage.now) is None


def test_three_refusals_in_a_row_make_the_machine_failed() -> None:
    stage = bootstrapping()
    for rest in (1, 2):
        stage.give_blob(error="no")
        assert stage.state_of("m-1") is S.IDLE
        stage.leap(rest)
        stage.bootstrap("m-1")
    stage.give_blob(error="no")
    assert stage.state_of("m-1") is S.FAILED
    assert stage.failures.cause_of("m-1") == "blob_error"
    assert stage.outcomes() == {"blob_error": 3}


def test_a_blob_in_between_starts_the_count_anew() -> None:
    stage = bootstrapping()
    for rest in (1, 2):
        stage.give_blob(error="no")
        stage.leap(rest)
        stage.bootstrap("m-1")
    stage.give_blob()
    stage.ack("m-1", S.CONFIGURED)
    stage.lists("m-1", S.IDLE)
    stage.bootstrap("m-1")
    stage.give_blob(error="no")
    assert stage.state_of("m-1") is S.IDLE


@pytest.mark.parametrize(
    ("cluster", "request_id"),
    [("bank", ""), (SHOP, "never-asked")],
    ids=["of another cluster", "to a request nobody made"],
)
def test_an_answer_is_dropped(cluster: str, request_id: str) -> None:
    stage = bootstrapping()
    asked = request_id or stage.blob_requests()[-1].request_id
    stage.execution.on_blob(cluster, BootstrapResponse(asked, b"x"), stage.now)
    assert stage.mutations() == []
    assert stage.counts.of("bootstrap_responses_dropped_total") == 1


def test_an_answer_that_comes_too_late_is_dropped() -> None:
    stage = bootstrapping()
    stage.wait(30)
    stage.give_blob()
    assert stage.mutations() == []
    assert stage.counts.of("bootstrap_responses_dropped_total") == 1


def waiting_for_the_line() -> Stage:
    """Its deadline passes while it waits for the blob, and a Get is under way."""
    deadlines = DeadlineSettings(configuring=Seconds(5.0))
    stage = Stage(replace(ShardSettings(), deadlines=deadlines))
    stage.add("m-1", S.IDLE)
    stage.bootstrap("m-1")
    stage.wait(5)
    assert stage.gets() == ["m-1"]
    return stage


def test_a_blob_that_expires_before_it_is_used_is_asked_for_again() -> None:
    stage = waiting_for_the_line()
    stage.give_blob(ttl=10)
    assert stage.mutations() == []
    stage.wait(10)
    assert len(stage.blob_requests()) == 2
    assert stage.mutations() == []


def test_a_blob_without_bound_waits_for_the_line() -> None:
    stage = waiting_for_the_line()
    stage.give_blob()
    stage.wait(15)
    assert len(stage.blob_requests()) == 1
    stage.show("m-1", S.IDLE)
    assert stage.state_of("m-1") is S.IDLE
    assert not stage.execution.is_pending("m-1")
