"""A provider as a process of its own that does everything at once and remembers every Configure.

It is the SDK with the fake substrate: almost all time between a roll-up and its Configure is the
shard's. Asked by a line on its standard input, it tells the Configures since it was last asked, by
the blob they carried, with the monotonic time of their arrival.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterable

from bigfleet.bench.processes import answer_lines
from bigfleet.bench.shard.fleet import ShardScale, records
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.provider.backend import Binding, Host, Instance, Inventory, Operation
from bigfleet.provider.options import ProviderOptions, Timing
from bigfleet.provider.server import ProviderServer
from bigfleet.provider.testing import FakeSubstrate


class InstantSubstrate(FakeSubstrate):
    def __init__(self, instances: Iterable[Instance]) -> None:
        super().__init__(instances, remember=False)
        #: Blob and arrival in nanoseconds.
        self.configured: list[tuple[str, int]] = []
        #: The same by machine.
        self.machines: list[tuple[str, int]] = []

    async def describe(self) -> Inventory:
        """Without names of nodes: each would be a label more for the shard to keep."""
        return Inventory(list(self.instances.values()), complete=False)

    async def configure(self, op: Operation) -> None:
        at = time.monotonic_ns()
        self.configured.append((op.bootstrap_blob.decode(), at))
        self.machines.append((op.machine.id, at))
        await super().configure(op)


def instance_of(record: MachineRecord) -> Instance:
    return Instance(
        record.id,
        record.instance_type,
        record.zone,
        record.capacity_type,
        host=Host(record.host.ref) if record.host else None,
        resources=record.resources,
        allocatable=record.allocatable,
        bound=Binding(record.cluster, record.shard_metadata) if record.cluster else None,
    )


async def serve(machines: Iterable[MachineRecord]) -> None:
    """Until its standard input is closed."""
    substrate = InstantSubstrate(instance_of(record) for record in machines)
    # Hosts change by calls only: describing the fleet again would only take a core away.
    options = ProviderOptions(
        provider="bench",
        address="127.0.0.1:0",
        reflection=False,
        timing=Timing(reconcile=3600.0),
    )
    server = ProviderServer(substrate, options=options)
    port = await server.start()

    def told() -> dict[str, object]:
        configured, substrate.configured = substrate.configured, []
        machines, substrate.machines = substrate.machines, []
        return {"port": port, "configured": configured, "machines": machines}

    await answer_lines(told)
    await server.stop(0.0)


def main() -> None:
    asyncio.run(serve(records(ShardScale(**json.loads(sys.argv[1])))))
