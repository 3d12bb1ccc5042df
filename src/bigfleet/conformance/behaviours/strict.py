"""Strict rows that need no restart: finer points of the contract new providers must keep."""

import asyncio
import re
from collections.abc import Callable, Sequence

from bigfleet.conformance.behaviours.failure import fails
from bigfleet.conformance.behaviours.listing import must_have_no_duplicates
from bigfleet.conformance.claims import fields_match, must, must_be_bound, must_equal
from bigfleet.conformance.contract import Check
from bigfleet.conformance.rows import Area
from bigfleet.conformance.trial import Trial
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import (
    CreateCall,
    ListCall,
    MachineRecord,
    Mutation,
    Token,
)
from bigfleet.wire.provider_requests import (
    SERVICE,
    get_bytes,
    list_request_bytes,
    mutation_bytes,
)

STRICT = Area("Strict", suite="strict", profiles=("strict",))
DNS_1123 = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LONGEST_ID = 200
CANCELLED = 100
#: Callers hang up within twice the time a burst of reads takes: before, while and after.
LATEST_CANCEL = 2.0
#: Field 2 (reserved in Create and List) and field 3000, both as bytes "x".
STRANGE_FIELDS = b"\x12\x01x" + b"\xc2\xbb\x01\x01x"


@STRICT.row(
    "X01",
    "Ids are DNS-1123 subdomains and every machine has a zone",
    mutant="no zone before Create",
)
async def ids_and_zones(trial: Trial) -> None:
    for record in (await trial.listing()).records:
        legal = DNS_1123.fullmatch(record.id) and len(record.id) <= LONGEST_ID
        must(bool(legal), f"{record.id!r} is not a DNS-1123 subdomain of at most 200 characters")
        must(bool(record.zone), f"{record.id} is {record.state.name} and has no zone")


@STRICT.row(
    "X02",
    "A Configure for another cluster is rejected and the binding stays",
    mutant="rebinds to another cluster",
    machines=1,
    order=(Check.POSITION,),
)
async def other_clusters(trial: Trial) -> None:
    machine, metadata = await trial.lease_idle(), {"k": "v"}
    (await trial.configure(machine, "x02", metadata)).must_be_ok()
    (await trial.configure(machine, "x02-other", {"o": "1"})).must_be_rejected()
    must_be_bound(await trial.settles(machine, S.CONFIGURED), "x02", metadata)
    (await trial.configure(machine, "x02-other", {"o": "1"})).must_be_rejected()
    record = await trial.holds(machine, S.CONFIGURED, trial.pace.hold_error)
    must_be_bound(record, "x02", metadata)


@STRICT.row(
    "X03",
    "A repeat with another payload keeps id and metadata",
    mutant="repeat rewrites metadata",
    machines=1,
)
async def other_payloads(trial: Trial) -> None:
    machine, metadata = await trial.lease_idle(), {"k": "v"}
    first = (await trial.configure(machine, "x03", metadata)).must_be_ok()
    await trial.settles(machine, S.CONFIGURED)
    for again in (
        await trial.configure(machine, "x03", metadata, blob=b"another"),
        await trial.configure(machine, "x03", {"other": "1"}),
    ):
        must_equal(again.must_be_ok().operation_id, first.operation_id, "operation id")
        must_be_bound(again.machine, "x03", metadata)
    must_be_bound(await trial.get(machine), "x03", metadata)


@STRICT.row(
    "X04",
    "Id, type, zone and capacity type never change",
    mutant="zone changes at Create",
    creates=1,
)
async def constants_are_constant(trial: Trial) -> None:
    machine = trial.lease_speculative()
    expected = constants(await trial.get(machine))
    (await trial.create(machine)).must_be_ok()
    records = [await trial.settles(machine, S.IDLE)]
    records += [await trial.bind(machine, "x04"), await trial.release(machine)]
    if trial.can.delete:
        (await trial.delete(machine)).must_be_ok()
        records.append(await trial.settles(machine, S.SPECULATIVE))
    for record in records:
        must_equal(constants(record), expected, f"constants of {machine} in {record.state.name}")


def constants(record: MachineRecord) -> tuple[str, str, str, str]:
    return (record.id, record.instance_type, record.zone, record.capacity_type.name)


async def seen_in_delta(
    trial: Trial, machine: str, since: bytes, wanted: Callable[[MachineRecord], bool], within: float
) -> MachineRecord | None:
    patience = trial.patience(trial.pace.limit(within))
    while True:
        delta = await trial.listing(since=since)
        found = next((record for record in delta.records if record.id == machine), None)
        if found is not None and wanted(found):
            return found
        if patience.spent():
            return None
        await trial.clock.sleep(trial.pace.poll)


