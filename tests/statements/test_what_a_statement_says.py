"""A statement says what was declared, who took the machine from whom, and what else could be."""

import math
from pathlib import Path

import pytest

from bigfleet.costs.invoices import NO_TEAM, InvoiceSums, invoice_lines
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.model.actions import ActionKind
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.statements import InvoicePart, NextBestKind, Statement
from bigfleet.wire.statements import STATEMENT
from tests.hazards.virtual_fleet import START, bound
from tests.statements.recorded_fleet import (
    EPOCH,
    RecordedFleet,
    dollars_of,
    live_statements,
    recorded_invoices,
    wants,
)

MARCH = 1_773_456_000 * SECOND


def preempted() -> RecordedFleet:
    """`shop` runs on all machines; `ml` takes one that needs 30 s to drain."""
    machines = [dollars_of(bound(f"m-{number}", ""), 1.2) for number in (1, 2)]
    fleet = RecordedFleet(machines, {"m-1": 30, "m-2": 30})
    fleet.report("ml")
    fleet.report("shop", wants("shop", 2, 10, 8))
    fleet.run(10)
    fleet.report("ml", wants("ml", 1, 1000, 64))
    fleet.run(40)
    return fleet


def test_a_preempt_says_who_took_it_from_whom_and_what_was_declared() -> None:
    (made,) = live_statements(preempted().told)
    assert (made.kind, made.machine, made.epoch) == (ActionKind.PREEMPT, "m-1", EPOCH)
    assert made.id == f"{EPOCH}:{made.cycle}/m-1"
    assert (made.borne_by, made.caused_by) == ("shop", "ml")
    assert made.from_need.fingerprint == wants("shop", 2, 10, 8).profile.fingerprint
    assert made.to_need == wants("ml", 1, 1000, 64).key
    assert (made.from_priority, made.to_priority) == (10, 1000)
    assert (made.interruption_penalty, made.reclamation_penalty, made.declared) == (8.0, 2.0, 10.0)
    assert (made.unknown, made.chain) == ("", ())


def test_the_drain_is_worth_what_the_machine_cost_meanwhile() -> None:
    fleet = preempted()
    (made,) = live_statements(fleet.told)
    assert made.drain_seconds == (made.completed_at - made.decided_at) / SECOND >= 30
    assert made.drain_value == pytest.approx(1.2 * made.drain_seconds / 3600)
    assert made.grace_seconds > 0


def test_the_next_best_is_the_machine_that_would_have_made_way() -> None:
    (made,) = live_statements(preempted().told)
    best = made.next_best
    assert (best.kind, best.what) == (NextBestKind.OTHER_VICTIM, "machine/m-2")
    assert (best.extra_dollars, best.extra_dollars_per_hour) == (0.0, None)


def test_without_another_machine_there_is_no_next_best() -> None:
    fleet = RecordedFleet([bound("m-1", "")])
    fleet.report("ml")
    fleet.report("shop", wants("shop", 1, 10))
    fleet.run(10)
    fleet.report("ml", wants("ml", 1, 1000))
    fleet.run(10)
    (made,) = live_statements(fleet.told)
    assert made.next_best.kind is NextBestKind.NONE


def test_a_reclaim_is_caused_and_borne_by_the_cluster_whose_demand_fell() -> None:
    fleet = RecordedFleet([bound("m-1", "")])
    fleet.report("shop", wants("shop", 1, 10, 4))
    fleet.run(10)
    fleet.report("shop")
    fleet.run(10)
    (made,) = live_statements(fleet.told)
    assert (made.kind, made.caused_by, made.borne_by) == (ActionKind.RECLAIM, "shop", "shop")
    assert (made.to_need, made.declared, made.next_best.kind) == (None, 5.0, NextBestKind.NONE)
    (line,) = invoice_lines([InvoiceSums().add(made)])
    assert (line.caused, line.borne, line.net, line.count) == (5.0, 5.0, 0.0, 1)
    assert line.own == 5.0


