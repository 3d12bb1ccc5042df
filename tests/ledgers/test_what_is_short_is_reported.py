"""Shortfalls: rows of the report, gauges, the warning; and the summary beside them."""

from math import inf

import pytest

from bigfleet.edge.counts import MOST_VALUES
from bigfleet.engine.ledgers import reported_shortfalls
from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import Assigned, CapacityType, Instant, MachineState
from bigfleet.model.memory import EngineMemory, Shortfall
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.priority_classes import priority_class
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ShardSummary
from bigfleet.plan.cycle import cycle_input
from bigfleet.shard.effects import Effects
from bigfleet.shard.instructions import Log
from bigfleet.shard.ledgers.shortfalls import Shortfalls, age_bucket
from bigfleet.shard.ledgers.summaries import measure_demand, measure_machines, summary_of
from tests.worlds.fleets import NOW, fleet_of
from tests.worlds.gpus import bound, host, plain, slot, units


class Ledger:
    """Shortfalls after one cycle in which these Needs, of such ages before, found `machines`."""

    def __init__(
        self, *needs: tuple[Need, int], machines: list[FleetMachine] | None = None
    ) -> None:
        self.effects = Effects()
        self.shortfalls = Shortfalls(self.effects)
        before = EngineMemory(
            shortfalls={need.key: Shortfall(need.aggregate, age) for need, age in needs if age}
        )
        given = cycle_input(fleet_of(machines or [], [n for n, _ in needs], memory=before))
        self.snapshot = given.given.snapshot
        self.decision = given.decide()
        self.end_cycle(NOW)

    def end_cycle(self, at: Instant) -> None:
        self.shortfalls.on_decision(self.decision, at)

    def gauge(self, name: str, **labels: str) -> float:
        return self.effects.counts.of(name, **labels)

    def warnings(self) -> list[Log]:
        return [each for each in self.effects.taken() if isinstance(each, Log)]


@pytest.mark.parametrize(("of_shop", "of_bank"), [(4, 9), (9, 4)])
def test_clusters_that_lack_the_same_are_one_row_with_the_highest_age(
    of_shop: int, of_bank: int
) -> None:
    ledger = Ledger((plain("shop", 100, 2), of_shop), (plain("bank", 100, 3), of_bank))
    [row] = ledger.shortfalls.rows(100)
    assert row.deficit == units(5)
    assert row.age == 10
    assert row.need.profile == plain("shop", 100, 1).profile
    assert len(ledger.shortfalls) == 2


def test_rows_go_by_priority_then_age_and_are_cut() -> None:
    needs = [(plain("shop", 100, 1), 50), (plain("shop", 2000, 1), 0), (plain("shop", 300, 1), 7)]
    rows = Ledger(*needs).shortfalls.rows(2)
    assert [(row.need.profile.priority, row.age) for row in rows] == [(2000, 1), (300, 8)]


def test_what_is_covered_again_is_not_a_shortfall() -> None:
    ledger = Ledger((plain("shop", 100, 1), 50), machines=[host("m1")])
    assert ledger.shortfalls.rows(100) == ()
    assert ledger.gauge("shortfalls") == 0
    assert ledger.warnings() == []


def test_gauges_by_class_and_age_sum_to_the_shortfalls() -> None:
    ledger = Ledger(
        (plain("shop", 1_000_000, 1), 0),
        (plain("shop", 5_000, 1), 9),
        (plain("bank", 5_000, 1), 59),
        (plain("shop", 100, 1), 299),
        (plain("shop", -4, 1), 400),
    )
    ledger.shortfalls.measure(ledger.effects.counts)
    classes = ("critical", "service", "batch", "other")
    by_class = [ledger.gauge("shortfalls_by_priority", priority_class=c) for c in classes]
    assert by_class == [1, 2, 1, 1]
    ages = ("1-9", "10-59", "60-299", "300+")
    assert [ledger.gauge("shortfalls_aged", bucket=bucket) for bucket in ages] == [1, 1, 1, 2]
    assert ledger.gauge("shortfalls") == 5


@pytest.mark.parametrize(
    ("priority", "name"),
    [
        (1_000_000, "critical"),
        (999_999, "service"),
        (1_000, "service"),
        (999, "batch"),
        (100, "batch"),
        (99, "other"),
    ],
)
def test_a_priority_has_its_class(priority: int, name: str) -> None:
    assert priority_class(priority) == name


@pytest.mark.parametrize(
    ("age", "bucket"),
    [(1, "1-9"), (9, "1-9"), (10, "10-59"), (60, "60-299"), (299, "60-299"), (300, "300+")],
)
def test_an_age_has_its_bucket(age: int, bucket: str) -> None:
    assert age_bucket(age) == bucket


def test_the_three_oldest_are_named_once_a_minute() -> None:
    ledger = Ledger(*((plain(f"c{age}", 100, 1), age) for age in (5, 3, 8, 1)))
    [warning] = ledger.warnings()
    places = [warning.text.index(cluster) for cluster in ("of c8", "of c5", "of c3")]
    assert places == sorted(places)
    assert "of c1 " not in warning.text
    assert "gpu 8" in warning.text
    ledger.end_cycle(NOW + 59 * SECOND)
    assert ledger.warnings() == []
    ledger.end_cycle(NOW + 60 * SECOND)
    assert len(ledger.warnings()) == 1


