"""The single-purpose shapes have the cardinalities their definitions state."""

from collections import Counter

import numpy as np
import pytest

from bigfleet.bench.engine.shapes import SHAPES
from bigfleet.bench.engine.workload import EngineWorkload, machine_at
from bigfleet.model.machines import MachineState, why_invalid


@pytest.mark.parametrize(
    ("name", "machines", "needs"),
    [
        ("B1", 60_000, 50_000),
        ("B2", 18_000, 160),
        ("B3", 100_000, 20_000),
        ("B4", 18_000, 2_580),
        ("B5", 10_000, 50_000),
        ("B6", 12_000, 1),
        ("B7", 500_000, 100 + 10),
        ("B8", 450_000, 100 + 50),
        ("B9", 500_000, 150),
        ("B10", 450_000, 50),
        ("B11-1K", 1_000, 50_000),
        ("scaleway-500k", 500_000, 50),
        ("B12", 60_000, 0),
        ("B13", 0, 50_000),
    ],
)
def test_a_shape_has_its_stated_size(name: str, machines: int, needs: int) -> None:
    workload = SHAPES[name].build(1.0)
    assert (workload.machine_count, workload.need_count) == (machines, needs)


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_the_same_every_time(name: str) -> None:
    first, second = (_fingerprint(SHAPES[name].build(0.004)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", SHAPES)
def test_the_machines_of_a_shape_break_no_invariant(name: str) -> None:
    workload = SHAPES[name].build(0.002)
    problems = [
        why_invalid(machine_at(batch, row))
        for batch in workload.batches
        for row in range(0, len(batch.ids), 97)
    ]
    assert not any(problems)


@pytest.mark.parametrize("name", SHAPES)
def test_ids_are_distinct_and_needs_lie_under_their_own_cluster(name: str) -> None:
    workload = SHAPES[name].build(0.01)
    ids = [machine for batch in workload.batches for machine in batch.ids]
    assert len(set(ids)) == len(ids)
    assert all(need.cluster == c for c, rows in workload.needs.items() for need in rows)


def test_scale_grows_and_shrinks_a_shape() -> None:
    sizes = [SHAPES["B1"].build(scale).machine_count for scale in (0.1, 1.0, 2.0)]
    assert sizes == [6_000, 60_000, 120_000]


def test_b1_has_thirteen_profiles_and_fifteen_percent_gangs() -> None:
    needs = [need for rows in SHAPES["B1"].build(1.0).needs.values() for need in rows]
    assert len({need.profile for need in needs}) == 13
    assert sum(need.profile.same is not None for need in needs) == 7_500


def test_b3_fills_eight_racks_evenly() -> None:
    (batch,) = SHAPES["B3"].build(1.0).batches
    assert np.bincount(batch.offering_of_machine).tolist() == [12_500] * 8


def test_b4_is_almost_all_gangs() -> None:
    rows = SHAPES["B4"].build(1.0).needs["c-0"]
    gangs = Counter(need.group.split("-")[0] for need in rows if need.profile.same is not None)
    assert gangs == {"mem": 95, "gpu": 32}


@pytest.mark.parametrize(("group", "folds"), [("mem-0", True), ("gpu-0", False)])
def test_b4_has_machines_that_hold_a_whole_cache_gang_but_no_gpu_gang(
    group: str, folds: bool
) -> None:
    workload = SHAPES["B4"].build(1.0)
    (gang,) = (need for need in workload.needs["c-0"] if need.group == group)
    hosts = [o for batch in workload.batches for o in batch.offerings]
    assert any(host.resources.covers(gang.aggregate) for host in hosts) is folds


def test_b7_leaves_its_hundred_needs_without_machines_of_their_own() -> None:
    workload = SHAPES["B7"].build(0.01)
    (batch,) = workload.batches
    assert "wanting" not in batch.clusters
    assert len(workload.needs["wanting"]) == 100
    kept = sum(rows[0].aggregate["cpu"] for c, rows in workload.needs.items() if c != "wanting")
    assert kept == len(batch.ids) * 1000


def test_b10_is_a_ninth_short_in_every_cluster() -> None:
    workload = SHAPES["B10"].build(0.1)
    (batch,) = workload.batches
    bound = np.bincount(batch.cluster_of_machine)
    assert bound.tolist() == [900] * 50
    assert {rows[0].aggregate["cpu"] for rows in workload.needs.values()} == {1_000_000}


def test_b12_has_two_idle_machines_for_each_bound_one() -> None:
    idle, bound = SHAPES["B12"].build(1.0).batches
    assert (len(idle.ids), len(bound.ids)) == (40_000, 20_000)
    assert set(bound.state_of_machine.tolist()) == {MachineState.CONFIGURED}


def _fingerprint(workload: EngineWorkload) -> list[object]:
    return [
        dict(workload.needs),
        *(
            (
                list(batch.ids),
                list(batch.offerings),
                list(batch.clusters),
                list(batch.stamps),
                batch.offering_of_machine.tolist(),
                batch.state_of_machine.tolist(),
                batch.cluster_of_machine.tolist(),
                batch.stamp_of_machine.tolist(),
            )
            for batch in workload.batches
        ),
    ]
