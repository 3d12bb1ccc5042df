"""The acceptance of the back-off: a hundred clusters want what is not there for ninety minutes."""

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import Code, CreateCall
from tests.execution.stage import Stage
from tests.offerings.shelves import free, stock

S = MachineState
MINUTES = 90


def ask_for_everything(stage: Stage, names: list[str]) -> int:
    """A cycle of a hundred clusters: each wants a slot that is shown to it. How many were asked."""
    before = len(stage.mutations())
    for number, name in enumerate(free(stage, names)):
        if not stage.is_connected(f"cluster-{number}"):
            stage.connect(f"cluster-{number}")
        stage.provision(name, f"cluster-{number}")
    return len(stage.mutations()) - before


def test_at_most_twelve_creates_beyond_those_under_way_at_the_first_refusal() -> None:
    stage = Stage()
    names = stock(stage, "od", slots=100)
    under_way = ask_for_everything(stage, names)
    assert under_way == 100
    beyond = 0
    for _ in range(MINUTES * 60 // 5):
        for call in list(stage.unanswered):
            assert isinstance(call.call, CreateCall)
            stage.refuse(call.call.machine_id, Code.RESOURCE_EXHAUSTED, "none left")
        stage.leap(5)
        beyond += ask_for_everything(stage, names)
    assert 5 <= beyond <= 12


def test_the_full_rate_returns_with_the_first_probe_that_finds_stock() -> None:
    stage = Stage()
    names = stock(stage, "od", slots=10)
    stage.provision("od-0")
    stage.refuse("od-0", Code.RESOURCE_EXHAUSTED)
    while not ask_for_everything(stage, names):
        stage.leap(1)
    (probe,) = stage.unanswered
    stage.ack(probe.call.machine_id, S.CREATING)
    stage.lists(probe.call.machine_id, S.IDLE)
    assert ask_for_everything(stage, names) == 9
