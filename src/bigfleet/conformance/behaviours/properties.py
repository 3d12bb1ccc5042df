"""Properties: random calls from a seed, judged by an oracle that is too simple to be wrong.

Every generator makes its whole list of steps first, so that a failure can be replayed with fewer.
"""

import random
from dataclasses import dataclass
from typing import Literal

from bigfleet.conformance.behaviours.fencing import is_stale, passes
from bigfleet.conformance.caller import Answer
from bigfleet.conformance.claims import must, must_be_bound, must_be_clean, must_carry
from bigfleet.conformance.contract import EMPTY_ID, MUTATIONS, UNKNOWN_ID, Check, each
from bigfleet.conformance.rows import Area
from bigfleet.conformance.trial import Trial
from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import Code, Token

PROPERTIES = Area("Property")
TOKENS = 240
MAPS = 20
WALKS, STEPS = 5, 9
FENCED = 200
KINDS = ("Create", "Configure", "Drain", "Delete")
SOURCE = {"Create": S.SPECULATIVE, "Configure": S.IDLE, "Drain": S.CONFIGURED, "Delete": S.IDLE}
TARGET = {"Create": S.IDLE, "Configure": S.CONFIGURED, "Drain": S.IDLE, "Delete": S.SPECULATIVE}


def clustered(chance: random.Random, count: int) -> list[tuple[int, int]]:
    """Tokens on, just above and just below the running maximum, with digits of every length."""
    epoch, sequence = 1, 8
    pairs = []
    for _ in range(count):
        pair = chance.choice(
            [
                (epoch, sequence),
                (epoch, sequence + chance.randint(1, 4)),
                (epoch, max(0, sequence - chance.randint(1, 12))),
                (epoch + 1, chance.randint(0, 12)),
                (max(0, epoch - 1), sequence + chance.randint(0, 200)),
            ]
        )
        pairs.append(pair)
        epoch, sequence = max((epoch, sequence), pair)
    return pairs


@PROPERTIES.row(
    "B1201",
    "240 random tokens are judged as the lexicographic oracle does",
    mutant="tokens compared as text",
    machines=1,
    generated=True,
)
async def tokens_follow_the_oracle(trial: Trial) -> None:
    machine, shard = await trial.lease_idle(), trial.shards.fresh()
    mark: tuple[int, int] | None = None
    for pair in trial.chosen(clustered(trial.chance, TOKENS)):
        if mark is None or pair > mark:
            await passes(trial, machine, Token(shard, *pair))
            mark = pair
        else:
            await is_stale(trial, machine, Token(shard, *pair))


def random_text(chance: random.Random, longest: int) -> str:
    alphabet = (
        lambda: chr(chance.randrange(0x00, 0x80)),
        lambda: chance.choice("aeiouAEIOU") + chr(chance.randrange(0x300, 0x330)),
        lambda: chr(chance.randrange(0xA0, 0x250)),
        lambda: chr(chance.randrange(0x1100, 0x1200)),
        lambda: chr(chance.randrange(0x1F300, 0x1F600)),
    )
    return "".join(chance.choice(alphabet)() for _ in range(chance.randint(0, longest)))


def random_map(chance: random.Random) -> dict[str, str]:
    return {random_text(chance, 12): random_text(chance, 24) for _ in range(chance.randint(0, 11))}


@PROPERTIES.row(
    "B1202",
    "20 random maps come back as they were sent",
    mutant="Unicode NFC applied",
    machines=1,
    generated=True,
)
async def maps_come_back(trial: Trial) -> None:
    machine, chance = await trial.lease_idle(), trial.chance
    for metadata in trial.chosen([random_map(chance) for _ in range(MAPS)]):
        must_be_bound(await trial.bind(machine, "b1202", metadata), "b1202", metadata)
        must_carry((await trial.listing([S.CONFIGURED])).find(machine), metadata)
        must_be_clean(await trial.release(machine))


@PROPERTIES.row(
    "B1203",
    "Random mutations move a machine only along its edges",
    mutant="Drain on S accepted",
    machines=WALKS,
    slots_first=True,
    generated=True,
    judges=each(MUTATIONS, S.SPECULATIVE, S.IDLE, S.CONFIGURED),
    order=(Check.POSITION,),
)
async def random_walks(trial: Trial) -> None:
    chance = trial.chance
    steps = [(walk, chance.choice(KINDS)) for walk in range(WALKS) for _ in range(STEPS)]
    machines: dict[int, str] = {}
    states: dict[int, S] = {}
    for walk, kind in trial.chosen(steps):
        if walk not in machines:
            slot = trial.has_slot
            machines[walk] = trial.lease_speculative() if slot else await trial.lease_idle()
            states[walk] = (await trial.get(machines[walk])).state
        states[walk] = await walked(trial, machines[walk], states[walk], kind)


