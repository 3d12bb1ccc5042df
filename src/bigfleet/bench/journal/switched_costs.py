"""A ledger of costs that looks at every cycle, at none, or every ten seconds, as it is told."""

from enum import StrEnum

from bigfleet.shard.driving.costs import ShardCosts


class Looks(StrEnum):
    EVERY_CYCLE = "on"
    NONE = "off"
    AS_USUAL = "as usual"


class SwitchedCosts(ShardCosts):
    looks = Looks.AS_USUAL

    async def look(self) -> None:
        if self.looks is not Looks.NONE:
            await super().look()

    async def cycle_ended(self) -> None:
        if self.looks is Looks.EVERY_CYCLE:
            await super().look()
