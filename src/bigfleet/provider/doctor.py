"""What is wrong with a Backend before a shard relies on it; nothing is changed by looking.

Looked at are the certificates, the methods, credentials (`open`), the inventory with its zones and
prices, the quota as far as `admit` knows it, and whether a host can be inspected. Never called are
create, configure, drain, delete and reset.
"""

import ssl
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from bigfleet.edge.clock import SECOND
from bigfleet.provider.backend import (
    Backend,
    BackendError,
    Condition,
    Extends,
    Instance,
    Inventory,
    OfferingKey,
    OpenContext,
    PriceTable,
)
from bigfleet.provider.calls import BackendCalls, called
from bigfleet.provider.faults import FaultSelectors
from bigfleet.provider.ledger.entries import seeded
from bigfleet.provider.ledger.transitions import Kind
from bigfleet.provider.operations.attempts import DeadlinePassed, done_by
from bigfleet.provider.options import ProviderOptions
from bigfleet.provider.reconciling.record_checks import ScreenedInstances, screened
from bigfleet.wire.lines import TlsFiles

SHOWN = 10
#: More than any handshake takes.
HANDSHAKE_TURNS = 10


@dataclass(frozen=True, slots=True)
class Finding:
    fine: bool
    subject: str
    text: str


async def examined(
    backend: Backend, context: OpenContext, options: ProviderOptions
) -> AsyncIterator[Finding]:
    """One finding after the other; what depends on a failed step is not tried."""
    if options.tls is not None:
        why = options.tls.why_unusable() or why_not_trusted(options.tls)
        yield Finding(why is None, "tls", why or "callers that know the CA accept the certificate")
    calls = BackendCalls(backend)
    yield Finding(True, "methods", _methods(calls))
    try:
        await called(backend.open, context)
    except Exception as error:  # noqa: BLE001 - anything an author's open raises is the finding
        yield Finding(False, "open", _said(error))
        return
    yield Finding(True, "open", "credentials and clients are accepted")
    if isinstance(backend, Extends) and backend.extension().fault_selectors:
        calls = FaultSelectors(backend, context.clock)
    try:
        async for finding in _looked_at(backend, calls, context, options):
            yield finding
    finally:
        await called(backend.close)


def why_not_trusted(tls: TlsFiles) -> str | None:
    """What a caller that knows only the CA would say to the certificate: expired, of another CA.

    Both ends of a handshake in memory; nothing is listened to.
    """
    here = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    here.load_cert_chain(tls.cert, tls.key)
    there = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    there.check_hostname = False  # by which name it will be called is not known here
    there.load_verify_locations(tls.ca)
    to_there, to_here = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = here.wrap_bio(to_here, to_there, server_side=True)
    caller = there.wrap_bio(to_there, to_here)
    for _ in range(HANDSHAKE_TURNS):
        for end in (caller, server):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError as problem:
                return f"{tls.cert}: {problem.verify_message}"
    return None


def _methods(calls: BackendCalls) -> str:
    optional = {
        "delete": calls.can_delete,
        "inspect": calls.can_inspect,
        "reset": calls.can_reset,
        "watch": calls.can_watch,
        "prices": calls.can_price,
        "confirm_ready": calls.can_confirm_ready,
    }
    missing = [name for name, there in optional.items() if not there]
    return f"without {', '.join(missing)}" if missing else "all of them"


async def _looked_at(
    backend: Backend, calls: BackendCalls, context: OpenContext, options: ProviderOptions
) -> AsyncIterator[Finding]:
    clock = context.clock
    deadline = clock.now() + round(options.timing.describe * SECOND)
    try:
        inventory = await done_by(clock, deadline, calls.describe())
    except DeadlinePassed:
        yield Finding(False, "describe", f"took more than {options.timing.describe:g} s")
        return
    except Exception as error:  # noqa: BLE001 - the same
        yield Finding(False, "describe", _said(error))
        return
    found = screened(inventory.instances, allow_any_id=backend.allow_any_id)
    for finding in _inventory_findings(inventory, found):
        yield finding
    if calls.can_price:
        yield await _prices(calls)
    yield _quota(calls, found.sound.values(), options.provider)
    hosted = next((i for i in found.sound.values() if i.host is not None), None)
    if calls.can_inspect and hosted is not None:
        yield await _inspected(calls, hosted, options.provider)


def _inventory_findings(inventory: Inventory, found: ScreenedInstances) -> list[Finding]:
    count = len(found.sound)
    hosts = sum(1 for instance in found.sound.values() if instance.host is not None)
    kinds = Counter(instance.capacity_type.label for instance in found.sound.values())
    zones = Counter(instance.zone for instance in found.sound.values())
    free = [i.id for i in found.sound.values() if not i.price_per_hour and i.host is None]
    findings = [
        Finding(count > 0, "describe", f"{count} machines, {hosts} of them hosts"),
        Finding(inventory.complete, "complete", str(inventory.complete)),
        Finding(True, "capacity", ", ".join(f"{k} {n}" for k, n in sorted(kinds.items()))),
        Finding(True, "zones", ", ".join(f"{z} {n}" for z, n in sorted(zones.items()))),
    ]
    findings += [Finding(False, machine_id, why) for machine_id, why in found.broken[:SHOWN]]
    if free:
        text = f"{len(free)} slots cost nothing, such as {free[0]}; is that meant?"
        findings.append(Finding(False, "prices", text))
    return findings


async def _prices(calls: BackendCalls) -> Finding:
    try:
        table: PriceTable = await calls.prices()
    except Exception as error:  # noqa: BLE001 - the same
        return Finding(False, "prices", _said(error))
    return Finding(True, "prices", f"{len(table.offerings) + len(table.machines)} quoted")


def _quota(calls: BackendCalls, instances: Iterable[Instance], provider: str) -> Finding:
    """One slot of each offering is asked for admission, which buys nothing."""
    if not calls.can_admit:
        return Finding(True, "quota", "unknown: without `admit` it shows when a Create is refused")
    slots: dict[OfferingKey, Instance] = {}
    for instance in instances:
        if instance.host is None:
            key = OfferingKey(instance.instance_type, instance.zone, instance.capacity_type)
            slots.setdefault(key, instance)
    refused = []
    for key, slot in slots.items():
        try:
            calls.admit(Kind.CREATE, seeded(slot, provider, 0).record)
        except BackendError as error:
            refused.append(f"{key.instance_type} in {key.zone}: {_said(error)}")
    if refused:
        more = f" and {len(refused) - SHOWN} more" if len(refused) > SHOWN else ""
        return Finding(False, "quota", "; ".join(refused[:SHOWN]) + more)
    return Finding(True, "quota", f"{len(slots)} offerings could be bought now")


async def _inspected(calls: BackendCalls, instance: Instance, provider: str) -> Finding:
    try:
        status = await calls.inspect(seeded(instance, provider, 0).record)
    except Exception as error:  # noqa: BLE001 - the same
        return Finding(False, "inspect", f"{instance.id}: {_said(error)}")
    there = status.condition is not Condition.GONE
    text = f"{instance.id} is {status.condition}"
    return Finding(there, "inspect", text if there else f"{text}, yet describe shows its host")


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
