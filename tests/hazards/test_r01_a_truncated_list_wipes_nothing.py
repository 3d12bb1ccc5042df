"""R01: an empty or truncated List must not wipe the inventory."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.engine.decide import decide
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.model.actions import Action
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.options import EngineOptions
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.resources import Resources
from tests.reconciling.rig import CONFIGURED, SPECULATIVE, Rig, record

BOUND = [record(f"m-{i:03d}", CONFIGURED) for i in range(200)]
#: Something to buy, if the shard thought it had lost what it has.
SLOTS = [record(f"slot-{i:02d}", SPECULATIVE) for i in range(50)]
NAMES = sorted(each.id for each in (*BOUND, *SLOTS))


def actions(rig: Rig) -> tuple[Action, ...]:
    """What a cycle does for a cluster that needs all of the 200 machines."""
    demand = NeedsTable()
    everything = Resources.parse({"cpu": "1600", "memory": "6400Gi"})
    demand.replace("shop", [Need("shop", Profile.of(), everything, Resources())])
    inventory, options = rig.machines.inventory, EngineOptions()
    return decide(inventory.snapshot(), demand.snapshot(), EngineMemory(), options, rig.now).actions


def fleet() -> Rig:
    rig = Rig()
    rig.lists(*BOUND, *SLOTS)
    return rig


def test_an_empty_list_then_half_of_it_then_all_change_nothing() -> None:
    rig = fleet()
    assert actions(rig) == ()
    for listed in (0, 100, 200):
        rig.lists(*BOUND[:listed], *SLOTS[: listed // 4])
        assert rig.ids() == NAMES
        assert actions(rig) == ()
    assert rig.reconciler.quarantines() == []


def test_three_confirmed_shrinks_over_a_minute_remove_exactly_what_all_of_them_missed() -> None:
    rig = fleet()
    for kept in (BOUND[120:], BOUND[80:], BOUND[100:150] + BOUND[151:]):
        rig.lists(*kept, *SLOTS)
        rig.wait(30)
    gone = {each.id for each in BOUND[:80]}
    assert rig.ids() == [name for name in NAMES if name not in gone]


def test_a_pending_machine_survives_every_confirmation() -> None:
    rig = fleet()
    rig.pending.add("m-007")
    for _ in range(4):
        rig.lists(*SLOTS)
        rig.wait(30)
    assert rig.ids() == ["m-007", *sorted(each.id for each in SLOTS)]


FEW = BOUND[:30]
SOME = st.lists(st.sampled_from(FEW), max_size=26, unique_by=lambda each: each.id)


@settings(max_examples=settings().max_examples // 5)
@given(st.lists(st.tuples(SOME, st.sampled_from([1, 5, 7])), min_size=1, max_size=8))
def test_random_truncation_within_a_minute_removes_nothing(
    cuts: list[tuple[list[MachineRecord], int]],
) -> None:
    """However a provider cuts its Lists short, for a minute nothing is believed of it."""
    rig = Rig()
    rig.lists(*FEW)
    for kept, pause in cuts:
        rig.lists(*kept)
        assert len(rig.ids()) == len(FEW)
        rig.wait(pause - 1)
    assert len(rig.reconciler.quarantines()) == 1
    rig.lists(*FEW)
    assert len(rig.ids()) == len(FEW)
    assert rig.reconciler.quarantines() == []
    assert rig.count("machines_unseen", provider="acme") == 0


@settings(max_examples=settings().max_examples // 5)
@given(st.lists(SOME, min_size=3, max_size=6))
def test_random_truncation_for_longer_removes_what_every_list_missed(
    cuts: list[list[MachineRecord]],
) -> None:
    rig = Rig()
    rig.lists(*FEW)
    for kept in cuts[:-1]:
        rig.lists(*kept)
    rig.wait(60)
    rig.lists(*cuts[-1])
    seen = {each.id for kept in cuts for each in kept}
    assert rig.ids() == sorted(seen)
