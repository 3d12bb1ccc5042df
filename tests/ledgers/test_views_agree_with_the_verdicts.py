"""Every view against the verdict of the same Need and machines counted one by one."""

import pytest
from hypothesis import Phase, given, settings

from bigfleet.engine.decision import Decision
from bigfleet.model.fleet import Fleet
from bigfleet.model.needs import Need
from bigfleet.model.shard_views import MatchingSupply, NeedView
from bigfleet.plan.cycle import cycle_input
from bigfleet.shard.ledgers.needs import NeedsLedger
from tests.generated.fleets import fleets
from tests.oracle import availability as oracle
from tests.worlds.fleets import fleet_of
from tests.worlds.gpus import idle, plain

Place = tuple[int, int, str]


def place_of(need: Need) -> Place:
    return (-need.profile.priority, need.arrival_unix_nanos, need.cluster)


def by_need(decision: Decision, views: tuple[NeedView, ...]) -> list[NeedView]:
    """Views in the order of the verdicts: equal places keep the engine's order."""
    order = sorted(range(len(decision.verdicts)), key=lambda n: place_of(decision.verdicts[n].need))
    sorted_views: list[NeedView | None] = [None] * len(views)
    for place, row in enumerate(order):
        sorted_views[row] = views[place]
    return [view for view in sorted_views if view is not None]


@settings(phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(fleets())
def test_a_view_says_what_the_verdict_says(fleet: Fleet) -> None:
    decision = cycle_input(fleet).decide()
    page = NeedsLedger(decision, 7, 99).page()
    assert (page.cycle, page.computed_at, page.total) == (7, 99, len(decision.verdicts))
    assert [place_of(v.need) for v in page.needs] == sorted(place_of(v.need) for v in page.needs)
    claimed = {name for verdict in decision.verdicts for name in verdict.claimed}
    for verdict, view in zip(decision.verdicts, by_need(decision, page.needs), strict=True):
        assert view.need == verdict.need
        assert view.satisfied == verdict.satisfied
        assert view.deficit == verdict.deficit
        assert view.claimed == len(verdict.claimed)
        assert (view.bootstraps, view.provisions) == (verdict.bootstraps, verdict.provisions)
        assert view.victims == verdict.preempts
        assert (view.same_domain or None) == verdict.domain
        assert view.parked == verdict.parked
        assert view.unmet_reason == verdict.unmet_reason
        expected = None if verdict.satisfied else oracle.matching(fleet, verdict)
        assert view.supply == expected
        best = oracle.candidates(fleet, verdict, claimed, decision.memory)
        assert view.same_candidates == best


@settings(phases=(Phase.explicit, Phase.reuse, Phase.generate), max_examples=100)
@given(fleets())
def test_a_page_of_one_cluster_is_that_part_of_the_whole_page(fleet: Fleet) -> None:
    ledger = NeedsLedger(cycle_input(fleet).decide(), 1, 1)
    whole = ledger.page()
    for cluster in {view.need.cluster for view in whole.needs}:
        part = ledger.page(cluster)
        assert part.needs == tuple(v for v in whole.needs if v.need.cluster == cluster)
        cut = ledger.page(cluster, 1)
        assert (cut.total, cut.needs) == (len(part.needs), part.needs[:1])
    assert ledger.page("nobody").total == 0


@pytest.mark.parametrize(
    ("machines", "supply"),
    [
        (10_000, MatchingSupply(idle=10_000)),
        (10_001, MatchingSupply(idle=10_000, capped=True)),
    ],
)
def test_more_than_ten_thousand_matching_machines_are_many(
    machines: int, supply: MatchingSupply
) -> None:
    fleet = fleet_of(idle(machines), [plain("shop", 100, machines + 1)])
    [view] = NeedsLedger(cycle_input(fleet).decide(), 1, 1).page().needs
    assert view.supply == supply
