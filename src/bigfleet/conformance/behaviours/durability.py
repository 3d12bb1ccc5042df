"""Durability: what was acknowledged is known after a SIGKILL, and nothing stays half done.

A provider is booted on a state path, does its deeds, is killed and booted again on another port
with the same state. All rows but B1006 look at the same restart.
"""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bigfleet.conformance.caller import SETTLED, Answer, Caller, Listing
from bigfleet.conformance.claims import (
    NotServed,
    Skipped,
    fields_match,
    must,
    must_be_bound,
    must_equal,
)
from bigfleet.conformance.launchers import Boot
from bigfleet.conformance.rows import Area
from bigfleet.conformance.trial import Trial
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import Token

if TYPE_CHECKING:
    from bigfleet.wire.provider_client import ProviderClient

DURABILITY = Area(
    "Durability", suite="durable", runs_on="own", profiles=("durable",), exclusive=True
)
CLUSTER = "durable-cluster"
METADATA = {"first": "1", "second": "two\x00\u00fc"}
MARK = (3, 7)
SLOTS = 64
CROWD = 32
TRIES = 10


@dataclass(slots=True)
class BeforeRestart:
    """What was true when the provider was killed."""

    boot: Boot
    shard: str
    created: str
    configured: str
    operation: str
    snapshot: Listing
    operations: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class RestartedProvider:
    """One restart, looked at by several rows."""

    before: BeforeRestart
    client: "ProviderClient"


def durable_boot(trial: Trial) -> Boot:
    path = trial.settings.scratch / f"{trial.row.id}-{trial.clock.wall()}.state"
    return Boot("durable", seed_count=SLOTS, state=path)


async def free_machines(caller: Caller, count: int, at_most: int = 0) -> list[str]:
    """Unused machines, slots first; more than `count` where there are more."""
    records = (await caller.listing()).records
    free = [r for r in records if r.state in (S.SPECULATIVE, S.IDLE) and not r.cluster]
    free = [r for r in free if not any(key.startswith("conformance.fault/") for key in r.labels)]
    free.sort(key=lambda record: (record.state, record.id))
    if len(free) < count:
        raise NotServed(f"needs {count} free machines, the provider has {len(free)}")
    return [record.id for record in free[: max(count, at_most)]]


async def to_idle(caller: Caller, machine: str, token: Token | None = None) -> Answer:
    """Create where there is a slot; on a free pool the same call only leaves its mark."""
    slot = (await caller.get(machine)).state is S.SPECULATIVE
    answer = await caller.create(machine, token)
    if slot:
        answer.must_be_ok()
    await caller.settles(machine, S.IDLE)
    return answer


async def prepared(trial: Trial, caller: Caller, boot: Boot) -> BeforeRestart:
    created, configured = await free_machines(caller, 2)
    shard = f"durA-{trial.shards.fresh()}"
    first = await to_idle(caller, created, Token(shard, *MARK))
    second = await to_idle(caller, configured)
    bound = (await caller.configure(configured, CLUSTER, METADATA)).must_be_ok()
    await caller.settles(configured, S.CONFIGURED)
    seen = {answer.operation_id for answer in (first, second, bound)}
    return BeforeRestart(
        boot, shard, created, configured, bound.operation_id, await caller.listing(), seen
    )


async def killed(trial: Trial) -> tuple[BeforeRestart, Caller]:
    if isinstance(restart := trial.inherited, RestartedProvider):
        return restart.before, trial.on(restart.client)
    boot = durable_boot(trial)
    running, caller = await trial.boot(boot)
    before = await prepared(trial, caller, boot)
    await running.kill()
    _, again = await trial.boot(boot)
    trial.hand_down(RestartedProvider(before, again.client))
    return before, again


@DURABILITY.row("B1001", "Marks survive", mutant="marks in memory", inherits=True)
async def marks_survive(trial: Trial) -> None:
    before, caller = await killed(trial)
    (await caller.create(before.created, Token(before.shard, *MARK))).must_be_stale()


@DURABILITY.row("B1002", "Operation ids survive", mutant="ids in memory", inherits=True)
async def operations_survive(trial: Trial) -> None:
    before, caller = await killed(trial)
    again = (await caller.configure(before.configured, CLUSTER, METADATA)).must_be_ok()
    must_equal(again.operation_id, before.operation, "operation id after the restart")


