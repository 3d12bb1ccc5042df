"""A cycle that was decided, to be asked about one machine or one Need at a time.

Made of what the engine was given and what it decided, so that a live shard asks its last cycle as
it stands, and a journal or a fleet file decides again and asks the same.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from itertools import islice

import numpy as np

from bigfleet.engine.decision import Decision, Verdict
from bigfleet.engine.encoding import machine_at
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.kernels.compiled import Bools, Floats, Int64s
from bigfleet.engine.outcome import Outcome
from bigfleet.engine.reservations import StandingReservation, standing_reservations
from bigfleet.explain.actions import effective_cost
from bigfleet.explain.column_facts import ColumnFacts
from bigfleet.explain.need_facts import need_name
from bigfleet.model.fleet import FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import NeedKey
from bigfleet.model.reasons import ToldReason
from bigfleet.model.shard_views import ActionView

#: Names looked at for one that was meant.
_LOOKED_AT = 1000
_NEAREST = 3


class NoSuchObject(Exception):
    """A sentence with the nearest names."""


class SeveralObjects(Exception):
    """A sentence with the first of those that a name may mean."""


class DecidedCycle:
    """Reads columns only; what it keeps is computed the same by all threads."""

    def __init__(
        self,
        given: EngineInput,
        decision: Decision,
        name: str = "",
        actions: Iterable[ActionView] | None = None,
        ended: Mapping[tuple[int, str], ActionView] | None = None,
        nanos_of_phase: Mapping[str, int] | None = None,
    ) -> None:
        """`actions`: with what became of them; None: nothing carried them out. `ended`: how actions
        ended, by cycle and machine. `nanos_of_phase`: what each part took; None: not measured.
        """
        self.nanos_of_phase = nanos_of_phase or {}
        #: More may end while it is asked.
        self.ended = ended or {}
        self.given = given
        self.decision = decision
        self.name = name or str(given.cycle)
        self._actions = actions

    @property
    def outcome(self) -> Outcome:
        return self.decision.outcome

    @cached_property
    def facts(self) -> ColumnFacts:
        given = self.given
        return ColumnFacts(self.decision, given.memory, given.options, given.now, self.name)

    # -- machines --------------------------------------------------------------------------------

    def row_of(self, machine: str) -> int:
        """Raises NoSuchObject."""
        row = self.given.snapshot.row_of(machine)
        if row < 0:
            close = nearest_ids(self.given.snapshot.ids, machine)
            raise NoSuchObject(f"no machine {machine} in cycle {self.name}{_meant(close)}")
        return row

    def machine(self, row: int) -> FleetMachine:
        return machine_at(self.given.snapshot, row)

    def state(self, row: int) -> MachineState:
        return MachineState(int(self.given.snapshot.columns.state[row]))

    def kind(self, row: int) -> int:
        return int(self.outcome.scene.supply.kind[row])

    def holder(self, row: int) -> int:
        """The Need that claims it in this cycle; -1: none."""
        return int(self.outcome.credit.holder[row])

    def victim_priority(self, row: int) -> int:
        """Of the Need that claims it, else the stamped one."""
        holder = self.holder(row)
        if holder >= 0:
            return int(self.outcome.needs.priority[holder])
        snapshot = self.given.snapshot
        return int(snapshot.stamps.priority[snapshot.columns.stamp[row]])

    def preemptor(self, row: int) -> int:
        """The Need for which it is preempted in this cycle; -1: none."""
        places = np.flatnonzero(self.outcome.preempted.row == row)
        return int(self.outcome.preempted.need[places[0]]) if len(places) else -1

    def domain(self, row: int, topology: int) -> str | None:
        """Its value for a topology key of the demand."""
        scene = self.outcome.scene
        names, domain_of_kind = scene.kinds.domains(scene.topology_keys[topology])
        found = int(domain_of_kind[self.kind(row)])
        return names[found] if found >= 0 else None

    def keep_rank(self, row: int) -> tuple[int, int]:
        """Its place among the Configured machines of its cluster, and how many those are."""
        snapshot = self.given.snapshot
        cluster = int(snapshot.columns.cluster[row])
        if cluster < 0 or self.state(row) is not MachineState.CONFIGURED:
            return 0, 0
        start, end = snapshot.keep_starts[2 * cluster : 2 * cluster + 2].tolist()
        place = np.flatnonzero(snapshot.keep_order[start:end] == row)
        return int(place[0]) + 1, end - start

    def standing(self, row: int) -> StandingReservation | None:
        machine = self.given.snapshot.ids[row]
        kept = self.given.memory.reservations.get(machine)
        if kept is None:
            return None
        (found,) = standing_reservations(self.outcome.scene, {machine: kept})
        return found

    def views_of(self, row: int) -> tuple[ActionView, ...]:
        """The actions of this cycle about a machine, with what became of them."""
        columns = self.outcome.action_columns
        return tuple(self.view_at(int(place)) for place in np.flatnonzero(columns.row == row))

    def view_at(self, place: int) -> ActionView:
        from bigfleet.explain.actions import bill_change, reasons_of_action

        (action,) = self.decision.actions_at(np.array([place]))
        reasons = reasons_of_action(self.facts, action)
        told = self._told.get(place)
        ended = self.ended_of(action.machine)
        outcome = told.outcome if told else ""
        need = self.outcome.key(action.need) if action.need is not None else None
        return ActionView(
            self.given.cycle,
            place,
            action.kind,
            action.machine,
            action.cluster,
            need,
            reasons[0].text,
            action.grace_seconds,
            action.preemptor_priority,
            told.disposition if told else None,
            ended.outcome if ended else outcome,
            told.at if told else self.given.at,
            reasons=(*held_back_by(told), *reasons),
            bill_change=bill_change(self.facts, action),
        )

    def ended_of(self, machine: str) -> ActionView | None:
        """How and when the action of this cycle about a machine ended; None: it is not known."""
        return self.ended.get((self.given.cycle, machine))

    @cached_property
    def _told(self) -> dict[int, ActionView]:
        return {view.index: view for view in self._actions or ()}

    @property
    def is_carried_out(self) -> bool:
        """Whether what became of its actions is known."""
        return self._actions is not None

    # -- Needs -----------------------------------------------------------------------------------

    def need_row(self, cluster: str, prefix: str) -> int:
        """The Need with this id, or the one whose id begins so; a folded gang is found as the Need
        it is served as. Raises NoSuchObject and SeveralObjects."""
        # A gang that was folded is looked for last: there may be many thousands of them.
        rows = _beginning(prefix, self._served(cluster))
        rows = rows or _beginning(prefix, self._folded(cluster))
        said = f"need/{cluster}/{prefix}" if cluster else f"need/{prefix}"
        names = {need_name(self.outcome.key(row)) for row in rows}
        if len(names) == 1:
            return self._shortest(rows)
        if rows:
            some = sorted(names)[:_NEAREST]
            text = f"{len(names)} Needs begin with {said}: {', '.join(some)}; write more of it"
            raise SeveralObjects(text)
        known = [key.need_id for key, _ in islice(self._keys(cluster), _LOOKED_AT)]
        close = get_close_matches(prefix, known, n=_NEAREST, cutoff=0.3)
        if cluster and not known:
            close = get_close_matches(cluster, self.outcome.scene.cluster_names, n=_NEAREST)
            said = f"{said}: no cluster {cluster}"
        raise NoSuchObject(f"no {said} in cycle {self.name}{_meant(close)}")

    def need_row_of_key(self, wanted: NeedKey) -> int:
        """Raises NoSuchObject."""
        if rows := {row for key, row in self._keys(wanted.cluster) if key == wanted}:
            return self._shortest(rows)
        raise NoSuchObject(f"no {need_name(wanted)} in cycle {self.name}")

    def _shortest(self, rows: set[int]) -> int:
        """Gangs of one profile that are folded by their size share a name: one that is short comes
        first."""
        return min(rows, key=lambda row: (not self.outcome.unsatisfied[row], row))

    def _keys(self, cluster: str) -> Iterator[tuple[NeedKey, int]]:
        yield from self._served(cluster)
        yield from self._folded(cluster)

    def _served(self, cluster: str) -> Iterator[tuple[NeedKey, int]]:
        """Needs of the normalised demand."""
        for row in self._rows_of(cluster):
            yield self.outcome.key(row), row

    def _folded(self, cluster: str) -> Iterator[tuple[NeedKey, int]]:
        """The gangs that were folded into Needs."""
        normalised, demand = self.outcome.normalised, self.outcome.scene.demand
        tables, columns = demand.tables, demand.columns
        for row in self._rows_of(cluster):
            if row >= normalised.first_folded:
                start, end = normalised.starts[row : row + 2].tolist()
                for member in normalised.members[start:end].tolist():
                    name = tables.clusters.rows[columns.cluster[member]]
                    fingerprint = tables.profiles.rows[columns.profile[member]].fingerprint
                    group = tables.groups.rows[columns.group[member]]
                    yield NeedKey(name, fingerprint, group), row

    def _rows_of(self, cluster: str) -> list[int]:
        """Of one cluster, or of all where none is named."""
        if not cluster:
            return list(range(len(self.outcome)))
        number = self.outcome.scene.demand.tables.clusters.find(cluster)
        found: list[int] = np.flatnonzero(self.outcome.normalised.cluster == number).tolist()
        return found

    def need_name(self, need: int) -> str:
        return need_name(self.outcome.key(need))

    def verdict(self, need: int) -> Verdict:
        return self.decision.verdict(need)

    def comes_before(self, one: int, other: int) -> bool:
        """Whether every phase visits Need `one` before the other."""
        precedence = self.outcome.needs.precedence
        return bool(
            precedence[one] > precedence[other]
            or (precedence[one] == precedence[other] and one < other)
        )

    def eligible(self, need: int) -> Bools:
        """Machines that meet its requirements and hold one unit."""
        outcome = self.outcome
        fits: Bools = outcome.kinds.eligible[outcome.needs.key[need]][outcome.scene.supply.kind]
        return fits

    def costs(self, need: int, rows: Int64s) -> Floats:
        """Effective cost of machines for a Need."""
        kinds, penalty = self.outcome.kinds, float(self.outcome.needs.penalty[need])
        numbers, place = np.unique(self.outcome.scene.supply.kind[rows], return_inverse=True)
        each = [
            effective_cost(float(kinds.price[k]), float(kinds.probability[k]), penalty)
            for k in numbers.tolist()
        ]
        return np.array(each, np.float64)[place]


def held_back_by(told: ActionView | None) -> tuple[ToldReason, ...]:
    """The rail, as the cycle that decided it recorded it."""
    return (ToldReason(told.rail, told.outcome),) if told is not None and told.rail else ()


def _beginning(prefix: str, keys: Iterable[tuple[NeedKey, int]]) -> set[int]:
    return {row for key, row in keys if key.need_id.startswith(prefix)}


def nearest_ids(ids: Sequence[str], wanted: str) -> list[str]:
    """Of ascending ids those much like it; ids that begin alike are looked at first."""
    for prefix in dict.fromkeys((wanted[:-2], wanted[: len(wanted) // 2], "")):
        start = bisect_left(ids, prefix)
        near = [each for each in ids[start : start + _LOOKED_AT] if each.startswith(prefix)]
        if close := get_close_matches(wanted, near, n=_NEAREST):
            return close
    return []


def _meant(close: Sequence[str]) -> str:
    if not close:
        return ""
    return f"; did you mean {close[0]}?" if len(close) == 1 else f"; nearest are {', '.join(close)}"
