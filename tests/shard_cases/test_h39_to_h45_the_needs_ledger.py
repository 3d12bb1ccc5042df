"""Worked cases H39 to H45: why a Need is unmet, and how views are listed."""

from dataclasses import replace

from bigfleet.model.actions import UnmetReason
from bigfleet.model.fleet import FleetMachine, Held, HeldBy
from bigfleet.model.needs import Need
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import DomainCoverage, MatchingSupply, NeedPage, NeedView
from bigfleet.plan.cycle import cycle_input
from bigfleet.shard.ledgers.needs import NeedsLedger
from tests.worlds.fleets import fleet_of
from tests.worlds.gpus import MILLION, bound, gang, idle, plain, units, zoned


def ledger_of(machines: list[FleetMachine], *needs: Need) -> NeedsLedger:
    return NeedsLedger(cycle_input(fleet_of(machines, needs)).decide(), cycle=3, at=17)


def only_view(machines: list[FleetMachine], need: Need) -> NeedView:
    [view] = ledger_of(machines, need).page().needs
    return view


def test_h39_a_satisfied_need_has_no_reason() -> None:
    view = only_view(idle(2), plain("shop", 100, 2))
    assert view.satisfied
    assert view.unmet_reason is None
    assert view.supply is None
    assert view.deficit == Resources()
    assert (view.claimed, view.bootstraps, view.provisions) == (2, 2, 0)


def test_h40_nothing_matches() -> None:
    view = only_view([], plain("shop", 100, 2))
    assert view.unmet_reason is UnmetReason.NO_MATCHING_SUPPLY
    assert view.supply == MatchingSupply()
    assert view.deficit == units(2)
    assert view.unmet_age == 1


def test_h41_preemption_was_not_enough() -> None:
    view = only_view([bound("low-0", "batch", 10)], plain("train", MILLION, 2))
    assert view.unmet_reason is UnmetReason.PREEMPTION_EXHAUSTED
    assert (view.victims, view.freed) == (1, units(1))
    assert view.supply == MatchingSupply(configured=1)


def test_h42_others_of_the_same_priority_have_it() -> None:
    view = only_view([bound("equal-0", "bank", 100)], plain("shop", 100, 1))
    assert view.unmet_reason is UnmetReason.PRIORITY_STARVED
    assert view.victims == 0


def test_h42_is_not_said_of_what_a_quota_keeps_back() -> None:
    [spare] = idle(1)
    withheld = replace(spare, marks=replace(spare.marks, held=Held(HeldBy.QUOTA)))
    view = only_view([bound("equal-0", "bank", 100), withheld], plain("shop", 100, 1))
    assert view.unmet_reason is UnmetReason.NO_MATCHING_SUPPLY


def test_h43_no_zone_holds_the_gang() -> None:
    machines = [*zoned("a", 3), *zoned("b", 1)]
    view = only_view(machines, gang("shop", 100, 4, "g1"))
    assert view.unmet_reason is UnmetReason.TOPOLOGY_UNSATISFIABLE
    assert (view.same_domain, view.same_satisfiable) == ("a", False)
    assert view.same_candidates == (
        DomainCoverage("a", 750, False),
        DomainCoverage("b", 250, False),
    )
    assert view.parked_age == 0, "it took three machines, so it is not stalled"


def test_h44_views_go_by_priority_arrival_and_cluster() -> None:
    late = replace(plain("bank", 500, 1), arrival_unix_nanos=9)
    early = replace(plain("shop", 500, 1), arrival_unix_nanos=2)
    needs = [plain("shop", 10, 1), late, early, plain("zoo", 900, 1), plain("shop", 700, 1)]
    ledger = ledger_of([], *needs)
    page = ledger.page()
    assert [(v.need.cluster, v.need.profile.priority) for v in page.needs] == [
        ("zoo", 900),
        ("shop", 700),
        ("shop", 500),
        ("bank", 500),
        ("shop", 10),
    ]
    assert (page.cycle, page.computed_at, page.total) == (3, 17, 5)
    assert [v.need.profile.priority for v in ledger.page("shop").needs] == [700, 500, 10]
    cut = ledger.page(limit=2)
    assert (cut.total, len(cut.needs)) == (5, 2)


def test_h45_before_the_first_cycle_there_is_nothing() -> None:
    assert NeedsLedger().page() == NeedPage(0, 0, 0, ())
