"""Lends machines to rows: each to one row at a time, and cleaned before the next one has it.

A row is admitted with all the machines it may need, so two rows never wait for each other's. On
return a machine is drained and, where it came from a slot, deleted; one that ended FAILED or does
not come clean is out of the game.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from bigfleet.conformance.caller import Caller
from bigfleet.conformance.claims import Broken, NotServed
from bigfleet.conformance.rows import Capabilities
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import MachineRecord

FAULT_PREFIX = "conformance.fault/"
FAULT_CREATE = "conformance.fault/create"


@dataclass(slots=True)
class Allocation:
    """The machines of one row; a lease takes one of them, and never the same twice."""

    speculative: deque[str]
    idle: deque[str]
    used: list[str] = field(default_factory=list)

    def take_speculative(self) -> str:
        if not self.speculative:
            raise NotServed("no SPECULATIVE machine is left for this row")
        return self._use(self.speculative.popleft())

    @property
    def has_slot(self) -> bool:
        return bool(self.speculative)

    def take_idle(self) -> str | None:
        return self._use(self.idle.popleft()) if self.idle else None

    def _use(self, machine_id: str) -> str:
        self.used.append(machine_id)
        return machine_id


class Broker:
    def __init__(self, caller: Caller, capabilities: Capabilities) -> None:
        self._hand, self._can = caller, capabilities
        #: Every id is in exactly one of: a pool, an allocation, `_spent`.
        self._speculative: deque[str] = deque()
        self._idle: deque[str] = deque()
        self._born_idle: set[str] = set()
        self._spent: dict[str, str] = {}
        self._fault_slots: deque[str] = deque()
        self._lent = 0
        self._changed = asyncio.Condition()

    async def survey(self) -> tuple[MachineRecord, ...]:
        """Read the inventory once; from here on the pools follow what rows do."""
        listing = await self._hand.listing()
        for record in sorted(listing.records, key=lambda r: r.id):
            if record.labels.get(FAULT_CREATE) == "error" and record.state is S.SPECULATIVE:
                self._fault_slots.append(record.id)
            elif any(key.startswith(FAULT_PREFIX) for key in record.labels):
                continue
            elif record.state is S.SPECULATIVE:
                self._speculative.append(record.id)
            elif record.state is S.IDLE and not record.cluster:
                self._idle.append(record.id)
                self._born_idle.add(record.id)
        return listing.records

    @property
    def stock(self) -> dict[str, int]:
        return {
            "speculative": len(self._speculative),
            "idle": len(self._idle),
            "fault": len(self._fault_slots),
            "spent": len(self._spent),
        }

    @property
    def spent(self) -> dict[str, str]:
        return self._spent

    def born_idle(self, machine_id: str) -> bool:
        """A host of a free pool: it was there before it was asked for."""
        return machine_id in self._born_idle

    def next_fault_slot(self) -> str:
        if not self._fault_slots:
            raise NotServed(f"no slot labelled {FAULT_CREATE}=error is left")
        return self._fault_slots.popleft()

    async def admit(self, creates: int, machines: int, *, slots_first: bool = False) -> Allocation:
        """All the machines a row asked for, as soon as they are free."""
        # Where slots come back through Delete they are preferred: the way in is exercised too.
        slots_first = slots_first or self._can.delete
        async with self._changed:
            while (allocation := self._allocate(creates, machines, slots_first)) is None:
                if self._lent == 0:
                    stock = f"{len(self._speculative)} SPECULATIVE and {len(self._idle)} IDLE"
                    raise NotServed(
                        f"needs {creates} SPECULATIVE machines and {machines} more; "
                        f"the provider has {stock} left"
                    )
                await self._changed.wait()
            self._lent += 1
            return allocation

    def _allocate(self, creates: int, machines: int, slots_first: bool) -> Allocation | None:
        slots, hosts = self._speculative, self._idle
        if creates > len(slots) or creates + machines > len(slots) + len(hosts):
            return None
        from_slots = min(machines, len(slots) - creates) if slots_first else 0
        from_hosts = min(machines - from_slots, len(hosts))
        from_slots = machines - from_hosts
        return Allocation(
            deque(slots.popleft() for _ in range(creates + from_slots)),
            deque(hosts.popleft() for _ in range(from_hosts)),
        )

    async def give_back(self, allocation: Allocation) -> None:
        cleaned = await asyncio.gather(*(self._clean(m) for m in allocation.used))
        async with self._changed:
            self._speculative.extend(allocation.speculative)
            self._idle.extend(allocation.idle)
            self._sort_in(cleaned)
            self._lent -= 1
            self._changed.notify_all()

    def _sort_in(self, cleaned: Iterable[tuple[str, S, str]]) -> None:
        for machine_id, state, note in cleaned:
            if state is S.SPECULATIVE:
                self._speculative.append(machine_id)
            elif state is S.IDLE:
                self._idle.append(machine_id)
            else:
                self._spent[machine_id] = note

    async def _clean(self, machine_id: str) -> tuple[str, S, str]:
        try:
            record = await self._hand.settles_anywhere(machine_id)
            if record.state is S.CONFIGURED:
                await self._hand.drain(machine_id, 0)
                record = await self._hand.settles_anywhere(machine_id)
            if record.state is S.IDLE and self._can.delete and machine_id not in self._born_idle:
                await self._hand.delete(machine_id)
                record = await self._hand.settles_anywhere(machine_id)
        except Broken as broken:
            return machine_id, S.UNSPECIFIED, str(broken)
        return machine_id, record.state, record.last_error
