"""Rows that are too heavy for a report: the shard stays in touch with its coordinator, and both say
how many rows are missing."""

import asyncio
import sys
from pathlib import Path

import pytest

from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.wire.shard_reports import MOST_COUNTED
from tests.coordinator_process.test_as_a_process import words
from tests.shard_processes.process import Running, serving, shard_words
from tests.shard_system.operators import operating
from tests.shard_system.rig import offered, page, provided
from tests.shard_system.waiting import until, until_told

#: Rows of a roll-up, and bytes of each, as heavy as the door lets in. A report has room for 4 MiB
#: of the hundred most pressing.
ROWS, WEIGHT = 100, 29_000
LEFT_OFF = "bigfleet_coordinator_report_rows_left_off"
#: Types of machines beyond those that a report may count.
TOO_MANY_TYPES = 40
SIZE = {"cpu": "8", "memory": "32Gi"}


async def counted(running: Running, name: str) -> float:
    """The sum of a metric over all its labels."""
    text = (await page(int(running.started["metrics_port"]), "/metrics"))[1]  # type: ignore[index]
    rows = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return sum(float(value) for label, _, value in rows if label.startswith(name))


async def reports(shard: Running) -> float:
    return await counted(shard, 'bigfleet_shard_coordinator_reports_total{result="ok"}')


async def reports_go_on(shard: Running) -> None:
    before = await reports(shard)

    async def more() -> bool:
        return await reports(shard) >= before + 3

    await until_told(more)


def need(number: int, weight: int) -> Need:
    values = [f"{number}-{value:040}" for value in range(1 + weight // 48)]
    somewhere = Requirement.of("example.com/place", Operator.IN, values)
    return Need("mallory", Profile.of([somewhere], priority=1000), Resources.parse({"cpu": "1"}))


def reporting_words(tmp_path: Path, provider: str, coordinator: str) -> list[str]:
    return [
        *shard_words(tmp_path / "data", provider, "--coordinator-addr", coordinator),
        *("--report-interval", "500ms", "--ownership", "all"),
    ]


async def test_heavy_rows_do_not_end_the_reports_of_a_shard(tmp_path: Path) -> None:
    async with (
        provided(tmp_path, [offered("bare_metal", 2)]) as provider,
        serving(*words(tmp_path / "coordinator")) as coordinator,
        serving(*reporting_words(tmp_path, provider.address, coordinator.address)) as shard,
        operating("mallory", shard.address) as mallory,
    ):
        telling = asyncio.create_task(mallory.report(*(need(n, WEIGHT) for n in range(ROWS))))

        async def is_told() -> bool:
            return await counted(coordinator, LEFT_OFF) > 0

        await until_told(is_told, lambda: shard.lines[-5:])
        sys.stdout.write(f"rows left off: {await counted(coordinator, LEFT_OFF)} of {ROWS}\n")
        await reports_go_on(shard)
        telling.cancel()
        # As many rows: fewer would be held.
        await mallory.report(*(need(n, 0) for n in range(ROWS)))

        async def is_gone() -> bool:
            return await counted(coordinator, LEFT_OFF) == 0

        await until_told(is_gone)


@pytest.mark.nightly("ten thousand types of machines")
async def test_more_types_than_a_report_may_count_do_not_end_it(tmp_path: Path) -> None:
    offers = [
        {**offered("bare_metal", 1), "instance_type": f"type-{number}", "resources": SIZE}
        for number in range(MOST_COUNTED + TOO_MANY_TYPES)
    ]
    async with (
        provided(tmp_path, offers) as provider,
        serving(*words(tmp_path / "coordinator")) as coordinator,
        serving(*reporting_words(tmp_path, provider.address, coordinator.address)) as shard,
    ):

        async def is_told() -> bool:
            return await counted(coordinator, LEFT_OFF) == TOO_MANY_TYPES

        await until_told(is_told)
        # Said once the coordinator has answered.
        await until(lambda: shard.logged("coordinator.report_cut"), lambda: shard.lines)
        await reports_go_on(shard)
