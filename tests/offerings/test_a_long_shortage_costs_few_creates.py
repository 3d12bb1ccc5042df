"""The acceptance of the back-off: a hundred clusters want what is not there for ninety minutes."""

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code, CreateCall
from tests.execution.rig import Rig
from tests.offerings.shelves import free, stock

S = MachineState
MINUTES = 90


def ask_for_everything(rig: Rig, names: list[str]) -> int:
    """A cycle of a hundred clusters: each wants a slot that is shown to it. How many were asked."""
    before = len(rig.mutations())
    for number, name in enumerate(free(rig, names)):
        if not rig.is_connected(f"cluster-{number}"):
            rig.connect(f"cluster-{number}")
        rig.provision(name, f"cluster-{number}")
    return len(rig.mutations()) - before


def test_at_most_twelve_creates_beyond_those_under_way_at_the_first_refusal() -> None:
    rig = Rig()
    names = stock(rig, "od", slots=100)
    under_way = ask_for_everything(rig, names)
    assert under_way == 100
    beyond = 0
    for _ in range(MINUTES * 60 // 5):
        for call in list(rig.unanswered):
            assert isinstance(call.call, CreateCall)
            rig.refuse(call.call.machine_id, Code.RESOURCE_EXHAUSTED, "none left")
        rig.leap(5)
        beyond += ask_for_everything(rig, names)
    assert 5 <= beyond <= 12


def test_the_full_rate_returns_with_the_first_probe_that_finds_stock() -> None:
    rig = Rig()
    names = stock(rig, "od", slots=10)
    rig.provision("od-0")
    rig.refuse("od-0", Code.RESOURCE_EXHAUSTED)
    while not ask_for_everything(rig, names):
        rig.leap(1)
    (probe,) = rig.unanswered
    rig.ack(probe.call.machine_id, S.CREATING)
    rig.lists(probe.call.machine_id, S.IDLE)
    assert ask_for_everything(rig, names) == 9
