"""The uber ladder has the cardinalities its definition states."""

from collections import Counter

import pytest

from bigfleet.bench.engine.shapes import SHAPES
from bigfleet.bench.engine.uber import MEAN_REPLICAS, split_of
from bigfleet.bench.engine.workload import EngineWorkload
from bigfleet.model.machines import MachineState
from bigfleet.model.requirements import RACK_KEY


@pytest.fixture(scope="module")
def uber_5k() -> EngineWorkload:
    return SHAPES["uber-5k"].build(1.0)


def test_a_cluster_of_250_is_raised_to_326_machines_by_its_gangs() -> None:
    assert split_of(250) == (166, 29, 14, 15, 15, 13, 24, 48, 2)


@pytest.mark.parametrize(("wanted", "given"), [(1_000, 1_006), (10_000, 10_000), (15_000, 15_000)])
def test_a_pool_is_raised_only_where_a_gang_would_not_fit(wanted: int, given: int) -> None:
    assert sum(split_of(wanted)) == given


def test_the_mean_number_of_replicas_is_the_stated_one() -> None:
    assert pytest.approx(21.375) == MEAN_REPLICAS


def test_uber_5k_has_22526_machines_in_the_stated_tiers(uber_5k: EngineWorkload) -> None:
    states = Counter(
        MachineState(state)
        for batch in uber_5k.batches
        for state in batch.state_of_machine.tolist()
    )
    assert states == {
        MachineState.CONFIGURED: 6_520,
        MachineState.IDLE: 1_006,
        MachineState.SPECULATIVE: 15_000,
    }


def test_uber_5k_has_about_4600_needs_of_which_nine_per_cluster_are_plain(
    uber_5k: EngineWorkload,
) -> None:
    plain = [n for rows in uber_5k.needs.values() for n in rows if n.profile.same is None]
    assert uber_5k.need_count == pytest.approx(4_600, rel=0.05)
    assert len(plain) == pytest.approx(180, abs=3)


def test_every_gang_of_a_cluster_has_a_row_of_its_own(uber_5k: EngineWorkload) -> None:
    for rows in uber_5k.needs.values():
        assert len({need.key for need in rows}) == len(rows)


def test_a_cluster_asks_for_about_a_hundred_pods_a_machine(uber_5k: EngineWorkload) -> None:
    """25,000 pods: an object is cut at the limit, a gang of at most sixteen is not."""
    tiny = [
        sum(n.aggregate["cpu"] for n in rows if n.profile.priority == 100)
        for rows in uber_5k.needs.values()
    ]
    # 75.45 % tiny pods of 360m on average, and 6.47 % batch pods of 5.6 CPUs.
    expected = 25_000 * (0.7545 * 360 + 0.0647 * 5600)
    assert sum(tiny) / len(tiny) == pytest.approx(expected, rel=0.05)


def test_thirty_racks_lie_in_three_zones(uber_5k: EngineWorkload) -> None:
    racks = {
        (dict(o.labels)[RACK_KEY], o.zone) for batch in uber_5k.batches for o in batch.offerings
    }
    assert len(racks) == 30
    assert Counter(zone for _, zone in racks) == {"zone-a": 10, "zone-b": 10, "zone-c": 10}


def test_bound_machines_carry_the_penalties_of_their_archetype(uber_5k: EngineWorkload) -> None:
    configured = uber_5k.batches[0]
    stamp = configured.stamps[int(configured.stamp_of_machine[0])]
    assert configured.ids[0] == "conf-s0-c0-i0"
    assert (stamp.priority, stamp.interruption_penalty, stamp.reclamation_penalty) == (100, 32, 64)


def test_a_gpu_node_for_inference_holds_eight_pods() -> None:
    configured = SHAPES["uber-5k"].build(0.05).batches[0]
    first_inference = 166 + 29 + 14 + 15 + 15
    node = configured.offerings[int(configured.offering_of_machine[first_inference])]
    assert node.allocatable.texts() == {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "8"}
