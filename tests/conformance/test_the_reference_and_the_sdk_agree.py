"""The same random walk on the reference provider and on the SDK ends the same at every step."""

import random

from bigfleet.conformance.behaviours.properties import KINDS
from bigfleet.conformance.caller import Answer, Caller, Shards
from bigfleet.conformance.driver import SystemClock
from bigfleet.conformance.embedded import EmbeddedLauncher
from bigfleet.conformance.launchers import Boot
from bigfleet.conformance.pace import Pace
from bigfleet.conformance.wirelog import WireLog
from bigfleet.model.machines import MachineState
from bigfleet.wire.provider_client import ProviderClient
from tests.provider.rig import running

WALKS, STEPS = 4, 25
#: What an answer says; providers may choose their own word for out of position.
Said = tuple[str, MachineState]


def hand_on(client: ProviderClient) -> Caller:
    clock = SystemClock()
    return Caller(client, clock, Pace().brisk(), Shards("walk", clock), WireLog())


async def said(caller: Caller, machine: str, kind: str) -> Said:
    answer = await mutated(caller, machine, kind)
    word = "ok" if answer.ok else "stale" if answer.stale else "rejected"
    return word, (await caller.settles_anywhere(machine)).state


async def mutated(caller: Caller, machine: str, kind: str) -> Answer:
    match kind:
        case "Create":
            return await caller.create(machine)
        case "Configure":
            return await caller.configure(machine, "walk", {"k": "v"})
        case "Drain":
            return await caller.drain(machine, 0)
        case _:
            return await caller.delete(machine)


async def walked(client: ProviderClient, kinds: list[list[str]]) -> list[list[Said]]:
    caller = hand_on(client)
    machines = sorted((await caller.listing()).ids)[: len(kinds)]
    return [
        [await said(caller, machine, kind) for kind in walk]
        for machine, walk in zip(machines, kinds, strict=True)
    ]


async def test_both_say_the_same_on_random_walks() -> None:
    chance = random.Random(1203)
    walks = [[chance.choice(KINDS) for _ in range(STEPS)] for _ in range(WALKS)]
    launcher = EmbeddedLauncher(SystemClock())
    reference = launcher.connect(await launcher.boot(Boot("core", seed_count=WALKS)))
    async with running() as rig:
        ours = await walked(reference, walks)
        theirs = await walked(rig.client, walks)
    await reference.close()
    await launcher.close()
    assert [list(zip(w, s, strict=True)) for w, s in zip(walks, ours, strict=True)] == [
        list(zip(w, s, strict=True)) for w, s in zip(walks, theirs, strict=True)
    ]
