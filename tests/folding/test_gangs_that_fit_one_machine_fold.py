"""Gangs smaller than a machine become plain demand for as many machines as hold them all."""

from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from bigfleet.model.options import EngineOptions
from bigfleet.model.resources import Resources
from tests.worlds import gpus
from tests.worlds.fleets import decided, verdict_of
from tests.worlds.racks import BIG_GANG, GANG_POD, cpus, pods_gang, r6i, small_need

FOLD = EngineOptions()
CONFIGURED = MachineState.CONFIGURED


def test_equal_gangs_fold_into_one_plain_need() -> None:
    """F1."""
    gangs = [pods_gang("c1", 4, f"g-{arrival}", arrival) for arrival in (300, 100, 200)]
    decision = decided([r6i("m", CONFIGURED, cluster="c1")], gangs, options=FOLD)
    (verdict,) = decision.verdicts
    need = verdict.need
    assert (verdict.folded, verdict.members) == (True, (0, 1, 2))
    assert (need.aggregate, need.min_unit) == (cpus(24, 192), cpus(8, 64))
    assert need.profile == BIG_GANG.without_same()
    assert need.profile.same is None
    assert need.profile.spread == BIG_GANG.spread
    assert need.profile.precedence == BIG_GANG.precedence
    assert (need.arrival_unix_nanos, need.group, need.parked) == (100, "", False)


def test_gangs_of_different_sizes_fold_apart() -> None:
    """F2."""
    gangs = [pods_gang("c1", pods, f"g-{i}") for i, pods in enumerate((4, 2, 4))]
    decision = decided([r6i("m", CONFIGURED, cluster="c1")], gangs, options=FOLD)
    folded = {v.members: (v.need.aggregate, v.need.min_unit) for v in decision.verdicts}
    assert folded == {
        (0, 2): (cpus(16, 128), cpus(8, 64)),
        (1,): (cpus(4, 32), cpus(4, 32)),
    }


def test_a_gang_larger_than_any_machine_stays_a_gang() -> None:
    """F3."""
    gang = pods_gang("c1", 12, "g")
    decision = decided([r6i("m", CONFIGURED, cluster="c1")], [gang], options=FOLD)
    assert [(v.need, v.folded) for v in decision.verdicts] == [(gang, False)]


def test_an_idle_machine_anywhere_is_host_enough() -> None:
    """F4."""
    decision = decided([r6i("m")], [pods_gang("c1", 4, "g")], options=FOLD)
    assert verdict_of(decision).folded


def test_a_slot_is_host_enough() -> None:
    """F5."""
    slot = r6i("m", MachineState.SPECULATIVE)
    assert verdict_of(decided([slot], [pods_gang("c1", 4, "g")], options=FOLD)).folded


def test_demand_without_gangs_is_left_as_it_is() -> None:
    """F8."""
    needs = [small_need("a", 4, priority=500), small_need("b", 8, priority=100, group="g")]
    decision = decided([r6i("m")], needs, options=FOLD)
    assert [(v.need, v.folded) for v in decision.verdicts] == [(n, False) for n in needs]


def test_another_clusters_machine_is_not_a_host() -> None:
    other = r6i("m", CONFIGURED, cluster="c2")
    assert not verdict_of(decided([other], [pods_gang("c1", 4, "g")], options=FOLD)).folded


def test_a_machine_outside_every_rack_is_not_a_host() -> None:
    decision = decided([r6i("m", rack=None)], [pods_gang("c1", 4, "g")], options=FOLD)
    assert not verdict_of(decision).folded


def test_one_amount_in_two_spellings_folds_together() -> None:
    first, second = (
        Need("c1", BIG_GANG, Resources.parse(amount), GANG_POD, group=group)
        for group, amount in (
            ("g-1", {"cpu": "8", "memory": "64Gi"}),
            ("g-2", {"cpu": "8000m", "memory": str(64 << 30), "gpu": "0"}),
        )
    )
    decision = decided([r6i("m")], [first, second], options=FOLD)
    assert [v.members for v in decision.verdicts] == [(0, 1)]


def test_folded_needs_come_after_the_others_of_their_priority() -> None:
    gang, plain = pods_gang("a", 4, "g"), small_need("b", 4, priority=100)
    decision = decided([r6i("m")], [gang, plain], options=FOLD)
    assert [v.members for v in decision.verdicts] == [(1,), (0,)]


def test_without_folding_a_gang_is_a_gang() -> None:
    decision = decided([r6i("m")], [pods_gang("c1", 4, "g")])
    assert not verdict_of(decision).folded
    assert verdict_of(decision).domain == "rack-1"


def test_a_gang_of_whole_hosts_folds_onto_one_dense_host() -> None:
    """S4 as a whole cycle: eight hosts of a hundred units, one of them is enough."""
    machines = [gpus.host(f"m-{i}", zone="a", offered=gpus.gpus(800)) for i in range(8)]
    decision = decided(machines, [gpus.gang("c", 0, 8)], options=FOLD)
    assert verdict_of(decision).folded
    assert len(decision.actions) == 1
