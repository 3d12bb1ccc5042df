"""What is wrong with a Backend before anybody relies on it; nothing is changed by looking."""

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass

from bigfleet.provider.backend import Backend, Inventory, OpenContext, PriceTable
from bigfleet.provider.calls import BackendCalls, awaitable, calls_of
from bigfleet.provider.clock import SECOND
from bigfleet.provider.operations.deadlines import DeadlinePassed, done_by
from bigfleet.provider.options import ProviderOptions
from bigfleet.provider.reconciling.screening import screened

SHOWN = 10


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
        why = options.tls.why_unusable()
        yield Finding(why is None, "tls", why or "certificate, key and CA fit together")
    calls = calls_of(backend)
    yield Finding(True, "methods", _methods(calls))
    try:
        await awaitable(backend.open)(context)
    except Exception as error:  # noqa: BLE001 - whatever an author's open raises is the finding
        yield Finding(False, "open", str(error) or type(error).__name__)
        return
    yield Finding(True, "open", "credentials and clients are accepted")
    try:
        async for finding in _looked_at(backend, calls, context, options):
            yield finding
    finally:
        await awaitable(backend.close)()


def _methods(calls: BackendCalls) -> str:
    optional = {
        "delete": calls.delete,
        "inspect": calls.inspect,
        "reset": calls.reset,
        "watch": calls.watch,
        "prices": calls.prices,
        "confirm_ready": calls.confirm_ready,
    }
    missing = [name for name, method in optional.items() if method is None]
    return f"without {', '.join(missing)}" if missing else "all of them"


async def _looked_at(
    backend: Backend, calls: BackendCalls, context: OpenContext, options: ProviderOptions
) -> AsyncIterator[Finding]:
    clock = context.clock
    deadline = clock.now() + round(options.timing.describe * SECOND)

    async def describe() -> Inventory:
        return await calls.describe()

    try:
        inventory = await done_by(clock, deadline, describe())
    except DeadlinePassed:
        yield Finding(False, "describe", f"took more than {options.timing.describe:g} s")
        return
    except Exception as error:  # noqa: BLE001 - the same
        yield Finding(False, "describe", str(error) or type(error).__name__)
        return
    for finding in _inventory_findings(inventory, allow_any_id=backend.allow_any_id):
        yield finding
    if calls.prices is not None:
        yield await _prices(calls)


def _inventory_findings(inventory: Inventory, *, allow_any_id: bool) -> list[Finding]:
    found = screened(inventory.instances, allow_any_id=allow_any_id)
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
    assert calls.prices is not None
    try:
        table: PriceTable = await calls.prices()
    except Exception as error:  # noqa: BLE001 - the same
        return Finding(False, "prices", str(error) or type(error).__name__)
    return Finding(True, "prices", f"{len(table.offerings) + len(table.machines)} quoted")
