"""R04: what a shard no longer says it is short of is forgotten, and so is a silent shard."""

from dataclasses import replace

from bigfleet.coordinator.membership import reports
from bigfleet.coordinator.membership.reports import report_views
from bigfleet.model.coordinator_calls import ShardReport
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ShortfallRow
from tests.coordination_model import ModelFleet

EIGHT_CPUS = Resources.of({"cpu": 8000})


def short_of(count: int) -> tuple[ShortfallRow, ...]:
    return tuple(
        ShortfallRow(Need("shop", Profile(priority=p), EIGHT_CPUS), EIGHT_CPUS, age=7)
        for p in range(count)
    )


def report_of(fleet: ModelFleet, cycle: int, shortfalls: int, epoch: int = 1) -> ShardReport:
    shard = fleet.shards.get("a") or fleet.join("a", "p:1")
    told = replace(shard.report(), cycle=cycle, epoch=epoch)
    return replace(told, shortfalls=short_of(shortfalls))


def shown(fleet: ModelFleet) -> list[int]:
    return [len(view.shortfalls) for view in report_views(fleet.book, "")]


def test_r04_an_empty_list_replaces_the_one_before() -> None:
    fleet = ModelFleet()
    assert fleet.do(reports.on_report, report_of(fleet, 1, shortfalls=3)).acknowledged
    assert shown(fleet) == [3]
    assert fleet.do(reports.on_report, report_of(fleet, 2, shortfalls=0)).acknowledged
    assert shown(fleet) == [0]


def test_r04_an_older_cycle_after_a_newer_one_is_discarded() -> None:
    fleet = ModelFleet()
    fleet.do(reports.on_report, report_of(fleet, 5, shortfalls=0))
    assert not fleet.do(reports.on_report, report_of(fleet, 4, shortfalls=3)).acknowledged
    assert not fleet.do(reports.on_report, report_of(fleet, 5, shortfalls=3)).acknowledged
    assert shown(fleet) == [0]
    assert fleet.book.counts.of("reports_total", result="out_of_order") == 2


def test_r04_a_new_life_begins_to_count_its_cycles_anew() -> None:
    fleet = ModelFleet()
    fleet.do(reports.on_report, report_of(fleet, 500, shortfalls=3))
    assert fleet.do(reports.on_report, report_of(fleet, 1, shortfalls=1, epoch=2)).acknowledged
    assert shown(fleet) == [1]


def test_r04_a_shard_that_is_silent_for_three_intervals_is_stale() -> None:
    fleet = ModelFleet()
    fleet.do(reports.on_report, report_of(fleet, 1, shortfalls=3))
    fleet.wait(30)
    assert fleet.book.is_fresh("a", fleet.now)
    fleet.wait(1)
    assert not fleet.book.is_fresh("a", fleet.now)


def test_r04_a_report_that_is_not_news_still_shows_that_the_shard_lives() -> None:
    fleet = ModelFleet()
    fleet.do(reports.on_report, report_of(fleet, 1, shortfalls=0))
    fleet.wait(31)
    fleet.do(reports.on_report, report_of(fleet, 1, shortfalls=0))
    assert fleet.book.is_fresh("a", fleet.now)


def test_r04_nothing_is_left_of_reports_after_a_fail_over() -> None:
    fleet = ModelFleet()
    fleet.do(reports.on_report, report_of(fleet, 9, shortfalls=3))
    fleet.coordinator.fail_over()
    assert shown(fleet) == []
    assert not fleet.book.is_fresh("a", fleet.now)
    assert fleet.do(reports.on_report, report_of(fleet, 9, shortfalls=1)).acknowledged
    assert shown(fleet) == [1]


def test_r04_people_see_the_deficit_and_not_what_it_requires() -> None:
    fleet = ModelFleet()
    fleet.do(reports.on_report, report_of(fleet, 1, shortfalls=1))
    (view,) = report_views(fleet.book, "a")
    (row,) = view.shortfalls
    assert (row.deficit, row.priority, row.age_cycles) == (EIGHT_CPUS, 0, 7)
    assert report_views(fleet.book, "b") == []
