"""An admin clears a Failed machine: has it looked at, starts its looks anew, or forgets it."""

import pytest

from bigfleet.model.errors import NoSuchMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code
from bigfleet.model.shard_views import ClearMode
from bigfleet.shard.failures.failures import NotFailed
from tests.execution.stage import Stage

S = MachineState


def failed(code: Code = Code.INTERNAL) -> Stage:
    stage = Stage()
    stage.add("m-1", S.SPECULATIVE)
    stage.provision("m-1")
    stage.refuse("m-1", code)
    return stage


def clear(stage: Stage, mode: ClearMode) -> str:
    said = stage.failures.clear("m-1", mode, stage.now)
    stage.leap(0)
    return said


@pytest.mark.parametrize("code", [Code.INTERNAL, Code.FAILED_PRECONDITION], ids=str)
def test_a_recheck_believes_one_get(code: Code) -> None:
    stage = failed(code)
    assert "m-1" in clear(stage, ClearMode.RECHECK)
    stage.show("m-1", S.SPECULATIVE)
    assert stage.state_of("m-1") is S.SPECULATIVE


def test_a_recheck_of_a_machine_that_is_not_well_changes_nothing() -> None:
    stage = failed()
    clear(stage, ClearMode.RECHECK)
    stage.show("m-1", S.CREATING)
    assert stage.state_of("m-1") is S.FAILED


def test_a_recheck_counts_as_no_attempt() -> None:
    stage = failed()
    clear(stage, ClearMode.RECHECK)
    stage.show("m-1", S.FAILED)
    view = stage.failures.view("m-1")
    assert view is not None
    assert view.attempts == 0


def test_a_retry_starts_the_looks_anew() -> None:
    stage = failed()
    while len(stage.gets()) < 5:
        stage.wait(30)
        if stage.unanswered:
            stage.show("m-1", S.FAILED)
    clear(stage, ClearMode.RETRY)
    stage.show("m-1", S.FAILED)
    stage.wait(31)
    assert len(stage.gets()) == 7
    assert stage.counts.of("machines_stuck") == 0


def test_a_forgotten_machine_is_gone_until_its_provider_calls_it_something_else() -> None:
    stage = failed()
    clear(stage, ClearMode.FORGET)
    assert "m-1" not in stage.machines
    assert not stage.failures.admits("m-1", S.FAILED)
    assert stage.failures.admits("m-1", S.IDLE)
    assert stage.failures.admits("m-1", S.FAILED)


def test_what_is_forgotten_stays_so_after_a_restart() -> None:
    stage = failed()
    clear(stage, ClearMode.FORGET)
    later = stage.restarted()
    assert not later.failures.admits("m-1", S.FAILED)


def test_a_machine_that_is_well_cannot_be_cleared() -> None:
    stage = Stage()
    stage.add("m-1", S.IDLE)
    with pytest.raises(NotFailed, match="is Idle"):
        clear(stage, ClearMode.RECHECK)


def test_a_machine_nobody_knows_cannot_be_cleared() -> None:
    stage = Stage()
    with pytest.raises(NoSuchMachine, match="m-1"):
        clear(stage, ClearMode.FORGET)
