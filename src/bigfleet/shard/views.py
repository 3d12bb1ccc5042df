"""What people may look at of machines: their views and their stories.

Reads only, from the live state; a caller that asks for many machines takes them from a generator, a
few at a time, so that the loop is never busy for long.
"""

from collections.abc import Iterator

from bigfleet.model.errors import NoSuchMachine
from bigfleet.model.fleet import HeldBy
from bigfleet.model.machines import Instant, Machine
from bigfleet.model.needs import NeedKey
from bigfleet.model.shard_views import (
    MachineQuery,
    MachineSelector,
    MachineView,
    OwnerSource,
    StoryEvent,
)
from bigfleet.shard.machines import HOSTNAME_KEY
from bigfleet.shard.parts import Parts


class MachineViews:
    def __init__(self, parts: Parts) -> None:
        self._machines = parts.machines
        self._stories = parts.effects.stories
        self._parts = parts

    def view(self, machine_id: str) -> MachineView:
        """Raises NoSuchMachine."""
        machines, parts = self._machines, self._parts
        machine, marks = machines.truth(machine_id), machines.inventory.marks_of(machine_id)
        return MachineView(
            machine,
            machines.provider_of(machine_id),
            machine.labels.get(HOSTNAME_KEY, ""),
            self._owner_source(machine),
            self._claimed_by(machine_id),
            machines.since(machine_id),
            parts.deadlines.deadline_of(machine_id),
            marks.idle_since,
            parts.execution.pending(machine_id),
            parts.drains.intent(machine_id),
            parts.decision_loop.reservations.get(machine_id),
            parts.failures.view(machine_id),
            parts.reconciler.unseen_lists(machine_id),
            marks.held is not None and marks.held.by is HeldBy.QUOTA,
            marks.empty,
            parts.lost.cause_of(machine_id),
        )

    def matching(self, query: MachineQuery) -> Iterator[str]:
        """Ids in order, limit and after_id left to the caller; a machine may be gone by then."""
        ids = sorted(query.selector.ids) if query.selector.ids else sorted(self._machines.ids())
        for machine_id in ids:
            try:
                if machine_id in self._machines and self._matches(machine_id, query):
                    yield machine_id
            except NoSuchMachine:
                continue

    def story(
        self, machine_id: str, since: Instant, limit: int
    ) -> tuple[tuple[StoryEvent, ...], bool]:
        """The newest events in order, and whether older ones were left out."""
        events = [event for event in self._stories.of(machine_id) if event.at >= since]
        shown = events[-limit:] if limit > 0 else events
        return tuple(shown), len(shown) < len(events) or self._stories.is_cut(machine_id)

    def _owner_source(self, machine: Machine) -> OwnerSource:
        parts = self._parts
        address = parts.providers[self._machines.provider_of(machine.id)]
        return parts.reconciler.ownership.owner(machine.id, machine.attribute, address).source

    def _claimed_by(self, machine: str) -> NeedKey | None:
        decision = self._parts.decision_loop.decision
        if decision is None:
            return None
        outcome = decision.outcome
        row = outcome.scene.snapshot.row_of(machine)
        holder = int(outcome.credit.holder[row]) if row >= 0 else -1
        return outcome.key(holder) if holder >= 0 else None

    def _matches(self, machine_id: str, query: MachineQuery) -> bool:
        selector, parts = query.selector, self._parts
        if selector.id_prefix and not machine_id.startswith(selector.id_prefix):
            return False
        if selector.provider and self._machines.provider_of(machine_id) != selector.provider:
            return False
        machine = self._machines.truth(machine_id)
        if not _selects(selector, machine):
            return False
        if query.failed_cause:
            failed = parts.failures.view(machine_id)
            return failed is not None and failed.cause == query.failed_cause
        if query.only_pending and parts.execution.pending(machine_id) is None:
            return False
        return not (query.only_unseen and not parts.reconciler.unseen_lists(machine_id))


def _selects(selector: MachineSelector, machine: Machine) -> bool:
    return (
        (not selector.states or machine.state in selector.states)
        and (not selector.zones or machine.zone in selector.zones)
        and (not selector.instance_types or machine.instance_type in selector.instance_types)
        and (not selector.capacity_types or int(machine.capacity_type) in selector.capacity_types)
        and (not selector.cluster or machine.cluster == selector.cluster)
        and all(machine.labels.get(key) == value for key, value in selector.labels)
    )