@DURABILITY.row("B1003", "Bindings survive", mutant="metadata in memory", inherits=True)
async def bindings_survive(trial: Trial) -> None:
    before, caller = await killed(trial)
    must_be_bound(await caller.get(before.configured), CLUSTER, METADATA)
    must_be_bound((await caller.listing()).find(before.configured), CLUSTER, METADATA)


@DURABILITY.row("B1004", "The fleet survives", mutant="reseed at boot", inherits=True)
async def the_fleet_survives(trial: Trial) -> None:
    before, caller = await killed(trial)
    after = {record.id: record.state.name for record in (await caller.listing()).records}
    for record in before.snapshot.records:
        seen = after.pop(record.id, "gone")
        must_equal(seen, record.state.name, f"state of {record.id} after the restart")
    must(not after, f"machines appeared with the restart: {sorted(after)[:5]}")


@DURABILITY.row("B1005", "No operation id comes twice", mutant="counter restarts", inherits=True)
async def ids_stay_unique(trial: Trial) -> None:
    before, caller = await killed(trial)
    must(bool((await caller.listing()).revision), "the revision is empty after the restart")
    machine = (await free_machines(caller, 1))[0]
    if (await caller.get(machine)).state is S.SPECULATIVE:
        answer = await to_idle(caller, machine)
    else:
        answer = (await caller.configure(machine, CLUSTER)).must_be_ok()
    fresh = answer.operation_id
    must(bool(fresh), "the operation id is empty")
    must(fresh not in before.operations, f"{fresh} was used before the restart")


@DURABILITY.row(
    "B1006",
    "A Configure cut off by a kill does not stay CONFIGURING",
    mutant="stuck CONFIGURING",
    longest=180,
)
async def nothing_stays_configuring(trial: Trial) -> None:
    timeout = trial.pace.cut_off
    plain = durable_boot(trial)
    boot = Boot("durable", SLOTS, plain.state, transition_timeout=timeout, faults=True)
    running, caller = await trial.boot(boot)
    if not running.takes_faults:
        await running.kill()
        await catch_in_a_crowd(trial)
        return
    machine = (await free_machines(caller, 1))[0]
    await to_idle(caller, machine)
    (await caller.configure(machine, "fault-timeout", METADATA)).must_be_ok()
    deadline = trial.clock.now() + timeout
    await running.kill()
    _, again = await trial.boot(boot)
    # A provider that came up late, past the deadline, has the same time to put things right.
    left = max(0.0, deadline - trial.clock.now())
    await must_resolve(again, machine, left + trial.pace.limit(5))


@DURABILITY.row(
    "B1007",
    "A fresh shard passes after the restart",
    mutant="one global mark after load",
    inherits=True,
)
async def fresh_shards_pass(trial: Trial) -> None:
    before, caller = await killed(trial)
    answer = await caller.create(before.created, Token(f"durB-{trial.shards.fresh()}", 1, 1))
    must(not answer.stale, f"a shard's first token must pass; it got {answer}")


async def must_resolve(caller: Caller, machine: str, seconds: float) -> None:
    """What the kill cut off is settled again, and the record fits the state it settled in."""
    wrong = fields_match(await caller.reaches(machine, SETTLED, seconds))
    must(wrong is None, wrong or "")


async def catch_in_a_crowd(trial: Trial) -> None:
    """Without selectors: kill right behind the acks of many Configures, until one is under way."""
    for _ in range(TRIES):
        boot = durable_boot(trial)
        running, caller = await trial.boot(boot)
        machines = await free_machines(caller, CROWD)
        await asyncio.gather(*(to_idle(caller, machine) for machine in machines))
        answers = await caller.all_at_once([caller.configure(m, CLUSTER) for m in machines])
        await running.kill()
        running, again = await trial.boot(boot)
        await asyncio.gather(
            *(must_resolve(again, machine, trial.pace.limit(60)) for machine in machines)
        )
        await running.kill()
        if any(a.ok and a.machine.state is S.CONFIGURING for a in answers):
            return
    raise Skipped(f"no Configure was under way in {TRIES} kills")