async def walked(trial: Trial, machine: str, state: S, kind: str) -> S:
    """One mutation, judged against the edge it asks for; the state the machine is in afterwards."""
    answer = await mutated(trial, machine, kind)
    if kind == "Delete" and not trial.can.delete:
        answer.must_be(Code.UNIMPLEMENTED)
    elif kind == "Delete" and not answer.ok and not trial.was_slot(machine):
        answer.must_be_rejected()  # a host that was there before us may be here to stay
    elif state is SOURCE[kind]:
        answer.must_be_ok()
        return (await trial.settles(machine, TARGET[kind])).state
    elif state is TARGET[kind]:
        must(not answer.stale, f"{kind} at its target is not stale; it answered {answer}")
    else:
        answer.must_be_rejected()
    await trial.holds(machine, state, trial.pace.hold_walk)
    return state


async def mutated(trial: Trial, machine: str, kind: str) -> Answer:
    match kind:
        case "Create":
            return await trial.create(machine)
        case "Configure":
            return await trial.configure(machine, "b1203", {"walk": "1"})
        case "Drain":
            return await trial.drain(machine, 0)
        case _:
            return await trial.delete(machine)


@PROPERTIES.row(
    "B1204",
    "200 fenced Creates are judged per shard and machine",
    mutant="mark per machine",
    machines=4,
    generated=True,
)
async def marks_follow_the_oracle(trial: Trial) -> None:
    machines, chance = await trial.lease_idles(4), trial.chance
    shards = [trial.shards.fresh() for _ in range(3)]
    steps = [
        (chance.randrange(3), chance.randrange(4), (chance.randint(0, 6), chance.randint(0, 9)))
        for _ in range(FENCED)
    ]
    marks: dict[tuple[int, int], tuple[int, int]] = {}
    for shard, machine, pair in trial.chosen(steps):
        token = Token(shards[shard], *pair)
        mark = marks.get((shard, machine))
        if mark is None or pair > mark:
            await passes(trial, machines[machine], token)
            marks[(shard, machine)] = pair
        else:
            await is_stale(trial, machines[machine], token)
    for machine_id in machines:
        await passes(trial, machine_id, Token(trial.shards.fresh(), 1, 1))


Shape = Literal[
    "empty get", "empty create", "empty configure", "empty drain",
    "unknown get", "unknown create", "unknown configure", "unknown drain", "unknown delete",
    "negative grace", "many keys", "big blob", "odd token",
]  # fmt: skip
CHEAP: tuple[Shape, ...] = (
    "empty get", "empty create", "empty configure", "empty drain",
    "unknown get", "unknown create", "unknown configure", "unknown drain", "unknown delete",
    "odd token",
)  # fmt: skip
HEAVY: tuple[Shape, ...] = ("negative grace", "many keys", "big blob")


@dataclass(frozen=True, slots=True)
class Malformed:
    shape: Shape
    size: int
    pair: tuple[int, int]


def malformed(chance: random.Random) -> list[Malformed]:
    """Every shape up to four times; those that need a machine of the pool once."""
    shapes = [*HEAVY, *(shape for shape in CHEAP for _ in range(chance.randint(1, 4)))]
    chance.shuffle(shapes)
    odd = [-1, 0, 1, 2**31, 2**63 - 1, -(2**63)]
    return [
        Malformed(shape, chance.randrange(2**16), (chance.choice(odd), chance.choice(odd)))
        for shape in shapes
    ]


@PROPERTIES.row(
    "B1205",
    "Malformed calls get the code of their fault, never FAILED_PRECONDITION",
    mutant="big map gives FP",
    machines=3,
    generated=True,
    judges=each((*MUTATIONS, "Get"), EMPTY_ID, UNKNOWN_ID),
    order=(Check.ARGUMENTS,),
)
async def malformed_calls(trial: Trial) -> None:
    for call in trial.chosen(malformed(trial.chance)):
        answer = await sent(trial, call)
        must(not answer.stale, f"{call.shape} is malformed, not stale; it got {answer}")
        if call.shape.startswith("empty"):
            answer.must_be(Code.INVALID_ARGUMENT)
        elif call.shape == "unknown delete":
            answer.must_be(Code.NOT_FOUND, Code.UNIMPLEMENTED)
        elif call.shape.startswith("unknown"):
            answer.must_be(Code.NOT_FOUND)


async def sent(trial: Trial, call: Malformed) -> Answer:
    named, _, what = call.shape.partition(" ")
    if named in ("empty", "unknown"):
        machine = "" if named == "empty" else trial.unknown_id()
        match what:
            case "get":
                return await trial.look(machine)
            case "create":
                return await trial.create(machine)
            case "configure":
                return await trial.configure(machine, "b1205")
            case "drain":
                return await trial.drain(machine)
            case _:
                return await trial.delete(machine)
    if call.shape == "odd token":
        token = Token(trial.shards.fresh(), *call.pair)
        return await trial.create(trial.unknown_id(), token)
    if call.shape == "negative grace":
        return await trial.drain(await trial.lease_configured("b1205"), -1 - call.size)
    machine = await trial.lease_idle()
    if call.shape == "many keys":
        keys = 400 + call.size % 401
        return await trial.configure(machine, "b1205", {f"k{n}": "v" * 40 for n in range(keys)})
    blob = bytes(64 * 1024 + call.size)
    return await trial.configure(machine, "b1205", blob=blob)
