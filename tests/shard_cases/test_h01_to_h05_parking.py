"""Cases H1 to H5: when a gang that cannot be placed rests, and what makes it try again."""

from bigfleet.engine.decide import decide
from bigfleet.engine.decision import Decision
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.model.machines import CapacityType, Host, Machine, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.options import EngineOptions
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import RACK_KEY, Operator, Requirement
from bigfleet.model.resources import Resources

UNIT = Resources.of({"cpu": 4000})
GANG = Need(
    "ml", Profile.of([Requirement.of(RACK_KEY, Operator.SAME)]), UNIT.times(4), UNIT, 1, "train"
)
PLAIN = Need("shop", Profile.of(priority=5), UNIT.times(4), UNIT, 1)
PARKED_FROM = EngineOptions().parking.after


def cycle(memory: EngineMemory, idle: int = 0, *needs: Need) -> Decision:
    """One decision with so many idle machines, all of one rack."""
    inventory, table = Inventory(), NeedsTable()
    for number in range(idle):
        name = f"m-{number}"
        inventory.insert(
            Machine(
                name,
                MachineState.IDLE,
                CapacityType.BARE_METAL,
                Host("sim", name),
                labels={RACK_KEY: "r1"},
                resources=UNIT,
            )
        )
    wanted = needs or (GANG,)
    for cluster in {need.cluster for need in wanted}:
        table.replace(cluster, [need for need in wanted if need.cluster == cluster])
    return decide(inventory.snapshot(), table.snapshot(), memory, EngineOptions(), None)


def stalled(memory: EngineMemory, cycles: int) -> EngineMemory:
    for _ in range(cycles):
        memory = cycle(memory).memory
    return memory


def is_parked(decision: Decision) -> bool:
    return any(verdict.parked for verdict in decision.verdicts)


def test_h1_a_gang_is_not_parked_before_its_eighth_stall() -> None:
    memory = EngineMemory()
    for age in range(1, PARKED_FROM):
        decision = cycle(memory)
        memory = decision.memory
        assert not is_parked(decision)
        assert memory.parking == {GANG.key: age}
    assert is_parked(cycle(stalled(memory, 1)))


def test_h1_a_plain_need_is_never_parked() -> None:
    memory = EngineMemory()
    for _ in range(3 * PARKED_FROM):
        decision = cycle(memory, 0, PLAIN)
        memory = decision.memory
        assert not is_parked(decision)
    assert memory.parking == {}


def test_h3_progress_clears_the_age_and_eight_more_stalls_park_again() -> None:
    memory = stalled(EngineMemory(), PARKED_FROM - 1)
    progress = cycle(memory, 2)
    assert progress.action_count == 2
    assert progress.memory.parking == {}
    again = stalled(progress.memory, PARKED_FROM)
    assert again.parking == {GANG.key: PARKED_FROM}
    assert is_parked(cycle(again))


def test_h4_a_resolved_gang_is_forgotten_and_a_relapse_begins_at_one() -> None:
    resolved = cycle(stalled(EngineMemory(), PARKED_FROM - 1), 4)
    assert resolved.memory.parking == {}
    relapse = cycle(resolved.memory)
    assert relapse.memory.parking == {GANG.key: 1}
    assert not is_parked(relapse)


def test_h5_another_group_is_another_key_and_a_copy_is_the_same() -> None:
    copy = Need(GANG.cluster, Profile.of(GANG.profile.requirements), UNIT, UNIT, 7, "train")
    other = Need(GANG.cluster, GANG.profile, UNIT.times(4), UNIT, 1, "serve")
    assert copy.key == GANG.key
    assert other.key != GANG.key
    both = cycle(EngineMemory(), 0, GANG, other)
    assert both.memory.parking == {GANG.key: 1, other.key: 1}
