"""Worked cases H7 to H17: how fast a cluster may lose machines."""

from random import Random

import pytest

from bigfleet.model.actions import ActionKind as K
from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed
from bigfleet.model.machines import MachineState as S
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.reclaim_cap import reclaim_cap
from bigfleet.model.shard_views import Disposition as D
from bigfleet.plan.cycle import decide_fleet
from bigfleet.plan.cycles import next_fleet
from bigfleet.shard.rails.dispositions import Limits
from tests.rails.situations import START, Shard, action, reclaims
from tests.shard_cases.rig import SHOP, cores, machine


@pytest.mark.parametrize(
    ("fraction", "configured", "cap"),
    [
        pytest.param(0.05, 0, 1, id="h7"),
        pytest.param(0.05, 1, 1, id="h8"),
        pytest.param(0.05, 19, 1, id="h9"),
        pytest.param(0.05, 21, 1, id="h10"),
        pytest.param(0.05, 40, 2, id="h11"),
        pytest.param(0.05, 100, 5, id="h12"),
        pytest.param(0.25, 40, 10, id="h13"),
        pytest.param(0.5, 7, 3, id="h14"),
    ],
)
def test_the_cap_of(fraction: float, configured: int, cap: int) -> None:
    assert reclaim_cap(fraction, configured) == cap
    shard = Shard(
        configured={"a": configured}, limits=Limits(reclaim_cap_fraction=fraction, room=1000)
    )
    assert shard.rulings(*reclaims("a", 200)).count(D.ENQUEUED) == cap


def decided() -> list[tuple[K, str, str]]:
    return [
        *((K.RECLAIM, f"a-{i}", "a") for i in range(10)),
        *((K.BOOTSTRAP, f"boot-{i}", "a") for i in range(3)),
        *((K.RECLAIM, f"b-{i}", "b") for i in range(3)),
        *((K.PREEMPT, f"victim-{i}", "b") for i in range(2)),
    ]


@pytest.mark.parametrize(("fraction", "kept", "capped"), [(0.05, 3, 10), (0.0, 13, 0)])
def test_h15_the_first_reclaims_of_each_cluster_and_everything_else(
    fraction: float, kept: int, capped: int
) -> None:
    shard = Shard(
        configured={"a": 40, "b": 10}, limits=Limits(reclaim_cap_fraction=fraction, room=1000)
    )
    actions = [action(*which) for which in decided()]
    disposed = shard.dispose(*actions)
    started = [a.machine for _, a in disposed.enqueued()]
    assert sum(f.disposition is D.CAPPED for f in disposed.rulings) == capped
    assert len([name for name in started if name[:2] in ("a-", "b-")]) == kept
    others = ["boot-0", "boot-1", "boot-2", "victim-0", "victim-1"]
    assert [name for name in started if name in others] == others
    if capped:
        assert [name for name in started if name not in others] == ["a-0", "a-1", "b-0"]


def cluster_of(size: int, cpus: int) -> Fleet:
    """One cluster with `size` machines of 8 CPU that wants `cpus`."""
    machines = tuple(FleetMachine(machine(f"m-{i:02}", S.CONFIGURED, SHOP)) for i in range(size))
    return Fleet(machines, wanting(cpus), now=START)


def wanting(cpus: int) -> tuple[FleetNeed, ...]:
    need = Need(SHOP, Profile.of(priority=100), cores(cpus))
    return (FleetNeed(need),) if cpus else ()


def run_cycle(fleet: Fleet, rails: Shard) -> tuple[Fleet, int]:
    """Decided, held back by the rails, and what is left completed at once; Reclaims started."""
    assert fleet.now is not None
    rails.configured = {SHOP: sum(m.machine.state is S.CONFIGURED for m in fleet.machines)}
    decision = decide_fleet(fleet)
    disposed = rails.dispose(*decision.actions, at=fleet.now)
    started = tuple(a for _, a in disposed.enqueued())
    lost = sum(a.kind is K.RECLAIM for a in started)
    return next_fleet(fleet, started, decision.memory), lost


def test_h16_an_emptied_cluster_loses_its_machines_cap_by_cap() -> None:
    # A window of one cycle, as the case has it.
    limits = Limits(reclaim_cap_fraction=0.25, reclaim_cap_window_seconds=1, room=1000)
    fleet, rails = cluster_of(40, 0), Shard(limits=limits)
    left = 40
    for _ in range(40):
        cap = reclaim_cap(0.25, left)
        fleet, lost = run_cycle(fleet, rails)
        assert lost <= cap
        left -= lost
    assert left == 0
    assert {m.machine.state for m in fleet.machines} == {S.IDLE}


@pytest.mark.parametrize("seed", range(5))
def test_h17_swings_of_demand_never_exceed_the_cap_in_a_cycle_or_a_window(seed: int) -> None:
    chance = Random(seed)
    fleet = cluster_of(60, 480)
    rails = Shard(limits=Limits(reclaim_cap_fraction=0.05, room=1000))
    lost_in_cycle: list[int] = []
    for _ in range(50):
        assert fleet.now is not None
        swung = Fleet(
            fleet.machines,
            wanting(chance.choice([0, 40, 240, 480])),
            now=fleet.now,
            memory=fleet.memory,
        )
        fleet, lost = run_cycle(swung, rails)
        lost_in_cycle.append(lost)
        assert lost <= reclaim_cap(0.05, rails.configured[SHOP])
    windows = [sum(lost_in_cycle[i : i + 10]) for i in range(50)]
    assert max(windows) <= reclaim_cap(0.05, 60)
    assert sum(lost_in_cycle) > reclaim_cap(0.05, 60)
