"""A running provider with what rows need around it: connection, broker, capabilities.

Finds out, once per run, what a provider can do: two machines walked through their life.

A probe never fails a run. What does not come out as hoped is written down as evidence, and the
rows judge for themselves.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bigfleet.conformance.broker import Broker
from bigfleet.conformance.caller import Caller, Shards
from bigfleet.conformance.claims import Broken, NotServed
from bigfleet.conformance.launchers import Launcher, RunningProvider
from bigfleet.conformance.pace import Clock, Pace
from bigfleet.conformance.rows import Capabilities
from bigfleet.conformance.wirelog import WireLog
from bigfleet.model.machines import CapacityType
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import Code, MachineRecord, Token

if TYPE_CHECKING:
    from bigfleet.wire.provider_client import ProviderClient


FAULT_LABEL = "conformance.fault/create"


async def probe(caller: Caller, can: Capabilities, records: tuple[MachineRecord, ...]) -> None:
    """Fill in `can` from the inventory and from what two machines of it do."""
    can.spot = any(record.capacity_type is CapacityType.SPOT for record in records)
    can.evidence.setdefault("spot", "no machine of the inventory is SPOT")
    slots = sorted(r.id for r in records if r.state is S.SPECULATIVE and not _for_faults(r))
    hosts = sorted(r.id for r in records if r.state is S.IDLE and not r.cluster)
    can.create = bool(slots)
    can.evidence["create"] = "no machine of the inventory is SPECULATIVE"
    can.fault = can.fault or any(_for_faults(record) for record in records)
    can.evidence["fault"] = f"no slot is labelled {FAULT_LABEL}=error"
    walked = (slots or hosts)[-2:]
    if not walked:
        can.evidence["delete"] = "no machine could be tried"
        return
    try:
        await _walk(caller, can, walked)
    except (Broken, NotServed) as problem:
        for name in ("delete", "since_revision"):
            can.evidence.setdefault(name, f"probing stopped: {problem}")


def _for_faults(record: MachineRecord) -> bool:
    return record.labels.get(FAULT_LABEL) == "error"


async def _walk(caller: Caller, can: Capabilities, machines: list[str]) -> None:
    first = machines[0]
    before = (await caller.listing(cap=0 if can.create else 1)).revision
    if can.create:
        await _probe_negative_token(caller, can, first)
        for machine in machines:
            (await caller.create(machine)).must_be_ok()
        for machine in machines:
            await caller.settles(machine, S.IDLE)
    await _probe_cursor(caller, can, before)
    (await caller.configure(first, "conformance-probe")).must_be_ok()
    await caller.settles(first, S.CONFIGURED)
    answer = await caller.drain(first, -5)
    can.negative_grace = _dialect(answer.code, "clamped")
    if not answer.ok:
        (await caller.drain(first, 0)).must_be_ok()
    await caller.settles(first, S.IDLE)
    await _probe_delete(caller, can, machines)


async def _probe_negative_token(caller: Caller, can: Capabilities, machine: str) -> None:
    answer = await caller.create(machine, Token(caller.shards.fresh(), -1, 1))
    can.negative_token = _dialect(answer.code, "compared")


async def _probe_cursor(caller: Caller, can: Capabilities, before: bytes) -> None:
    after = (await caller.listing()).revision
    can.since_revision = bool(before) and bool(after) and (before != after or not can.create)
    can.evidence["since_revision"] = (
        "revision is empty" if not after else "revision did not change when machines did"
    )
    if not can.since_revision:
        return
    page = await caller.listing(cap=1, since=before)
    rest = await caller.listing(cap=1, since=page.revision)
    can.cursor = "continuation" if rest.records else "head-echo"


async def _probe_delete(caller: Caller, can: Capabilities, machines: list[str]) -> None:
    for machine in machines if can.create else machines[:1]:
        answer = await caller.delete(machine)
        can.delete = answer.code is not Code.UNIMPLEMENTED
        can.evidence["delete"] = f"Delete on an IDLE machine answered {answer}"
        if answer.ok:
            await caller.settles(machine, S.SPECULATIVE)


def _dialect(code: Code, accepted: str) -> str:
    return accepted if code is Code.OK else str(code)


@dataclass(slots=True)
class ProviderUnderTest:
    running: RunningProvider
    client: "ProviderClient"
    capabilities: Capabilities
    broker: Broker

    async def close(self) -> None:
        await self.client.close()
        await self.running.kill()


async def open_provider(
    launcher: Launcher, running: RunningProvider, clock: Clock, pace: Pace, *, faults: bool = False
) -> ProviderUnderTest:
    """Probe the provider, then survey what is left for the rows."""
    client = launcher.connect(running)
    caller = Caller(client, clock, pace, Shards("broker", clock), WireLog())
    can = Capabilities(fault=faults, restart=launcher.why_no_boot() is None)
    can.seed = can.restart
    for gate in ("restart", "seed"):
        can.evidence[gate] = launcher.why_no_boot() or ""
    records = (await caller.listing()).records
    await probe(caller, can, records)
    broker = Broker(caller, can)
    await broker.survey()
    return ProviderUnderTest(running, client, can, broker)
