"""For any Lists within a minute, each of them changes few bindings and never a held one."""

import random

import pytest

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import MachineRecord
from tests.reconciling.rig import CONFIGURED, DRAINING, IDLE, Rig, record

NAMES = [f"m-{number:02d}" for number in range(12)]
#: What a List may say of a machine: bound to either cluster, or free. Most say the truth.
TRUTH = (CONFIGURED, "shop")
SAYINGS = [*[TRUTH] * 9, (CONFIGURED, "ml"), (DRAINING, "ml"), (IDLE, "")]
LISTS = 12

Binding = tuple[MachineState, str]


def listed(bindings: list[Binding]) -> list[MachineRecord]:
    pairs = zip(NAMES, bindings, strict=True)
    return [record(name, state, cluster=cluster) for name, (state, cluster) in pairs]


def bindings_of(rig: Rig) -> dict[str, Binding]:
    return {name: (rig.machine(name).state, rig.machine(name).cluster) for name in NAMES}


def check_law(rig: Rig, before: dict[str, Binding], seed: int) -> None:
    after = bindings_of(rig)
    bound = sum(bool(cluster) for _, cluster in before.values())
    allowed = max(1, 0.1 * bound)
    moved = [n for n in NAMES if before[n][1] and after[n][1] not in ("", before[n][1])]
    freed = [n for n in NAMES if before[n][0] is CONFIGURED and after[n][0] is IDLE]
    assert len(moved) <= allowed, (seed, before, after)
    assert len(freed) <= allowed, (seed, before, after)
    held = [name for name in NAMES if rig.reconciler.is_rebound(name)]
    assert bool(held) == bool(rig.reconciler.quarantines()), seed
    assert all(before[name] == after[name] for name in held), (seed, before, after)


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_a_list_changes_few_bindings(first: int) -> None:
    for seed in range(first, first + 20):
        chance = random.Random(seed)
        rig = Rig()
        rig.lists(*listed([TRUTH] * len(NAMES)))
        for _ in range(LISTS):
            before = bindings_of(rig)
            said = listed(chance.choices(SAYINGS, k=len(NAMES)))
            rig.lists(*said, whole=chance.random() < 0.5)
            check_law(rig, before, seed)
