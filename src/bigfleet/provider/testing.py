"""For authors' tests: a substrate in memory, faults by plan, the suite, and a hand-moved clock."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace

from bigfleet.edge.clock import ManualClock, settle
from bigfleet.model.machines import CapacityType
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.provider.backend import (
    BOUND,
    GONE,
    Backend,
    Created,
    Host,
    HostStatus,
    Instance,
    Inventory,
    OpenContext,
    Operation,
    Signal,
)
from bigfleet.provider.certification import assert_backend
from bigfleet.provider.faulty import Fault, FaultyBackend, every
from bigfleet.provider.kinds import Kind

__all__ = [
    "FakeHost",
    "FakeSubstrate",
    "Fault",
    "FaultyBackend",
    "ManualClock",
    "assert_backend",
    "every",
    "settle",
    "slots",
]


def slots(count: int, prefix: str = "m", **fields: object) -> list[Instance]:
    """On-demand slots `m-0`, `m-1` ... of one small type."""
    model = Instance(
        id="",
        instance_type="std-2",
        zone="z1",
        capacity_type=CapacityType.ON_DEMAND,
        price_per_hour=0.1,
        interruption_probability=0.05,
        resources={"cpu": "2", "memory": "8Gi"},
        allocatable={"cpu": "1500m", "memory": "7Gi"},
        region="r1",
    )
    model = replace(model, **fields)  # type: ignore[arg-type]
    return [replace(model, id=f"{prefix}-{number}") for number in range(count)]


@dataclass(slots=True)
class FakeHost:
    ref: str
    cluster: str = ""
    ready: bool = True


class FakeSubstrate(Backend):
    """Does everything at once; calls can be held, failed, and looked back at."""

    fake = True

    def __init__(self, instances: Iterable[Instance] = ()) -> None:
        self.instances = {instance.id: instance for instance in instances}
        self.hosts: dict[str, FakeHost] = {}
        for instance in self.instances.values():
            if instance.host is not None:
                bound = instance.bound.cluster if instance.bound else ""
                self.hosts[instance.id] = FakeHost(instance.host.ref, bound)
        #: Every operation that arrived, in order.
        self.seen: list[Operation] = []
        #: Raised, in order, by the next calls of a kind.
        self.errors: dict[Kind, list[Exception]] = defaultdict(list)
        #: Kinds that wait until `release`.
        self._held: dict[Kind, asyncio.Event] = {}
        self.complete = True
        #: Raised by describe while set.
        self.describe_error: Exception | None = None
        self.signals: asyncio.Queue[Signal] = asyncio.Queue()

    async def open(self, ctx: OpenContext) -> None:
        if not self.instances:
            spot = {"capacity_type": CapacityType.SPOT, "interruption_probability": 0.05}
            third = ctx.seed_count // 3
            made = [*slots(ctx.seed_count - third), *slots(third, "spot", **spot)]
            self.instances = {instance.id: instance for instance in made}

    def hold(self, *kinds: Kind) -> None:
        for kind in kinds:
            self._held[kind] = asyncio.Event()

    def release(self, *kinds: Kind) -> None:
        for kind in kinds or tuple(self._held):
            self._held.pop(kind).set()

    def fail_next(self, kind: Kind, *errors: Exception) -> None:
        self.errors[kind].extend(errors)

    def vanish(self, machine_id: str) -> None:
        """The host ends without a word."""
        del self.hosts[machine_id]

    async def _arrive(self, op: Operation) -> None:
        self.seen.append(op)
        if held := self._held.get(op.kind):
            await held.wait()
        if self.errors[op.kind]:
            raise self.errors[op.kind].pop(0)

    async def describe(self) -> Inventory:
        if self.describe_error is not None:
            raise self.describe_error
        found = [
            replace(instance, host=self._host(instance.id)) for instance in self.instances.values()
        ]
        return Inventory(found, self.complete)

    def _host(self, machine_id: str) -> Host | None:
        host = self.hosts.get(machine_id)
        return Host(host.ref, node_name=f"node-{machine_id}") if host else None

    async def create(self, op: Operation) -> Created:
        await self._arrive(op)
        host = self.hosts.setdefault(op.machine.id, FakeHost(f"h-{op.operation_id}"))
        return Created(Host(host.ref, node_name=f"node-{op.machine.id}"))

    async def configure(self, op: Operation) -> None:
        await self._arrive(op)
        self.hosts[op.machine.id].cluster = op.cluster_id

    async def confirm_ready(self, op: Operation) -> None:
        while not self.hosts[op.machine.id].ready:
            await asyncio.get_running_loop().create_future()

    async def drain(self, op: Operation) -> None:
        await self._arrive(op)
        self.hosts[op.machine.id].cluster = ""

    async def delete(self, op: Operation) -> None:
        await self._arrive(op)
        self.hosts.pop(op.machine.id, None)

    async def inspect(self, machine: MachineRecord) -> HostStatus:
        host = self.hosts.get(machine.id)
        if host is None:
            return GONE
        return BOUND if host.cluster else HostStatus.running(Host(host.ref))

    async def watch(self) -> AsyncIterator[Signal]:
        while True:
            yield await self.signals.get()
