"""Join failures: machines that are made but never become nodes of their cluster."""

from bigfleet.model.machines import MachineState
from tests.execution.stage import Stage
from tests.offerings.shelves import free, stock, until_probe

S = MachineState


def join(stage: Stage, name: str, *, well: bool) -> None:
    stage.add(name, S.IDLE)
    stage.bootstrap(name)
    stage.give_blob()
    stage.ack(name, S.CONFIGURING)
    stage.lists(name, S.CONFIGURED if well else S.FAILED)


def test_three_machines_that_did_not_join_stop_the_offering() -> None:
    stage = Stage()
    names = stock(stage, "od")
    for name in ("a", "b"):
        join(stage, name, well=False)
    assert free(stage, names) == names
    join(stage, "c", well=False)
    assert free(stage, names) == []
    assert [view.kind for view in stage.offerings.views()] == ["join"]


def test_less_than_half_of_the_attempts_do_not() -> None:
    stage = Stage()
    names = stock(stage, "od")
    for n in range(4):
        join(stage, f"well-{n}", well=True)
    for n in range(3):
        join(stage, f"lost-{n}", well=False)
    assert free(stage, names) == names
    join(stage, "lost-3", well=False)
    assert free(stage, names) == []


def test_a_refused_configure_is_no_join_failure() -> None:
    stage = Stage()
    names = stock(stage, "od")
    for name in ("a", "b", "c", "d"):
        stage.add(name, S.IDLE)
        for _ in range(3):
            stage.bootstrap(name)
            stage.give_blob(error="no template")
            stage.leap(60)
        assert stage.state_of(name) is S.FAILED
    assert free(stage, names) == names


def test_only_a_machine_that_joins_opens_the_offering_again() -> None:
    stage = Stage()
    names = stock(stage, "od")
    for name in ("a", "b", "c"):
        join(stage, name, well=False)
    until_probe(stage, names)
    stage.provision("od-0")
    stage.ack("od-0", S.IDLE)
    assert free(stage, names) == []
    stage.give_blob()
    stage.ack("od-0", S.CONFIGURED)
    assert free(stage, names) == ["od-1", "od-2"]


def test_a_probe_that_does_not_join_doubles_the_rest() -> None:
    stage = Stage()
    names = stock(stage, "od")
    for name in ("a", "b", "c"):
        join(stage, name, well=False)
    until_probe(stage, names)
    stage.provision("od-0")
    stage.ack("od-0", S.IDLE)
    stage.give_blob()
    stage.ack("od-0", S.CONFIGURING)
    stage.lists("od-0", S.FAILED)
    assert 60 <= until_probe(stage, names) <= 67
