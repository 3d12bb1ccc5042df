"""Matching supply is counted up to ten thousand, and says when it was cut."""

import pytest

from bigfleet.model.shard_views import MatchingSupply
from bigfleet.plan.cycle import cycle_input
from bigfleet.shard.ledgers.needs import NeedsLedger
from tests.worlds.fleets import fleet_of
from tests.worlds.gpus import idle, plain


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
