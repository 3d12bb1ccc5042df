"""Cycles of the past, as requests name them. Each shard counts its own."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.web.fleet import PAST_SECONDS, Fleet
from bigfleet.web.problems import bad
from bigfleet.wire.shard_admin import ShardAdminClient

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PastCycle:
    shard: str
    #: None: the current one.
    epoch: int | None
    cycle: int

    async def ask(
        self, fleet: Fleet, question: Callable[[ShardAdminClient, int], Awaitable[T]]
    ) -> T:
        """The question is asked with the number of the cycle; raises Problem."""

        async def look(client: ShardAdminClient) -> T:
            await epoch_of(client, self.epoch, self.cycle)
            return await question(client, self.cycle)

        return await fleet.ask_one(self.shard, look, PAST_SECONDS)


def past_cycle(fleet: Fleet, at: str, shard: str) -> PastCycle:
    """`shard` may be empty where there is only one; raises Problem."""
    epoch, cycle = cycle_in(at, "at")
    if not cycle:
        raise bad("at", "cycles are counted from 1; leave at out for the last one")
    return PastCycle(shard or only_shard(fleet), epoch, cycle)


def only_shard(fleet: Fleet) -> str:
    shards = list(fleet.shards)
    if len(shards) != 1:
        text = "shard is missing: each shard counts its own cycles"
        raise bad("shard", text, f"one of {', '.join(shards)}")
    return shards[0]


def cycle_in(text: str, field: str = "n") -> tuple[int | None, int]:
    """`18231`, or `3:18231`; 0 is the last one."""
    epoch, colon, number = text.rpartition(":")
    if not (number.isdecimal() and len(number) < 16) or (colon and not epoch.isdecimal()):
        raise bad(field, f"{text[:100]!r} is not a cycle; write 18231 or 3:18231")
    return (int(epoch) if colon else None, int(number))


async def epoch_of(client: ShardAdminClient, wanted: int | None, number: int) -> int:
    """That of the shard; raises Rejected where the cycle is of another, or has yet to come."""
    status = await client.status()
    if wanted not in (None, status.epoch):
        text = f"the shard is in epoch {status.epoch}; its journal has cycles of epoch {wanted}"
        raise Rejected(Code.OUT_OF_RANGE, text)
    if number > status.cycle:
        text = f"no cycle {status.epoch}:{number} yet; the last is {status.epoch}:{status.cycle}"
        raise Rejected(Code.OUT_OF_RANGE, text)
    return status.epoch
