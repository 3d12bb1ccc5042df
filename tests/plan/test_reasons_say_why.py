"""Every action and every unmet Need has its reason, with the numbers behind it."""

import pytest

from bigfleet.explain.actions import reasons_of_action
from bigfleet.explain.needs import reasons_of_need
from bigfleet.explain.situation import Situation
from bigfleet.model.reasons import TEMPLATES, Reason, ordered
from tests.plan.fleets import cycles_of

TYPE = "node.kubernetes.io/instance-type"
RACK = "topology.bigfleet/rack"
ZONE = "topology.kubernetes.io/zone"


def reasons_of_actions(body: str) -> list[tuple[Reason, ...]]:
    cycle = cycles_of(body)[0]
    situation = Situation.of(cycle.fleet, cycle.decision, "1")
    return [reasons_of_action(situation, action) for action in cycle.kept.actions]


def reasons_of_needs(body: str) -> list[tuple[Reason, ...]]:
    """In file order."""
    cycle = cycles_of(body)[0]
    situation = Situation.of(cycle.fleet, cycle.decision, "1")
    verdicts = sorted(cycle.decision.verdicts, key=lambda verdict: min(verdict.members))
    return [reasons_of_need(situation, verdict) for verdict in verdicts]


def codes(reasons: tuple[Reason, ...]) -> list[str]:
    return [reason.code for reason in reasons]


def test_a_bootstrap_says_what_it_was_the_cheapest_of_and_what_came_next() -> None:
    ((reason,),) = reasons_of_actions(
        """
machines:
  - {id: a, state: Idle, capacityType: BareMetal, pricePerHour: 0.5, resources: {cpu: 8}}
  - {id: b, state: Idle, capacityType: BareMetal, pricePerHour: 0.25, resources: {cpu: 8}}
  - {id: c, state: Idle, capacityType: BareMetal, pricePerHour: 0.75, resources: {cpu: 8}}
needs: [{cluster: shop, priority: 1, aggregateResources: {cpu: 8}}]
"""
    )
    assert reason.code == "cost.rank"
    assert reason.text == (
        f"idle match at $0.25/h for {reason.facts['need']}: cheapest of 3 free; next a at $0.50"
    )
    assert reason.facts["need"].startswith("need/shop/n")
    assert "machine/b" in reason.refs


def test_the_last_idle_machine_names_what_would_have_to_be_bought() -> None:
    ((reason,),) = reasons_of_actions(
        """
machines:
  - {id: a, state: Idle, capacityType: BareMetal, resources: {cpu: 8}}
  - {id: s, state: Speculative, capacityType: Spot, pricePerHour: 0.1,
     interruptionProbability: 0.5, resources: {cpu: 8}}
needs: [{cluster: shop, priority: 1, aggregateResources: {cpu: 8}, interruptionPenaltyBucket: 4}]
"""
    )
    assert reason.text.endswith("the only one free; next s at $2.10 effective, to be bought")


def test_a_provision_shows_the_terms_of_its_cost() -> None:
    ((reason,),) = reasons_of_actions(
        """
machines:
  - {id: spot, state: Speculative, capacityType: Spot, pricePerHour: 1.8,
     interruptionProbability: 0.1, resources: {cpu: 8}}
  - {id: od, state: Speculative, capacityType: OnDemand, pricePerHour: 6, resources: {cpu: 8}}
needs: [{cluster: c, priority: 1, aggregateResources: {cpu: 8}, interruptionPenaltyBucket: "64"}]
"""
    )
    assert reason.facts["effectiveCost"] == 6.0
    assert reason.text == (
        "speculative match at $6.00 effective ($6.00/h + 0 x $64.00 declared) for "
        f"{reason.facts['need']}: cheapest of 2 free; next spot at $8.20"
    )


def test_an_idle_machine_that_may_be_interrupted_shows_the_terms_of_its_cost() -> None:
    """U27: ranked by effective cost, as what is bought is."""
    ((reason,),) = reasons_of_actions(
        """
machines:
  - {id: spot, state: Idle, capacityType: Spot, pricePerHour: 1.8,
     interruptionProbability: 0.1, resources: {cpu: 8}}
  - {id: od, state: Idle, capacityType: OnDemand, pricePerHour: 9, resources: {cpu: 8}}
needs: [{cluster: c, priority: 1, aggregateResources: {cpu: 8}, interruptionPenaltyBucket: "64"}]
"""
    )
    assert reason.text == (
        "idle match at $8.20 effective ($1.80/h + 0.1 x $64.00 declared) for "
        f"{reason.facts['need']}: cheapest of 2 free; next od at $9.00"
    )


