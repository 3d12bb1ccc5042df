"""An admin clears a Failed machine: has it looked at, starts its looks anew, or forgets it."""

import pytest

from bigfleet.model.errors import NoSuchMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code
from bigfleet.model.shard_views import ClearMode
from bigfleet.shard.failures.failures import NotFailed
from tests.execution.rig import Rig

S = MachineState


def failed(code: Code = Code.INTERNAL) -> Rig:
    rig = Rig()
    rig.add("m-1", S.SPECULATIVE)
    rig.provision("m-1")
    rig.refuse("m-1", code)
    return rig


def clear(rig: Rig, mode: ClearMode) -> str:
    said = rig.failures.clear("m-1", mode, rig.now)
    rig.leap(0)
    return said


@pytest.mark.parametrize("code", [Code.INTERNAL, Code.FAILED_PRECONDITION], ids=str)
def test_a_recheck_believes_one_get(code: Code) -> None:
    rig = failed(code)
    assert "m-1" in clear(rig, ClearMode.RECHECK)
    rig.show("m-1", S.SPECULATIVE)
    assert rig.state_of("m-1") is S.SPECULATIVE


def test_a_recheck_of_a_machine_that_is_not_well_changes_nothing() -> None:
    rig = failed()
    clear(rig, ClearMode.RECHECK)
    rig.show("m-1", S.CREATING)
    assert rig.state_of("m-1") is S.FAILED


def test_a_recheck_counts_as_no_attempt() -> None:
    rig = failed()
    clear(rig, ClearMode.RECHECK)
    rig.show("m-1", S.FAILED)
    view = rig.failures.view("m-1")
    assert view is not None
    assert view.attempts == 0


def test_a_retry_starts_the_looks_anew() -> None:
    rig = failed()
    while len(rig.gets()) < 5:
        rig.wait(30)
        if rig.unanswered:
            rig.show("m-1", S.FAILED)
    clear(rig, ClearMode.RETRY)
    rig.show("m-1", S.FAILED)
    rig.wait(31)
    assert len(rig.gets()) == 7
    assert rig.counts.of("machines_stuck") == 0


def test_a_forgotten_machine_is_gone_until_its_provider_calls_it_something_else() -> None:
    rig = failed()
    clear(rig, ClearMode.FORGET)
    assert "m-1" not in rig.machines
    assert not rig.failures.admits("m-1", S.FAILED)
    assert rig.failures.admits("m-1", S.IDLE)
    assert rig.failures.admits("m-1", S.FAILED)


def test_what_is_forgotten_stays_so_after_a_restart() -> None:
    rig = failed()
    clear(rig, ClearMode.FORGET)
    later = rig.restarted()
    assert not later.failures.admits("m-1", S.FAILED)


def test_a_machine_that_is_well_cannot_be_cleared() -> None:
    rig = Rig()
    rig.add("m-1", S.IDLE)
    with pytest.raises(NotFailed, match="is Idle"):
        clear(rig, ClearMode.RECHECK)


def test_an_unknown_machine_cannot_be_cleared() -> None:
    rig = Rig()
    with pytest.raises(NoSuchMachine, match="m-1"):
        clear(rig, ClearMode.FORGET)
