"""Fencing: a token passes iff it is newer than the mark of its shard on its machine, and only then.

Create is the probe: on a machine that was created it is a harmless repeat. On a host of a free pool
the same call is out of position, and only stale or not stale is judged.
"""

import random
from collections.abc import Iterator

from bigfleet.conformance.caller import Answer
from bigfleet.conformance.claims import must, must_equal
from bigfleet.conformance.contract import MUTATIONS, STALE_TOKEN, Check, each, on
from bigfleet.conformance.rows import Area
from bigfleet.conformance.trial import Trial
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import Code, Token

FENCING = Area("Fencing")
Pair = tuple[int, int]

#: After the mark (2,5): token and whether it passes.
LADDER: tuple[tuple[Pair, bool], ...] = (
    ((2, 5), False),
    ((2, 4), False),
    ((1, 999), False),
    ((2, 6), True),
    ((2, 6), False),
    ((3, 0), True),
    ((2, 999), False),
    ((3, 0), False),
    ((3, 1), True),
    ((10, 7), True),
    ((9, 999), False),
    ((10, 7), False),
    ((10, 6), False),
    ((10, 8), True),
    ((11, 0), True),
    ((10, 9), False),
)


async def passes(trial: Trial, machine: str, token: Token) -> Answer:
    """The token must be accepted, even if the call fails for another reason."""
    answer = await trial.create(machine, token)
    pair = (token.epoch, token.sequence)
    if trial.was_slot(machine):
        must(answer.ok, f"token {pair} is newer than the mark of {machine}; it got {answer}")
    must(not answer.stale, f"token {pair} is newer than the mark of {machine}; it got {answer}")
    return answer


async def is_stale(trial: Trial, machine: str, token: Token) -> None:
    answer = await trial.create(machine, token)
    pair = (token.epoch, token.sequence)
    must(answer.stale, f"token {pair} is not newer than the mark of {machine}; it got {answer}")


@FENCING.row(
    "B301",
    "The fence comes before existence, and unknown machines have marks too",
    mutant="existence before fence",
    order=(Check.FENCE,),
)
async def fence_before_existence(trial: Trial) -> None:
    unknown, shard = trial.unknown_id(), trial.shards.fresh()
    (await trial.create(unknown, Token(shard, 5, 5))).must_be(Code.NOT_FOUND)
    old = Token(shard, 1, 1)
    (await trial.create(unknown, old)).must_be_stale()
    (await trial.configure(unknown, "b301", token=old)).must_be_stale()
    (await trial.drain(unknown, token=old)).must_be_stale()
    (await trial.delete(unknown, old)).must_be(Code.FAILED_PRECONDITION, Code.UNIMPLEMENTED)
    (await trial.create(unknown, Token(shard, 9, 9))).must_be(Code.NOT_FOUND)


@FENCING.row(
    "B302",
    "A mark belongs to one shard on one machine",
    mutant="mark per shard",
    machines=3,
)
async def marks_are_per_shard_and_machine(trial: Trial) -> None:
    a, b, c = await trial.lease_idles(3)
    first, second, third, fourth = (trial.shards.fresh() for _ in range(4))
    held = [(a, Token(first, 9, 9)), (b, Token(second, 7, 3)), (c, Token(third, 1, 1))]
    for machine, token in held:
        await passes(trial, machine, token)
    for machine, token in held:
        await is_stale(trial, machine, token)
    await passes(trial, b, Token(second, 7, 4))
    crossing = [(a, Token(fourth, 5, 30)), (b, Token(fourth, 5, 7))]
    for machine, token in crossing:
        await passes(trial, machine, token)
    for machine, token in crossing:
        await is_stale(trial, machine, token)
    await is_stale(trial, b, Token(fourth, 4, 999))


@FENCING.row(
    "B303",
    "Tokens are ordered by epoch, then sequence, and equal is stale",
    mutant=">= instead of >",
    machines=1,
)
async def tokens_are_lexicographic(trial: Trial) -> None:
    machine, shard = await trial.lease_idle(), trial.shards.fresh()
    await passes(trial, machine, Token(shard, 2, 5))
    for pair, newer in LADDER:
        judge = passes if newer else is_stale
        await judge(trial, machine, Token(shard, *pair))


@FENCING.row(
    "B305",
    "A fenced shard can still read",
    mutant="fenced shard cannot read",
    machines=1,
)
async def reads_are_never_fenced(trial: Trial) -> None:
    machine, shard = await trial.lease_idle(), trial.shards.fresh()
    await passes(trial, machine, Token(shard, 7, 7))
    for pair in ((7, 7), (7, 6), (6, 99), (0, 1)):
        await is_stale(trial, machine, Token(shard, *pair))
        must_equal((await trial.get(machine)).state, S.IDLE, f"state of {machine}")
        (await trial.listing()).find(machine)
        (await trial.listing([S.IDLE])).find(machine)


@FENCING.row(
    "B306",
    "The fence comes before idempotency for Configure",
    mutant="idempotency before fence",
    machines=1,
    judges=on("Configure", STALE_TOKEN),
    order=(Check.FENCE,),
)
async def configure_is_fenced_first(trial: Trial) -> None:
    machine, shard = await trial.lease_idle(), trial.shards.fresh()
    first = (await trial.configure(machine, "b306", token=Token(shard, 5, 5))).must_be_ok()
    await trial.settles(machine, S.CONFIGURED)
    (await trial.configure(machine, "b306", token=Token(shard, 1, 1))).must_be_stale()
    again = (await trial.configure(machine, "b306", token=Token(shard, 5, 6))).must_be_ok()
    must_equal(again.operation_id, first.operation_id, "operation id of the repeat")
    must_equal((await trial.get(machine)).state, S.CONFIGURED, f"state of {machine}")


