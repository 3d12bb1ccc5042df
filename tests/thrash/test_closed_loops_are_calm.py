"""Decisions carried out by slow machines, cycle after cycle: nothing goes back and forth.

An engine that forgets its reservations is caught, with a witness a person can read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from bigfleet.model.actions import ActionKind
from bigfleet.model.fleet import Fleet, FleetMachine
from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.needs import NeedKey
from bigfleet.model.thrash import ThrashKind
from bigfleet.plan.cycle import decide_fleet
from bigfleet.thrash.detector import Detector
from bigfleet.thrash.findings import Findings, findings_of, sentence_of
from tests.closedloop.laws import slow_world
from tests.closedloop.simulator import Simulator
from tests.generated.agreement import SomeDecision, SomeVerdict
from tests.generated.fleets import fleet_of_seed
from tests.thrash.loops import Decide, WatchedLoop, as_a_shard_starts, without_reservations
from tests.worlds.fleets import NOW, fleet_of
from tests.worlds.gpus import MILLION, bound, gang, need, plain, profile

#: Seconds that each victim of the worked case takes to drain.
DRAINS = {"v-0": 10, "v-1": 60, "v-2": 300, "v-3": 600}
#: Every last action of a loop comes before this cycle (`tests.closedloop.laws`).
CYCLES = 120
#: Two gangs of one profile swap racks before an order of theirs is there (30146), a gang chooses
#: another rack (20013, 30233, 30689), a machine that was given back covers the Need another one was
#: preempted for (20053). In 30984 a gang that fits no rack sees machines that plain Needs take. In
#: 33370 an order is Idle and no one's for a cycle: another gang has it, and the machine that was
#: given back for it goes from cluster to cluster, and back.
RETURNS_WHILE_SETTLING = (20013, 20053, 30146, 30233, 30689, 30984, 33370)
#: ADR-0015: gangs that fit no rack swapped theirs (30806), or a parked one left its own (30751); a
#: machine created within the cycle that found nothing to do (31010); no clock (33041); a gang that
#: preempts in the rack it went to (31484, 32213); one that is tried again, goes to another rack and
#: back, because a higher gang is credited otherwise then (32205), or buys what was released while
#: it was parked (33963, 34271, 34354).
ONCE_NOT_CALM = (30751, 30806, 31010, 31484, 32205, 32213, 33041, 33963, 34271, 34354)
#: What may be seen while a fleet settles to a demand that has just arrived.
RETURNS = (ThrashKind.RETURN, ThrashKind.PING_PONG)
SETTLES = (*RETURNS, ThrashKind.REBUY)


@dataclass(slots=True)
class SlowDrains(Simulator):
    """Every drain takes the time it is given, everything else is done within the cycle."""

    seconds: dict[str, int] = field(default_factory=dict)

    def _takes(self, name: str) -> bool:
        cycles = 0
        if self.machine(name).state is MachineState.DRAINING:
            cycles = self.seconds.get(name, 30) // self.cycle_seconds
        if cycles == 0:
            self._finish(name)
        else:
            self.left[name] = cycles
        return cycles > 0


def of_batch(name: str) -> FleetMachine:
    """Bound to the lower Need that wants a machine all the time, or to its own one."""
    fingerprint = profile(100).fingerprint
    machine = bound(name, "batch", 100, zone="a")
    stamped = replace(machine.machine.assigned, need_fingerprint=fingerprint)
    return replace(machine, machine=replace(machine.machine, assigned=stamped))


def theft() -> Fleet:
    """A gang of four on a full fleet of six, and a lower Need that wants one machine more."""
    machines = [of_batch(f"v-{number}") for number in range(6)]
    needs = [gang("train", MILLION, 4, "g"), plain("batch", 100, 6), plain("lower", 10, 1)]
    return fleet_of(machines, needs, now=NOW)


def loop_of(fleet: Fleet, decide: Decide = decide_fleet) -> WatchedLoop:
    world = SlowDrains(fleet, Random(0), cycle_seconds=10, seconds=DRAINS)
    return WatchedLoop(world, decide)


def bound_to(loop: WatchedLoop, cluster: str) -> list[Machine]:
    machines = (each.machine for each in loop.world.fleet.machines)
    return [m for m in machines if m.state is MachineState.CONFIGURED and m.cluster == cluster]


def test_partial_drain_theft_a_gang_gets_its_four_victims_and_no_fifth() -> None:
    loop = loop_of(theft())
    assert loop.run(80) == []
    assert loop.count(ActionKind.PREEMPT) == 4
    assert loop.count(ActionKind.BOOTSTRAP, "lower") == 0
    assert len(bound_to(loop, "train")) == 4


def test_without_reservations_the_same_fleet_is_caught_with_at_most_six_actions() -> None:
    loop = loop_of(theft(), without_reservations(decide_fleet))
    found = loop.run(80)
    assert found[0].kind is ThrashKind.REPEATED
    assert len(found[0].witness) <= 6
    assert found[0].kind in {each.kind for each in findings_of(found[0].witness)}


def test_preemption_stability_a_victim_resubmitted_unchanged_preempts_nothing_more() -> None:
    """Its demand stays as it was all the time: it is short, and takes nothing back."""
    needs = [need("train", profile(MILLION), 2), plain("batch", 100, 4)]
    loop = loop_of(fleet_of([of_batch(f"v-{number}") for number in range(4)], needs, now=NOW))
    assert loop.run(80) == []
    assert loop.count(ActionKind.PREEMPT) == 2
    assert len(bound_to(loop, "train")) == len(bound_to(loop, "batch")) == 2


def settle(loop: WatchedLoop, since: int | None = None) -> list[str]:
    """Until a cycle finds nothing to do, nothing under way and nothing reserved; what went wrong
    before. `since`: how much had been seen when it began; None: it begins now."""
    known = len(loop.found) if since is None else since
    last, is_still = loop.cycle + CYCLES, False
    while not is_still:
        assert loop.cycle < last, "it does not settle"
        # What is complete within the time of a cycle is seen by the next decision only.
        busy = loop.world.moving or loop.world.fleet.memory.reservations
        is_still = not (loop.run_cycle().actions or busy)
    seen = loop.found[known:]
    # A return from another cluster is two sightings of one Bootstrap.
    came = {(each.last.machine, each.at) for each in seen if each.kind in RETURNS}
    returned = [machine for machine, _ in came]
    twice = {machine for machine in returned if returned.count(machine) > 1}
    return [
        *(f"while it settles: {sentence_of(each)}" for each in seen if each.kind not in SETTLES),
        *(f"while it settles {machine} returned more than once" for machine in sorted(twice)),
    ]


def stay(loop: WatchedLoop) -> list[str]:
    """Until time alone changes nothing any more, half an hour or more; everything that was seen.

    When a parked gang is tried again and takes something, the fleet settles anew.
    """
    told: list[str] = []
    quiet, last = 0, loop.cycle + CYCLES
    while loop.cycle < last and quiet < (50 if waits_for_something(loop.world.fleet) else 2):
        known, parked = len(loop.found), parked_gangs(loop)
        decision = loop.run_cycle()
        quiet = quiet + 1 if not decision.actions and not loop.world.moving else 0
        if tried := {key: lack for key, lack in parked.items() if takes_something(key, decision)}:
            told += settle(loop, known)
            if any(each.kind in RETURNS for each in loop.found[known:]):
                told += gains_nothing(loop, tried)
        else:
            told += [f"at steady demand: {sentence_of(each)}" for each in loop.found[known:]]
    return told


def parked_gangs(loop: WatchedLoop) -> dict[NeedKey, float]:
    """With the part of it that each lacks."""
    found: dict[NeedKey, float] = {}
    for each in loop.decision.verdicts if loop.decision else ():
        if each.parked:
            found[each.need.key] = found.get(each.need.key, 0.0) + lacks(each)
    return found


def lacks(verdict: SomeVerdict) -> float:
    wanted = verdict.need.aggregate
    return sum(amount / wanted[name] for name, amount in verdict.deficit.positive().amounts)


def takes_something(key: NeedKey, decision: SomeDecision) -> bool:
    taken = (a.need for a in decision.actions if a.need is not None)
    return any(decision.verdicts[row].need.key == key for row in taken)


def gains_nothing(loop: WatchedLoop, tried: Mapping[NeedKey, float]) -> list[str]:
    """Machines may go and come back for a gang that is tried again, if it has more in the end."""
    assert loop.decision is not None
    left = dict.fromkeys(tried, 0.0)
    for each in loop.decision.verdicts:
        if each.need.key in left:
            left[each.need.key] += lacks(each)
    return [
        f"{key.cluster}/{key.group} was tried again for nothing: it lacked {before:.0%} of a"
        f" dimension, and lacks {left[key]:.0%}"
        for key, before in tried.items()
        if left[key] >= before
    ]


def waits_for_something(fleet: Fleet) -> bool:
    """For the end of a reservation, for a parked gang to be tried again, for a release."""
    holds = fleet.options.release_holds
    idle = (e.machine for e in fleet.machines if e.machine.state is MachineState.IDLE)
    kept = any(holds.get(machine.capacity_type) for machine in idle)
    return kept or bool(fleet.memory.reservations or fleet.memory.parking)


def lose_a_bound_machine(loop: WatchedLoop, chance: Random) -> None:
    fleet = loop.world.fleet
    bound = [e.machine.id for e in fleet.machines if e.machine.state is MachineState.CONFIGURED]
    if bound:
        gone = chance.choice(bound)
        left = tuple(each for each in fleet.machines if each.machine.id != gone)
        loop.world.fleet = replace(fleet, machines=left)
        # What was released before has nothing to do with the loss.
        loop.detector = Detector()


def loop_of_seed(seed: int) -> WatchedLoop:
    return WatchedLoop(slow_world(as_a_shard_starts(fleet_of_seed(seed)), seed), decide_fleet)


def assert_calm(seeds: Iterable[int]) -> None:
    """Ruling S75. All of the demand of a generated fleet arrives at once, at machines that were
    bound for something else; and then a machine is lost. While that settles a machine may leave and
    return (law 5), but once, and nothing repeats. From then on demand is steady, and nothing goes
    back and forth: when reservations end, idle machines are released, parked gangs are tried again.
    Where such a gang takes something, that settles as the rest did; if a machine returns meanwhile,
    the gang has more in the end.
    """
    told: list[str] = []
    for seed in seeds:
        loop = loop_of_seed(seed)
        seen = [*settle(loop), *stay(loop)]
        lose_a_bound_machine(loop, Random(seed))
        seen += [*settle(loop), *stay(loop)]
        told += [f"seed {seed}, {each}" for each in seen]
    assert told == []


@pytest.mark.parametrize("share", range(2))
def test_random_loops_at_steady_demand_are_calm(share: int) -> None:
    assert_calm(range(20_000 + share, 20_040, 2))


def test_loops_in_which_a_machine_returns_while_they_settle() -> None:
    assert_calm(RETURNS_WHILE_SETTLING)


def test_loops_that_were_once_not_calm() -> None:
    assert_calm(ONCE_NOT_CALM)


def test_a_machine_that_keeps_returning_is_told() -> None:
    """Loop 30984 without the rail: what is looked for can be found."""
    loop = loop_of_seed(30984)
    loop.findings = Findings(hold_seconds=0.0)
    assert settle(loop) == ["while it settles m06 returned more than once"]


@pytest.mark.nightly("5,000 closed loops")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("share", range(50))
def test_five_thousand_random_loops_at_steady_demand_are_calm(share: int) -> None:
    assert_calm(range(30_000 + share * 100, 30_000 + share * 100 + 100))


def test_random_loops_of_an_engine_without_reservations_are_caught() -> None:
    """Among loops in which two Needs compete for what is freed; each witness is short."""
    found = [
        seen
        for seed in range(20_000, 20_060)
        for seen in WatchedLoop(
            slow_world(fleet_of_seed(seed), seed), without_reservations(decide_fleet)
        ).run(20)
    ]
    assert found
    assert all(len(seen.witness) <= 6 for seen in found)
