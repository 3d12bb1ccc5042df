"""Judges who owns what: every machine is one shard's, and stays a while where it came.

It looks at the shards themselves, not at what the coordinator says of them. A machine that moves
has no owner for the seconds between two lists; two owners are wrong at once.

Machines on their way between shards, as the coordinator shows them to any caller.

Its events say that something has happened, its list of transfers what. Each state of a transfer is
told once; a grant is never left out, even where it was over before the first look.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence, Set
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
from bigfleet.model.coordination import CoordinatorEvent, Transfer, TransferState
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Rejected

KIND = "transfer"
#: Newest transfers that are looked at; more than can change between two looks.
_LOOKED_AT = 100
_REST_SECONDS = 1.0

Heard = Callable[[Transfer], None]


class Teller(Protocol):
    """Of a coordinator, what is asked here."""

    async def transfers(
        self, *, include_finished: bool = False, limit: int = 0
    ) -> Sequence[Transfer]: ...

    def events(
        self, *, from_revision: int = 0, follow: bool = False
    ) -> AsyncGenerator[CoordinatorEvent, None]: ...


class TransferLog:
    def __init__(self, coordinator: Teller, clock: Clock, log: Log) -> None:
        self._coordinator = coordinator
        self._clock = clock
        self._log = log
        #: The state last told, by transfer; None: not looked at yet.
        self._told: dict[str, TransferState] | None = None

    async def follow(self, heard: Heard) -> None:
        """For ever; what was there before is known already."""
        while True:
            try:
                if self._told is None:
                    self._told = {each.id: each.state for each in await self._listed()}
                async with aclosing(self._coordinator.events(follow=True)) as events:
                    async for event in events:
                        if event.kind == KIND:
                            self._tell(await self._listed(), heard)
            except Rejected as problem:
                self._log.warning("moves.unheard", msg=f"transfers are not followed: {problem}")
            await self._clock.sleep(_REST_SECONDS)

    async def _listed(self) -> Sequence[Transfer]:
        """Newest first."""
        return await self._coordinator.transfers(include_finished=True, limit=_LOOKED_AT)

    def _tell(self, found: Sequence[Transfer], heard: Heard) -> None:
        before, self._told = self._told or {}, {each.id: each.state for each in found}
        for each in reversed(found):
            known = before.get(each.id)
            if known is each.state:
                continue
            if each.state is TransferState.DONE and known is not TransferState.GRANTED:
                heard(replace(each, state=TransferState.GRANTED))
            heard(each)


LONGEST_STRAY_SECONDS = 60.0
#: Ids that are named in a finding.
_NAMED = 3


class OwnerWatch:
    def __init__(self, min_stay_seconds: float, look_seconds: float) -> None:
        """`look_seconds`: how far apart looks are, by which a move is seen late."""
        #: Sentences, in the order in which they came true.
        self.findings: list[str] = []
        self._shortest_stay = round((min_stay_seconds - look_seconds) * SECOND)
        self._look = round(look_seconds * SECOND)
        self._looked_at: Instant | None = None
        #: Of every machine that ever had an owner, the last one.
        self._owner: dict[str, str] = {}
        self._owned: Mapping[str, Set[str]] = {}
        self._stray_since: dict[str, Instant] = {}
        self._moved_at: dict[str, Instant] = {}
        #: Machines of which the worst is told.
        self._told: set[str] = set()

    def is_due(self, at: Instant) -> bool:
        return self._looked_at is None or at - self._looked_at >= self._look

    def on_owners(self, owned: Mapping[str, Set[str]], at: Instant) -> None:
        """`owned`: the machines of each shard, all of the same moment."""
        self._looked_at = at
        everybodys: set[str] = set().union(*owned.values())
        if len(everybodys) < sum(map(len, owned.values())):
            self._look_for_two(owned)
        self._look_for_strays(everybodys, at)
        self._look_for_haste(owned, at)
        self._owned = owned

    def _look_for_two(self, owned: Mapping[str, Set[str]]) -> None:
        shards = sorted(owned)
        for place, one in enumerate(shards):
            for other in shards[place + 1 :]:
                self._find(owned[one] & owned[other], f"owned by {one} and {other}")

    def _look_for_strays(self, everybodys: Set[str], at: Instant) -> None:
        strays = self._owner.keys() - everybodys
        self._stray_since = {m: self._stray_since.get(m, at) for m in strays}
        longest = LONGEST_STRAY_SECONDS * SECOND
        lost = {m for m, since in self._stray_since.items() if at - since > longest}
        self._find(lost, f"without an owner for more than {LONGEST_STRAY_SECONDS:.0f} s")

    def _look_for_haste(self, owned: Mapping[str, Set[str]], at: Instant) -> None:
        hasty: set[str] = set()
        for shard, machines in owned.items():
            for machine in machines - self._owned.get(shard, frozenset()):
                before = self._owner.get(machine)
                self._owner[machine] = shard
                if before is None or before == shard:
                    continue
                if at - self._moved_at.get(machine, -self._shortest_stay) < self._shortest_stay:
                    hasty.add(machine)
                self._moved_at[machine] = at
        self._find(hasty, "moved again before its minimum stay was over")

    def _find(self, machines: Set[str], what: str) -> None:
        """One sentence for all of them; of each machine once."""
        news = sorted(machines - self._told)
        self._told.update(news)
        if news:
            others = f" and {len(news) - _NAMED} more" if len(news) > _NAMED else ""
            self.findings.append(f"{', '.join(news[:_NAMED])}{others}: {what}")
