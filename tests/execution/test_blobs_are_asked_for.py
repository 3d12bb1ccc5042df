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
from tests.execution.rig import PROFILE, SHOP, Rig

S = MachineState


def bootstrapping(machine: str = "m-1") -> Rig:
    rig = Rig()
    rig.add(machine, S.IDLE)
    rig.bootstrap(machine)
    return rig


def order(machine: str = "m-1", cluster: str = SHOP) -> Action:
    return Action(ActionKind.BOOTSTRAP, machine, cluster, Rule.IDLE, source_profile=PROFILE)


def test_the_request_says_for_which_requirements() -> None:
    wanted = Requirement.of(INSTANCE_TYPE_KEY, Operator.IN, ["m5.large"])
    rig = Rig()
    rig.add("m-1", S.IDLE)
    rig.decide(ActionKind.BOOTSTRAP, "m-1", profile=Profile.of([wanted], priority=5))
    (request,) = rig.blob_requests()
    assert (request.cluster_id, request.requirements) == (SHOP, (wanted,))


def test_the_blob_reaches_the_provider_and_no_text() -> None:
    rig = bootstrapping()
    rig.give_blob()
    call = rig.call_of("m-1").call
    assert isinstance(call, ConfigureCall)
    assert (call.bootstrap_blob, call.cluster_id) == (b"#cloud-config", SHOP)
    assert "cloud-config" not in repr(call)
    assert "cloud-config" not in rig.story_of("m-1")
    assert rig.counts.histograms["request_bootstrap_seconds", ()].count == 1


def test_an_operator_that_does_not_answer_gets_its_machine_taken_back() -> None:
    rig = bootstrapping()
    rig.wait(29)
    assert rig.state_of("m-1") is S.CONFIGURING
    rig.wait(1)
    machine = rig.machines.truth("m-1")
    assert (machine.state, machine.cluster, machine.assigned) == (S.IDLE, "", Assigned())
    assert rig.outcomes() == {"blob_timeout": 1}
    assert rig.told_of("m-1") == [S.CONFIGURING, S.IDLE]


def test_a_cluster_that_is_not_connected_gets_nothing() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    rig.disconnect()
    rig.bootstrap("m-1")
    assert rig.state_of("m-1") is S.IDLE
    assert rig.outcomes() == {"no_session": 1}


def test_a_session_that_ends_ends_its_waits() -> None:
    rig = bootstrapping()
    rig.disconnect()
    assert rig.state_of("m-1") is S.IDLE
    assert rig.outcomes() == {"no_session": 1}


def test_a_cluster_without_answers_rests_longer_and_longer() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    rig.disconnect()
    rests = []
    for _ in range(8):
        rig.bootstrap("m-1")
        reason = rig.execution.why_backed_off(order(), rig.now)
        assert reason is not None
        rests.append(reason.facts["left"])
        rig.leap(reason.facts["left"])
    assert rests == [1, 2, 4, 8, 16, 32, 60, 60]
    assert rig.execution.why_backed_off(order(), rig.now) is None


def test_only_the_cluster_without_answers_rests() -> None:
    rig = Rig()
    rig.connect("bank")
    rig.add("m-1", S.IDLE)
    rig.disconnect()
    rig.bootstrap("m-1")
    assert rig.execution.why_backed_off(order(cluster="bank"), rig.now) is None


def test_after_a_rest_one_machine_asks_before_the_others() -> None:
    rig = Rig()
    for name in ("m-1", "m-2"):
        rig.add(name, S.IDLE)
    rig.bootstrap("m-1")
    rig.wait(31)
    rig.bootstrap("m-1")
    rig.bootstrap("m-2")
    assert rig.state_of("m-1") is S.CONFIGURING
    assert rig.state_of("m-2") is S.IDLE
    assert rig.execution.why_backed_off(order("m-2"), rig.now) is not None
    rig.give_blob()
    assert rig.execution.why_backed_off(order("m-2"), rig.now) is None


def test_an_operator_that_says_no_gets_its_machine_taken_back_and_its_profile_rests() -> None:
    rig = bootstrapping()
    rig.give_blob(error="no template for arm")
    assert rig.state_of("m-1") is S.IDLE
    assert rig.outcomes() == {"blob_error": 1}
    assert "no template for arm" in rig.story_of("m-1")
    assert rig.execution.why_backed_off(order(), rig.now) is not None
    other = replace(order(), source_profile=Profile.of(priority=1))
    assert rig.execution.why_backed_off(other, rig.now) is None


def test_three_refusals_in_a_row_make_the_machine_failed() -> None:
    rig = bootstrapping()
    for rest in (1, 2):
        rig.give_blob(error="no")
        assert rig.state_of("m-1") is S.IDLE
        rig.leap(rest)
        rig.bootstrap("m-1")
    rig.give_blob(error="no")
    assert rig.state_of("m-1") is S.FAILED
    assert rig.failures.cause_of("m-1") == "blob_error"
    assert rig.outcomes() == {"blob_error": 3}


def test_a_blob_in_between_starts_the_count_anew() -> None:
    rig = bootstrapping()
    for rest in (1, 2):
        rig.give_blob(error="no")
        rig.leap(rest)
        rig.bootstrap("m-1")
    rig.give_blob()
    rig.ack("m-1", S.CONFIGURED)
    rig.lists("m-1", S.IDLE)
    rig.show("m-1", S.IDLE)
    rig.bootstrap("m-1")
    rig.give_blob(error="no")
    assert rig.state_of("m-1") is S.IDLE


@pytest.mark.parametrize(
    ("cluster", "request_id"),
    [("bank", ""), (SHOP, "never-asked")],
    ids=["of another cluster", "to a request that was never made"],
)
def test_an_answer_is_dropped(cluster: str, request_id: str) -> None:
    rig = bootstrapping()
    asked = request_id or rig.blob_requests()[-1].request_id
    rig.execution.on_blob(cluster, BootstrapResponse(asked, b"x"), rig.now)
    assert rig.mutations() == []
    assert rig.counts.of("bootstrap_responses_dropped_total") == 1


def test_an_answer_that_comes_too_late_is_dropped() -> None:
    rig = bootstrapping()
    rig.wait(30)
    rig.give_blob()
    assert rig.mutations() == []
    assert rig.counts.of("bootstrap_responses_dropped_total") == 1


def waiting_for_the_line() -> Rig:
    """Its deadline passes while it waits for the blob, and a Get is under way."""
    deadlines = DeadlineSettings(configuring=Seconds(5.0))
    rig = Rig(replace(ShardSettings(), deadlines=deadlines))
    rig.add("m-1", S.IDLE)
    rig.bootstrap("m-1")
    rig.wait(5)
    assert rig.gets() == ["m-1"]
    return rig


def test_a_blob_that_expires_before_it_is_used_is_asked_for_again() -> None:
    rig = waiting_for_the_line()
    rig.give_blob(ttl=10)
    assert rig.mutations() == []
    rig.wait(10)
    assert len(rig.blob_requests()) == 2
    assert rig.mutations() == []


def test_a_blob_without_bound_waits_for_the_line() -> None:
    rig = waiting_for_the_line()
    rig.give_blob()
    rig.wait(15)
    assert len(rig.blob_requests()) == 1
    rig.show("m-1", S.IDLE)
    assert rig.state_of("m-1") is S.IDLE
    assert not rig.execution.is_pending("m-1")
