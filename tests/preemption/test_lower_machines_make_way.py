"""Phase 2: what Phase 1 leaves short takes strictly lower machines, best victims first.

No cluster has reported here, so nothing is excess and every victim has its stamped priority.
"""

from dataclasses import replace

import pytest

from bigfleet.engine.decision import Verdict
from bigfleet.model.actions import ActionKind, Rule, UnmetReason
from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.plan.cycle import FileDecision
from tests.worlds import gpus
from tests.worlds.fleets import UNREPORTED, actions_of, decided, machine, preempted, verdict_of
from tests.worlds.gpus import MILLION, bound, gang, plain


def phase_two(machines: list[FleetMachine], *needs: Need) -> FileDecision:
    return decided(machines, needs, options=UNREPORTED)


def victims(count: int, priority: int, zone: str = "") -> list[FleetMachine]:
    return [bound(f"v-{i}", "batch", priority, zone=zone) for i in range(count)]


def unresolved(verdict: Verdict) -> dict[str, str]:
    return verdict.unresolved.positive().texts()


def test_without_a_deficit_nothing_is_preempted() -> None:
    """Q1."""
    decision = phase_two([*victims(4, 0), gpus.host("idle")], plain("train", MILLION, 1))
    assert preempted(decision) == []
    assert unresolved(verdict_of(decision)) == {}


def test_as_many_victims_as_cover_the_deficit() -> None:
    """Q2."""
    decision = phase_two(victims(4, 400_000), plain("train", MILLION, 4))
    found = [
        (a.kind.label, a.cluster, a.preemptor_priority, a.grace_seconds, a.rule)
        for a in decision.actions
    ]
    assert found == [("Preempt", "batch", MILLION, 30, Rule.INVERSION)] * 4
    assert preempted(decision) == ["v-0", "v-1", "v-2", "v-3"]
    assert unresolved(verdict_of(decision)) == {}
    assert not verdict_of(decision).satisfied


def test_equals_are_no_victims() -> None:
    """Q3."""
    decision = phase_two(victims(4, MILLION), plain("train", MILLION, 2))
    assert preempted(decision) == []
    assert unresolved(verdict_of(decision)) == {"gpu": "16"}


def test_of_equals_the_one_cheaper_to_interrupt_goes() -> None:
    """Q4."""
    machines = [
        bound("a-dear", "batch", 500_000, 100_000.0, 1.0),
        bound("b-cheap", "batch", 500_000, 1.0, 1.0),
    ]
    assert preempted(phase_two(machines, plain("train", MILLION, 1))) == ["b-cheap"]


@pytest.mark.parametrize(
    ("priority", "seconds"),
    [
        pytest.param(0, 10, id="Q5"),
        pytest.param(499_999, 30, id="Q6"),
        pytest.param(899_999, 120, id="Q7"),
        pytest.param(999_999, 600, id="Q8"),
    ],
)
def test_grace_depends_on_the_gap(priority: int, seconds: int) -> None:
    decision = phase_two(victims(1, priority), plain("train", MILLION, 1))
    assert [a.grace_seconds for a in actions_of(decision, ActionKind.PREEMPT)] == [seconds]


def test_a_gang_without_a_domain_takes_one_that_covers_it_alone() -> None:
    """Q11: no zone holds a machine the gang has or could acquire (U26)."""
    decision = phase_two(victims(4, 0, zone="a"), gang("train", MILLION, 4))
    assert verdict_of(decision).domain == "a"
    assert preempted(decision) == ["v-0", "v-1", "v-2", "v-3"]
    assert unresolved(verdict_of(decision)) == {}


def test_a_gang_without_a_domain_that_no_domain_covers_preempts_nothing() -> None:
    """Q11: two victims in each of two zones."""
    machines = [bound(f"{zone}-{i}", "batch", 0, zone=zone) for zone in "ab" for i in range(2)]
    decision = phase_two(machines, gang("train", MILLION, 4))
    assert verdict_of(decision).domain is None
    assert preempted(decision) == []
    assert unresolved(verdict_of(decision)) == {"gpu": "32"}