@FENCING.row(
    "B307",
    "The fence comes before idempotency for Drain",
    mutant="Drain repeat unfenced",
    machines=1,
    judges=on("Drain", STALE_TOKEN),
    order=(Check.FENCE,),
)
async def drain_is_fenced_first(trial: Trial) -> None:
    machine, shard = await trial.lease_configured("b307"), trial.shards.fresh()
    first = (await trial.drain(machine, 0, Token(shard, 5, 5))).must_be_ok()
    await trial.settles(machine, S.IDLE)
    (await trial.drain(machine, 0, Token(shard, 1, 1))).must_be_stale()
    again = (await trial.drain(machine, 0, Token(shard, 5, 6))).must_be_ok()
    must_equal(again.operation_id, first.operation_id, "operation id of the repeat")
    must_equal((await trial.get(machine)).state, S.IDLE, f"state of {machine}")


@FENCING.row(
    "B308",
    "An absent token is not fenced and leaves no mark",
    mutant="absent token makes mark",
    machines=2,
    slots_first=True,
)
async def absent_tokens_pass(trial: Trial) -> None:
    (first, _), (second, _) = trial.lease_fresh(), trial.lease_fresh()
    for machine in (first, first, second):
        answer = await trial.create(machine, Token())
        must(not answer.stale, f"an absent token is not fenced; it got {answer}")
        if trial.was_slot(machine):
            answer.must_be_ok()
    for machine in (first, second):
        await trial.settles(machine, S.IDLE)


@FENCING.row(
    "B309",
    "Every kind of mutation is fenced, and a rising sequence always passes",
    mutant="fence on Create only",
    machines=1,
    slots_first=True,
    judges=each(MUTATIONS, STALE_TOKEN),
    order=(Check.FENCE,),
)
async def every_kind_is_fenced(trial: Trial) -> None:
    (machine, _), shard = trial.lease_fresh(), trial.shards.fresh()
    sequence = iter(range(1, 100))
    await passes(trial, machine, Token(shard, 1, next(sequence)))
    await trial.settles(machine, S.IDLE)
    for number in range(2):
        token = Token(shard, 1, next(sequence))
        (await trial.configure(machine, f"b309-{number}", token=token)).must_be_ok()
        await trial.settles(machine, S.CONFIGURED)
        (await trial.drain(machine, 0, Token(shard, 1, next(sequence)))).must_be_ok()
        await trial.settles(machine, S.IDLE)
    (await trial.configure(machine, "b309", token=Token(shard, 1, 1))).must_be_stale()


@FENCING.row(
    "B310",
    "A new epoch outdates every token of the old one",
    mutant="epoch ignored",
    machines=1,
    slots_first=True,
)
async def a_new_epoch(trial: Trial) -> None:
    (machine, slot), shard = trial.lease_fresh(), trial.shards.fresh()
    await passes(trial, machine, Token(shard, 1, 1))
    await trial.settles(machine, S.IDLE)
    if slot and trial.can.delete:
        (await trial.delete(machine, Token(shard, 1, 2))).must_be_ok()
        await trial.settles(machine, S.SPECULATIVE)
        (await trial.create(machine, Token(shard, 1, 3))).must_be_ok()
    else:
        (await trial.configure(machine, "b310-old", token=Token(shard, 1, 2))).must_be_ok()
        await trial.settles(machine, S.CONFIGURED)
        (await trial.drain(machine, 0, Token(shard, 1, 3))).must_be_ok()
    await trial.settles(machine, S.IDLE)
    for stale in (Token(shard, 1, 1), Token(shard, 1, 3)):
        await is_stale(trial, machine, stale)
    (await trial.configure(machine, "b310", token=Token(shard, 2, 1))).must_be_ok()
    await trial.settles(machine, S.CONFIGURED)


@FENCING.row(
    "B311",
    "The mark moves also when the call is then rejected",
    mutant="mark moves on success only",
    machines=1,
    slots_first=True,
    order=(Check.FENCE,),
)
async def rejected_calls_move_the_mark(trial: Trial) -> None:
    (machine, slot), shard = trial.lease_fresh(), trial.shards.fresh()
    answer = await trial.drain(machine, 0, Token(shard, 5, 5))
    if slot:
        answer.must_be_rejected()
    must(not answer.stale, f"a first token must pass; it got {answer}")
    await is_stale(trial, machine, Token(shard, 5, 4))
    await passes(trial, machine, Token(shard, 5, 6))
    await trial.settles(machine, S.IDLE)


def around_the_mark(chance: random.Random, count: int) -> Iterator[Pair]:
    """Tokens near the running maximum, where a wrong comparison shows."""
    epoch, sequence = 0, 0
    for _ in range(count):
        pair = (
            max(0, epoch + chance.randint(-1, 2)),
            max(0, sequence + chance.randint(-3, 4)),
        )
        yield pair
        epoch, sequence = max((epoch, sequence), pair)


@FENCING.row(
    "B312",
    "200 random tokens around the mark pass iff they are newer",
    mutant="sequence compared alone",
    machines=1,
    generated=True,
)
async def random_tokens(trial: Trial) -> None:
    machine, shard = await trial.lease_idle(), trial.shards.fresh()
    steps = trial.chosen(list(around_the_mark(trial.chance, 200)))
    mark: Pair | None = None
    accepted = 0
    for pair in steps:
        newer = mark is None or pair > mark
        judge = passes if newer else is_stale
        await judge(trial, machine, Token(shard, *pair))
        if newer:
            mark, accepted = pair, accepted + 1
    must(accepted > 0, "no token was accepted")
