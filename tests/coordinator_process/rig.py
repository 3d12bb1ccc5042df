"""A coordinator on a rig: a real CoordinatorProcess over real gRPC, and shards played by hand."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from bigfleet.coordinator.driving.process import CoordinatorProcess, OpenStore, store_of
from bigfleet.coordinator.settings import CoordinatorSettings
from bigfleet.edge.clock import Clock
from bigfleet.edge.driver import RealClock
from bigfleet.model.coordination import ProviderEntry, SyncReply, SyncRequest
from bigfleet.model.coordinator_calls import ReportReply, ShardReport
from bigfleet.model.settings import Seconds
from bigfleet.model.shard_admin import Audit
from bigfleet.model.shard_views import ShardSummary
from bigfleet.process import ProcessContext
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient
from bigfleet.wire.coordinator_client import CoordinatorLines
from bigfleet.wire.lines import TlsFiles
from tests.shard_system.rig import ANYWHERE, Lines, page
from tests.shard_system.waiting import until

#: Everything a coordinator is by default, but on ports of its own.
QUICK = CoordinatorSettings(
    listen=ANYWHERE, metrics_addr=ANYWHERE, shutdown_grace=Seconds(1.0), lease_ttl=Seconds(1.0)
)
ADA = Audit("ada", "because")
PROVIDER = "10.0.0.9:9000"
SUMMARY = ShardSummary(7, 4, {"a3": 7}, {"z1": 5, "z2": 2}, PROVIDER)
DEADLINE = 30.0


@dataclass(slots=True)
class CoordinatorRig:
    process: CoordinatorProcess
    log: Lines
    client: CoordinatorAdminClient
    lines: CoordinatorLines

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.process.port}"

    def counted(self, name: str, **labels: str) -> float:
        return self.process.leading.counts.of(name, **labels)

    async def page(self, path: str) -> tuple[int, str]:
        return await page(self.process.metrics_port, path)

    async def reported(self, shard: str = "shard-0", cycle: int = 1, epoch: int = 1) -> ReportReply:
        return await self.lines.report(self.address, report(shard, cycle, epoch), DEADLINE)

    async def synced(self, shard: str = "shard-0", epoch: int = 1) -> SyncReply:
        request = SyncRequest(shard, epoch, 1, providers=(ProviderEntry("sim", PROVIDER),))
        return await self.lines.sync(self.address, request, DEADLINE)


def report(shard: str, cycle: int = 1, epoch: int = 1) -> ShardReport:
    return ShardReport(shard, cycle, 0, epoch, f"{shard}:7780", SUMMARY)


@asynccontextmanager
async def coordinated(
    folder: Path,
    settings: CoordinatorSettings = QUICK,
    *,
    leads: bool = True,
    tls: TlsFiles | None = None,
    caller: TlsFiles | None = None,
    clock: Clock | None = None,
    store: OpenStore = store_of,
) -> AsyncIterator[CoordinatorRig]:
    """Up, and leading unless it need not; its file lies in the folder."""
    log, numbers = Lines(), count(1)
    own = replace(settings, data_dir=str(folder))
    context = ProcessContext(
        clock or RealClock(),
        log,
        new_id=lambda: f"id-{next(numbers)}",
        tls=tls,
        version="1.2.3",
    )
    process = CoordinatorProcess(own, context, store)
    await process.start()
    lines = CoordinatorLines(caller)
    client = CoordinatorAdminClient([f"127.0.0.1:{process.port}"], caller, deadline=DEADLINE)
    rig = CoordinatorRig(process, log, client, lines)
    try:
        if leads:
            await until(lambda: log.events("coordinator.leads"), lambda: log.said)
        yield rig
    finally:
        await client.close()
        await lines.close()
        await process.stop()