def test_an_empty_machine_that_goes_is_called_empty() -> None:
    """U23."""
    ((reason,),) = reasons_of_actions(
        """
machines:
  - {id: a, state: Configured, cluster: c, capacityType: Spot, pricePerHour: 1, empty: true,
     resources: {cpu: 8}}
  - {id: b, state: Configured, cluster: c, capacityType: Spot, pricePerHour: 1,
     resources: {cpu: 8}}
needs: [{cluster: c, priority: 1, aggregateResources: {cpu: 8}}]
"""
    )
    assert reason.text == (
        "cluster c claims 1 of its 2 Configured machines; a at $1.00/h, on which nothing runs, "
        "comes after them in keep order"
    )


def test_a_gang_that_takes_a_whole_rack_says_so_of_every_machine() -> None:
    """U26."""
    reasons = reasons_of_actions(
        """
machines:
  - {id: "m-{0}", count: 2, state: Configured, cluster: batch, capacityType: BareMetal,
     labels: {rack: r1}, resources: {cpu: 8}, assigned: {priority: 5}}
needs:
  - {cluster: batch, priority: 5, aggregateResources: {cpu: 16}, minUnit: {cpu: 8}}
  - {cluster: train, priority: 100, group: g, aggregateResources: {cpu: 16}, minUnit: {cpu: 8},
     requirements: [{key: rack, operator: Same}]}
"""
    )
    for (reason,) in reasons:
        assert (
            "has no machine and finds none: it takes r1 whole, 2 machines together" in reason.text
        )
        assert "this one of priority 5" in reason.text
    assert len(reasons) == 2


def test_a_pinned_need_says_that_interruptible_slots_cost_too_much() -> None:
    ((reason,),) = reasons_of_actions(
        """
machines:
  - {id: spot, state: Speculative, capacityType: Spot, pricePerHour: 1,
     interruptionProbability: 0.1, resources: {cpu: 8}}
  - {id: od, state: Speculative, capacityType: OnDemand, pricePerHour: 6, resources: {cpu: 8}}
needs: [{cluster: c, priority: 1, aggregateResources: {cpu: 8}, interruptionPenaltyBucket: pinned}]
"""
    )
    assert reason.facts["penaltyDollars"] == "pinned"
    assert reason.facts["nextCost"] == "infinite"
    assert reason.text.endswith("next spot at infinite")


VICTIMS = """
machines:
  - {id: v, state: Configured, cluster: low, capacityType: BareMetal, resources: {cpu: 8},
     assigned: {priority: 100, interruptionPenalty: 2, reclamationPenalty: 0}}
needs:
  %s
  - {cluster: high, priority: 1000, aggregateResources: {cpu: 16}}
"""
LOW = "- {cluster: low, priority: 400, aggregateResources: {cpu: 8}}"


def test_a_preempt_shows_every_term_of_the_score_and_the_holders_priority() -> None:
    ((reason,),) = reasons_of_actions(VICTIMS % LOW)
    assert reason.code == "claim.higher"
    facts = reason.facts
    assert (facts["preemptorPriority"], facts["victimPriority"], facts["gap"]) == (1000, 400, 600)
    assert (facts["gapTerm"], facts["interruptionTerm"]) == (600.0, 0.05)
    assert facts["reclamationTerm"] == pytest.approx(10.0)
    assert facts["score"] == pytest.approx(600 + 0.1 / 30 + 0.05 + 10)
    assert (facts["graceSeconds"], facts["excess"]) == (600, False)
    assert "score 610.0533 = 600 gap + 0.0033 drain + 0.05 interruption" in reason.text


def test_an_excess_victim_is_said_to_be_leaving_anyway() -> None:
    ((reason, excess),) = reasons_of_actions(VICTIMS % "")
    assert reason.facts["victimPriority"] == 100
    assert reason.facts["excess"] is True
    assert excess.code == "excess"
    assert excess.text.startswith("leaving anyway: cluster low claims 0 of its 1 Configured")


def test_a_reclaim_compares_what_is_claimed_with_what_is_there() -> None:
    (reason,), *_ = reasons_of_actions(
        """
machines: [{id: "m{0}", count: 3, state: Configured, cluster: c, capacityType: BareMetal,
            pricePerHour: 2, resources: {cpu: 8}}]
needs: [{cluster: c, priority: 1, aggregateResources: {cpu: 8}}]
"""
    )
    assert reason.code == "excess"
    assert (reason.facts["claimed"], reason.facts["configured"]) == (1, 3)
    assert reason.text == (
        "cluster c claims 1 of its 3 Configured machines; m1 at $2.00/h comes after them in "
        "keep order"
    )


