"""Why-not names what stands in the way; where it is fixed, the outcome changes or a later predicate
stands in the way. One worked case for each predicate."""

import re

import pytest

from bigfleet.explain.decided_cycle import DecidedCycle, NoSuchObject
from bigfleet.explain.why_not import (
    why_not_assigned,
    why_not_preempted,
    why_not_removed,
    why_not_satisfied,
)
from bigfleet.model.machine_answers import WhyNot
from bigfleet.plan.cycle import engine_input_of
from tests.plan.fleets import fleet_of

IDLE = "state: Idle, capacityType: BareMetal, zone: a, resources: {cpu: 8}"
SPOT = "state: Speculative, capacityType: Spot, zone: a, pricePerHour: 1, resources: {cpu: 8}"
ZONE = "topology.kubernetes.io/zone"
SHOP = "cluster: shop, priority: 100, aggregateResources: {cpu: 8}, minUnit: {cpu: 4}"
HIGH = "cluster: top, priority: 900, aggregateResources: {cpu: 8}, minUnit: {cpu: 4}"
BOUND = (
    "state: Configured, cluster: batch, capacityType: OnDemand, zone: a, resources: {cpu: 8},"
    " assigned: {priority: 10}"
)
BATCH = "cluster: batch, priority: 10, aggregateResources: {cpu: 8}, minUnit: {cpu: 4}"
BOTH = BATCH.replace("cpu: 8", "cpu: 16")
#: Expensive to interrupt: a worse victim.
DEAR = BOUND.replace("priority: 10", "priority: 10, interruptionPenalty: 50")
OWN = BOUND.replace("batch", "shop").replace("priority: 10", "priority: 100")
#: Two machines of one zone, or none; BOUND and IDLE are in zone a.
GANG = (
    "cluster: shop, priority: 100, aggregateResources: {cpu: 16}, minUnit: {cpu: 8},"
    f" requirements: [{{key: {ZONE}, operator: Same}}]"
)
SPREAD = (
    f"cluster: shop, priority: 100, aggregateResources: {{cpu: 32}}, minUnit: {{cpu: 8}},"
    f" spread: [{{topologyKey: {ZONE}, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}}]"
)
ORDERED = (
    "state: Creating, capacityType: Spot, zone: a, resources: {cpu: 8},"
    " assigned: {priority: 100, cluster: shop, needFingerprint: 'p=100|ipb=0|rpb=0|reqs=|spr='}"
)
IDLE_B = IDLE.replace("zone: a", "zone: b")
NOW = 'options: {now: "2026-01-01T01:00:00Z"}'


def reserved_for(need: str, kind: str = "preemption") -> str:
    """Machine m waits for this Need."""
    wanted = fleet_of(f"machines: []\nneeds: [{{{need}}}]").needs[0].need
    return (
        f"memory: {{reservations: [{{machine: m, kind: {kind}, cluster: {wanted.cluster},"
        f' needFingerprint: "{wanted.profile.fingerprint}", group: ""}}]}}'
    )


def decided(machines: list[str], needs: list[str], rest: str = "") -> DecidedCycle:
    rows = "\n".join(f"  - {{{machine}}}" for machine in machines)
    wanted = "\n".join(f"  - {{{need}}}" for need in needs)
    given = engine_input_of(fleet_of(f"machines:\n{rows}\nneeds:\n{wanted}\n{rest}"))
    return DecidedCycle(given, given.decide())


def asked(machines: list[str], needs: list[str], rest: str = "") -> WhyNot:
    """Why the Need of shop does not have machine m."""
    cycle = decided(machines, needs, rest)
    return why_not_assigned(cycle, cycle.row_of("m"), cycle.need_row("shop", ""))


def name_of(answer: WhyNot) -> str:
    return answer.blocking.name if answer.blocking else ""