def test_the_summary_counts_all_machines_and_the_free_ones() -> None:
    machines = [
        host("m1", zone="a"),
        host("m2", MachineState.CONFIGURED, zone="b", cluster="shop"),
        slot("m3", 1.0),
        host("m4", MachineState.CREATING, zone="a", instance_type=""),
    ]
    assert summary_of(Ledger(machines=machines).snapshot, "sim:9000") == ShardSummary(
        total_machines=4,
        free_machines=2,
        count_of_instance_type={"a3": 3},
        count_of_zone={"a": 2, "b": 1},
        provider_address="sim:9000",
    )


def test_machines_are_measured_by_state_capacity_and_penalty() -> None:
    ledger = Ledger(machines=[host("m1"), host("m2"), bound("m3", "shop", 5, interruption=7.0)])
    counts = ledger.effects.counts
    counts.set("inventory_machines", 9, state="Failed")
    measure_machines(counts, ledger.snapshot)
    series = {labels: value for (name, labels), value in counts.gauges.items() if "inv" in name}
    assert {tuple(text for _, text in labels): value for labels, value in series.items()} == {
        ("Idle", "OnDemand", "unspecified"): 2,
        ("Configured", "OnDemand", "8"): 1,
    }


def test_interruptions_are_expected_to_cost_what_the_stamps_say() -> None:
    """Of real machines; what cannot be interrupted costs nothing, with any penalty (U4)."""
    dear, pinned = Assigned(interruption_penalty=8.0), Assigned(interruption_penalty=inf)
    spot, ours = CapacityType.SPOT, CapacityType.BARE_METAL

    def serving(name: str, sort: CapacityType, probability: float, stamp: Assigned) -> FleetMachine:
        return host(
            name,
            MachineState.CONFIGURED,
            capacity_type=sort,
            probability=probability,
            cluster="shop",
            stamp=stamp,
        )

    ledger = Ledger(
        machines=[
            serving("m1", spot, 0.25, dear),
            serving("m2", spot, 0.5, dear),
            serving("m3", ours, 0.0, pinned),
            serving("m4", CapacityType.ON_DEMAND, 0.125, pinned),
            host("m5", capacity_type=spot, probability=0.5),
            slot("m6", 1.0, probability=0.5),
        ]
    )
    name = "expected_interruption_cost_per_hour"
    ledger.effects.counts.set(name, 9, capacity_type="Spot", state="Failed")
    measure_machines(ledger.effects.counts, ledger.snapshot)
    gauges = ledger.effects.counts.gauges
    assert {labels: value for (known, labels), value in gauges.items() if known == name} == {
        (("capacity_type", "Spot"), ("state", "Configured")): 6.0,
        (("capacity_type", "BareMetal"), ("state", "Configured")): 0.0,
        (("capacity_type", "OnDemand"), ("state", "Configured")): inf,
        (("capacity_type", "Spot"), ("state", "Idle")): 0.0,
    }


def test_demand_is_measured_with_what_of_it_is_unmet() -> None:
    ledger = Ledger((plain("shop", 100, 3), 0), (plain("bank", 200, 1), 0), machines=[host("m1")])
    measure_demand(ledger.effects.counts, ledger.decision)
    assert ledger.gauge("demand_machines", interruption_penalty_bucket="8192") == 2
    assert ledger.gauge("demand_resources", resource="gpu") == 32
    assert ledger.gauge("unmet_resources", resource="gpu") == 24


def test_however_many_resources_clusters_name_few_are_shown_and_those_of_machines_first() -> None:
    names = {f"flood.example/r-{n}": "1000" for n in range(5 * MOST_VALUES)}
    flood = Need("mallory", Profile.of(priority=5), Resources.parse(names))
    ledger = Ledger((plain("shop", 100, 3), 0), (flood, 0), machines=[host("m1")])
    counts = ledger.effects.counts
    measure_demand(counts, ledger.decision)
    for gauge in ("demand_resources", "unmet_resources"):
        assert len([name for name, _ in counts.gauges if name == gauge]) == MOST_VALUES + 1
    assert ledger.gauge("demand_resources", resource="gpu") == 24
    assert ledger.gauge("demand_resources", resource="other") > 1000
    calm = Ledger((plain("shop", 100, 3), 0), machines=[host("m1")])
    measure_demand(counts, calm.decision)
    assert not [labels for _, labels in counts.gauges if "flood" in str(labels)]
    assert ledger.gauge("demand_resources", resource="other") == 0


ONE_CPU = Resources.parse({"cpu": "1"})


def entry(priority: int, age: int, group: str = "") -> tuple[NeedKey, Shortfall]:
    key = NeedKey("shop", f"p={priority}|ipb=0|rpb=0|reqs=|spr=", group)
    return key, Shortfall(ONE_CPU, age)


def test_priority_goes_before_age() -> None:
    ledger = dict([entry(100, 50), entry(-5, 90), entry(1000, 1)])
    ages = [shortfall.age for _, shortfall in reported_shortfalls(ledger)]
    assert ages == [1, 50, 90]


def test_the_older_of_two_goes_first() -> None:
    ledger = dict([entry(100, 2, "young"), entry(100, 7, "old")])
    assert [key.group for key, _ in reported_shortfalls(ledger)] == ["old", "young"]


def test_a_hundred_entries_are_reported_and_no_more() -> None:
    ledger = dict(entry(100, age, f"g{age}") for age in range(1, 251))
    reported = reported_shortfalls(ledger)
    assert [shortfall.age for _, shortfall in reported] == list(range(250, 150, -1))
