"""Tenants choose names without end: the metrics page stays small, probes are answered while it is
made, and what the tenants named goes with them."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from bigfleet.edge.counts import MOST_VALUES
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from bigfleet.wire.session_client import SessionClient
from tests.nightly import IS_NIGHTLY
from tests.shard_processes.process import Running, serving, shard_words
from tests.shard_system.demand import rollup
from tests.shard_system.operators import hello_of, operating
from tests.shard_system.rig import offered, page, provided
from tests.shard_system.waiting import until_told

#: Resource names in one roll-up, and clusters whose roll-ups are refused.
NAMES = 100_000 if IS_NIGHTLY else 2_000
CLUSTERS = 1_000 if IS_NIGHTLY else MOST_VALUES + 20
SCRAPERS = 8
REFUSED = "bigfleet_shard_rollups_rejected_total{"


async def scraped(shard: Running) -> list[str]:
    """The samples of the page."""
    status, text = await page(int(shard.started["metrics_port"]), "/metrics")  # type: ignore[index]
    assert status == 200
    return [line for line in text.splitlines() if not line.startswith("#")]


async def named(shard: Running, start: str) -> list[str]:
    return [line for line in await scraped(shard) if line.startswith(start)]


async def probes_answer_while_pages_are_made(shard: Running) -> None:
    port = int(shard.started["metrics_port"])  # type: ignore[index]
    scrapes = [asyncio.create_task(page(port, "/metrics")) for _ in range(SCRAPERS)]
    for path in ("/healthz", "/readyz"):
        assert (await page(port, path))[0] == 200
    assert [(await scrape)[0] for scrape in scrapes] == [200] * SCRAPERS


async def test_a_flood_of_resource_names_leaves_no_trace(tmp_path: Path) -> None:
    names = {f"flood.example/r-{number}": "1" for number in range(NAMES)}
    flood = Need("mallory", Profile.of(priority=100), Resources.parse({"cpu": "1", **names}))
    async with (
        provided(tmp_path, [offered("bare_metal", 2)]) as provider,
        serving(*shard_words(tmp_path / "data", provider.address)) as shard,
        operating("mallory", shard.address) as mallory,
    ):

        async def is_answered() -> bool:
            """Taken, or refused at the door."""
            rows = await named(shard, "bigfleet_shard_rollups_total{")
            return any(float(row.rpartition(" ")[2]) for row in rows if '"held"' not in row)

        telling = asyncio.create_task(mallory.report(flood))
        await until_told(is_answered)
        await probes_answer_while_pages_are_made(shard)
        for gauge in ("demand_resources", "unmet_resources"):
            assert len(await named(shard, f"bigfleet_shard_{gauge}{{")) <= MOST_VALUES + 1
        telling.cancel()
        await mallory.report()

        async def is_gone() -> bool:
            return not [row for row in await scraped(shard) if "flood.example" in row]

        await until_told(is_gone)


async def test_clusters_whose_rollups_are_refused_share_few_series(tmp_path: Path) -> None:
    need = Need("another", Profile.of(priority=100), Resources.parse({"cpu": "1"}))
    async with (
        provided(tmp_path, [offered("bare_metal", 2)]) as provider,
        serving(*shard_words(tmp_path / "data", provider.address)) as shard,
    ):
        async with AsyncExitStack() as sessions:
            for number in range(CLUSTERS):
                client = SessionClient(shard.address)
                session = await sessions.enter_async_context(client.open(hello_of(f"c-{number}")))
                await session.send(rollup("another", 1, need))

            async def are_refused() -> bool:
                rows = await named(shard, REFUSED)
                return sum(float(row.rpartition(" ")[2]) for row in rows) >= CLUSTERS

            await until_told(are_refused)
            rows = await named(shard, REFUSED)
            assert len(rows) == MOST_VALUES + 1
            assert any('cluster="other"' in row for row in rows)

        async def are_gone() -> bool:
            return len(await named(shard, REFUSED)) <= 1

        await until_told(are_gone)
