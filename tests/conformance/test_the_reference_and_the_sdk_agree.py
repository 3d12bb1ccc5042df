"""The same random walk on the reference provider and on the SDK ends the same at every step."""

import random

from bigfleet.conformance.behaviours.properties import KINDS
from bigfleet.conformance.driver import SystemClock
from bigfleet.conformance.embedded import EmbeddedLab
from bigfleet.conformance.hand import Answer, Hand, Shards
from bigfleet.conformance.lab import Boot
from bigfleet.conformance.pace import Pace
from bigfleet.conformance.wirelog import WireLog
from bigfleet.model.machines import MachineState
from bigfleet.wire.provider_client import ProviderClient
from tests.provider.rig import running

WALKS, STEPS = 4, 25
#: What an answer says; providers may choose their own word for out of position.
Said = tuple[str, MachineState]


def hand_on(client: ProviderClient) -> Hand:
    clock = SystemClock()
    return Hand(client, clock, Pace().brisk(), Shards("walk", clock), WireLog())


async def said(hand: Hand, machine: str, kind: str) -> Said:
    answer = await mutated(hand, machine, kind)
    word = "ok" if answer.ok else "stale" if answer.stale else "rejected"
    return word, (await hand.settles_anywhere(machine)).state


async def mutated(hand: Hand, machine: str, kind: str) -> Answer:
    match kind:
        case "Create":
            return await hand.create(machine)
        case "Configure":
            return await hand.configure(machine, "walk", {"k": "v"})
        case "Drain":
            return await hand.drain(machine, 0)
        case _:
            return await hand.delete(machine)


async def walked(client: ProviderClient, kinds: list[list[str]]) -> list[list[Said]]:
    hand = hand_on(client)
    machines = sorted((await hand.listing()).ids)[: len(kinds)]
    return [
        [await said(hand, machine, kind) for kind in walk]
        for machine, walk in zip(machines, kinds, strict=True)
    ]


async def test_both_say_the_same_on_random_walks() -> None:
    chance = random.Random(1203)
    walks = [[chance.choice(KINDS) for _ in range(STEPS)] for _ in range(WALKS)]
    lab = EmbeddedLab(SystemClock())
    reference = lab.connect(await lab.boot(Boot("core", seed_count=WALKS)))
    async with running() as rig:
        ours = await walked(reference, walks)
        theirs = await walked(rig.client, walks)
    await reference.close()
    await lab.close()
    assert [list(zip(w, s, strict=True)) for w, s in zip(walks, ours, strict=True)] == [
        list(zip(w, s, strict=True)) for w, s in zip(walks, theirs, strict=True)
    ]
