"""A live shard as a fleet file: `plan` decides on it what the shard decided."""

import random

import pytest

from bigfleet.fleetfile import dump_fleet, load_fleet
from bigfleet.model.actions import Action
from bigfleet.model.fleet import Fleet
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.plan.cycles import planned_cycles
from tests.hazards.virtual_fleet import bound, need
from tests.need_states.virtual_shard import BANK, SHOP, VirtualShard, idle, slot
from tests.plan.live_dumps import dump_of

Step = tuple[str, str, str, int]


def decided(actions: tuple[Action, ...]) -> list[Step]:
    return [(a.kind.label, a.machine, a.cluster, a.grace_seconds) for a in actions]


def planned(fleet: Fleet) -> list[Step]:
    cycle = next(planned_cycles(fleet, workers=1, clock=lambda: 0.0))
    return decided(cycle.decision.actions)


def dumped(shard: VirtualShard) -> Fleet:
    return load_fleet(dump_of(shard.state), "-")


def test_a_calm_fleet_has_nothing_to_do() -> None:
    shard = VirtualShard([bound("m-1", SHOP), bound("m-2", SHOP), slot("s-1")], {})
    shard.report(SHOP, need(SHOP, 2, 10))
    shard.run(3)
    assert planned(dumped(shard)) == []


@pytest.mark.parametrize("seed", range(4))
def test_every_cycle_of_a_busy_shard_is_decided_again_alike(seed: int) -> None:
    """Buying, binding, preempting with reservations, giving back: seeds are in the name."""
    chance = random.Random(seed)
    machines = [idle(f"m-{n}") for n in range(4)] + [slot(f"s-{n}") for n in range(3)]
    shard = VirtualShard([*machines, bound("b-1", BANK), bound("b-2", BANK)], {})
    acted = 0
    for _ in range(12):
        shard.report(SHOP, need(SHOP, chance.randrange(1, 6), chance.choice([5, 50])))
        shard.report(BANK, need(BANK, chance.randrange(0, 4) or 1, 20))
        shard.run(1)
        decision = shard.state.decision_loop.decision
        assert decision is not None
        acted += decision.action_count
        assert planned(dumped(shard)) == decided(decision.actions)
    assert acted, "a test of nothing otherwise"


def test_a_requirement_without_operator_is_dumped_as_such() -> None:
    """wire.md accepts it, and it matches nothing."""
    shard = VirtualShard([idle("m-1")], {})
    odd = Profile.of([Requirement.of("rack", Operator.UNSPECIFIED)], priority=3)
    unit = Resources.parse({"cpu": "1"})
    shard.report(SHOP, Need(SHOP, odd, unit, unit))
    shard.run(2)
    fleet = dumped(shard)
    assert fleet.needs[0].need.profile == odd
    assert planned(fleet) == []


def test_what_is_dumped_is_canonical_and_says_where_it_comes_from() -> None:
    shard = VirtualShard([bound("m-1", SHOP), idle("m-2"), slot("s-1")], {})
    shard.report(SHOP, need(SHOP, 1, 10))
    shard.run(2)
    content = dump_of(shard.state)
    fleet = load_fleet(content, "-")
    assert dump_fleet(fleet, "fleet.jsonl") == content
    hosts = {entry.machine.id: entry.machine.host.ref for entry in fleet.machines}
    assert hosts == {"m-1": "host-of-m-1", "m-2": "host-of-m-2", "s-1": ""}
    assert fleet.provenance.shard == shard.state.settings.id
    assert fleet.provenance.cycle == f"{shard.state.epoch}:{shard.state.decision_loop.number}"
    assert fleet.now == shard.at // SECOND * SECOND
    assert fleet.options.clusters_ready == frozenset({SHOP})
