"""The provider's six calls with what the control API does to them: late, refused, or wrong.

The answer of the server is altered on its way out; the inventory never is. While nothing is wrong,
calls go straight through.
"""

import math
from dataclasses import replace

from bigfleet.edge.clock import SECOND
from bigfleet.model.machines import CapacityType, MachineState
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
from bigfleet.provider.sim.driver import Driver
from bigfleet.provider.sim.world.answers import WrongList
from bigfleet.provider.sim.world.events import ApiCalled, TreatCall
from bigfleet.wire.machines import list_bytes, list_entry, list_of
from bigfleet.wire.provider_records import machine_bytes
from bigfleet.wire.provider_server import ProviderHandler

_BAD_VALUES: dict[str, dict[str, object]] = {
    "id": {"id": ""},
    "state": {"state": MachineState.UNSPECIFIED},
    "host": {"host": None, "state": MachineState.IDLE},
    "instance_type": {"instance_type": ""},
    "zone": {"zone": ""},
    "capacity_type": {"capacity_type": CapacityType.UNSPECIFIED},
    "price_per_hour": {"price_per_hour": math.nan},
    "interruption_probability": {"interruption_probability": 7.0},
    "resources": {"resources": {"cpu": "many"}},
    "last_error": {"state": MachineState.FAILED, "last_error": ""},
}


class SimAnswers:
    def __init__(self, inner: ProviderHandler, driver: Driver) -> None:
        self._inner = inner
        self._driver = driver
        #: What a List showed when it was told to stand still; None while it is not.
        self._stale: bytes | None = None

    async def create(self, call: CreateCall, peer: Peer) -> bytes:
        await self._treated("Create")
        return await self._inner.create(call, peer)

    async def configure(self, call: ConfigureCall, peer: Peer) -> bytes:
        await self._treated("Configure")
        return await self._inner.configure(call, peer)

    async def drain(self, call: DrainCall, peer: Peer) -> bytes:
        await self._treated("Drain")
        return await self._inner.drain(call, peer)

    async def delete(self, call: DeleteCall, peer: Peer) -> bytes:
        await self._treated("Delete")
        pools = self._driver.substrate.supply.pools.values()
        if call.machine_id and all(pool.offering.owned for pool in pools):
            raise Rejected(Code.UNIMPLEMENTED, "nothing here can be given back")
        return await self._inner.delete(call, peer)

    async def get(self, machine_id: str, peer: Peer) -> bytes:
        await self._treated("Get")
        return await self._inner.get(machine_id, peer)

    async def list(self, call: ListCall, peer: Peer) -> bytes:
        wrong = await self._treated("List")
        if wrong is None or wrong.how != "stale":
            self._stale = None
        elif self._stale is not None:
            return self._stale
        answer = await self._inner.list(call, peer)
        if wrong is None:
            return answer
        if wrong.how == "stale":
            self._stale = answer
            return answer
        records, revision = list_of(answer)
        return list_bytes(
            (list_entry(machine_bytes(record)) for record in altered(records, wrong)), revision
        )

    async def _treated(self, method: str) -> WrongList | None:
        """Delays or refuses the call; says how a List is to be wrong."""
        driver = self._driver
        if driver.substrate.answers.untouched:
            return None
        said = driver.tell(ApiCalled(method, driver.clock.now()))
        treat = next(instruction for instruction in said if isinstance(instruction, TreatCall))
        if treat.treatment.delay_nanos:
            await driver.clock.sleep(treat.treatment.delay_nanos / SECOND)
        if treat.treatment.code is not None:
            raise Rejected(treat.treatment.code, "the sim was told to fail this call")
        return treat.wrong_list


def altered(records: tuple[MachineRecord, ...], wrong: WrongList) -> tuple[MachineRecord, ...]:
    match wrong.how:
        case "empty":
            return ()
        case "truncate":
            return records[: round(len(records) * wrong.fraction)]
        case "duplicate":
            return (*records, *records[:1])
        case "rebind":
            return tuple(_rebound(record, wrong.field) for record in records)
        case _:
            bad = _BAD_VALUES[wrong.field]
            return (*(replace(r, **bad) for r in records[:1]), *records[1:])  # type: ignore[arg-type]


def _rebound(record: MachineRecord, cluster: str) -> MachineRecord:
    """A Configured machine as another cluster's; `-`: as one that is free."""
    if record.state is not MachineState.CONFIGURED:
        return record
    if cluster == "-":
        return replace(record, state=MachineState.IDLE, cluster="")
    return replace(record, cluster=cluster)