def test_a_need_that_lost_a_machine_and_preempts_in_turn_names_the_cause() -> None:
    fleet = RecordedFleet([bound("m-1", "", "r1"), bound("m-2", "", "r2")])
    fleet.report("top")
    fleet.report("middle", wants("middle", 1, 100))
    fleet.run(10)
    fleet.report("low", wants("low", 1, 1))
    fleet.run(10)
    assert (fleet.of("middle"), fleet.of("low")) == ({"m-1"}, {"m-2"})
    fleet.report("top", wants("top", 1, 1000, rack="r1"))
    fleet.run(20)
    first, second = live_statements(fleet.told)
    assert (first.borne_by, first.caused_by, first.chain) == ("middle", "top", ())
    assert (second.borne_by, second.caused_by, second.chain) == ("low", "middle", (first.id,))


def test_a_suppressed_preempt_makes_no_statement_until_it_is_carried_out(tmp_path: Path) -> None:
    fleet = RecordedFleet([bound("m-1", "")])
    fleet.report("ml")
    fleet.report("shop", wants("shop", 1, 10))
    fleet.run(10)
    fleet.pause(ActionKind.PREEMPT, "shop")
    fleet.report("ml", wants("ml", 1, 1000))
    fleet.run(10)
    assert live_statements(fleet.told) == []
    fleet.resume()
    fleet.run(10)
    (made,) = live_statements(fleet.told)
    assert recorded_invoices(fleet.told, tmp_path).invoices.statements == (made,)


def test_a_preempt_that_no_recorded_cycle_decided_has_unknown_parts_not_zeros() -> None:
    fleet = preempted()
    (made,) = live_statements(fleet.told)
    cycles = [each for each in fleet.told if isinstance(each, FinishedCycle)]
    decided = next(each for each in cycles if each.given.cycle == made.cycle)
    (without,) = live_statements([each for each in fleet.told if each is not decided])
    assert (without.kind, without.machine, without.borne_by) == (made.kind, "m-1", "shop")
    assert (without.drain_seconds, without.drain_value) == (None, None)
    assert (without.caused_by, without.index) == ("", -1)
    assert without.declared == 10.0, "the machine was still seen with its cluster"
    assert "no recorded cycle decided it" in without.unknown
    document = STATEMENT.document(without)
    assert not {"drainSeconds", "drainValueDollars", "toNeed"} & set(document)
    assert STATEMENT.record(STATEMENT.message(without)) == without


def made_of(cluster: str, taker: str, dollars: float | None, at: int = MARCH) -> Statement:
    return Statement(
        f"1:1/{cluster}-{taker}",
        ActionKind.PREEMPT,
        "m-1",
        NeedKey(cluster, "", ""),
        NeedKey(taker, "", "") if taker else None,
        interruption_penalty=dollars,
        reclamation_penalty=dollars,
        completed_at=at,
    )


def test_caused_and_borne_add_up_to_the_same() -> None:
    sums = InvoiceSums()
    for made in (
        made_of("shop", "ml", 2.0),
        made_of("shop", "web", 1.0),
        made_of("ml", "", 4.0),
        made_of("ml", "web", math.inf),
        made_of("web", "ml", None),
    ):
        sums.add(made)
    lines = {line.name: line for line in invoice_lines(sums.parts())}
    assert sum(each.caused for each in lines.values()) == 14.0
    assert sum(each.net for each in lines.values()) == 0.0
    assert (lines["shop"].caused, lines["shop"].borne, lines["shop"].count) == (0.0, 6.0, 2)
    assert (lines["ml"].caused, lines["ml"].borne, lines["ml"].pinned) == (4.0, 8.0, 1)
    assert (lines["web"].unknown, lines["web"].pinned, lines[""].caused) == (1, 1, 8.0)


def test_what_a_team_takes_from_itself_is_no_net_and_counts_once() -> None:
    parts = [InvoicePart("2026-03", "shop", "web", 6.0, 2), InvoicePart("2026-03", "x", "web", 1.0)]
    lines = {line.name: line for line in invoice_lines(parts, {"shop": "retail", "web": "retail"})}
    assert (lines["retail"].caused, lines["retail"].borne, lines["retail"].count) == (6.0, 7.0, 2)
    assert (lines["retail"].own, lines[NO_TEAM].own) == (6.0, 0.0)
    assert lines[NO_TEAM].caused == 1.0


def test_a_month_is_one_of_utc() -> None:
    assert made_of("a", "b", 1.0, START).month == "2023-11"
    assert made_of("a", "b", 1.0, 1_772_323_199 * SECOND).month == "2026-02"
    assert made_of("a", "b", 1.0, 1_772_323_200 * SECOND).month == "2026-03"
