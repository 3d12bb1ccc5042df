"""Concurrency and idempotency: many ask at once, one operation happens, all hear of it."""

import asyncio
from collections.abc import Sequence

from bigfleet.conformance.caller import Answer
from bigfleet.conformance.claims import (
    fields_match,
    must,
    must_be_bound,
    must_be_clean,
    must_equal,
)
from bigfleet.conformance.contract import Check, on
from bigfleet.conformance.rows import Area
from bigfleet.conformance.trial import Trial
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import Token

CONCURRENCY = Area("Concurrency and idempotency")
MANY = 8
ZOMBIES = 12


def fresh(trial: Trial) -> Token:
    """A shard of its own for each call of a burst, because the wire may reorder them."""
    return Token(trial.shards.fresh(), 1, 1)


def one_operation(answers: Sequence[Answer]) -> str:
    """The single operation id among the successes of a burst of equal calls."""
    must(not any(answer.stale for answer in answers), "a fresh token was called stale")
    ids = {answer.operation_id for answer in answers if answer.ok}
    must(len(ids) == 1, f"equal calls at once must share one operation; seen {sorted(ids)}")
    must(ids != {""}, "the operation id must not be empty")
    return ids.pop()


@CONCURRENCY.row(
    "B401",
    "16 Creates at once are one operation",
    mutant="create race mints two ids",
    creates=1,
    judges=on("Create", S.CREATING, S.IDLE),
    order=(Check.IDEMPOTENCY,),
)
async def creates_at_once(trial: Trial) -> None:
    machine = trial.lease_speculative()
    one_operation(
        await trial.all_at_once(
            [trial.create(machine, fresh(trial)) for _ in range(trial.pace.burst)]
        )
    )
    await trial.settles(machine, S.IDLE)
    (await trial.listing([S.IDLE])).find(machine)


@CONCURRENCY.row(
    "B402",
    "16 equal Configures at once are one operation",
    mutant="configure race",
    machines=1,
    judges=on("Configure", S.CONFIGURING, S.CONFIGURED),
    order=(Check.IDEMPOTENCY,),
)
async def configures_at_once(trial: Trial) -> None:
    machine, metadata = await trial.lease_idle(), {"a": "1", "b": "2"}
    calls = [
        trial.configure(machine, "b402", metadata, fresh(trial)) for _ in range(trial.pace.burst)
    ]
    one_operation(await trial.all_at_once(calls))
    must_be_bound(await trial.settles(machine, S.CONFIGURED), "b402", metadata)
    (await trial.listing([S.CONFIGURED])).find(machine)


@CONCURRENCY.row(
    "B403",
    "16 Drains at once are one operation",
    mutant="drain race",
    machines=1,
    judges=on("Drain", S.DRAINING, S.IDLE),
    order=(Check.IDEMPOTENCY,),
)
async def drains_at_once(trial: Trial) -> None:
    machine = await trial.lease_configured("b403", {"k": "v"})
    one_operation(
        await trial.all_at_once(
            [trial.drain(machine, 0, fresh(trial)) for _ in range(trial.pace.burst)]
        )
    )
    must_be_clean(await trial.settles(machine, S.IDLE))
    (await trial.listing([S.IDLE])).find(machine)


@CONCURRENCY.row(
    "B404",
    "Configure and Drain at once end in one whole state",
    mutant="lost update: I with cluster",
    machines=1,
)
async def configure_against_drain(trial: Trial) -> None:
    machine = await trial.lease_configured("b404", {"k": "v"})
    answers = await trial.all_at_once(
        [
            trial.configure(machine, "b404", {"k": "v"}, fresh(trial)),
            trial.drain(machine, 0, fresh(trial)),
        ]
    )
    for answer in answers:
        must(not answer.stale, f"{answer.method} lost the race; that is not stale: {answer}")
    settled = await trial.settles_anywhere(machine)
    must(settled.state in (S.IDLE, S.CONFIGURED), f"settled in {settled.state.name}")
    record = await trial.holds(machine, settled.state, trial.pace.hold_lifecycle)
    wrong = fields_match(record)
    must(wrong is None, wrong or "")


