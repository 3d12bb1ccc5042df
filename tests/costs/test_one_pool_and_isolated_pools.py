"""One pool for all clusters against one for each of them, on the demand of the same journal."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.cli.main import cli
from bigfleet.costs.isolated import NothingToCompare, Pool
from bigfleet.costs.isolated_pools import ClusterAlone, Division, bought_rows, clusters_of_rows
from bigfleet.costs.isolated_totals import (
    FEWEST_BLOCKS,
    assumptions_of,
    blocks_of,
    rows_of,
    verdict_text,
    why_no_interval,
)
from bigfleet.journal.history import RecordedCycle
from bigfleet.model.errors import BadInput
from bigfleet.model.fleet import Fleet, FleetMachine, FleetNeed
from bigfleet.model.isolated import (
    IsolatedCall,
    IsolatedReport,
    IsolatedSlice,
    Measures,
    Split,
    call_of,
)
from bigfleet.model.latencies import Latencies, latencies_of
from bigfleet.model.machines import Host, MachineState
from bigfleet.model.needs import aggregate
from bigfleet.model.options import SECOND
from tests.costs.recordings import (
    MINUTE,
    START,
    Recording,
    compared,
    journal_of,
    metal,
    minutes,
    slot,
    wants,
)
from tests.journal.lives import LivingFleet
from tests.journal.test_recorded_cycles_replay import SEEDS, read, recorded
from tests.questions.recorded_night import NIGHT

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


@settings(max_examples=15)
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


def taking_turns(minutes_long: int = 40) -> list[RecordedCycle]:
    """Two machines of its own serve `day` from 0:00 to 0:10, then `night` from 0:12 to 0:22."""
    fleet = Recording([metal("m-1"), metal("m-2"), slot("o-1"), slot("o-2")])
    demand = {
        0: {"day": 2},
        10 * MINUTE: {"day": 0},
        12 * MINUTE: {"night": 2},
        22 * MINUTE: {"night": 0},
    }
    return fleet.cycles(minutes(minutes_long), demand)


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
        "One pool costs $4.40 less (100%): $0.00 instead of $4.40 for a pool per cluster."
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


def test_when_the_time_is_up_what_is_done_is_told() -> None:
    cycles, asked = taking_turns(), 0

    def is_time_up() -> bool:
        nonlocal asked
        asked += 1
        # The first reading asks before all cycles but one.
        return asked > len(cycles) - 1 + 15

    report = compared(cycles, is_time_up=is_time_up)
    assert report.cycles == 16
    assert report.cut_short == "the time was up: 24 of 40 cycles are not compared"
    assert report.hours == pytest.approx(15 / 60)


def test_a_journal_in_which_no_cluster_is_has_nothing_to_compare() -> None:
    with pytest.raises(NothingToCompare, match="no cluster asked for anything"):
        compared(Recording([metal("m-1")]).cycles(minutes(3), {}))
    with pytest.raises(NothingToCompare, match="no cycle"):
        compared([])


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


# -- intervals -------------------------------------------------------------------------------------


def hours(differences: list[float], seconds: float = 3600.0) -> IsolatedReport:
    """Of so many dollars more, hour after hour."""
    slices = tuple(
        IsolatedSlice(START + n * 3600 * SECOND, seconds, Measures(1.0), Measures(1.0 + more))
        for n, more in enumerate(differences)
    )
    return IsolatedReport(
        *("1:1", "1:2", START, START, 2, Split.PEAK, 0.0, 3600, slices, (), Latencies())
    )


def test_with_fewer_than_a_day_of_hours_there_is_no_interval_and_it_says_so() -> None:
    short, whole = (hours([2.0] * n) for n in (FEWEST_BLOCKS - 1, FEWEST_BLOCKS))
    assert rows_of(short)[0].interval is None
    assert why_no_interval(short) == (
        "No interval: it takes 24 hours that were observed for half of them or more; there are 23."
    )
    assert rows_of(whole)[0].interval == pytest.approx((48.0, 48.0))
    assert why_no_interval(whole) == ""


def test_hours_observed_for_less_than_half_are_no_blocks() -> None:
    assert blocks_of(hours([1.0], seconds=1_799.0).slices) == ()
    (block,) = blocks_of(hours([1.0], seconds=1_800.0).slices)
    assert block.seconds == 1_800.0


def test_the_interval_holds_the_difference_and_is_the_same_again() -> None:
    report = hours([0.0, 4.0] * 24)
    row = rows_of(report)[0]
    assert row.difference == pytest.approx(96.0)
    assert row.interval is not None
    low, high = row.interval
    # 48 draws of 0 or 4: a standard deviation of 13.9, so about 27 to either side.
    assert 62.0 < low < 76.0
    assert 116.0 < high < 130.0
    assert rows_of(report)[0].interval == row.interval


# -- the verb --------------------------------------------------------------------------------------


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["reports", "isolated", *words])


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return journal_of(taking_turns(), tmp_path_factory.mktemp("turns"))


def test_a_journal_is_told_with_what_is_assumed(journal: Path) -> None:
    answer = run("--journal", str(journal))
    assert answer.exit_code == 0, answer.output
    lines = answer.stdout.splitlines()
    assert lines[0].startswith("One pool costs $4.40 less (100%)")
    assert next(line.split() for line in lines if line.startswith("billed")) == [
        *("billed", "0", "4.40", "4.40", "-", "$", "shard-0")
    ]
    assert any(line.startswith("No interval: it takes 24 hours") for line in lines)
    assert any("as if it were alone in the cloud" in line for line in lines)


def test_programs_get_slices_totals_and_assumptions(journal: Path) -> None:
    import orjson

    answer = orjson.loads(run("--journal", str(journal), "-o", "json").stdout)
    (report,) = answer["reports"]
    assert report["shardId"] == "shard-0"
    assert report["rows"][0] == {
        "measure": "billed",
        "unit": "$",
        "pooled": 0.0,
        "isolated": pytest.approx(4.4),
        "difference": pytest.approx(4.4),
        "interval": None,
    }
    assert answer["items"][0] == {**report["rows"][0], "shardId": "shard-0"}
    assert sum(each["isolated"]["dollars"] for each in report["slices"]) == pytest.approx(4.4)
    assert report["assumptions"]


def test_a_part_of_the_journal_is_compared_alone(journal: Path) -> None:
    answer = run("--journal", str(journal), "--from", "1:5", "--at", "1:20", "-o", "json")
    assert '"first":"1:5"' in answer.stdout.replace(" ", "")
    assert '"last":"1:20"' in answer.stdout.replace(" ", "")


def test_missing_cycles_are_a_partial_answer(tmp_path: Path) -> None:
    cycles = taking_turns()
    answer = run("--journal", str(journal_of([*cycles[:10], *cycles[12:]], tmp_path)))
    assert answer.exit_code == 5
    assert "cycles are missing, from 1:10" in answer.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        pytest.param(("--fleet", "x.yaml"), 2, "--fleet: a fleet file is one instant", id="file"),
        pytest.param(("--split", "weight"), 2, "split: 'weight' is not one of", id="split"),
        pytest.param(("--headroom", "-1"), 2, "headroom: -1 is not a number", id="headroom"),
        pytest.param(("--from", "1:9999"), 3, "no cycle is recorded there", id="no such cycle"),
    ],
)
def test_a_question_that_cannot_be_answered_says_why(
    words: tuple[str, ...], code: int, said: str
) -> None:
    journal = () if "--fleet" in words else ("--journal", str(NIGHT))
    answer = run(*journal, *words)
    assert (answer.exit_code, answer.stdout) == (code, "")
    assert said in answer.stderr