def test_a_parked_gang_preempts_nothing() -> None:
    """Q12: it has a domain, one machine of its own, and victims in sight."""
    own = bound("own", "train", MILLION, zone="a")
    decision = phase_two([own, *victims(4, 0, zone="a")], gang("train", MILLION, 5, parked=True))
    verdict = verdict_of(decision)
    assert (verdict.domain, verdict.claimed) == ("a", ("own",))
    assert preempted(decision) == []
    assert unresolved(verdict) == {"gpu": "32"}


def test_a_gang_takes_victims_only_in_its_domain() -> None:
    own = bound("own", "train", MILLION, zone="a")
    elsewhere = [bound("w-0", "batch", 0, zone="b"), bound("w-1", "batch", 0)]
    decision = phase_two([own, *elsewhere, *victims(1, 0, zone="a")], gang("train", MILLION, 3))
    assert preempted(decision) == ["v-0"]
    assert unresolved(verdict_of(decision)) == {"gpu": "8"}


def test_the_higher_of_two_needs_gets_the_only_victim() -> None:
    """Q14."""
    needs = plain("a", 500_000, 1), plain("b", MILLION, 1)
    decision = phase_two(victims(1, 100_000), *needs)
    assert [a.preemptor_priority for a in actions_of(decision, ActionKind.PREEMPT)] == [MILLION]
    assert unresolved(verdict_of(decision, 0)) == {"gpu": "8"}
    assert unresolved(verdict_of(decision, 1)) == {}


def test_what_can_be_had_is_preempted_and_the_rest_stays_unresolved() -> None:
    """Q15."""
    decision = phase_two(victims(1, 400_000), plain("train", MILLION, 2))
    verdict = verdict_of(decision)
    assert (preempted(decision), verdict.preempts) == (["v-0"], 1)
    assert unresolved(verdict) == {"gpu": "8"}
    assert verdict.unmet_reason is UnmetReason.PREEMPTION_EXHAUSTED


def test_where_only_equals_are_left_the_need_is_starved_not_exhausted() -> None:
    """Q16."""
    decision = phase_two(victims(1, MILLION), plain("train", MILLION, 1))
    verdict = verdict_of(decision)
    assert (preempted(decision), verdict.preempts) == ([], 0)
    assert unresolved(verdict) == {"gpu": "8"}
    assert verdict.unmet_reason is UnmetReason.PRIORITY_STARVED


def test_a_victim_must_hold_one_unit() -> None:
    half = machine(
        "a-half",
        MachineState.CONFIGURED,
        gpus.gpus(4),
        instance_type="a3",
        cluster="batch",
    )
    decision = phase_two([half, *victims(1, 500)], plain("train", MILLION, 1))
    assert preempted(decision) == ["v-0"]


def test_a_machine_without_a_type_is_a_victim_of_needs_that_pin_none() -> None:
    """U3."""
    untyped = [bound("untyped", "batch", 0, instance_type="")]
    pinned = plain("train", MILLION, 1)
    assert preempted(phase_two(untyped, pinned)) == []
    assert preempted(phase_two(untyped, replace(pinned, profile=Profile.of(priority=MILLION)))) == [
        "untyped"
    ]


def test_the_widest_gap_there_is_counts_in_full() -> None:
    """U11: in 32 bits the gap of the lowest to the highest priority would be negative."""
    lowest, highest = -(2**31), 2**31 - 1
    machines = [bound("a-middle", "batch", 0), bound("b-lowest", "batch", lowest)]
    decision = phase_two(machines, plain("train", highest, 1))
    (action,) = actions_of(decision, ActionKind.PREEMPT)
    assert (action.machine, action.grace_seconds) == ("b-lowest", 10)
