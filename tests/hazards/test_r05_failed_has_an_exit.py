"""R05: Failed has no exit. Every cause has one, and none is a revolving door."""

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Code
from bigfleet.model.shard_views import ClearMode
from bigfleet.shard.failures.records import PROVIDER_FAILED
from tests.execution.rig import Rig

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


def failed(cause: str) -> Rig:
    rig = Rig()
    state = next((s for s in MOVING if cause == f"timeout_{s.name.lower()}"), S.CONFIGURING)
    rig.add("m-1", state)
    if cause == PROVIDER_FAILED:
        rig.lists("m-1", S.FAILED)
    else:
        rig.failures.fail("m-1", cause, f"{cause}, said the test", rig.now)
    assert rig.state_of("m-1") is S.FAILED
    assert rig.failures.cause_of("m-1") == cause
    return rig


@pytest.mark.parametrize("cause", AUTOMATIC)
@pytest.mark.parametrize("well", [S.SPECULATIVE, S.IDLE, S.CONFIGURED], ids=lambda s: s.label)
def test_a_machine_its_provider_shows_well_comes_back(cause: str, well: MachineState) -> None:
    rig = failed(cause)
    rig.wait(30)
    rig.show("m-1", well)
    rig.lists("m-1", well)
    assert rig.state_of("m-1") is well


@pytest.mark.parametrize("cause", AUTOMATIC)
def test_looks_stop_at_five(cause: str) -> None:
    rig = failed(cause)
    until = rig.now + 24 * 3600 * SECOND
    while rig.now < until:
        rig.leap(30)
        if rig.unanswered:
            rig.show("m-1", S.FAILED)
    assert len(rig.gets()) == 5
    assert rig.counts.of("machines_stuck") == 1


def test_what_the_provider_called_failed_needs_two_reads() -> None:
    rig = failed(PROVIDER_FAILED)
    rig.lists("m-1", S.IDLE)
    assert rig.state_of("m-1") is S.FAILED
    rig.lists("m-1", S.IDLE)
    assert rig.state_of("m-1") is S.IDLE


@pytest.mark.parametrize("cause", [*AUTOMATIC, PROVIDER_FAILED, "fenced"])
@pytest.mark.parametrize("mode", [ClearMode.RECHECK, ClearMode.RETRY], ids=lambda m: m.name)
def test_an_admin_can_have_every_cause_looked_at(cause: str, mode: ClearMode) -> None:
    rig = failed(cause)
    rig.failures.clear("m-1", mode, rig.now)
    rig.leap(0)
    rig.show("m-1", S.IDLE)
    assert rig.state_of("m-1") is S.IDLE


@pytest.mark.parametrize("cause", [*AUTOMATIC, PROVIDER_FAILED, "fenced"])
def test_an_admin_can_forget_every_cause(cause: str) -> None:
    rig = failed(cause)
    rig.failures.clear("m-1", ClearMode.FORGET, rig.now)
    assert "m-1" not in rig.machines


def test_a_fenced_machine_stays() -> None:
    rig = failed("fenced")
    for _ in range(30):
        rig.leap(MONTH / 30)
        rig.lists("m-1", S.IDLE)
    assert rig.state_of("m-1") is S.FAILED
    assert rig.gets() == []


@pytest.mark.parametrize("seed", range(5))
def test_a_soak_of_faults_ends_with_no_failed_machine_that_is_well(seed: int) -> None:
    """Every third call breaks in another way; then the provider is well, and so is the fleet."""
    rig = Rig()
    names = [f"m-{n}" for n in range(12)]
    truth = dict.fromkeys(names, S.IDLE)
    for name in names:
        rig.add(name, S.IDLE)
    faults = (Code.INTERNAL, Code.UNAVAILABLE, Code.ABORTED, Code.DEADLINE_EXCEEDED)
    for turn in range(60):
        for name in names:
            if rig.state_of(name) is S.IDLE:
                rig.decide(ActionKind.BOOTSTRAP, name)
                rig.give_blob()
        for call in list(rig.unanswered):
            name, roll = call.call.machine_id, (turn * 7 + call.number * 3 + seed) % 5
            if roll < len(faults):
                rig.refuse(name, faults[roll])
            else:
                rig.refuse(name, Code.UNKNOWN)
        rig.wait(7)
        for name in names:
            rig.lists(name, truth[name])
    for _ in range(400):
        for call in list(rig.unanswered):
            rig.show(call.call.machine_id, truth[call.call.machine_id])
        rig.leap(30)
        for name in names:
            rig.lists(name, truth[name])
    assert {rig.state_of(name) for name in names} == {S.IDLE}
