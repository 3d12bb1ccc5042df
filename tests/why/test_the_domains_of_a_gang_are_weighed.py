"""The domains a gang weighed, in the engine's own words: which one, and which rule decided."""

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import event, given, settings
from hypothesis import strategies as st

from bigfleet.cli.main import cli
from bigfleet.engine.kernels.domains import rank_domains
from bigfleet.explain.decided_cycle import DecidedCycle
from bigfleet.explain.domain_trace import domain_verdicts
from bigfleet.explain.need_trace import explain_need
from bigfleet.fleetfile import load_fleet
from bigfleet.model.explanations import DomainRule, DomainVerdict
from bigfleet.model.fleet import Fleet
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.plan.cycle import engine_input_of
from tests.gangs.test_domains_are_compared_rule_by_rule import (
    SMALL,
    Rack,
    bound,
    free,
    matrix,
    total,
)
from tests.plan.drawn_fleets import fleets
from tests.plan.fleets import fleet_of

FLEETS = Path("examples/fleets")


def decided(fleet: Fleet) -> DecidedCycle:
    asked = engine_input_of(fleet)
    return DecidedCycle(asked, asked.decide(), "1")


def example(name: str) -> DecidedCycle:
    return decided(load_fleet((FLEETS / name).read_bytes(), name))


# -- each rule -------------------------------------------------------------------------------------

R = DomainRule
#: Two racks, what the gang wants in cpus, and the rule by which the second one wins.
RULES = [
    (R.WHOLE, [free("a", 1), free("b", 2)], 8),
    (R.CREDITED, [free("a", 2), bound("b", 3)], 6),
    (R.OWN, [bound("a", 3), bound("b", 3, own=3)], 12),
    (R.TIGHTER, [free("a", 4), free("b", 3)], 10),
    (R.COVERED, [free("a", 1), free("b", 3)], 20),
    (R.CREDITED_OF_PART, [free("a", 2), bound("b", 2)], 20),
    (R.MORE_MACHINES, [Rack("a", ((8, 0),)), free("b", 2)], 8),
    (R.NAME, [free("c", 2), free("b", 2)], 8),
]


def ranked(racks: list[Rack], wanted: int) -> tuple[list[str], list[int]]:
    names = sorted(rack.value for rack in racks)
    order, rule = np.zeros(4, np.int64), np.zeros(4, np.int64)
    rank_domains(
        np.array((wanted, 0), np.int64),
        np.array([names.index(rack.value) for rack in racks], np.int32),
        np.array([len(rack.acquirable) + len(rack.creditable) for rack in racks], np.int64),
        matrix(racks, [total(rack.acquirable + rack.creditable) for rack in racks]),
        matrix(racks, [total(rack.creditable) for rack in racks]),
        matrix(racks, [total(rack.own) for rack in racks]),
        order,
        rule,
        np.zeros((4, 4)),
    )
    found = [place for place in order.tolist() if place >= 0]
    return [racks[place].value for place in found], rule.tolist()[: len(found)]


@pytest.mark.parametrize(("rule", "racks", "wanted"), RULES, ids=[r[0].name for r in RULES])
def test_the_rule_that_decided_is_named_whatever_the_order(
    rule: DomainRule, racks: list[Rack], wanted: int
) -> None:
    for order in permutations(racks):
        names, rules = ranked(list(order), wanted)
        assert names[0] == "b"
        assert rules == [DomainRule.CHOSEN, rule]


def test_every_rule_has_a_case() -> None:
    assert [rule for rule, _, _ in RULES] == [rule for rule in DomainRule if rule]


def test_an_empty_domain_is_not_ranked() -> None:
    assert ranked([Rack("a"), free("b", 1), Rack("c", (SMALL,))], 8) == (["b", "c"], [0, R.NAME])


# -- of a cycle ------------------------------------------------------------------------------------


def test_a_gang_tells_the_racks_it_weighed_and_what_decided() -> None:
    cycle = example("gang-in-a-rack.yaml")
    told = [explain_need(cycle, row) for row in range(len(cycle.outcome))]
    whole, part = sorted(told, key=lambda each: not each.view.satisfied)
    assert len(whole.domains) == 4
    chosen, *others = whole.domains
    assert chosen.domain == whole.view.same_domain
    assert (chosen.text, chosen.covered, chosen.machines) == ("chosen", 1.0, 3)
    assert {each.rule for each in others} == {DomainRule.NAME}
    # The first gang has taken its rack: three are left, and none holds four machines.
    first, *left = part.domains
    assert (first.domain, first.covered, len(left)) == (part.view.same_domain, 0.75, 2)


