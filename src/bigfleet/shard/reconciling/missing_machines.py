"""Missing machines: unseen with the first whole List that does not name them, removed only when
Lists have gone on to miss them, and never while an action has them.

A cluster that had a vanished machine is told that it failed; a cluster never finds out by itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bigfleet.model.fleet import Held, HeldBy
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.shard_views import StorySource
from bigfleet.shard.effects import Effects
from bigfleet.shard.machines import Machines
from bigfleet.shard.reconciling.adoption import Adopter
from bigfleet.shard.reconciling.list_guard import ListVerdict
from bigfleet.shard.reconciling.list_reading import (
    COLUMNS_AT_A_TIME,
    Listing,
    ListReading,
    pieces_of,
)
from bigfleet.shard.reconciling.provider_side import ProviderSide
from bigfleet.shard.sessions.sessions import Sessions
from bigfleet.shard.settings import RailSettings, ReconcileSettings

VANISHED = "machine vanished from provider"

#: Each also costs its cluster a message and every watcher of the machines a call.
REMOVALS_AT_A_TIME = 512
#: Missing machines above which their stories are spared.
MOST_STORIES = 1_000


class MissingMachines:
    def __init__(
        self, effects: Effects, machines: Machines, adopter: Adopter, sessions: Sessions
    ) -> None:
        self._effects = effects
        self._machines = machines
        self._adopter = adopter
        self._sessions = sessions

    def see(self, side: ProviderSide, ids: Sequence[str]) -> Iterator[None]:
        for piece in pieces_of(ids, COLUMNS_AT_A_TIME) if len(side.absences) else ():
            if back := side.absences.seen(piece):
                self._machines.lift_all(back, HeldBy.UNSEEN)
                self._effects.wake()
            yield

    def miss(
        self,
        side: ProviderSide,
        event: Listing,
        rails: RailSettings,
        reconcile: ReconcileSettings,
    ) -> Iterator[None]:
        """A whole List does not name some machines."""
        fresh = []
        for gone in pieces_of(event.listing.gone, COLUMNS_AT_A_TIME):
            side.unowned.difference_update(gone)
            side.foreign.difference_update(gone)
            fresh += [name for name in gone if self._is_ours(side, name)]
            yield
        side.absences.missed(fresh)
        missing = tuple(side.absences.ids())
        verdict = side.guard.judge(missing, event.at, rails)
        self._tell_missing(side, fresh, verdict, event.at)
        for held in pieces_of(missing, COLUMNS_AT_A_TIME):
            yield
            self._machines.hold_all(held, Held(HeldBy.UNSEEN))
            self._effects.wake()
        if verdict is ListVerdict.HELD or (missing and _has_nameless_records(event.listing)):
            side.absences.doubt()
        elif verdict is ListVerdict.CONFIRMED:
            yield from self.confirm(side, event.started, event.at)
        else:
            side.absences.believe()
            yield from self.remove(
                side, side.absences.gone(reconcile.absent_lists), event.started, event.at
            )

    def confirm(self, side: ProviderSide, started: Instant, at: Instant) -> Iterator[None]:
        """What every held List said is believed."""
        said = side.guard.missing_in_all
        gone = [name for name in side.absences.ids() if name in said]
        side.guard.discard()
        side.absences.believe()
        self._effects.log(
            "warning",
            "list_quarantine_confirmed",
            f"Lists of {side.name} went on to miss {len(gone)} machines; they are removed",
            provider=side.name,
            missing=len(gone),
        )
        yield
        yield from self.remove(side, gone, started, at)

    def remove(
        self, side: ProviderSide, ids: Sequence[str], started: Instant, at: Instant
    ) -> Iterator[None]:
        """Vanished machines go; those the shard is ahead of stay until they are looked at again."""
        for piece in pieces_of(ids, REMOVALS_AT_A_TIME):
            gone = [
                name
                for name in piece
                if self._is_ours(side, name) and not self._adopter.is_ahead(name, started)
            ]
            for machine in map(self._machines.truth, gone):
                if machine.cluster:
                    failed = replace(machine, state=MachineState.FAILED, last_error=VANISHED)
                    update = self._machines.node_update(failed, machine.cluster)
                    self._sessions.send(machine.cluster, update)
            if gone:
                self._effects.counts.add("machine_failures_total", len(gone), cause="vanished")
            self.drop(side, gone, at, VANISHED, StorySource.PROVIDER)
            yield

    def _tell_missing(
        self, side: ProviderSide, fresh: Sequence[str], verdict: ListVerdict, at: Instant
    ) -> None:
        if len(fresh) <= MOST_STORIES:
            for machine_id in fresh:
                text = f"missing from a List of {side.name}"
                self._machines.tell(machine_id, at, StorySource.PROVIDER, text)
        if verdict is ListVerdict.HELD and side.guard.consecutive == 1:
            self._effects.log(
                "warning",
                "list_quarantined",
                f"a List of {side.name} misses {len(side.absences)} machines; it is held: nothing"
                " is removed until Lists say so again and again, or an administrator accepts it",
                provider=side.name,
                missing=len(side.absences),
            )

    def drop(
        self, side: ProviderSide, ids: Sequence[str], at: Instant, text: str, source: StorySource
    ) -> None:
        if ids:
            self._machines.remove_all(ids, at, text, source)
            for machine_id in ids:
                side.forget(machine_id)
            self._effects.wake()

    def _is_ours(self, side: ProviderSide, machine_id: str) -> bool:
        return self._machines.provider_or_none(machine_id) == side.name


def _has_nameless_records(reading: ListReading) -> bool:
    """A record without a name may be any machine's: beside one, no absence is proven."""
    unread = any(not rejected.machine for rejected in reading.rejected)
    return unread or bool((reading.known.ids == "").any())