@STRICT.row(
    "X05",
    "A price that changes shows in a delta while the state does not",
    mutant="price not in delta",
    machines=1,
    gates=("since_revision",),
)
async def prices_show(trial: Trial) -> None:
    machine = await trial.lease_idle()
    before = await trial.get(machine)
    cursor = (await trial.listing()).revision
    await trial.act("price", before)
    seen = await seen_in_delta(
        trial, machine, cursor, lambda r: r.price_per_hour != before.price_per_hour, 30
    )
    must(seen is not None, f"the new price of {machine} is in no delta")
    must_equal((await trial.get(machine)).state, before.state, "state after the price change")


@STRICT.row(
    "X06",
    "A machine whose host vanished leaves CONFIGURED for FAILED",
    mutant="vanished host stays C",
    machines=1,
)
async def vanished_hosts_show(trial: Trial) -> None:
    machine = await trial.lease_configured("x06")
    await trial.act("vanish", await trial.get(machine))
    await fails(trial, machine, trial.settings.vanish_window)


@STRICT.row(
    "X14",
    "grpc.health says SERVING for the server and for the service",
    mutant="health never SERVING",
)
async def health_is_served(trial: Trial) -> None:
    for service in ("", SERVICE):
        must_equal(await trial.client.health(service), "SERVING", f"health of {service!r}")


@STRICT.row(
    "X16",
    "A capped walk is complete, also while machines change",
    mutant="walk forgets changes",
    machines=5,
    gates=("since_revision",),
    exclusive=True,
)
async def walks_are_complete(trial: Trial) -> None:
    machines = await trial.lease_idles(5)
    fleet = {record.id for record in (await trial.listing()).records}
    cap = max(1, len(fleet) // 6)
    seen: dict[str, MachineRecord] = {}
    cursor, pages = b"", 0
    while True:
        page = await trial.listing(cap=cap, since=cursor)
        must(len(page.records) <= cap, f"a page of {cap} holds {len(page.records)} machines")
        must_have_no_duplicates(page)
        seen.update(page.by_id())
        if not page.records:
            break
        if pages < len(machines):
            await trial.bind(machines[pages], "x16")
        cursor, pages = page.revision, pages + 1
        must(pages < len(fleet) + 64, f"the pages do not end: {pages} were read")
    must(set(seen) >= fleet, f"the walk never gave {len(fleet - set(seen))} machines")
    for machine in machines[:pages]:
        must_equal(seen[machine].cluster, "x16", f"cluster of {machine} as the walk last saw it")


@STRICT.row(
    "X17",
    "Unknown and reserved fields of a request are ignored",
    mutant="unknown field refused",
    creates=1,
)
async def strange_fields(trial: Trial) -> None:
    machine = trial.lease_speculative()
    create: Mutation = CreateCall(machine, trial.shards.next_token())
    await trial.client.raw_call("Create", mutation_bytes(create) + STRANGE_FIELDS)
    await trial.settles(machine, S.IDLE)
    await trial.client.raw_call("List", list_request_bytes(ListCall()) + STRANGE_FIELDS)
    await trial.client.raw_call("Get", get_bytes(machine) + STRANGE_FIELDS)


@STRICT.row(
    "X18",
    "A cancelled mutation is applied whole or not at all",
    mutant="mutation half done",
    machines=10,
    longest=240,
)
async def cancelled_mutations(trial: Trial) -> None:
    machines, chance = await trial.lease_idles(10), trial.chance
    rounds = max(4, round(CANCELLED / len(machines) * trial.settings.effort))
    for _ in range(rounds):
        began = trial.clock.now()
        await trial.all_at_once([trial.look(machine) for machine in machines])
        burst = trial.clock.now() - began
        delays = [chance.random() * LATEST_CANCEL * burst for _ in machines]
        await asyncio.gather(
            *(cancelled(trial, m, delay) for m, delay in zip(machines, delays, strict=True))
        )
        await must_be_whole(trial, machines)


async def cancelled(trial: Trial, machine: str, delay: float) -> None:
    """A Configure or Drain whose caller hangs up after a moment."""
    bound = (await trial.get(machine)).state is S.CONFIGURED
    token = Token(trial.shards.fresh(), 1, 1)
    call = (
        trial.drain(machine, 0, token)
        if bound
        else trial.configure(machine, "x18", {"k": "v"}, token)
    )
    task = asyncio.ensure_future(call)
    await trial.clock.sleep(delay)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def must_be_whole(trial: Trial, machines: Sequence[str]) -> None:
    for machine in machines:
        record = await trial.settles_anywhere(machine)
        must(record.state is not S.FAILED, f"{machine} FAILED: {record.last_error}")
        wrong = fields_match(record)
        must(wrong is None, wrong or "")
        if record.state is S.CONFIGURED:
            must_be_bound(record, "x18", {"k": "v"})
