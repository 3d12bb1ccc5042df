"""Three members of etcd, of which one or all die: rows stay, and the leader goes on."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bigfleet.coordinator.stores.contract import (
    Deposed,
    RowChange,
    Store,
    StoreDown,
    StoreUnclear,
)
from bigfleet.edge.clock import next_turn
from bigfleet.wire.etcd.client import EtcdClient
from tests.architecture.tree import ROOT
from tests.coordinator_stores.rigs import (
    PATIENCE,
    EtcdRig,
    fresh_prefix,
    leader,
    leading,
    opened,
    put,
    rows_of,
    rows_when_reached,
    until,
)
from tests.etcd_cluster import EtcdCluster, etcd_cluster, needs_etcd

pytestmark = needs_etcd
#: Slower than one member alone: three compete for this machine.
CALM = ("--heartbeat-interval=50", "--election-timeout=500")


@pytest.fixture
def three(tmp_path: Path) -> Iterator[EtcdCluster]:
    """New for every test: members of etcd 3.5.1 may differ after a kill -9 (etcd issue 13766)."""
    with etcd_cluster(tmp_path, 3, flags=CALM) as cluster:
        yield cluster


@pytest.fixture
def rig(three: EtcdCluster) -> EtcdRig:
    return EtcdRig(three.endpoints, fresh_prefix())


def impatient(rig: EtcdRig) -> EtcdClient:
    return EtcdClient(rig.endpoints, call_seconds=1.0)


async def surely(store: Store, changes: list[RowChange]) -> None:
    """As the coordinator does it: what is unclear is looked up, what is down is tried again."""
    wanted = {change.key: change.value for change in changes}
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await store.commit(changes)
                return
            except StoreUnclear:
                rows = await rows_when_reached(store)
                if all(rows.get(key) == value for key, value in wanted.items()):
                    return
            except StoreDown:
                await next_turn()


async def test_each_member_may_be_killed_and_nothing_is_lost(
    rig: EtcdRig, three: EtcdCluster
) -> None:
    store = rig.store(client=impatient(rig))
    async with leading(store):
        for number, member in enumerate(three.members):
            member.kill()
            await surely(store, put(**{f"killed__{number}": "x"}))
            await asyncio.to_thread(member.restart)
            await surely(store, put(**{f"back__{number}": "x"}))
        assert store.still_leads()
        expected = {f"{word}/{n}": b"x" for word in ("killed", "back") for n in range(3)}
        assert await rows_when_reached(store) == expected


async def test_a_member_that_hangs_does_not_hold_up_callers_for_ever(
    rig: EtcdRig, three: EtcdCluster
) -> None:
    store = rig.store(client=impatient(rig))
    async with leading(store):
        for number, member in enumerate(three.members):
            member.pause()
            try:
                await surely(store, put(**{f"paused__{number}": "x"}))
            finally:
                member.resume()
        assert sorted(await rows_when_reached(store)) == ["paused/0", "paused/1", "paused/2"]


async def test_rows_and_terms_outlive_a_restart_of_all_members(
    rig: EtcdRig, three: EtcdCluster
) -> None:
    store = rig.store(client=impatient(rig))
    async with leading(store) as term:
        await store.commit(put(seq="1"))
        three.kill()
        with pytest.raises((StoreDown, StoreUnclear)):
            await store.commit(put(seq="lost"))
        await asyncio.to_thread(three.start)
        assert await rows_when_reached(store) == {"seq": b"1"}
        await store.resign()
        assert (await store.campaign()).term == term + 1
        assert await rows_of(store) == {"seq": b"1"}


async def test_a_follower_takes_over_though_the_member_it_watched_is_dead(
    rig: EtcdRig, three: EtcdCluster
) -> None:
    first, second = rig.store("a"), rig.store("b", impatient(rig))
    async with leading(first), opened(second):
        campaign = asyncio.create_task(second.campaign())
        await until(lambda: second.leader() == leader("a"))
        # Both stick to the first endpoint while it answers.
        three.members[0].kill()
        await first.resign()
        async with asyncio.timeout(PATIENCE):
            reign = await asyncio.shield(campaign)
        assert reign.term == 2
        with pytest.raises(Deposed):
            await first.commit(put(seq="stale"))
        await asyncio.to_thread(three.members[0].restart)


async def test_without_a_majority_nothing_changes_and_the_leader_says_why(
    rig: EtcdRig, three: EtcdCluster
) -> None:
    store = rig.store(client=impatient(rig))
    async with leading(store):
        for member in three.members[:2]:
            member.kill()
        with pytest.raises((StoreDown, StoreUnclear)):
            await store.commit(put(seq="1"))
        with pytest.raises(StoreDown, match="see that a majority of its members run"):
            await store.load()
        assert "etcd does not answer" in store.trouble()
        for member in three.members[:2]:
            await asyncio.to_thread(member.start)
        for member in three.members[:2]:
            await asyncio.to_thread(member.ready)
        assert await rows_when_reached(store) in ({}, {"seq": b"1"})
        assert store.trouble() == ""


STARTING = """
import sys
from pathlib import Path
from tests.etcd_cluster import etcd_cluster
with etcd_cluster(Path(sys.argv[1])) as cluster:
    print(cluster.members[0].pid, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_members_do_not_outlive_tests_that_are_killed(tmp_path: Path, how: signal.Signals) -> None:
    words = [sys.executable, "-c", STARTING, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe) as tests:
        assert tests.stdout is not None
        etcd = os.pidfd_open(int(tests.stdout.readline()))
        tests.send_signal(how)
        ended, _, _ = select.select([etcd], [], [], PATIENCE)
        os.close(etcd)
    assert ended