#: Predicate, with a word where it is asked in several ways, then (machines, needs, rest) that fails
#: it, then the same with it fixed.
CASES = {
    "state": (
        ([f"id: m, {BOUND.replace('Configured', 'Draining')}"], [SHOP], ""),
        ([f"id: m, {IDLE}"], [SHOP], ""),
    ),
    "held": (
        ([f"id: m, {IDLE}, held: {{by: quota}}"], [SHOP], ""),
        ([f"id: m, {IDLE}"], [SHOP], ""),
    ),
    f"requirement {ZONE}": (
        (
            [f"id: m, {IDLE}"],
            [f"{SHOP}, requirements: [{{key: {ZONE}, operator: In, values: [b]}}]"],
            "",
        ),
        (
            [f"id: m, {IDLE.replace('zone: a', 'zone: b')}"],
            [f"{SHOP}, requirements: [{{key: {ZONE}, operator: In, values: [b]}}]"],
            "",
        ),
    ),
    "min-unit cpu": (
        ([f"id: m, {IDLE}, allocatable: {{cpu: 3500m}}"], [SHOP], ""),
        ([f"id: m, {IDLE}, allocatable: {{cpu: 4}}"], [SHOP], ""),
    ),
    "domain": (
        (
            [f"id: m, {IDLE}", *(f"id: n{i}, {IDLE.replace('zone: a', 'zone: b')}" for i in "12")],
            [
                f"{SHOP.replace('{cpu: 8}', '{cpu: 16}').replace('{cpu: 4}', '{cpu: 8}')},"
                f" requirements: [{{key: {ZONE}, operator: Same}}]"
            ],
            "",
        ),
        (
            [f"id: m, {IDLE}", f"id: m2, {IDLE}", f"id: n, {IDLE.replace('zone: a', 'zone: b')}"],
            [
                f"{SHOP.replace('{cpu: 8}', '{cpu: 16}').replace('{cpu: 4}', '{cpu: 8}')},"
                f" requirements: [{{key: {ZONE}, operator: Same}}]"
            ],
            "",
        ),
    ),
    "claimed": (
        ([f"id: m, {IDLE}"], [SHOP, HIGH], ""),
        ([f"id: m, {IDLE}"], [SHOP.replace("100", "1000"), HIGH], ""),
    ),
    "cost": (
        (
            [f"id: m, {SPOT}", f"id: n, {SPOT.replace('pricePerHour: 1', 'pricePerHour: 0.5')}"],
            [SHOP],
            "",
        ),
        (
            [
                f"id: m, {SPOT.replace('pricePerHour: 1', 'pricePerHour: 0.2')}",
                f"id: n, {SPOT.replace('pricePerHour: 1', 'pricePerHour: 0.5')}",
            ],
            [SHOP],
            "",
        ),
    ),
    "priority": (
        ([f"id: m, {BOUND}"], [SHOP, BATCH.replace("priority: 10", "priority: 100")], ""),
        ([f"id: m, {BOUND}"], [SHOP, BATCH], ""),
    ),
    "short": (
        ([f"id: m, {BOUND}", f"id: n, {IDLE}"], [SHOP, BATCH], ""),
        ([f"id: m, {BOUND}"], [SHOP, BATCH], ""),
    ),
    "score": (
        ([f"id: a, {BOUND}", f"id: m, {DEAR}"], [SHOP, BOTH], ""),
        ([f"id: a, {DEAR}", f"id: m, {BOUND}"], [SHOP, BOTH], ""),
    ),
    "keep order": (
        (
            [
                f"id: a, {BOUND.replace('batch', 'shop')}",
                f"id: m, {BOUND.replace('batch', 'shop')}",
            ],
            [SHOP],
            "",
        ),
        (
            [
                f"id: a, {BOUND.replace('batch', 'shop')}",
                f"id: m, {BOUND.replace('batch', 'shop')}",
            ],
            [SHOP.replace("cpu: 8", "cpu: 16")],
            "",
        ),
    ),
    "overdue": (
        ([f"id: m, {OWN}, overdue: true"], [SHOP], ""),
        ([f"id: m, {OWN}"], [SHOP], ""),
    ),
    "reserved": (
        ([f"id: a, {IDLE}", f"id: m, {IDLE}"], [SHOP, HIGH], reserved_for(HIGH)),
        ([f"id: a, {IDLE}", f"id: m, {IDLE}"], [SHOP, HIGH], ""),
    ),
    "reserved, offered to another shard": (
        ([f"id: m, {IDLE}"], [SHOP], reserved_for(SHOP, "offer")),
        ([f"id: m, {IDLE}"], [SHOP], reserved_for(SHOP, "transfer-in")),
    ),
    "parked": (
        ([f"id: m, {IDLE}", f"id: n, {IDLE}"], [f"{GANG}, acquisitionParked: true"], ""),
        ([f"id: m, {IDLE}", f"id: n, {IDLE}"], [f"{GANG}, acquisitionParked: false"], ""),
    ),
    "parked, of a victim": (
        ([f"id: m, {BOUND}", f"id: n, {OWN}"], [f"{GANG}, acquisitionParked: true", BATCH], ""),
        ([f"id: m, {BOUND}", f"id: n, {OWN}"], [f"{GANG}, acquisitionParked: false", BATCH], ""),
    ),
    "domain, none": (
        ([f"id: m, {BOUND}", f"id: n, {BOUND}"], [GANG, BOTH.replace("10", "100")], ""),
        ([f"id: m, {BOUND}", f"id: n, {BOUND}"], [GANG, BOTH], ""),
    ),
    "spread": (
        (
            [f"id: a, {IDLE}", f"id: b, {IDLE_B}", f"id: c, {IDLE_B}", f"id: m, {IDLE_B}"],
            [SPREAD],
            "",
        ),
        (
            [f"id: a, {IDLE}", f"id: b, {IDLE_B}", f"id: c, {IDLE_B}", f"id: m, {IDLE}"],
            [SPREAD],
            "",
        ),
    ),
    "spread, a larger skew": (
        (
            [f"id: a, {IDLE}", f"id: b, {IDLE_B}", f"id: c, {IDLE_B}", f"id: m, {IDLE_B}"],
            [SPREAD],
            "",
        ),
        (
            [f"id: a, {IDLE}", f"id: b, {IDLE_B}", f"id: c, {IDLE_B}", f"id: m, {IDLE_B}"],
            [SPREAD.replace("maxSkew: 1", "maxSkew: 2")],
            "",
        ),
    ),
    "spread domain": (
        ([f"id: m, {IDLE.replace('zone: a, ', '')}"], [SPREAD], ""),
        ([f"id: m, {IDLE}"], [SPREAD], ""),
    ),
    "victim of another": (
        ([f"id: m, {BOUND}"], [SHOP, HIGH, BATCH], ""),
        ([f"id: m, {BOUND}"], [SHOP, HIGH.replace("priority: 900", "priority: 90"), BATCH], ""),
    ),
    "victims": (
        (
            [f"id: m, {BOUND}", f"id: n, {BOUND.replace('Configured', 'Draining')}"],
            [SHOP, BATCH],
            reserved_for(SHOP).replace("machine: m", "machine: n"),
        ),
        (
            [f"id: m, {BOUND}", f"id: n, {BOUND.replace('Configured', 'Draining')}"],
            [SHOP, BATCH],
            "",
        ),
    ),
    "state, ordered for another": (
        ([f"id: m, {ORDERED.replace('p=100', 'p=90')}"], [SHOP], ""),
        ([f"id: m, {ORDERED}"], [SHOP], ""),
    ),
    "orders": (
        ([f"id: a, {ORDERED}", f"id: m, {ORDERED}"], [SHOP], ""),
        ([f"id: a, {ORDERED}", f"id: m, {ORDERED}"], [SHOP.replace("cpu: 8", "cpu: 16")], ""),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_fixing_the_predicate_that_is_named_changes_the_outcome(case: str) -> None:
    broken, fixed = CASES[case]
    before, after = asked(*broken), asked(*fixed)
    assert before.blocking is not None
    assert before.blocking.name == case.partition(", ")[0]
    assert not before.blocking.passed
    assert before.would_change
    assert after.blocking is None, after.sentence


def test_every_predicate_that_is_asked_has_a_case_that_fixes_it() -> None:
    answers = [asked(*side) for sides in CASES.values() for side in sides]
    found = {check.name for answer in answers for check in answer.checks}
    assert found == {case.partition(", ")[0] for case in CASES}


def test_both_values_are_told() -> None:
    answer = asked(
        [f"id: m, {IDLE}, allocatable: {{cpu: 7500m}}"], [SHOP.replace("cpu: 4", "cpu: 8")]
    )
    assert answer.sentence.endswith("cpu 7.5 allocatable, 8 needed")
    assert re.match("machine/m is not assigned to need/shop/n[0-9a-f]{12}: ", answer.sentence)


def test_a_machine_that_is_reserved_names_whom_it_waits_for() -> None:
    answer = asked([f"id: m, {IDLE}"], [SHOP, HIGH], reserved_for(HIGH))
    assert name_of(answer) == "reserved"
    assert "reserved for need/top/" in answer.sentence


def test_a_machine_the_need_has_is_not_asked_in_vain() -> None:
    answer = asked([f"id: m, {IDLE}"], [SHOP])
    assert answer.blocking is None
    assert "is claimed by need/shop/" in answer.sentence


def test_a_victim_is_on_its_way() -> None:
    answer = asked([f"id: m, {BOUND}"], [SHOP, BATCH])
    assert answer.blocking is None
    assert "is preempted for need/shop/" in answer.sentence


def test_only_a_configured_machine_can_be_preempted() -> None:
    cycle = decided([f"id: m, {IDLE}"], [SHOP])
    answer = why_not_preempted(cycle, cycle.row_of("m"), cycle.need_row("shop", ""))
    assert name_of(answer) == "state"


RELEASED = f'id: m, {SPOT.replace("Speculative", "Idle")}, idleSince: "2026-01-01T00:00:00Z"'
#: What takes no machine of these fleets.
BEYOND = HIGH.replace("cpu: 4", "cpu: 99")
GOES = ([RELEASED], [BEYOND], NOW)
REMOVED = {
    "cluster": (
        ([f"id: m, {BOUND}"], [SHOP], "options: {clustersReady: [shop]}"),
        ([f"id: m, {BOUND}"], [BEYOND], "options: {clustersReady: [shop, batch]}"),
    ),
    "claimed": (
        ([f"id: m, {BOUND}"], [BATCH], ""),
        ([f"id: m, {BOUND}"], [BATCH.replace("cpu: 4", "cpu: 99")], ""),
    ),
    "claimed, while idle": (([RELEASED], [SHOP], NOW), GOES),
    "capacity type": (([f"{RELEASED.replace('Spot', 'BareMetal')}"], [BEYOND], NOW), GOES),
    "hold": (
        ([RELEASED.replace("00:00:00", "00:59:30")], [BEYOND], NOW),
        GOES,
    ),
    "idle since": (([RELEASED.partition(", idleSince")[0]], [BEYOND], NOW), GOES),
    "held": (([f"{RELEASED}, held: {{by: unseen}}"], [BEYOND], NOW), GOES),
    "reserved": (([RELEASED], [BEYOND], f"{NOW}\n{reserved_for(BEYOND)}"), GOES),
    "state": (([f"id: m, {SPOT}"], [BEYOND], NOW), GOES),
}


def still_here(machines: list[str], needs: list[str], rest: str) -> WhyNot:
    cycle = decided(machines, needs, rest)
    return why_not_removed(cycle, cycle.row_of("m"))


@pytest.mark.parametrize("case", REMOVED)
def test_a_machine_goes_once_what_keeps_it_is_fixed(case: str) -> None:
    broken, fixed = REMOVED[case]
    before, after = still_here(*broken), still_here(*fixed)
    assert name_of(before) == case.partition(", ")[0]
    assert after.blocking is None, after.sentence
    assert "is going: " in after.sentence


def test_everything_that_keeps_a_machine_has_a_case_that_fixes_it() -> None:
    answers = [still_here(*side) for sides in REMOVED.values() for side in sides]
    found = {check.name for answer in answers for check in answer.checks}
    assert found == {case.partition(", ")[0] for case in REMOVED}


def test_what_keeps_a_claimed_machine_is_its_need_with_its_place_in_keep_order() -> None:
    answer = still_here(*REMOVED["claimed"][0])
    assert "claimed by need/batch/" in answer.sentence
    assert "number 1 of 1 in keep order" in answer.sentence


def test_a_machine_that_goes_is_told_as_going() -> None:
    cycle = decided([f"id: m, {BOUND}"], [SHOP.replace("cpu: 4", "cpu: 99")])
    answer = why_not_removed(cycle, cycle.row_of("m"))
    assert answer.blocking is None
    assert "is going: Reclaim" in answer.sentence


def test_a_need_is_told_tier_by_tier() -> None:
    cycle = decided([f"id: m, {IDLE}, held: {{by: quota}}"], [SHOP])
    answer = why_not_satisfied(cycle, cycle.need_row("shop", ""))
    assert name_of(answer) == "supply"
    assert "beyond the quota" in answer.sentence
    assert why_not_satisfied(*_met()).blocking is None


def _met() -> tuple[DecidedCycle, int]:
    cycle = decided([f"id: m, {IDLE}"], [SHOP])
    return cycle, cycle.need_row("shop", "")


def test_unknown_names_are_answered_with_the_nearest_ones() -> None:
    cycle = decided([f"id: od-0117, {IDLE}", f"id: od-0118, {IDLE}"], [SHOP])
    with pytest.raises(NoSuchObject, match=r"no machine od-0119 .* nearest are od-011"):
        cycle.row_of("od-0119")
    with pytest.raises(NoSuchObject, match=r"no cluster shoq .*did you mean shop"):
        cycle.need_row("shoq", "n1")
