"""Fault selectors: faults a caller asks for by name, so that any provider can be tested for them.

A cluster named `fault-...` fails its Configure, its Drain or its readiness; eight extra slots fail
their Create. The author's Backend knows nothing of it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.provider.backend import (
    GONE,
    Created,
    HostStatus,
    Instance,
    Inventory,
    Operation,
    Permanent,
)
from bigfleet.provider.calls import BackendCalls, Work

CREATE_FAULT = "conformance.fault/create"
SLOTS = 8
_FAULT_PRICE = 10_000.0


def with_fault_selectors(calls: BackendCalls, clock: Clock) -> BackendCalls:
    """The same calls, except where a selector asks for a fault."""
    return replace(
        calls,
        describe=_describe(calls.describe),
        create=_create(calls.create),
        configure=_configure(calls.configure, clock),
        confirm_ready=_confirm_ready(calls.confirm_ready),
        drain=_drain(calls.drain),
        inspect=_inspect(calls.inspect) if calls.inspect else None,
    )


def _is_fault_slot(machine: MachineRecord) -> bool:
    return machine.labels.get(CREATE_FAULT) == "error"


def _describe(
    describe: Callable[[], Awaitable[Inventory]],
) -> Callable[[], Awaitable[Inventory]]:
    async def described() -> Inventory:
        inventory = await describe()
        instances = inventory.instances
        model = next((i for i in instances if i.host is None), None)
        if model is None and not instances:
            return inventory
        slots = [_fault_slot(model or instances[0], number) for number in range(SLOTS)]
        known = {instance.id for instance in instances}
        extra = [slot for slot in slots if slot.id not in known]
        return Inventory((*instances, *extra), inventory.complete)

    return described


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


def _create(
    create: Callable[[Operation], Awaitable[Created]],
) -> Callable[[Operation], Awaitable[Created]]:
    async def created(op: Operation) -> Created:
        if _is_fault_slot(op.machine):
            raise Permanent("this slot fails its Create on purpose")
        return await create(op)

    return created


def _configure(configure: Work, clock: Clock) -> Work:
    async def configured(op: Operation) -> None:
        match op.cluster_id:
            case "fault-error":
                raise Permanent("this cluster fails its Configure on purpose")
            case "fault-timeout":
                await asyncio.get_running_loop().create_future()
            case "fault-slow-ok":
                await _until_late(op, clock)
            case _:
                await configure(op)

    return configured


async def _until_late(op: Operation, clock: Clock) -> None:
    """Returns one second after the deadline and will not be stopped before."""
    late = op.deadline + SECOND
    while (left := late - clock.now()) > 0:
        try:
            await clock.sleep(left / SECOND)
        except asyncio.CancelledError:
            continue


def _confirm_ready(confirm_ready: Work | None) -> Work:
    async def confirmed(op: Operation) -> None:
        if op.cluster_id == "fault-readiness-block":
            await asyncio.get_running_loop().create_future()
        if confirm_ready is not None:
            await confirm_ready(op)

    return confirmed


def _drain(drain: Work) -> Work:
    async def drained(op: Operation) -> None:
        if op.machine.cluster == "fault-drain-error":
            raise Permanent("this cluster fails its Drain on purpose")
        await drain(op)

    return drained


def _inspect(
    inspect: Callable[[MachineRecord], Awaitable[HostStatus]],
) -> Callable[[MachineRecord], Awaitable[HostStatus]]:
    async def inspected(machine: MachineRecord) -> HostStatus:
        return GONE if _is_fault_slot(machine) else await inspect(machine)

    return inspected
