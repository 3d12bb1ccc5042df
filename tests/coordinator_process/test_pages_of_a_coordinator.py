"""What the HTTP pages say: alive, ready or why not, and every count of the catalogue."""

import ast
from pathlib import Path

import pytest

from bigfleet.coordinator.driving.process import STORE_PATIENCE_SECONDS
from bigfleet.coordinator.metrics import (
    CATALOGUE,
    COUNTERS,
    GAUGES,
    HISTOGRAMS,
    CoordinatorMetrics,
)
from bigfleet.coordinator.stores.contract import Leader, Store
from bigfleet.edge.clock import Clock, ManualClock
from bigfleet.edge.counts import Counts
from bigfleet.edge.pages import Pages
from bigfleet.process import CoreTaskDied
from tests.architecture.tree import PACKAGE, python_files
from tests.coordinator_process.memory_store import Fault, MemoryStore, SharedRows
from tests.coordinator_process.rig import ADA, coordinated
from tests.shard_system.test_every_count_is_on_the_page import counted_in
from tests.shard_system.waiting import until


@pytest.mark.parametrize("address", ["everywhere", "127.0.0.1:99999"])
async def test_pages_are_refused_on_an_unusable_address(address: str) -> None:
    with pytest.raises(OSError, match=f"cannot listen on {address}: it is not HOST:PORT"):
        await Pages({}, {}).start(address)


class Stores:
    """Makes stores, and keeps hold of them."""

    def __init__(self, fault: Fault | None = None) -> None:
        self.shared = SharedRows()
        self.made: list[MemoryStore] = []
        self._fault = fault

    def of(self, settings: object, me: Leader, clock: Clock) -> Store:
        store = MemoryStore(self.shared, me, clock)
        store.fault = self._fault
        self.made.append(store)
        return store


async def test_a_coordinator_that_leads_is_ready(tmp_path: Path) -> None:
    async with coordinated(tmp_path) as rig:
        assert await rig.page("/healthz") == (200, "alive\n")
        assert await rig.page("/readyz") == (200, "ready\n")
        assert (await rig.page("/debug/tasks"))[0] == 404


async def test_a_coordinator_without_its_store_lives_and_is_not_ready(tmp_path: Path) -> None:
    stores = Stores(Fault.DOWN)
    clock = ManualClock()
    async with coordinated(tmp_path, store=stores.of, clock=clock, leads=False) as rig:
        assert await rig.page("/healthz") == (200, "alive\n")
        assert await rig.page("/readyz") == (503, "the store does not answer\n")
        stores.made[0].fault = None
        await clock.advance(1)
        await until(lambda: rig.process.leading.leads)
        assert (await rig.page("/readyz"))[0] == 200


async def test_a_coordinator_gives_up_on_a_file_that_stays_away(tmp_path: Path) -> None:
    stores, clock = Stores(), ManualClock()
    async with coordinated(tmp_path, store=stores.of, clock=clock) as rig:
        stores.made[0].fault = Fault.DOWN
        await clock.advance(STORE_PATIENCE_SECONDS - 2)
        stores.made[0].fault = None
        await clock.advance(2)
        stores.made[0].fault = Fault.DOWN
        await clock.advance(STORE_PATIENCE_SECONDS + 1)
        with pytest.raises(CoreTaskDied, match=r"out of reach for 30 s.*does not answer"):
            await rig.process.until_dead()


async def test_every_name_of_the_catalogue_is_on_the_page(tmp_path: Path) -> None:
    async with coordinated(tmp_path) as rig:
        await rig.reported()
        await rig.synced()
        await rig.client.set_quota(ADA, provider="sim", region="eu", total=40)
        await rig.client.assign_domain(
            ADA, topology_key="zone", topology_value="a", shard_id="shard-0"
        )
        status, text = await rig.page("/metrics")
        assert status == 200
        named = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
        names = {*HISTOGRAMS, *COUNTERS, *GAUGES}
        assert {CATALOGUE.prefix + name for name in names} <= named
        for line in (
            "raft_term 1.0",
            "is_leader 1.0",
            "shards 1.0",
            "shards_stale 0.0",
            "clusters_bound 0.0",
            "domains 1.0",
            "transfers_open 0.0",
            "elections_total 1.0",
            "store_errors_total 0.0",
            'reports_total{result="ok"} 1.0',
            'apply_total{outcome="error"} 0.0',
            'quota_total{provider="sim",region="eu"} 40.0',
            'quota_allocated{provider="sim",region="eu"} 0.0',
            'pending_instructions{shard="shard-0"}',
        ):
            assert f"bigfleet_coordinator_{line}" in text
        assert 'bigfleet_build_info{version="1.2.3"} 1.0' in text


async def test_a_follower_shows_nothing_of_a_fleet_it_does_not_lead(tmp_path: Path) -> None:
    stores = Stores()
    async with coordinated(tmp_path, store=stores.of) as rig:
        await rig.reported()
        assert "\nbigfleet_coordinator_shards 1.0" in (await rig.page("/metrics"))[1]
        stores.made[0].lose()
        # No replica is elected.
        stores.shared.vacant.clear()
        await until(lambda: not rig.process.leading.leads)
        text = (await rig.page("/metrics"))[1]
        assert "bigfleet_coordinator_is_leader 0.0" in text
        assert "\nbigfleet_coordinator_shards" not in text
        assert await rig.page("/readyz") == (503, "no leader is known\n")


def test_a_count_outside_the_catalogue_is_an_error() -> None:
    counts = Counts()
    counts.add("reports_totle")
    with pytest.raises(KeyError):
        CoordinatorMetrics(counts, lambda: None, "").text()


VERBS = {"add": COUNTERS, "set": GAUGES, "observe": HISTOGRAMS}


def test_every_name_that_is_counted_stands_in_the_catalogue() -> None:
    sources = [path.read_text() for path in python_files(PACKAGE / "coordinator")]
    found = {each for source in sources for each in counted_in(source)}
    found |= {("add", name) for source in sources for name in drafted_in(source)}
    assert ("add", "apply_total") in found
    assert ("add", "reports_total") in found
    strays = {(verb, name) for verb, name in found if name not in VERBS.get(verb, {name})}
    assert strays == set()
    never = {*COUNTERS, *GAUGES, *HISTOGRAMS} - {name for _, name in found}
    assert never == set()


def drafted_in(source: str) -> list[str]:
    """Names of every `draft.count("name")`."""
    return [
        str(node.args[0].value)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "count"
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and ast.unparse(node.func.value).endswith("draft")
    ]
