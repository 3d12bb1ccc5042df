"""Guards taken away, one at a time: each of them must be missed by some schedule.

A mutant is a patch of the real code, under the name of what it does wrong, with the schedules in
which it shows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.coordinator.membership import claims, handovers, snapshot_merge
from bigfleet.coordinator.rebalancing import grants, transfers
from bigfleet.coordinator.tables import TransferRow
from bigfleet.model.coordination import SyncReply, SyncRequest
from bigfleet.model.coordinator_calls import ReportReply
from bigfleet.model.ownership import Ownership, OwnershipView
from bigfleet.shard.coordinator_client.driver import CoordinatorClient
from bigfleet.shard.coordinator_client.instruction_handler import InstructionHandler
from bigfleet.shard.driving.coordinator_side import CoordinatorSide
from tests.coordination_laws import schedules
from tests.coordination_laws.schedules import ScheduleStart, Weights

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class Mutant:
    patch: Callable[[Patch], None]
    weights: Weights
    pasts: Sequence[ScheduleStart] = schedules.PASTS
    #: Tried first: of a mutant that few schedules notice, one that did.
    seed: int = 0


def _grant_early(patch: Patch) -> None:
    released: Callable[..., None] = transfers._release

    def release(book: Book, draft: Draft, row: TransferRow, machines: tuple[str, ...]) -> None:
        released(book, draft, row, machines)
        moving = draft.transfers.get(row.transfer.id)
        assert moving is not None
        grants._grant(book, draft, moving)

    patch.setattr(transfers, "_release", release)


def _take_equal_view(patch: Patch) -> None:
    def newer(self: Ownership, view: OwnershipView, covered: Any) -> Ownership:
        if self.view is not None and view.revision < self.view.revision:
            return self
        return replace(self._under(view, frozenset(covered)), unconfirmed=frozenset())

    patch.setattr(Ownership, "newer", newer)


def _drop_marks(patch: Patch) -> None:
    under = Ownership._under

    def dropped(self: Ownership, view: OwnershipView, covered: frozenset[str]) -> Ownership:
        after = under(self, view, covered)
        marks = {m: t for m, t in after.released.items() if m not in view.overrides}
        return replace(after, released=marks)

    patch.setattr(Ownership, "_under", dropped)


def _ack_early(patch: Patch) -> None:
    async def obey(self: CoordinatorClient, reply: ReportReply) -> None:
        answers = self._handler.obey(reply)
        self._handler.answered(answers)

    patch.setattr(CoordinatorClient, "_obey", obey)


def _view_early(patch: Patch) -> None:
    async def take_sync(self: CoordinatorSide, reply: SyncReply, sent: SyncRequest) -> None:
        coordination = self._state.coordination
        for table, key, row in coordination.rows_of(reply, sent):
            self._store.write(table, key, row)
        self._outlet.obey(self._state.take_sync(reply, sent, self._outlet.now()))

    patch.setattr(CoordinatorSide, "take_sync", take_sync)


def _nothing_lingers(patch: Patch) -> None:
    patch.setattr(Ownership, "lingers_in", lambda self, *args: ())


def _forget_done(patch: Patch) -> None:
    patch.setattr(InstructionHandler, "_remember", lambda self, name: None)


def _hear_old_terms(patch: Patch) -> None:
    patch.setattr(InstructionHandler, "is_stale", lambda self, term: False)


def _ask_old_owner_only(patch: Patch) -> None:
    patch.setattr(handovers, "may_hold", lambda draft, key: set())


def _publish_at_once(patch: Patch) -> None:
    patch.setattr(snapshot_merge, "waiting_for", lambda book, members: [])
    patch.setattr(claims, "claims_of", _no_claims)


def _no_claims(book: Book, members: Any) -> Any:
    return claims.Claims({}, {}, frozenset(), book.revision)


def _first_ack_is_enough(patch: Patch) -> None:
    given_up = handovers.on_given_up

    def on_given_up(draft: Draft, shard: str, pair: Any, why: str) -> None:
        row = handovers.holding(draft, pair)
        if row is not None and shard in row.holders:
            handovers.put(draft, pair, row.shard, (shard,))
        given_up(draft, shard, pair, why)

    patch.setattr(handovers, "on_given_up", on_given_up)


KINDS = schedules.KINDS
#: Machines of other homes stand idle, and domains come and go.
GOING_HOME: Weights = {"talk": 8, "rounds": 6, "round": 6, "move": 6, "seconds": 2, "sweep": 4}
MANY_ROUNDS: Weights = {"round": 16, "rounds": 4, "old_view": 4, "move": 8, "seconds": 1}
MANY_DISKS: Weights = KINDS["transfers"] | {"slow_disk": 6, "disk_gives_up": 6}
MANY_LEADERS: Weights = KINDS["leaders fail"] | {"fail_over": 10}
MANY_RESTORES: Weights = KINDS["leaders fail"] | {"save": 6, "restore": 5, "rounds": 12, "jump": 5}

MUTANTS = {
    "the grant comes before the release": Mutant(_grant_early, KINDS["transfers"], seed=56),
    "a view of the same revision is taken": Mutant(_take_equal_view, MANY_ROUNDS),
    "any row ends the mark of a release": Mutant(_drop_marks, GOING_HOME, schedules.GUESTS),
    "a release is acknowledged before it is on disk": Mutant(_ack_early, MANY_DISKS),
    "a view counts before it is on disk": Mutant(_view_early, KINDS["shards fail"]),
    "occupied machines leave with their domain": Mutant(_nothing_lingers, KINDS["pieces"]),
    "what was done is forgotten": Mutant(_forget_done, MANY_ROUNDS),
    "old terms are heard": Mutant(_hear_old_terms, MANY_LEADERS),
    "only the old owner gives a domain up": Mutant(_ask_old_owner_only, KINDS["pieces"]),
    "the first holder that answers is enough": Mutant(_first_ack_is_enough, MANY_ROUNDS),
    "after a restore no shard is asked what it holds": Mutant(_publish_at_once, MANY_RESTORES),
}
