"""R05: Failed has no exit. Every cause has one, and none is a revolving door."""

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code
from bigfleet.model.shard_views import ClearMode
from bigfleet.shard.failures.causes import PROVIDER_FAILED
from tests.execution.stage import Stage

S = MachineState
AUTOMATIC = (
    "provider_error",
    "configure_error",
    "drain_error",
    "delete_error",
    "bad_ack",
    "blob_error",
    "timeout_creating",
    "timeout_configuring",
    "timeout_draining",
    "timeout_deleting",
)
MOVING = (S.CREATING, S.CONFIGURING, S.DRAINING, S.DELETING)
MONTH = 30 * 24 * 3600


def failed(cause: str) -> Stage:
    stage = Stage()
    state = next((s for s in MOVING if cause == f"timeout_{s.name.lower()}"), S.CONFIGURING)
    stage.add("m-1", state)
    if cause == PROVIDER_FAILED:
        stage.lists("m-1", S.FAILED)
    else:
        stage.failures.fail("m-1", cause, f"{cause}, said the test", stage.now)
    assert stage.state_of("m-1") is S.FAILED
    assert stage.failures.cause_of("m-1") == cause
    return stage


@pytest.mark.parametrize("cause", AUTOMATIC)
@pytest.mark.parametrize("well", [S.SPECULATIVE, S.IDLE, S.CONFIGURED], ids=lambda s: s.label)
def test_a_machine_its_provider_shows_well_comes_back(cause: str, well: MachineState) -> None:
    stage = failed(cause)
    stage.wait(30)
    stage.show("m-1", well)
    stage.lists("m-1", well)
    assert stage.state_of("m-1") is well


@pytest.mark.parametrize("cause", AUTOMATIC)
def test_looks_stop_at_five(cause: str) -> None:
    stage = failed(cause)
    until = stage.now + 24 * 3600 * SECOND
    while stage.now < until:
        stage.leap(30)
        if stage.unanswered:
            stage.show("m-1", S.FAILED)
    assert len(stage.gets()) == 5
    assert stage.counts.of("machines_stuck") == 1


def test_what_the_provider_called_failed_needs_two_reads() -> None:
    stage = failed(PROVIDER_FAILED)
    stage.lists("m-1", S.IDLE)
    assert stage.state_of("m-1") is S.FAILED
    stage.lists("m-1", S.IDLE)
    assert stage.state_of("m-1") is S.IDLE


@pytest.mark.parametrize("cause", [*AUTOMATIC, PROVIDER_FAILED, "fenced"])
@pytest.mark.parametrize("mode", [ClearMode.RECHECK, ClearMode.RETRY], ids=lambda m: m.name)
def test_an_admin_can_have_every_cause_looked_at(cause: str, mode: ClearMode) -> None:
    stage = failed(cause)
    stage.failures.clear("m-1", mode, stage.now)
    stage.leap(0)
    stage.show("m-1", S.IDLE)
    assert stage.state_of("m-1") is S.IDLE


@pytest.mark.parametrize("cause", [*AUTOMATIC, PROVIDER_FAILED, "fenced"])
def test_an_admin_can_forget_every_cause(cause: str) -> None:
    stage = failed(cause)
    stage.failures.clear("m-1", ClearMode.FORGET, stage.now)
    assert "m-1" not in stage.machines


def test_a_fenced_machine_stays() -> None:
    stage = failed("fenced")
    for _ in range(30):
        stage.leap(MONTH / 30)
        stage.lists("m-1", S.IDLE)
    assert stage.state_of("m-1") is S.FAILED
    assert stage.gets() == []


@pytest.mark.parametrize("seed", range(5))
def test_a_soak_of_faults_ends_with_no_failed_machine_that_is_well(seed: int) -> None:
    """Every third call breaks in another way; then the provider is well, and so is the fleet."""
    stage = Stage()
    names = [f"m-{n}" for n in range(12)]
    truth = dict.fromkeys(names, S.IDLE)
    for name in names:
        stage.add(name, S.IDLE)
    faults = (Code.INTERNAL, Code.UNAVAILABLE, Code.ABORTED, Code.DEADLINE_EXCEEDED)
    for turn in range(60):
        for name in names:
            if stage.state_of(name) is S.IDLE:
                stage.decide(ActionKind.BOOTSTRAP, name)
                stage.give_blob()
        for call in list(stage.unanswered):
            name, roll = call.call.machine_id, (turn * 7 + call.number * 3 + seed) % 5
            if roll < len(faults):
                stage.refuse(name, faults[roll])
            else:
                stage.refuse(name, Code.UNKNOWN)
        stage.wait(7)
        for name in names:
            stage.lists(name, truth[name])
    for _ in range(400):
        for call in list(stage.unanswered):
            stage.show(call.call.machine_id, truth[call.call.machine_id])
        stage.leap(30)
        for name in names:
            stage.lists(name, truth[name])
    assert {stage.state_of(name) for name in names} == {S.IDLE}
