"""Three shards of one fleet: each has its own, and one helps another out."""

import asyncio
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.edge.clock import next_turn
from bigfleet.model.coordination import TransferState, TransferTier
from bigfleet.model.errors import StartRefused
from bigfleet.model.pauses import PauseScope
from bigfleet.model.requirements import ZONE_KEY
from bigfleet.model.shard_admin import Audit, PauseCall
from bigfleet.sim.workloads import SHOP
from bigfleet.up.local_fleet import LocalFleet
from bigfleet.up.owner_watch import OwnerWatch
from bigfleet.up.reports import CycleReport
from bigfleet.up.zone_assignment import dealt, shard_names
from tests.up.fleets import (
    FAST,
    PATIENCE_SECONDS,
    context,
    has_all_it_wants,
    moved,
    running,
    seen,
)

THREE = replace(FAST, shards=3)
ZONES = {"a": "shard-0", "b": "shard-1", "c": "shard-2"}


def test_zones_and_clusters_are_dealt_out_in_turn() -> None:
    assert dealt(THREE.zones, shard_names(3)) == ZONES
    assert dealt(THREE.zones, shard_names(2)) == {**ZONES, "c": "shard-0"}


async def test_every_shard_has_its_zone_its_cluster_and_nothing_else() -> None:
    async with running(THREE) as fleet:
        rows = await fleet.admin.domains()
        assert {row.value: row.shard for row in rows if row.key == ZONE_KEY} == ZONES
        owned = fleet.owned()
        assert sum(map(len, owned.values())) == THREE.machines
        for zone, shard in ZONES.items():
            machines = fleet.shards[shard].state.parts.machines
            assert {machines.truth(name).zone for name in owned[shard]} == {zone}


async def test_what_one_shard_is_short_of_comes_from_one_that_has_it_idle() -> None:
    """Critical work of the shop runs only in zone b, which another shard has."""
    owners = OwnerWatch(THREE.min_stay_seconds, THREE.look_seconds)

    def shop_is_served(report: CycleReport) -> bool:
        owners.on_owners(fleet.owned(), report.at)
        critical = [need for need in report.unmet if need.key.cluster == SHOP]
        return report.shard == "shard-0" and not critical and has_all_it_wants(report.clusters[0])

    async with running(THREE) as fleet:
        transfer = await moved(fleet, TransferState.DONE)
        assert (transfer.from_shard, transfer.to_shard) == ("shard-1", "shard-0")
        assert transfer.tier is TransferTier.IDLE
        assert "shard-0 is short of cpu" in transfer.reason
        came, owned = set(transfer.machine_ids), fleet.owned()
        assert came <= owned["shard-0"]
        assert not came & owned["shard-1"]
        await seen(fleet, shop_is_served)
        assert owners.findings == []


async def stay_where_they_are(fleet: LocalFleet) -> None:
    """From here on no machine moves, in this life and the next; what is on its way arrives."""
    audit = Audit("tests", "owners are compared")
    await fleet.admin.pause(PauseCall(audit, PauseScope(rebalance_only=True), no_expiry=True))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await fleet.admin.transfers():
            await next_turn()


async def test_a_fleet_that_goes_on_has_the_same_owners(tmp_path: Path) -> None:
    plan = replace(THREE, data_dir=tmp_path)
    async with running(plan) as first:
        transfer = await moved(first, TransferState.DONE)
        await stay_where_they_are(first)
        owned, provider = first.owned(), first.addresses["provider"]
    assert set(transfer.machine_ids) <= owned["shard-0"]
    async with running(plan) as second:
        assert second.addresses["provider"] == provider
        await seen(second, lambda _: second.owned() == owned)
        # The zones are as they were: no shard has been asked to give anything up.
        events = [event async for event in second.admin.events()]
        assert [each for each in events if each.kind == "handover_begun"] == []


async def test_a_fleet_whose_provider_cannot_be_where_it_was_is_not_started(
    tmp_path: Path,
) -> None:
    plan = replace(THREE, data_dir=tmp_path)
    async with running(plan) as first:
        port = int(first.addresses["provider"].rpartition(":")[2])
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        with pytest.raises(StartRefused, match=f"port {port}.*in use"):
            await LocalFleet(plan, context()).start()
