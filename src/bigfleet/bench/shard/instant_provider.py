"""A provider as a process of its own that does everything at once and remembers every Configure.

It keeps nothing and checks nothing: all time between a roll-up and its Configure is the shard's.
Asked by a line on its standard input, it tells the Configures since it was last asked, by the blob
they carried, with the monotonic time of their arrival.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterable
from dataclasses import replace

from bigfleet.bench.processes import answer_lines
from bigfleet.bench.shard.fleet import ShardScale, records
from bigfleet.model.machines import Host, MachineState
from bigfleet.model.provider_calls import (
    Code,
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    ListCall,
    MachineRecord,
    Peer,
    Rejected,
)
from bigfleet.wire.machines import ack_bytes, list_bytes, list_entry
from bigfleet.wire.provider_records import machine_bytes
from bigfleet.wire.provider_server import ProviderEndpoint


class InstantProvider:
    def __init__(self, machines: Iterable[MachineRecord]) -> None:
        self._records = {record.id: record for record in machines}
        self._entries = {
            name: list_entry(machine_bytes(record)) for name, record in self._records.items()
        }
        #: Ids in the order of their changes; a revision is how many there had been.
        self._changes: list[str] = []
        #: Blob and arrival in nanoseconds.
        self.configured: list[tuple[str, int]] = []
        #: The same by machine.
        self.machines: list[tuple[str, int]] = []

    async def list(self, call: ListCall, peer: Peer) -> bytes:
        revision = b"%d" % len(self._changes)
        if not call.since_revision:
            return list_bytes(self._entries.values(), revision)
        changed = dict.fromkeys(self._changes[int(call.since_revision) :])
        return list_bytes((self._entries[name] for name in changed), revision)

    async def get(self, machine_id: str, peer: Peer) -> bytes:
        return machine_bytes(self._known(machine_id))

    async def create(self, call: CreateCall, peer: Peer) -> bytes:
        host = Host("bench", f"h-{call.machine_id}")
        return self._moved(replace(self._known(call.machine_id), state=_IDLE, host=host))

    async def configure(self, call: ConfigureCall, peer: Peer) -> bytes:
        at = time.monotonic_ns()
        self.configured.append((call.bootstrap_blob.decode(), at))
        self.machines.append((call.machine_id, at))
        machine = replace(
            self._known(call.machine_id),
            state=MachineState.CONFIGURED,
            cluster=call.cluster_id,
            shard_metadata=call.shard_metadata,
        )
        return self._moved(machine)

    async def drain(self, call: DrainCall, peer: Peer) -> bytes:
        machine = self._known(call.machine_id)
        return self._moved(replace(machine, state=_IDLE, cluster="", shard_metadata={}))

    async def delete(self, call: DeleteCall, peer: Peer) -> bytes:
        machine = self._known(call.machine_id)
        return self._moved(replace(machine, state=MachineState.SPECULATIVE, host=None))

    def _known(self, machine_id: str) -> MachineRecord:
        try:
            return self._records[machine_id]
        except KeyError:
            raise Rejected(Code.NOT_FOUND, f"no machine {machine_id}") from None

    def _moved(self, machine: MachineRecord) -> bytes:
        content = machine_bytes(machine)
        self._records[machine.id] = machine
        self._entries[machine.id] = list_entry(content)
        self._changes.append(machine.id)
        return ack_bytes(f"op-{len(self._changes)}", content)


_IDLE = MachineState.IDLE


async def serve(machines: Iterable[MachineRecord]) -> None:
    """Until its standard input is closed."""
    provider = InstantProvider(machines)
    endpoint = ProviderEndpoint(provider, reflection=False)
    port = await endpoint.start()
    await endpoint.set_serving(True)

    def told() -> dict[str, object]:
        configured, provider.configured = provider.configured, []
        machines, provider.machines = provider.machines, []
        return {"port": port, "configured": configured, "machines": machines}

    await answer_lines(told)
    await endpoint.stop()


def main() -> None:
    asyncio.run(serve(records(ShardScale(**json.loads(sys.argv[1])))))
