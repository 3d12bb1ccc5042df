"""Fault selectors: faults a caller asks for by name, so that any provider can be tested for them.

A cluster named `fault-...` fails its Configure, its Drain or its readiness; eight extra slots fail
their Create. The author's Backend knows nothing of it.
"""

import asyncio
from dataclasses import replace

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.provider.backend import (
    GONE,
    Backend,
    Created,
    HostStatus,
    Instance,
    Inventory,
    Operation,
    Permanent,
)
from bigfleet.provider.calls import BackendCalls

CREATE_FAULT = "conformance.fault/create"
SLOTS = 8
_FAULT_PRICE = 10_000.0


class FaultSelectors(BackendCalls):
    """The calls of the Backend, except where a selector asks for a fault."""

    def __init__(self, backend: Backend, clock: Clock) -> None:
        super().__init__(backend)
        self._clock = clock
        self.can_confirm_ready = True

    async def describe(self) -> Inventory:
        inventory = await super().describe()
        instances = inventory.instances
        model = next((i for i in instances if i.host is None), None)
        if model is None and not instances:
            return inventory
        slots = [_fault_slot(model or instances[0], number) for number in range(SLOTS)]
        known = {instance.id for instance in instances}
        extra = [slot for slot in slots if slot.id not in known]
        return Inventory((*instances, *extra), inventory.complete)

    async def create(self, op: Operation) -> Created:
        if _is_fault_slot(op.machine):
            raise Permanent("this slot fails its Create on purpose")
        return await super().create(op)

    async def configure(self, op: Operation) -> None:
        match op.cluster_id:
            case "fault-error":
                raise Permanent("this cluster fails its Configure on purpose")
            case "fault-timeout":
                await asyncio.get_running_loop().create_future()
            case "fault-slow-ok":
                await self._until_late(op)
            case _:
                await super().configure(op)

    async def _until_late(self, op: Operation) -> None:
        """Returns one second after the deadline and will not be stopped before."""
        late = op.deadline + SECOND
        while (left := late - self._clock.now()) > 0:
            try:
                await self._clock.sleep(left / SECOND)
            except asyncio.CancelledError:
                continue

    async def confirm_ready(self, op: Operation) -> None:
        if op.cluster_id == "fault-readiness-block":
            await asyncio.get_running_loop().create_future()
        await super().confirm_ready(op)

    async def drain(self, op: Operation) -> None:
        if op.machine.cluster == "fault-drain-error":
            raise Permanent("this cluster fails its Drain on purpose")
        await super().drain(op)

    async def inspect(self, machine: MachineRecord) -> HostStatus:
        return GONE if _is_fault_slot(machine) else await super().inspect(machine)


def _is_fault_slot(machine: MachineRecord) -> bool:
    return machine.labels.get(CREATE_FAULT) == "error"


def _fault_slot(model: Instance, number: int) -> Instance:
    """Listed last and priced so that a shard or a suite takes it only when it asks for a fault."""
    labels = {**model.labels, CREATE_FAULT: "error"}
    return replace(
        model,
        id=f"faultcreate-{number}",
        host=None,
        price_per_hour=_FAULT_PRICE,
        labels=labels,
        bound=None,
    )
