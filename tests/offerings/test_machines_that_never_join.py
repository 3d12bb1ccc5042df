"""Join failures: machines that are made but never become nodes of their cluster."""

from bigfleet.model.machines import MachineState
from tests.execution.rig import Rig
from tests.offerings.shelves import free, stock, until_probe

S = MachineState


def join(rig: Rig, name: str, *, well: bool) -> None:
    rig.add(name, S.IDLE)
    rig.bootstrap(name)
    rig.give_blob()
    rig.ack(name, S.CONFIGURING)
    rig.lists(name, S.CONFIGURED if well else S.FAILED)


def test_three_machines_that_did_not_join_stop_the_offering() -> None:
    rig = Rig()
    names = stock(rig, "od")
    for name in ("a", "b"):
        join(rig, name, well=False)
    assert free(rig, names) == names
    join(rig, "c", well=False)
    assert free(rig, names) == []
    assert [view.kind for view in rig.offerings.views()] == ["join"]


def test_less_than_half_of_the_attempts_do_not() -> None:
    rig = Rig()
    names = stock(rig, "od")
    for n in range(4):
        join(rig, f"well-{n}", well=True)
    for n in range(3):
        join(rig, f"lost-{n}", well=False)
    assert free(rig, names) == names
    join(rig, "lost-3", well=False)
    assert free(rig, names) == []


def test_a_refused_configure_is_not_a_join_failure() -> None:
    rig = Rig()
    names = stock(rig, "od")
    for name in ("a", "b", "c", "d"):
        rig.add(name, S.IDLE)
        for _ in range(3):
            rig.bootstrap(name)
            rig.give_blob(error="no template")
            rig.leap(60)
        assert rig.state_of(name) is S.FAILED
    assert free(rig, names) == names


def test_only_a_machine_that_joins_opens_the_offering_again() -> None:
    rig = Rig()
    names = stock(rig, "od")
    for name in ("a", "b", "c"):
        join(rig, name, well=False)
    until_probe(rig, names)
    rig.provision("od-0")
    rig.ack("od-0", S.IDLE)
    assert free(rig, names) == []
    rig.give_blob()
    rig.ack("od-0", S.CONFIGURED)
    assert free(rig, names) == ["od-1", "od-2"]


def test_a_probe_that_does_not_join_doubles_the_rest() -> None:
    rig = Rig()
    names = stock(rig, "od")
    for name in ("a", "b", "c"):
        join(rig, name, well=False)
    until_probe(rig, names)
    rig.provision("od-0")
    rig.ack("od-0", S.IDLE)
    rig.give_blob()
    rig.ack("od-0", S.CONFIGURING)
    rig.lists("od-0", S.FAILED)
    assert 60 <= until_probe(rig, names) <= 67