def test_a_delete_compares_idle_time_with_the_hold() -> None:
    ((reason,),) = reasons_of_actions(
        "machines: [{id: m, state: Idle, capacityType: OnDemand,"
        ' idleSince: "2026-01-01T00:00:00Z"}]\noptions: {now: "2026-01-01T01:05:00Z"}'
    )
    assert reason.code == "hold.idle"
    assert (reason.facts["idleSeconds"], reason.facts["holdSeconds"]) == (3900.0, 600.0)
    assert "idle for 1 h 5 min, and OnDemand is kept for 10 min" in reason.text


def test_a_requirement_no_machine_meets_is_named_with_how_many_it_rejects() -> None:
    ((*reasons,),) = reasons_of_needs(
        f"""
machines: [{{id: "m{{0}}", count: 2, state: Idle, capacityType: Spot, instanceType: t3,
            resources: {{cpu: 8}}}},
           {{id: n, state: Speculative, capacityType: Spot, instanceType: m5,
            resources: {{cpu: 2}}}}]
needs: [{{cluster: c, priority: 1, aggregateResources: {{cpu: 8}}, minUnit: {{cpu: 8}},
         requirements: [{{key: {TYPE}, operator: In, values: [m5]}}]}}]
"""
    )
    too_small, rejected = reasons
    assert too_small.code == "supply.min-unit"
    assert "cpu 2 allocatable, 8 needed (n)" in too_small.text
    assert rejected.code == "supply.requirement"
    assert rejected.text == f"2 of 3 machines fail {TYPE} in [m5]; m0 has t3"


def test_an_empty_fleet_is_not_supply() -> None:
    ((reason,),) = reasons_of_needs(
        "needs: [{cluster: c, priority: 1, aggregateResources: {cpu: 1}}]"
    )
    assert reason.code == "supply.none"
    assert reason.text.startswith("none of the 0 machines")


@pytest.mark.parametrize(
    ("held", "code", "said"),
    [
        (
            '{by: backoff, until: "2026-01-01T00:00:05Z"}',
            "supply.backoff",
            "1 slot that fits is in back-off until 2026-01-01T00:00:05Z after failed creates",
        ),
        ("{by: quota}", "supply.quota", "1 slot that fits is beyond the quota"),
        ("{by: operator}", "supply.none", "1 machine that fits is held (operator)"),
    ],
)
def test_a_held_slot_says_what_holds_it(held: str, code: str, said: str) -> None:
    reasons = reasons_of_needs(
        f"""
machines: [{{id: s, state: Speculative, capacityType: Spot, resources: {{cpu: 8}}, held: {held}}}]
needs: [{{cluster: c, priority: 1, aggregateResources: {{cpu: 8}}}}]
"""
    )[0]
    assert code in codes(reasons)
    assert said in [reason.text for reason in reasons]


GANG = f"""
machines:
  - {{id: "a{{0}}", count: 2, state: Idle, capacityType: BareMetal, resources: {{cpu: 4}},
     labels: {{{RACK}: a}}}}
  - {{id: "b{{0}}", count: 3, state: Idle, capacityType: BareMetal, resources: {{cpu: 4}},
     labels: {{{RACK}: b}}}}
needs: [{{cluster: c, priority: 1, group: g, aggregateResources: {{cpu: 20}}, minUnit: {{cpu: 4}},
         requirements: [{{key: {RACK}, operator: Same}}]}}]
"""


def test_a_gang_too_large_for_any_rack_learns_what_the_racks_offer() -> None:
    (reasons,) = reasons_of_needs(GANG)
    assert reasons[0].code == "same.too-small"
    assert reasons[0].text == f"{RACK} b offers cpu 12 of cpu 20; next best a with cpu 8"


def test_a_gang_without_any_rack_has_no_domain() -> None:
    (reasons,) = reasons_of_needs(
        GANG.replace(f"{{{RACK}: a}}", "{}").replace(f"{{{RACK}: b}}", "{}")
    )
    assert reasons[0].code == "same.no-domain"


def test_a_parked_gang_says_when_it_tries_again() -> None:
    need = cycles_of(GANG)[0].fleet.needs[0].need
    memory = (
        f"memory: {{parking: [{{cluster: c, group: g, age: 9,"
        f" needFingerprint: '{need.profile.fingerprint}'}}]}}"
    )
    (reasons,) = reasons_of_needs(GANG + memory)
    assert reasons[0].code == "same.no-domain"
    assert reasons[1].text == (
        "parked after 9 cycles without progress: keeps what it has, next tries at age 32"
    )


