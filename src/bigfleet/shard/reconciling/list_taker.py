"""Taking over what a List names, piece by piece: who is unowned, who is new, who has changed.

Each `yield` is a place where the loop may do something else, so nothing that was found out before
one is believed after it: every machine is looked up again when its turn comes.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

import numpy as np

from bigfleet.engine.kernels.compiled import Bools
from bigfleet.model.batches import NEVER, MachineBatch
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.shard.effects import Effects
from bigfleet.shard.machines import Machines
from bigfleet.shard.reconciling.adoption import AdoptedPart, Adopter, FailedMachines, ListedMachine
from bigfleet.shard.reconciling.departures import Departures
from bigfleet.shard.reconciling.list_reading import RECORDS_AT_A_TIME, Listing, pieces_of
from bigfleet.shard.reconciling.ownership_reasons import OCCUPIED
from bigfleet.shard.reconciling.provider_side import ProviderSide
from bigfleet.shard.reconciling.record_checks import DUPLICATE_ID, Rejection, machine_at
from bigfleet.shard.sessions.sessions import Sessions

#: New machines from which they come as columns, without a story each.
LOAD_FROM = 64
_RESTING = (MachineState.SPECULATIVE, MachineState.IDLE, MachineState.CONFIGURED)


class ListTaker:
    def __init__(
        self,
        effects: Effects,
        machines: Machines,
        adopter: Adopter,
        failures: FailedMachines,
        leaving: Departures,
        sessions: Sessions,
        remembered: Set[str],
    ) -> None:
        """`remembered`: machines with stored rows of an earlier life of the shard, whose parts must
        hear of them the moment they come."""
        self._effects = effects
        self._machines = machines
        self._adopter = adopter
        self._failures = failures
        self._leaving = leaving
        self._sessions = sessions
        self._remembered = remembered

    def reject(self, provider: str, rejections: Sequence[Rejection]) -> None:
        for rejection in rejections:
            self._effects.counts.add("machines_rejected_total", reason=rejection.reason)
        if rejections:
            first = rejections[0]
            self._effects.log(
                "warning",
                "machines_rejected",
                f"{len(rejections)} records of {provider} were rejected, the last good ones stay;"
                f" the first is of {first.machine or 'a machine without an id'}: {first.text}",
                provider=provider,
                machine=first.machine,
                reason=first.reason,
            )

    # -- owned or not ----------------------------------------------------------------------------

    def leave_unowned(
        self, side: ProviderSide, ids: Sequence[str], owned: Bools, at: Instant
    ) -> None:
        """Machines of other shards are ignored, and leave if they were ours."""
        others = [ids[row] for row in np.flatnonzero(~owned).tolist()]
        if not (others or side.unowned):
            return
        side.unowned.difference_update(ids)
        side.unowned.update(others)
        known = [n for n in others if self._is_ours(side, n) or n in self._remembered]
        self._leaving.drop(side, known, at)

    # -- new or changed --------------------------------------------------------------------------

    def rows(self, side: ProviderSide, batch: MachineBatch, event: Listing) -> Iterator[None]:
        """Machines of a List: at once what is cheap at once, then one by one what is not."""
        known, stays = self._machines.stays(batch)
        foreign = np.array(
            [known[row] and not self._is_ours(side, name) for row, name in enumerate(batch.ids)],
            np.bool_,
        )
        self._leave_foreign(side, [batch.ids[row] for row in np.flatnonzero(foreign).tolist()])
        failed = batch.state_of_machine == MachineState.FAILED
        resting = np.isin(batch.state_of_machine, _RESTING)
        stays &= ~failed & ~foreign
        for row in np.flatnonzero(stays).tolist():
            stays[row] = not self._adopter.is_ahead(batch.ids[row], event.started)
        fresh = ~known & resting
        for row in np.flatnonzero(fresh).tolist():
            fresh[row] = batch.ids[row] not in self._remembered
        if np.count_nonzero(fresh) < LOAD_FROM:
            fresh[:] = False
        loaded = batch.taken(fresh)
        self._load(side, loaded, event.at)
        self._refresh(side, batch.taken(stays), event.at)
        yield
        yield from self._announce(loaded)
        left = np.flatnonzero(~fresh & ~stays & ~foreign).tolist()
        for piece in pieces_of(left, RECORDS_AT_A_TIME):
            for row in piece:
                self.look(side, machine_at(batch, row), event.started, event.at)
            yield

    def look_again(
        self, side: ProviderSide, listed: frozenset[str], event: Listing
    ) -> Iterator[None]:
        """What could not be taken over last time, where the List says nothing newer of it."""
        again = [machine for name, machine in side.postponed.items() if name not in side.absences]
        side.postponed.clear()
        for piece in pieces_of(again, RECORDS_AT_A_TIME):
            for machine in piece:
                if machine.id not in listed and self._is_ours(side, machine.id):
                    self.look(side, machine, event.started, event.at)
            yield

    def look(self, side: ProviderSide, listed: Machine, started: Instant, at: Instant) -> None:
        """One machine as a List shows it that was asked for then."""
        sight = ListedMachine(listed, side.name, started, at)
        if listed.id not in self._machines:
            if not self._is_owned(side, listed):
                side.unowned.add(listed.id)
                return
            side.foreign.discard(listed.id)
            self._adopter.insert(sight)
        elif not self._is_ours(side, listed.id):
            self._leave_foreign(side, (listed.id,))
        else:
            taken = self._adopter.adopt(sight)
            if taken is AdoptedPart.LATER:
                side.postponed[listed.id] = listed
            elif taken is AdoptedPart.KEPT:
                side.failed[listed.id] = listed
                side.failed_now.add(listed.id)

    def tell_keeper(self, side: ProviderSide, event: Listing) -> None:
        """What the List says of Failed machines; a whole one says it of all it does not miss."""
        for name in [name for name in side.failed if not self._failures.holds(name)]:
            del side.failed[name]
        listed = {
            name: machine
            for name, machine in side.failed.items()
            if (event.whole or name in side.failed_now) and name not in side.absences
        }
        side.failed_now.clear()
        self._failures.on_list(
            side.name, listed, whole=event.whole, started=event.started, at=event.at
        )

    def _leave_foreign(self, side: ProviderSide, ids: Sequence[str]) -> None:
        side.foreign.update(ids)
        why = "another provider brought a machine of that id first"
        self.reject(side.name, [Rejection(name, DUPLICATE_ID, why) for name in ids])

    def _load(self, side: ProviderSide, batch: MachineBatch, at: Instant) -> None:
        if not len(batch):
            return
        idle = batch.state_of_machine == MachineState.IDLE
        since = np.where(idle, np.int64(at), np.int64(NEVER))
        self._machines.load(replace(batch, idle_since_of_machine=since), side.name, at)
        side.foreign.difference_update(batch.ids)
        self._effects.wake()

    def _announce(self, batch: MachineBatch) -> Iterator[None]:
        """Clusters that are connected already hear of their machines; others will be told all."""
        heard = np.array(
            [self._sessions.is_open(name) for name in batch.clusters] + [False], np.bool_
        )
        rows = np.flatnonzero(heard[batch.cluster_of_machine]).tolist() if len(batch) else []
        for piece in pieces_of(rows, RECORDS_AT_A_TIME):
            for row in piece:
                if batch.ids[row] in self._machines:
                    machine = self._machines.truth(batch.ids[row])
                    if machine.cluster:
                        update = self._machines.node_update(machine, machine.cluster)
                        self._sessions.send(machine.cluster, update)
            yield

    def _refresh(self, side: ProviderSide, batch: MachineBatch, at: Instant) -> None:
        changed = self._machines.refresh(batch, side.name, at) if len(batch) else {}
        for name, machines in changed.items():
            label = "labels" if name == "node_name" else name
            self._effects.counts.add("machine_attribute_updates_total", machines, field=label)
        if changed:
            self._effects.wake()

    def _is_owned(self, side: ProviderSide, listed: Machine) -> bool:
        """As of now: a view may have come since the List was begun to be taken over."""
        ownership, address = self._leaving.ownership, self._leaving.address(side.name)
        occupied = listed.state in OCCUPIED
        return ownership.owns(listed.id, listed.attribute, address, occupied=occupied)

    def _is_ours(self, side: ProviderSide, machine_id: str) -> bool:
        return self._machines.provider_or_none(machine_id) == side.name
