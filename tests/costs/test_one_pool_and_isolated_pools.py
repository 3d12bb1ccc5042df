"""One pool for all clusters against one for each of them, on the demand of the same journal."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.costs.isolated_pools import ClusterAlone, Division, bought_rows, clusters_of_rows
from bigfleet.costs.isolated_reading import NothingToCompare, TooLong
from bigfleet.costs.isolated_sides import Pool
from bigfleet.costs.isolated_totals import (
    assumptions_of,
    rows_of,
    verdict_text,
)
from bigfleet.journal.history import RecordedCycle
from bigfleet.model.errors import BadInput, InvalidMachine
from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed, Marks
from bigfleet.model.isolated import (
    IsolatedCall,
    Split,
    call_of,
)
from bigfleet.model.latencies import latencies_of
from bigfleet.model.machines import Host, MachineState
from bigfleet.model.needs import Need, aggregate
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from tests.costs.recordings import (
    MINUTE,
    Recording,
    compared,
    metal,
    minutes,
    slot,
    taking_turns,
    wants,
)
from tests.journal.lives import LivingFleet
from tests.journal.test_recorded_cycles_replay import SEEDS, read, recorded
from tests.nightly import IS_NIGHTLY

QUICK = latencies_of({"create": "4s", "configure": "3s", "drain": "2s", "delete": "2s"})


def of_one_cluster(fleet: Fleet) -> Fleet:
    """Everything is of `shop`."""

    def bound(entry: FleetMachine) -> FleetMachine:
        machine = entry.machine
        assigned = machine.assigned
        if assigned.cluster:
            assigned = replace(assigned, cluster="shop")
        cluster = "shop" if machine.cluster else ""
        return replace(entry, machine=replace(machine, cluster=cluster, assigned=assigned))

    needs = aggregate(replace(row.need, cluster="shop") for row in fleet.needs)
    return replace(
        fleet,
        machines=tuple(map(bound, fleet.machines)),
        needs=tuple(map(FleetNeed, needs)),
    )


def life(seed: int, cycles: int, *, one_cluster: bool = False) -> list[RecordedCycle]:
    fleet = LivingFleet(seed, of_one_cluster) if one_cluster else LivingFleet(seed)
    return read(recorded(list(fleet.cycles(cycles))))


# -- laws ------------------------------------------------------------------------------------------


@settings(max_examples=500 if IS_NIGHTLY else 15)
@given(seed=SEEDS, split=st.sampled_from(Split))
def test_with_one_cluster_isolated_is_pooled_exactly(seed: int, split: Split) -> None:
    cycles = life(seed, 12, one_cluster=True)
    if not any(each.given.needs.blocks for each in cycles):
        return
    report = compared(cycles, IsolatedCall(split))
    assert [each.cluster for each in report.clusters] == ["shop"]
    assert [each.isolated for each in report.slices] == [each.pooled for each in report.slices]
    assert report.isolated == report.pooled
    assert all(row.difference == 0.0 for row in rows_of(report))


@settings(max_examples=20)
@given(seed=SEEDS)
def test_every_committed_machine_is_in_one_pool_and_every_offer_in_all(seed: int) -> None:
    cycles = life(seed, 8)
    names = {name for each in cycles for name in each.given.snapshot.tables.clusters.rows}
    if not names:
        return
    division = Division(dict.fromkeys(names, 1.0 / len(names)))
    pools = [ClusterAlone(division, name, 0.0) for name in division.clusters]
    for cycle in cycles:
        whole = cycle.given.snapshot
        alone = [pool.cycle(cycle).given.snapshot for pool in pools]
        bought = bought_rows(whole)
        committed = [name for row, name in enumerate(whole.ids) if not bought[row]]
        offers = [name for row, name in enumerate(whole.ids) if bought[row]]
        divided = [
            name
            for each in alone
            for row, name in enumerate(each.ids)
            if not bought_rows(each)[row]
        ]
        assert sorted(divided) == committed
        for place, each in enumerate(alone):
            assert [n for row, n in enumerate(each.ids) if bought_rows(each)[row]] == offers
            has = clusters_of_rows(each, division.place)
            assert set(has.tolist()) <= {-1, place}


@settings(max_examples=10)
@given(seed=SEEDS)
def test_cycles_that_decide_nothing_new_need_not_be_decided(seed: int) -> None:
    first = life(seed, 1)[0]
    second, restless, calm = SECOND, Pool(QUICK, every_cycle=True), Pool(QUICK)
    for place in range(50):
        now = replace(first.given, cycle=1 + place, now=first.given.at + place * 15 * second)
        for pool in (restless, calm):
            pool.decide(replace(first, given=now))
        assert calm.rates == restless.rates
        assert calm.preempted == restless.preempted


# -- worked cases ----------------------------------------------------------------------------------


def test_clusters_that_take_turns_share_machines_for_which_isolated_ones_pay() -> None:
    report = compared(taking_turns())
    pooled, isolated = report.pooled, report.isolated
    assert pooled.dollars == 0.0
    # Each buys one machine: for 10 minutes of demand, 1 of drain, 10 of hold and 1 to be deleted.
    assert isolated.dollars == pytest.approx(2 * 22 * 0.10)
    assert isolated.bought_machine_hours == pytest.approx(44 / 60)
    assert pooled.machine_hours == pytest.approx(2 * 39 / 60)
    assert isolated.machine_hours == pytest.approx((2 * 39 + 44) / 60)
    assert [(each.cluster, each.share, each.committed_machines) for each in report.clusters] == [
        ("day", 0.5, 1),
        ("night", 0.5, 1),
    ]
    assert verdict_text(report) == (
        "One pool costs $4.40 less (100%): $0.00 instead of $4.40 for a pool per cluster. "
        "Demand without a machine: 1.60 core hours in one pool, 1.33 in isolated ones."
    )


def test_demand_waits_until_its_machines_are_configured() -> None:
    """Metal takes 147.5 s to be configured; what is bought 30 s, then 32.5 s in the next cycle."""
    report = compared(taking_turns())
    assert report.pooled.unmet == {"cpu": pytest.approx(2 * 16 * 3 / 60)}
    assert report.isolated.unmet == {"cpu": pytest.approx(2 * (8 * 3 + 8 * 2) / 60)}
    weighted = {name: 100 * amount for name, amount in report.pooled.unmet.items()}
    assert report.pooled.weighted_unmet == {"cpu": pytest.approx(weighted["cpu"])}


def test_a_preemption_counts_where_clusters_share_and_not_where_they_do_not() -> None:
    fleet = Recording([metal("m-1"), metal("m-2")])
    fleet.needs.replace("batch", wants("batch", 2, priority=1))
    cycles = [fleet.at(minute * MINUTE) for minute in range(5)]
    fleet.needs.replace("shop", wants("shop", 2, priority=1_000))
    cycles += [fleet.at(minute * MINUTE) for minute in range(5, 20)]
    report = compared(cycles)
    assert (report.pooled.preemptions, report.isolated.preemptions) == (2, 0)
    assert report.isolated.unmet["cpu"] > report.pooled.unmet["cpu"] / 2


def test_headroom_is_bought_for_isolated_pools_only_and_is_never_unmet() -> None:
    fleet = Recording([slot(f"o-{n}") for n in range(1, 7)])
    cycles = fleet.cycles(minutes(11), {0: {"day": 2, "night": 1}})
    bare, roomy = (compared(cycles, IsolatedCall(headroom=part)) for part in (0.0, 0.5))
    assert bare.pooled == roomy.pooled
    # Half of two machines is one, half of one is one as well.
    assert bare.isolated.bought_machine_hours == pytest.approx(3 * 10 / 60)
    assert roomy.isolated.bought_machine_hours == pytest.approx(5 * 10 / 60)
    assert roomy.isolated.unmet == bare.isolated.unmet
    assert any("50% more than its demand" in text for text in assumptions_of(roomy))


def test_a_machine_that_fails_costs_a_pool_only_if_the_pool_bought_it() -> None:
    fleet = Recording([slot("o-1"), slot("o-2")])
    cycles = fleet.cycles(minutes(3), {0: {"day": 1}})
    broken = replace(slot("o-2"), state=MachineState.FAILED, host=Host("sim", "o-2"))
    fleet.inventory.apply(replace(broken, last_error="boom"), adopted=True)
    cycles += fleet.cycles(range(3 * MINUTE, 6 * MINUTE, MINUTE), {})
    report = compared(cycles)
    assert report.pooled.dollars == pytest.approx(5 * 0.10)
    assert report.pooled == report.isolated


def test_the_division_by_peak_by_mean_and_by_what_each_had() -> None:
    fleet = Recording([metal(f"m-{n}", "day" if n < 6 else "") for n in range(8)])
    # Once 6 and 2; `night` asks for its 2 all the time.
    demand = {0: {"day": 6, "night": 2}, 10 * MINUTE: {"day": 0}}
    cycles = fleet.cycles(minutes(41), demand)
    for split, machines in ((Split.PEAK, 6), (Split.MEAN, 3), (Split.ACTUAL, 8)):
        report = compared(cycles, IsolatedCall(split))
        assert {each.cluster: each.committed_machines for each in report.clusters} == {
            "day": machines,
            "night": 8 - machines,
        }


def test_a_cluster_keeps_the_machines_it_has_and_racks_stay_together() -> None:
    machines = [metal(f"m-{n}", "night" if n == 5 else "", f"r-{n % 2}") for n in range(6)]
    snapshot = Recording(machines).inventory.snapshot()
    division = Division({"day": 0.5, "night": 0.5})
    owners = division.owners(snapshot).tolist()
    # `night` keeps m-5, of rack 1, and gets the rest of that rack.
    assert [division.clusters[place] for place in owners] == [
        *("day", "night", "day", "night", "day", "night")
    ]


def test_what_the_journal_lacks_is_named_and_counts_for_neither_side() -> None:
    cycles = taking_turns(60)
    whole = compared(cycles)
    # From 0:30 on nothing happens any more.
    report = compared([*cycles[:30], *cycles[40:]])
    assert report.hours == pytest.approx((29 + 19) / 60)
    (gap,) = report.gaps
    assert gap.startswith("cycles are missing, from 1:30 (2026-03-14T03:29:00Z) to 1:41 (")
    assert whole.gaps == ()
    assert report.pooled.machine_hours == pytest.approx(2 * (29 + 19) / 60)
    again = [replace(each, epoch=2) for each in cycles[30:]]
    (gap,) = compared([*cycles[:30], *again]).gaps
    assert gap.startswith("the shard started anew, from 1:30 ")


@pytest.mark.parametrize(
    ("asked_more", "cycles"),
    [pytest.param(0, 16, id="between two cycles"), pytest.param(2, 17, id="between two pools")],
)
def test_when_the_time_is_up_what_is_done_is_told(asked_more: int, cycles: int) -> None:
    recorded, asked = taking_turns(), 0
    # Asked before every cycle but one of the first reading; of the second before each cycle and
    # each of its three pools.
    enough = len(recorded) - 1 + 16 * 4 + asked_more

    def is_time_up() -> bool:
        nonlocal asked
        asked += 1
        return asked > enough

    report = compared(recorded, is_time_up=is_time_up)
    assert report.cycles == cycles
    assert report.cut_short == f"the time was up: {40 - cycles} of 40 cycles are not compared"
    assert report.hours == pytest.approx((cycles - 1) / 60)
    assert sum(each.measures.dollars for each in report.clusters) == pytest.approx(
        report.isolated.dollars
    )


def test_a_time_that_is_up_at_once_tells_no_numbers() -> None:
    with pytest.raises(TooLong):
        compared(taking_turns(), is_time_up=lambda: True)


def test_a_journal_in_which_no_cluster_is_has_nothing_to_compare() -> None:
    with pytest.raises(NothingToCompare, match="no cluster asked for anything"):
        compared(Recording([metal("m-1")]).cycles(minutes(3), {}))
    with pytest.raises(NothingToCompare, match="no cycle"):
        compared([])


def test_a_journal_of_one_cycle_is_too_short_and_says_so() -> None:
    cycles = taking_turns()
    with pytest.raises(NothingToCompare, match="no two cycles in a row"):
        compared(cycles[:1])
    with pytest.raises(NothingToCompare, match="no two cycles in a row"):
        compared(cycles[::2])


def test_clusters_that_come_and_go_are_each_compared_for_the_time_they_ask() -> None:
    fleet = Recording([metal("m-1"), slot("o-1"), slot("o-2"), slot("o-3")])
    demand = {0: {"early": 1}, 5 * MINUTE: {"early": 0}, 30 * MINUTE: {"late": 2}}
    cycles = fleet.cycles(minutes(41), demand)
    fleet.needs.replace("late", [])
    report = compared(cycles)
    early, late = report.clusters
    # Two thirds of the peaks are `late`'s, so the only machine is; `early` buys.
    assert (early.committed_machines, late.committed_machines) == (0, 1)
    # 5 minutes of demand, 1 of drain, 10 of hold, 1 to be deleted.
    assert early.measures.dollars == pytest.approx(17 * 0.10)
    assert late.measures.dollars == pytest.approx(10 * 0.10)
    # One pool has the machine for whoever asks, and buys the second one for `late` as well.
    assert report.pooled.dollars == pytest.approx(10 * 0.10)


def test_a_journal_that_begins_without_machines_is_divided_by_those_that_come() -> None:
    fleet = Recording([])
    cycles = fleet.cycles(minutes(2), {0: {"day": 3, "night": 1}})
    for n in range(4):
        fleet.inventory.insert(metal(f"m-{n}"), Marks())
    cycles += fleet.cycles(range(2 * MINUTE, 9 * MINUTE, MINUTE), {})
    report = compared(cycles)
    assert [(each.share, each.committed_machines) for each in report.clusters] == [
        (0.75, 3),
        (0.25, 1),
    ]


def test_the_division_is_by_the_dimension_a_cluster_needs_most_of() -> None:
    large = Resources.parse({"cpu": "8", "memory": "32Gi"})
    fleet = Recording([replace(metal(f"m-{n}"), resources=large) for n in range(4)])
    for cluster, amounts in (("thick", {"memory": "96Gi"}), ("thin", {"cpu": "8"})):
        wanted = Resources.parse(amounts)
        fleet.needs.replace(cluster, [Need(cluster, Profile.of(priority=1), wanted, wanted)])
    report = compared([fleet.at(0), fleet.at(MINUTE)])
    assert [(each.cluster, each.share) for each in report.clusters] == [
        ("thick", 0.75),
        ("thin", 0.25),
    ]


def test_time_in_which_the_clock_went_back_is_named_and_not_counted() -> None:
    fleet = Recording([metal("m-1")])
    cycles = fleet.cycles([0, 60, 120, 30, 90], {0: {"day": 1}})
    report = compared(cycles)
    (gap,) = report.gaps
    assert gap.startswith("the clock went back, from 1:3 (")
    assert report.hours == pytest.approx(3 / 60)


def test_slots_without_a_price_are_named_beside_the_numbers() -> None:
    fleet = Recording([slot("o-1", price=0.0), slot("o-2"), metal("m-1")])
    report = compared(fleet.cycles(minutes(5), {0: {"day": 3}}))
    assert report.unpriced_machines == 1
    (said,) = [text for text in assumptions_of(report) if "without a price" in text]
    assert said.startswith("1 on-demand or spot machines are listed without a price")
    assert not any("without a price" in text for text in assumptions_of(compared(taking_turns())))


@pytest.mark.parametrize("price", [float("nan"), float("inf"), -1.0])
def test_a_price_that_is_not_an_amount_of_dollars_never_gets_into_a_journal(price: float) -> None:
    with pytest.raises(InvalidMachine, match="pricePerHour: a price is a finite number of dollars"):
        Recording([slot("o-1", price=price)])


def test_a_hundred_gaps_are_counted_and_not_all_told() -> None:
    cycles = [each for place, each in enumerate(taking_turns(300)) if place % 3]
    gaps = compared(cycles).gaps
    assert len(gaps) == 51
    assert gaps[-1] == "and 49 more gaps after these"


@pytest.mark.parametrize(
    ("split", "headroom", "said"),
    [
        pytest.param("weight", 0.0, "split: 'weight' is not one of peak, mean, actual", id="split"),
        pytest.param("peak", -0.1, "headroom: -0.1 is not a number from 0 to 10", id="negative"),
        pytest.param("peak", float("nan"), "headroom: nan is not a number", id="not a number"),
    ],
)
def test_a_bad_question_names_its_field(split: str, headroom: float, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        call_of(split, headroom)
    assert str(refused.value.problems[0]).startswith(said)