def test_a_spread_stopped_by_its_skew_names_the_domain_that_is_behind() -> None:
    (reasons,) = reasons_of_needs(
        f"""
machines:
  - {{id: a0, state: Idle, capacityType: BareMetal, zone: a, resources: {{cpu: 8}}}}
  - {{id: "b{{0}}", count: 4, state: Idle, capacityType: BareMetal, zone: b, resources: {{cpu: 8}}}}
needs: [{{cluster: c, priority: 1, aggregateResources: {{cpu: 40}}, minUnit: {{cpu: 8}},
         spread: [{{topologyKey: {ZONE}, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}}]}}]
"""
    )
    assert reasons[0].code == "spread.skew"
    assert reasons[0].text == (
        f"2 free machines in b would exceed a skew of 1 over {ZONE}: a has only 1 and nothing left"
    )


CONTESTED = """
machines: [{id: m, state: Idle, capacityType: BareMetal, resources: {cpu: 8}}]
needs:
  - {cluster: a, priority: %d, aggregateResources: {cpu: 8}}
  - {cluster: b, priority: 5, aggregateResources: {cpu: 8}}
"""


@pytest.mark.parametrize(("priority", "code"), [(9, "claim.higher"), (5, "claim.earlier")])
def test_a_need_that_lost_a_machine_learns_to_whom(priority: int, code: str) -> None:
    _, reasons = reasons_of_needs(CONTESTED % priority)
    assert codes(reasons) == [code]
    assert reasons[0].facts["holder"].startswith("need/a/n")


def test_where_no_machine_is_lower_none_is_preempted() -> None:
    reasons = reasons_of_needs(
        """
machines: [{id: m, state: Configured, cluster: a, capacityType: BareMetal, resources: {cpu: 8},
            assigned: {priority: 5}}]
needs:
  - {cluster: a, priority: 5, aggregateResources: {cpu: 8}}
  - {cluster: b, priority: 5, aggregateResources: {cpu: 8}}
"""
    )[1]
    assert codes(reasons) == ["claim.earlier", "preempt.none-lower"]
    assert "has a priority below 5; the lowest is 5" in reasons[1].text


def test_victims_and_what_they_do_not_cover_are_both_said() -> None:
    reasons = reasons_of_needs(VICTIMS % LOW)[1]
    assert codes(reasons) == ["flight.draining", "preempt.exhausted"]
    assert reasons[0].text == "1 machine is preempted for it now and becomes free within 10 min"
    assert "still short of cpu 8" in reasons[1].text


def test_victims_that_still_drain_are_on_their_way() -> None:
    body = """
machines: [{id: v, state: Draining, cluster: low, capacityType: BareMetal, resources: {cpu: 8}}]
needs: [{cluster: high, priority: 9, aggregateResources: {cpu: 8}}]
"""
    fingerprint = cycles_of(body)[0].fleet.needs[0].need.profile.fingerprint
    (reasons,) = reasons_of_needs(
        f"{body}memory: {{reservations: [{{machine: v, kind: preemption, cluster: high,"
        f" needFingerprint: '{fingerprint}'}}]}}"
    )
    assert "1 victim drains for it (cpu 8)" in [reason.text for reason in reasons]


def test_a_machine_being_created_is_on_its_way() -> None:
    body = """
machines: [{id: m, state: Creating, capacityType: Spot, resources: {cpu: 8},
            assigned: {cluster: c, needFingerprint: '%s'}}]
needs: [{cluster: c, priority: 9, aggregateResources: {cpu: 16}}]
"""
    fingerprint = cycles_of(body % "")[0].fleet.needs[0].need.profile.fingerprint
    (reasons,) = reasons_of_needs(body % fingerprint)
    assert "1 machine is being created for it (cpu 8)" in [reason.text for reason in reasons]


def test_a_satisfied_need_says_briefly_how() -> None:
    kept, acquired, nothing = reasons_of_needs(
        """
machines:
  - {id: a, state: Configured, cluster: a, capacityType: BareMetal, resources: {cpu: 8}}
  - {id: b, state: Idle, capacityType: BareMetal, resources: {cpu: 8}}
needs:
  - {cluster: a, priority: 1, aggregateResources: {cpu: 8}}
  - {cluster: b, priority: 1, aggregateResources: {cpu: 8}}
  - {cluster: c, priority: 1, aggregateResources: {}}
"""
    )
    assert [r.text for r in kept] == [
        "already served by 1 machine of cluster a, cheapest kept first"
    ]
    assert [r.text for r in acquired] == [
        "acquires 1 idle and 0 speculative machines, cheapest first"
    ]
    assert [r.text for r in nothing] == ["asks for nothing"]


def test_reasons_are_ordered_by_tier_and_then_by_code() -> None:
    mixed = [Reason(code) for code in reversed(TEMPLATES)]
    tiers = [(reason.tier, reason.code) for reason in ordered(mixed)]
    assert tiers == sorted(tiers)
    assert {tier for tier, _ in tiers} == {1, 2, 3, 4, 5, 6}
