"""Candidates of a gang that found no domain: what counts for one, and how many are named."""

import pytest

from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import Assigned, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.shard_views import DomainCoverage
from bigfleet.plan.cycle import cycle_input
from bigfleet.shard.ledgers.needs import NeedsLedger
from tests.worlds.fleets import fleet_of
from tests.worlds.gpus import bound, gang, host, plain, zoned

GANG = gang("shop", 100, 4, "g1")


def candidates(machines: list[FleetMachine], *others: Need) -> dict[str, int]:
    ledger = NeedsLedger(cycle_input(fleet_of(machines, [GANG, *others])).decide(), 1, 1)
    [view] = [view for view in ledger.page().needs if view.need.key == GANG.key]
    return {each.domain: each.per_mille for each in view.same_candidates}


def ordered_for(cluster: str) -> FleetMachine:
    stamp = Assigned(cluster=cluster, need_fingerprint=GANG.profile.fingerprint, group=GANG.group)
    return host("order", MachineState.CREATING, zone="b", stamp=stamp)


@pytest.mark.parametrize(
    ("cluster", "per_mille"),
    [
        pytest.param("shop", 250, id="its own order counts"),
        pytest.param("", 250, id="an order without a cluster counts"),
        pytest.param("bank", None, id="an order of another cluster does not"),
    ],
)
def test_machines_on_order_count_for_who_ordered_them(cluster: str, per_mille: int | None) -> None:
    assert candidates([*zoned("a", 2), ordered_for(cluster)]).get("b") == per_mille


def test_unclaimed_machines_of_its_cluster_count() -> None:
    machines = [*zoned("a", 3), bound("m1", "shop", 100, zone="b"), bound("m2", "bank", 100)]
    assert candidates(machines) == {"a": 750, "b": 250}


def test_machines_that_others_took_do_not_count() -> None:
    machines = [*zoned("a", 3), *zoned("b", 2)]
    assert candidates(machines, plain("bank", 900, 4)) == {"b": 250}


def test_six_domains_are_named_and_no_more() -> None:
    machines = [each for zone in "hgfedcba" for each in zoned(zone, 1)]
    ledger = NeedsLedger(cycle_input(fleet_of(machines, [GANG])).decide(), 1, 1)
    [view] = ledger.page().needs
    assert view.same_candidates == tuple(DomainCoverage(zone, 250, False) for zone in "abcdef")