@CONCURRENCY.row(
    "B405",
    "A zombie never gets through, however closely it races the living",
    mutant="fence check not atomic",
    machines=1,
)
async def zombies_against_the_living(trial: Trial) -> None:
    machine, shard = await trial.lease_idle(), trial.shards.fresh()
    await trial.create(machine, Token(shard, 1, 1000))
    dead = [trial.create(machine, Token(shard, 1, n)) for n in range(ZOMBIES)]
    alive = [trial.create(machine, Token(shard, 2, 100 + n)) for n in range(ZOMBIES)]
    mixed = [call for pair in zip(dead, alive, strict=True) for call in pair]
    answers = await trial.all_at_once(mixed)
    for zombie in answers[::2]:
        zombie.must_be_stale()
    passed = [100 + n for n, live in enumerate(answers[1::2]) if not live.stale]
    if trial.was_slot(machine):
        must(all(live.ok or live.stale for live in answers[1::2]), "a living token was rejected")
    must(bool(passed), "no living token passed")
    (await trial.create(machine, Token(shard, 1, 9))).must_be_stale()
    (await trial.create(machine, Token(shard, 2, max(passed)))).must_be_stale()
    last = await trial.create(machine, Token(shard, 2, 9999))
    must(not last.stale, f"the newest token must pass; it got {last}")


@CONCURRENCY.row(
    "B406",
    "Two connections share one operation",
    mutant="ids per connection",
    machines=1,
)
async def two_connections(trial: Trial) -> None:
    machine, other = await trial.lease_idle(), trial.second_connection()
    hands = [trial, other] * (trial.pace.burst // 2)
    operation = one_operation(
        await trial.all_at_once(
            [caller.configure(machine, "b406", token=fresh(trial)) for caller in hands]
        )
    )
    await trial.settles(machine, S.CONFIGURED)
    for caller in (trial, other):
        again = (await caller.configure(machine, "b406")).must_be_ok()
        must_equal(again.operation_id, operation, "operation id of a repeat")


@CONCURRENCY.row(
    "B407",
    "Creates of 8 machines at once have 8 operations",
    mutant="id shared by machines",
    creates=MANY,
)
async def many_machines_at_once(trial: Trial) -> None:
    machines = [trial.lease_speculative() for _ in range(MANY)]
    answers = await trial.all_at_once([trial.create(machine) for machine in machines])
    ids = {answer.must_be_ok().operation_id for answer in answers}
    must(len(ids) == MANY, f"{MANY} machines must have {MANY} operations; seen {sorted(ids)}")
    settled = await asyncio.gather(*(trial.settles(m, S.IDLE, 30) for m in machines))
    for record in settled:
        must_be_clean(record)


@CONCURRENCY.row(
    "B408",
    "Every ack of a burst shows the machine on its way or there",
    mutant="ack shows pre-state",
    machines=1,
)
async def acks_show_the_way(trial: Trial) -> None:
    machine = await trial.lease_idle()
    calls = [trial.configure(machine, "b408", token=fresh(trial)) for _ in range(trial.pace.burst)]
    for answer in await trial.all_at_once(calls):
        shown = answer.must_be_ok().machine
        must(shown.state in (S.CONFIGURING, S.CONFIGURED), f"an ack shows {shown.state.name}")
        if shown.state is S.CONFIGURED:
            must_equal(shown.cluster, "b408", "cluster in a CONFIGURED ack")
    await trial.settles(machine, S.CONFIGURED)


@CONCURRENCY.row(
    "B409",
    "16 Deletes at once are one operation",
    mutant="delete race",
    creates=1,
    gates=("delete",),
    also=("cloud",),
    judges=on("Delete", S.DELETING, S.SPECULATIVE),
    order=(Check.IDEMPOTENCY,),
)
async def deletes_at_once(trial: Trial) -> None:
    machine = await trial.lease_idle()
    one_operation(
        await trial.all_at_once(
            [trial.delete(machine, fresh(trial)) for _ in range(trial.pace.burst)]
        )
    )
    await trial.settles(machine, S.SPECULATIVE)
    (await trial.listing([S.SPECULATIVE])).find(machine)
