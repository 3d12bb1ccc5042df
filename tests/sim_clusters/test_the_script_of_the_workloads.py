"""The script: one seed, one story; everything in its first minute; never more than there is."""

from collections.abc import Iterator
from itertools import islice, takewhile

import pytest

from bigfleet.provider.sim.world.presets import SECURITY_MODULE
from bigfleet.sim.script import GANG_NODES, Change, NodeLoss, WorkloadScale, living_script
from bigfleet.sim.workloads import (
    BATCH,
    CACHE,
    HUNGRY_JOB,
    ML,
    SECURE_KEY,
    SHOP,
    SMALL_JOB,
    SMALL_WEB,
    TINY,
)

CPU_PER_NODE = 7_500
#: Of the small fleet.
MACHINES, SECURED = 1_200, 93
SEEDS = range(1, 9)


def changes_until(seconds: float, seed: int = 1, size: float = 1.0) -> list[Change]:
    script = living_script(seed, size)
    return list(takewhile(lambda change: change.at_seconds <= seconds, script))


def until(seconds: float, seed: int = 1, size: float = 1.0) -> list[WorkloadScale]:
    return [each for each in changes_until(seconds, seed, size) if isinstance(each, WorkloadScale)]


def nodes_of(replicas: dict[str, WorkloadScale]) -> int:
    """Whole nodes each workload needs at most, added up."""
    return sum(
        -(-scale.replicas * scale.workload.request["cpu"] // CPU_PER_NODE)
        for scale in replicas.values()
    )


def test_the_same_seed_gives_the_same_script() -> None:
    assert changes_until(3600, seed=7) == changes_until(3600, seed=7)


def test_another_seed_gives_another_script() -> None:
    assert until(600, seed=1) != until(600, seed=2)


@pytest.mark.parametrize("seed", SEEDS)
def test_time_never_runs_backwards(seed: int) -> None:
    times = [change.at_seconds for change in islice(living_script(seed), 2_000)]
    assert times == sorted(times)


def test_the_first_minute_has_a_deploy_or_wave_of_every_kind() -> None:
    told = {(scale.cluster, scale.workload.name) for scale in until(60)}
    assert {(SHOP, "web"), (ML, "train-0"), (ML, "train-2"), (BATCH, "etl")} <= told
    assert {(BATCH, "wave-0"), (SHOP, "checkout-0")} <= told


def test_a_gang_has_all_its_members_or_none() -> None:
    gangs = [scale.replicas for scale in until(3600) if scale.workload.is_gang]
    assert set(gangs) == {0, GANG_NODES}


def test_life_goes_on() -> None:
    """An hour later there are still deploys, waves, gangs and surges."""
    late = {s.workload.name.split("-")[0] for s in until(4200) if s.at_seconds > 3600}
    assert late == {"web", "api", "search", "cache", "train", "wave", "checkout"}


def test_pods_have_shapes_that_do_not_divide_a_node() -> None:
    shapes = {scale.workload.request for scale in until(600)}
    assert len(shapes) >= 7
    assert all(CPU_PER_NODE % shape["cpu"] for shape in shapes - {TINY, CACHE, HUNGRY_JOB})


def test_on_machines_of_another_provider_deployments_and_jobs_are_small() -> None:
    script = takewhile(lambda change: change.at_seconds <= 600, living_script(1, own=False))
    scales = [
        each for each in script if isinstance(each, WorkloadScale) and not each.workload.is_gang
    ]
    assert {each.workload.request for each in scales} == {SMALL_WEB, SMALL_JOB, TINY}


def test_a_node_is_lost_now_and_then() -> None:
    losses = [each for each in changes_until(1800) if isinstance(each, NodeLoss)]
    assert losses[0].at_seconds == 75.0
    assert 8 <= len(losses) <= 15
    assert all(0 <= each.place < 1 for each in losses)


@pytest.mark.parametrize("seed", SEEDS)
def test_supply_can_always_meet_the_demand(seed: int) -> None:
    """With a third to spare for machines that are on their way back."""
    living: dict[str, WorkloadScale] = {}
    for scale in until(3600, seed):
        living[scale.workload.name] = scale
        assert nodes_of(living) <= MACHINES * 2 // 3
        secured = {n: s for n, s in living.items() if n.startswith("checkout")}
        assert nodes_of(secured) <= SECURED


def test_a_larger_fleet_has_more_of_everything() -> None:
    small, large = (
        nodes_of({scale.workload.name: scale for scale in until(10, size=size)})
        for size in (1.0, 20.0)
    )
    assert large == pytest.approx(20 * small, rel=0.02)


def test_the_checkout_surge_may_stay_as_it_is_in_a_larger_fleet() -> None:
    def surge(script: Iterator[Change]) -> WorkloadScale:
        scales = (change for change in script if isinstance(change, WorkloadScale))
        return next(scale for scale in scales if scale.workload.name == "checkout-0")

    assert surge(living_script(1, 20.0, surge_size=1.0)) == surge(living_script(1))
    assert surge(living_script(1, 20.0)).replicas == 20 * surge(living_script(1)).replicas


def test_checkout_asks_for_what_the_demo_fleet_has() -> None:
    assert SECURE_KEY == SECURITY_MODULE
