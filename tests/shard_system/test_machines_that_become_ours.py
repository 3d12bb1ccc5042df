"""A view gives machines to a shard; they come with the next List, not with the next whole one."""

from dataclasses import replace
from pathlib import Path

from bigfleet.model.coordination import SyncReply
from bigfleet.model.ownership import OwnershipView
from bigfleet.shard.settings import ReconcileSettings
from tests.shard_system.rig import QUICK, ShardRig, offered, provided, sharded
from tests.shard_system.waiting import until

#: Only what has changed is listed; the next whole List is minutes away.
INCREMENTAL = replace(
    QUICK,
    ownership="assigned",
    reconcile=replace(
        QUICK.reconcile, mode="incremental", full_interval=ReconcileSettings().full_interval
    ),
)
ZONE = "topology.kubernetes.io/zone"


async def told(shard: ShardRig, view: OwnershipView) -> None:
    """As the client of the coordinator does it."""
    side = shard.process.coordinating
    await side.take_sync(SyncReply(1, ownership=view), await side.sync_request(False))


async def test_a_view_between_two_incremental_lists_brings_its_machines(tmp_path: Path) -> None:
    offers = [offered("bare_metal", 4, zone) for zone in ("a", "b")]
    async with (
        provided(tmp_path, offers) as provider,
        sharded(tmp_path / "data", [provider.address], INCREMENTAL) as shard,
    ):
        machines, reconciler = (
            shard.process.state.parts.machines,
            shard.process.state.parts.reconciler,
        )
        first = OwnershipView(1, {(ZONE, "a"): "shard-0", (ZONE, "b"): "another"}, keys=(ZONE,))
        await told(shard, first)
        await until(lambda: len(machines) == 4)
        # It rests between two Lists of what has changed when the other zone comes.
        await until(lambda: reconciler.status("p0").incremental)
        await told(
            shard, replace(first, revision=2, domains={**first.domains, (ZONE, "b"): "shard-0"})
        )
        await until(lambda: len(machines) == 8, lambda: f"{len(machines)} machines")
