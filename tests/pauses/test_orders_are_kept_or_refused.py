"""An order is on disk before it is done; one that cannot be kept is refused and not done."""

from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bigfleet.edge.clock import ManualClock
from bigfleet.edge.process_usage import ProcessUsage
from bigfleet.model.pauses import PauseScope
from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.model.shard_admin import Audit, PauseCall, ResumeCall
from bigfleet.model.shard_views import ClearMode, QuarantineKind
from bigfleet.shard.driving.admin_writes import LAST
from bigfleet.shard.driving.outlet import Outlet
from bigfleet.shard.driving.services import AdminAnswers
from bigfleet.shard.effects import ADMIN, PAUSES
from bigfleet.shard.settings import ShardSettings
from bigfleet.shard.state import ShardState
from bigfleet.shard.store import Changes
from tests.shard_drivers import IdleDriver
from tests.shard_parts import start_of
from tests.shard_system.rig import Lines

ADA = Audit("ada", "the zone moves")
PEER = Peer("bigfleet://admin")


@dataclass
class Disk:
    """Takes what is written, or refuses it."""

    full: bool = False
    rows: dict[tuple[str, str], bytes] = field(default_factory=dict)

    def write(self, table: str, key: str, value: bytes | None) -> None:
        self._put({(table, key): value})

    def attempt(self, rows: Changes) -> "Future[None]":
        outcome: Future[None] = Future()
        if self.full:
            outcome.set_exception(OSError("state.db: the disk is full"))
        else:
            self._put(rows)
            outcome.set_result(None)
        return outcome

    def _put(self, rows: Changes) -> None:
        for key, value in rows.items():
            if value is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = value

    @property
    def pauses(self) -> list[str]:
        return [key for table, key in self.rows if table == PAUSES]


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def state(tmp_path: Path) -> ShardState:
    settings = ShardSettings(data_dir=str(tmp_path))
    return ShardState(start_of(settings, providers={}, ids="p"))


@pytest.fixture
def admin(state: ShardState, disk: Disk) -> AdminAnswers:
    outlet = Outlet(ManualClock(), Lines(), IdleDriver(), disk)
    return AdminAnswers(state, outlet, ProcessUsage(lambda: 0.0, lambda: 0.0))


def in_force(state: ShardState) -> list[str]:
    return [pause.pause_id for pause in state.parts.pauses.active()]


async def test_a_pause_is_on_disk_before_it_is_in_force(
    admin: AdminAnswers, state: ShardState, disk: Disk
) -> None:
    await admin.pause(PauseCall(ADA, PauseScope(cluster_ids=("shop",))), PEER)
    assert (in_force(state), disk.pauses) == (["p-1"], ["p-1"])
    assert b"pause p-1" in disk.rows[ADMIN, LAST]


async def test_a_pause_that_cannot_be_kept_is_not_in_force(
    admin: AdminAnswers, state: ShardState, disk: Disk
) -> None:
    disk.full = True
    with pytest.raises(Rejected) as refused:
        await admin.pause(PauseCall(ADA), PEER)
    assert (refused.value.code, refused.value.reason) == (Code.RESOURCE_EXHAUSTED, "store")
    assert "the disk is full" in refused.value.text
    assert "put an empty file 'pause' into the data dir" in refused.value.text
    assert in_force(state) == []


async def test_a_resume_that_cannot_be_kept_lifts_nothing(
    admin: AdminAnswers, state: ShardState, disk: Disk
) -> None:
    await admin.pause(PauseCall(ADA), PEER)
    disk.full = True
    for call in (ResumeCall(ADA, "p-1"), ResumeCall(ADA, everything=True)):
        with pytest.raises(Rejected, match="the disk is full"):
            await admin.resume(call, PEER)
    assert (in_force(state), disk.pauses) == (["p-1"], ["p-1"])
    disk.full = False
    await admin.resume(ResumeCall(ADA, "p-1"), PEER)
    assert (in_force(state), disk.pauses) == ([], [])


async def test_to_resume_what_is_gone_needs_no_disk(admin: AdminAnswers, disk: Disk) -> None:
    disk.full = True
    assert (await admin.resume(ResumeCall(ADA, "gone"), PEER)).removed == ()


async def test_every_other_order_is_refused_too(admin: AdminAnswers, disk: Disk) -> None:
    disk.full = True
    orders = (
        admin.clear("m-1", ClearMode.RECHECK, ADA, PEER),
        admin.release(QuarantineKind.ROLLUP, "shop", True, ADA, PEER),
        admin.reset_offering("acme/std-8/eu-1a/OnDemand", ADA, PEER),
    )
    for order in orders:
        with pytest.raises(Rejected) as refused:
            await order
        assert refused.value.code is Code.RESOURCE_EXHAUSTED