def test_the_page_shows_the_domains_and_the_rule() -> None:
    words = ("why", "need/ml/n", "--fleet", str(FLEETS / "gang-in-a-rack.yaml"), "-o", "json")
    several = CliRunner().invoke(cli, words)
    assert several.exit_code == 2
    cycle = example("gang-in-a-rack.yaml")
    row = int(np.flatnonzero(cycle.outcome.unsatisfied)[0])
    name = cycle.need_name(row)
    shown = CliRunner().invoke(cli, ["why", name, "--fleet", words[3]]).stdout
    best = cycle.decision.domain(row)
    assert f"domains chosen {best}, which holds 75% of the gang | before " in shown
    assert "equal in everything, and" in shown
    assert "DOMAIN" in shown


def test_a_gang_that_takes_a_whole_domain_says_how_it_was_chosen() -> None:
    cycle = example("whole-rack.yaml")
    told = explain_need(cycle, cycle.need_row("train", ""))
    assert (told.domains, told.view.same_domain) == ((), "c")
    assert any("by the machines that it preempts there" in note for note in told.notes)


def test_a_need_that_is_no_gang_weighs_no_domain() -> None:
    cycle = example("first-look.yaml")
    assert domain_verdicts(cycle, 0) == ()


# -- laws ------------------------------------------------------------------------------------------


def assert_the_rule_is_true(found: DomainVerdict, chosen: DomainVerdict) -> None:
    """By the numbers that are told with it."""
    one, other = chosen, found
    match found.rule:
        case DomainRule.WHOLE:
            assert (one.covered, other.covered < 1.0) == (1.0, True)
        case DomainRule.CREDITED | DomainRule.CREDITED_OF_PART:
            assert one.credited > other.credited
        case DomainRule.OWN:
            assert (one.credited, one.own > other.own) == (other.credited, True)
        case DomainRule.TIGHTER:
            assert one.offered < other.offered
        case DomainRule.COVERED:
            assert 1.0 > one.covered > other.covered
        case DomainRule.MORE_MACHINES:
            assert one.machines > other.machines
        case DomainRule.NAME:
            assert (one.machines, one.domain < other.domain) == (other.machines, True)


RACK = "topology.bigfleet/rack"
BOUND = "state: Configured, capacityType: BareMetal, cluster: ml"
#: Machines of a rack: free, bound to the gangs' cluster, or stamped as the first gang's own.
HELD = (
    "state: Idle, capacityType: BareMetal",
    "state: Speculative, capacityType: Spot, pricePerHour: 0.1",
    BOUND,
    f"{BOUND}, assigned: {{needFingerprint: FIRST, group: g0}}",
)
RACKED = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(HELD), st.sampled_from((4, 8))),
    min_size=2,
    max_size=14,
)


@st.composite
def racked_fleets(draw: st.DrawFn) -> Fleet:
    """A few racks, and gangs that may or may not fit into one of them."""
    sizes = draw(st.lists(st.integers(1, 40), min_size=1, max_size=3))
    needs = [
        f"{{cluster: ml, priority: {100 - n}, group: g{n}, aggregateResources: {{cpu: {size}}},"
        f" minUnit: {{cpu: 4}}, requirements: [{{key: {RACK}, operator: Same}}]}}"
        for n, size in enumerate(sizes)
    ]
    same = Requirement.of(RACK, Operator.SAME)
    first = Profile.of([same], priority=100).fingerprint
    machines = [
        f"{{id: m-{n:02}, labels: {{{RACK}: {rack}}}, resources: {{cpu: {cpu}}},"
        f" {held.replace('FIRST', json.dumps(first))}}}"
        for n, (rack, held, cpu) in enumerate(draw(RACKED))
    ]
    rows = "".join(f"\n  - {each}" for each in machines)
    return fleet_of(f"machines:{rows}\nneeds:" + "".join(f"\n  - {each}" for each in needs))


@settings(deadline=None)
@given(st.one_of(racked_fleets(), fleets()))
def test_the_first_domain_is_the_one_the_cycle_chose_and_each_rule_is_true(fleet: Fleet) -> None:
    cycle = decided(fleet)
    for row in np.flatnonzero(cycle.outcome.needs.same >= 0).tolist():
        found = domain_verdicts(cycle, row)
        for each in found:
            event(each.rule.name)
        if not found:
            continue
        assert found[0].domain == cycle.decision.domain(row)
        assert [each.rank for each in found] == list(range(1, len(found) + 1))
        chosen = [each.rule is DomainRule.CHOSEN for each in found]
        assert chosen == [each.rank == 1 for each in found]
        for each in found[1:]:
            assert each.text
            assert_the_rule_is_true(each, found[0])
