"""The first minutes of `up`, ten times as fast: served, surged, shrunk, gone without a trace."""

import asyncio
import socket
from collections import Counter
from pathlib import Path

import pytest

from bigfleet.edge.clock import next_turn
from bigfleet.model.actions import ActionKind
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.sim.workloads import CLUSTERS
from bigfleet.up.fleet_watch import ShardWatch
from bigfleet.up.reports import CycleReport
from bigfleet.wire.session_client import Session, SessionClient
from tests.up.fleets import FAST, PATIENCE_SECONDS, has_all_it_wants, is_served, running, seen

#: Machines are taken and bought, victims make room for the surge, excess goes back.
EVERYTHING = {
    (ActionKind.BOOTSTRAP, "shop"),
    (ActionKind.PROVISION, "ml"),
    (ActionKind.PREEMPT, "batch"),
    (ActionKind.RECLAIM, "shop"),
    (ActionKind.RECLAIM, "batch"),
}


def is_refused(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with socket.socket() as line:
        return line.connect_ex((host, int(port))) != 0


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


async def test_clusters_are_served_a_surge_preempts_and_a_scale_down_reclaims(
    temporary: Path,
) -> None:
    before = asyncio.all_tasks()
    started: Counter[tuple[ActionKind, str]] = Counter()
    served: set[str] = set()
    watch = ShardWatch()

    def has_seen_everything(report: CycleReport) -> bool:
        watch.on_report(report)
        started.update((action.kind, action.cluster) for action in report.actions)
        if started.keys() >= EVERYTHING:
            # Since the surge: pods of every shape have found a place.
            served.update(c.name for c in report.clusters if has_all_it_wants(c))
        return served == set(CLUSTERS) and not report.unmet

    async with running(FAST) as fleet:
        await seen(fleet, has_seen_everything)
        addresses = [*fleet.addresses.values(), *fleet.metrics.values()]
        assert len(list(temporary.iterdir())) == 1
    assert [finding for finding in watch.findings if "bound to it again" in finding] == []
    assert [finding for finding in watch.findings if "would take it" in finding] == []
    assert [address for address in addresses if not is_refused(address)] == []
    assert list(temporary.iterdir()) == []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while asyncio.all_tasks() != before:
            await next_turn()


async def test_a_cluster_whose_session_is_taken_over_takes_it_back() -> None:
    """The shard keeps the newer of two; so the one that dials again ends the intruder's."""
    async with running(FAST) as fleet:
        await seen(fleet, is_served)
        line = fleet.clusters.lines["shop"]
        client = SessionClient(fleet.addresses["shard-0"])
        async with client.open(line.operator.hello) as intruder:
            with pytest.raises(Rejected) as ended:
                await _heard_out(intruder)
        assert ended.value.code is Code.ABORTED
        assert line.reconnects == 1
        await seen(fleet, is_served)


async def _heard_out(session: Session) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        async for _ in session:
            """Until it ends."""
