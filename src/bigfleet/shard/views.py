"""What people may look at: machines, their stories, sessions, quarantines, the shard as a whole.

Reads only, from the live state; whoever asks for many machines takes them from a generator, a few
at a time, so that nobody waits for the loop.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bigfleet.model.errors import NoSuchMachine
from bigfleet.model.fleet import HeldBy
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.memory import Reservation
from bigfleet.model.needs import NeedKey
from bigfleet.model.shard_views import (
    ActionView,
    DrainView,
    FailedView,
    MachineQuery,
    MachineSelector,
    MachineView,
    OwnerSource,
    StoryEvent,
)
from bigfleet.shard.machines import HOSTNAME_KEY, Machines
from bigfleet.shard.stories import Stories


@dataclass(frozen=True, slots=True)
class Facets:
    """What other parts know of a machine, by id."""

    owner_source: Callable[[Machine], OwnerSource]
    claimed_by: Callable[[str], NeedKey | None]
    deadline: Callable[[str], Instant | None]
    pending: Callable[[str], ActionView | None]
    drain: Callable[[str], DrainView | None]
    reservation: Callable[[str], Reservation | None]
    failed: Callable[[str], FailedView | None]
    unseen_lists: Callable[[str], int]
    lost: Callable[[str], str]


class MachineViews:
    def __init__(self, machines: Machines, stories: Stories, facets: Facets) -> None:
        self._machines = machines
        self._stories = stories
        self._facets = facets

    def view(self, machine_id: str) -> MachineView:
        """Raises NoSuchMachine."""
        machines, facets = self._machines, self._facets
        machine, marks = machines.truth(machine_id), machines.inventory.marks_of(machine_id)
        return MachineView(
            machine,
            machines.provider_of(machine_id),
            machine.labels.get(HOSTNAME_KEY, ""),
            facets.owner_source(machine),
            facets.claimed_by(machine_id),
            machines.since(machine_id),
            facets.deadline(machine_id),
            marks.idle_since,
            facets.pending(machine_id),
            facets.drain(machine_id),
            facets.reservation(machine_id),
            facets.failed(machine_id),
            facets.unseen_lists(machine_id),
            marks.held is not None and marks.held.by is HeldBy.QUOTA,
            marks.empty,
            facets.lost(machine_id),
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

    def _matches(self, machine_id: str, query: MachineQuery) -> bool:
        selector, facets = query.selector, self._facets
        if selector.id_prefix and not machine_id.startswith(selector.id_prefix):
            return False
        if selector.provider and self._machines.provider_of(machine_id) != selector.provider:
            return False
        machine = self._machines.truth(machine_id)
        if not _selects(selector, machine):
            return False
        if query.failed_cause:
            failed = facets.failed(machine_id)
            return failed is not None and failed.cause == query.failed_cause
        if query.only_pending and facets.pending(machine_id) is None:
            return False
        return not (query.only_unseen and not facets.unseen_lists(machine_id))


def _selects(selector: MachineSelector, machine: Machine) -> bool:
    return (
        (not selector.states or machine.state in selector.states)
        and (not selector.zones or machine.zone in selector.zones)
        and (not selector.instance_types or machine.instance_type in selector.instance_types)
        and (not selector.capacity_types or int(machine.capacity_type) in selector.capacity_types)
        and (not selector.cluster or machine.cluster == selector.cluster)
        and all(machine.labels.get(key) == value for key, value in selector.labels)
    )


#: States in which something is under way.
TRANSITIONAL = (
    MachineState.CREATING,
    MachineState.CONFIGURING,
    MachineState.DRAINING,
    MachineState.DELETING,
)
