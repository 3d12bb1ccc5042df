"""R02: a changed price, probability, label or size must count from the next List on."""

import math

import pytest

from bigfleet.engine.decide import decide
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.model.machines import CapacityType, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.options import EngineOptions
from bigfleet.model.penalties import bucket_of_dollars
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from tests.reconciling.rig import IDLE, SPECULATIVE, Rig, record

ONE = Resources.parse({"cpu": "8"})
NEED = Need(
    "shop",
    Profile.of(
        [Requirement.of("disk", Operator.IN, ["ssd"])],
        interruption_bucket=bucket_of_dollars(10.0),
    ),
    ONE,
    ONE,
)
FREE = pytest.mark.parametrize("state", [IDLE, SPECULATIVE], ids=lambda state: state.label)


def fleet(state: MachineState) -> Rig:
    """Two machines alike, `a` the cheaper one by id alone."""
    rig = Rig()
    lists(rig, state)
    assert choice(rig) == "a"
    return rig


def lists(rig: Rig, state: MachineState, **changes_of_a: object) -> None:
    alike: dict[str, object] = {
        "capacity_type": CapacityType.SPOT,
        "labels": {"disk": "ssd"},
        "resources": {"cpu": "8"},
    }
    rig.lists(record("a", state, **(alike | changes_of_a)), record("b", state, **alike))


def choice(rig: Rig) -> str:
    """The machine the next cycle takes for a Need of one."""
    demand = NeedsTable()
    demand.replace("shop", [NEED])
    snapshot = rig.machines.inventory.snapshot()
    decision = decide(snapshot, demand.snapshot(), EngineMemory(), EngineOptions(), rig.now)
    (action,) = decision.actions
    return action.machine


@FREE
def test_a_new_price_changes_the_choice(state: MachineState) -> None:
    rig = fleet(state)
    lists(rig, state, price_per_hour=0.9)
    assert choice(rig) == "b"


def test_a_new_probability_changes_the_choice() -> None:
    """What may be interrupted costs its penalty; of machines that are there already, only the
    price counts."""
    rig = fleet(SPECULATIVE)
    lists(rig, SPECULATIVE, interruption_probability=0.9)
    assert choice(rig) == "b"


@FREE
def test_a_new_label_changes_the_choice(state: MachineState) -> None:
    rig = fleet(state)
    lists(rig, state, labels={"disk": "hdd"})
    assert choice(rig) == "b"


@FREE
def test_a_new_size_changes_the_choice(state: MachineState) -> None:
    rig = fleet(state)
    lists(rig, state, allocatable={"cpu": "7500m"})
    assert choice(rig) == "b"


@FREE
@pytest.mark.parametrize("price", [-1.0, math.nan, math.inf], ids=str)
def test_an_invalid_price_keeps_the_old_one(state: MachineState, price: float) -> None:
    rig = fleet(state)
    lists(rig, state, price_per_hour=price)
    assert choice(rig) == "a"
    assert rig.machine("a").price_per_hour == 0.5
