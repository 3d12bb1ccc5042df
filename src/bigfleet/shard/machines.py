"""The machines of this shard: one record each, who provides it, and how it got where it is.

Every change of a machine goes through `step`, which keeps the inventory, tells the story, and sends
NodeStateUpdates to the cluster that had the machine and to the one that has it now. The truth is
what the provider holds; the engine is shown one thing more: a machine that is being preempted
counts as Draining from the moment the decision is carried out, although its provider is told only
when its pods are gone.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Protocol

import numpy as np

from bigfleet.engine.census import bound_count
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.kernels.compiled import Bools
from bigfleet.model.batches import MachineBatch
from bigfleet.model.fleet import Held, HeldBy, Marks
from bigfleet.model.machines import Instant, Machine, MachineState
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, ZONE_KEY
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.model.shard_views import StoryEvent, StorySource
from bigfleet.shard.effects import Effects
from bigfleet.shard.recent_losses import VANISHED, RecentLosses
from bigfleet.shard.sessions.sessions import Sessions

HOSTNAME_KEY = "kubernetes.io/hostname"
_AT_REST = tuple(state for state in MachineState if state.stable)


class Watcher(Protocol):
    """Hears of every machine that came, changed its state or cluster, or went (None)."""

    def __call__(self, before: Machine | None, after: Machine | None, at: Instant) -> None: ...


class Machines:
    def __init__(self, effects: Effects, sessions: Sessions) -> None:
        self.inventory = Inventory()
        self._effects = effects
        self._sessions = sessions
        self._provider_of: dict[str, str] = {}
        self._count_of: Counter[str] = Counter()
        self.losses = RecentLosses()
        #: When this shard itself last changed a machine: older Lists do not know of it.
        self._changed_at: dict[str, Instant] = {}
        #: When a machine came into its state; absent: before this shard looked.
        self._since: dict[str, Instant] = {}
        #: All and only machines shown to the engine as Draining while their provider has them
        #: Configured.
        self._shown_as_draining: set[str] = set()
        self._watchers: list[Watcher] = []

    def __len__(self) -> int:
        return len(self.inventory)

    def __contains__(self, machine_id: str) -> bool:
        return machine_id in self._provider_of

    def watch(self, watcher: Watcher) -> None:
        self._watchers.append(watcher)

    def truth(self, machine_id: str) -> Machine:
        """The record as the provider has it; raises NoSuchMachine."""
        machine = self.inventory.machine_of(machine_id)
        if machine_id in self._shown_as_draining:
            return replace(machine, state=MachineState.CONFIGURED)
        return machine

    def state_of(self, machine_id: str) -> MachineState | None:
        """As the provider has it; None where the machine is unknown."""
        if machine_id not in self._provider_of:
            return None
        if machine_id in self._shown_as_draining:
            return MachineState.CONFIGURED
        return self.inventory.state_of(machine_id)

    def provider_of(self, machine_id: str) -> str:
        return self._provider_of[machine_id]

    def provider_or_none(self, machine_id: str) -> str | None:
        return self._provider_of.get(machine_id)

    def providers(self) -> Mapping[str, str]:
        """By machine id, as it is at any moment: one thread writes, any may look one up."""
        return self._provider_of

    def count_of(self, provider: str) -> int:
        return self._count_of[provider]

    def bound_count_of(self, provider: str) -> int:
        """Machines of a provider that are bound to a cluster and not Failed."""
        return bound_count(self.inventory.snapshot(), provider)

    def ids_of(self, provider: str) -> set[str]:
        return {name for name, owner in self._provider_of.items() if owner == provider}

    def ids(self) -> Iterable[str]:
        return self._provider_of.keys()

    def bound_to(self, cluster: str) -> list[str]:
        """Ids of the machines bound to a cluster, ascending."""
        return self.inventory.ids_bound_to(cluster)

    def changed_at(self, machine_id: str) -> Instant | None:
        return self._changed_at.get(machine_id)

    def forget_changes_before(self, machine_ids: Iterable[str], started: Instant) -> None:
        """Lists begun at `started` know of these machines; older marks serve no purpose."""
        for machine_id in machine_ids:
            if self._changed_at.get(machine_id, started) < started:
                del self._changed_at[machine_id]

    def since(self, machine_id: str) -> Instant:
        return self._since.get(machine_id, 0)

    def since_of(self, machine_ids: Iterable[str]) -> list[Instant]:
        """Of many at once, without a call for each."""
        return list(map(self._since.get, machine_ids, repeat(0)))

    # -- coming and going ------------------------------------------------------------------------

    def load(self, batch: MachineBatch, provider: str, at: Instant) -> None:
        """A first List: many machines at once, no cluster to be told (none is connected yet).

        Watchers hear of those that are on their way somewhere: a part has to wait for them.
        """
        self.inventory.load(batch, source=provider)
        self._provider_of.update(dict.fromkeys(batch.ids, provider))
        self._count_of[provider] += len(batch)
        for row in np.flatnonzero(~np.isin(batch.state_of_machine, _AT_REST)).tolist():
            machine = self.truth(batch.ids[row])
            for watcher in self._watchers:
                watcher(None, machine, at)

    def insert(self, machine: Machine, provider: str, at: Instant, text: str) -> None:
        """Raises InvalidMachine or DuplicateMachine, and then nothing has changed."""
        idle_since = at if machine.state is MachineState.IDLE else None
        self.inventory.insert(machine, Marks(idle_since=idle_since), source=provider)
        self._provider_of[machine.id] = provider
        self._count_of[provider] += 1
        self._since[machine.id] = at
        self._tell(None, machine, at, StorySource.PROVIDER, text)
        self._announce(None, machine, at)

    def remove(self, machine_id: str, at: Instant, text: str, source: StorySource) -> None:
        """The machine leaves the inventory; its cluster is told by the caller, who knows why."""
        before = self.truth(machine_id)
        self.inventory.remove(machine_id)
        self._tell(before, None, at, source, text)
        self._forget(machine_id)
        for watcher in self._watchers:
            watcher(before, None, at)

    def remove_all(
        self, machine_ids: Sequence[str], at: Instant, text: str, source: StorySource
    ) -> None:
        """Like `remove` of each, in one pass."""
        before = [self.truth(machine_id) for machine_id in machine_ids]
        if source is StorySource.PROVIDER:
            for machine in before:
                self.losses.note(machine, self._provider_of[machine.id], VANISHED, at)
        self.inventory.remove_all(machine_ids)
        for machine in before:
            self._tell(machine, None, at, source, text)
            self._forget(machine.id)
            for watcher in self._watchers:
                watcher(machine, None, at)

    # -- changing --------------------------------------------------------------------------------

    def step(
        self,
        after: Machine,
        at: Instant,
        text: str,
        source: StorySource = StorySource.EXECUTOR,
        *,
        local: bool = False,
        adopted: bool = False,
        operation_id: str = "",
        instruction_id: str = "",
        sequence: int = 0,
    ) -> None:
        """Make `after` the record of a known machine.

        `local`: this shard caused it, so Lists begun before do not count. `adopted`: the provider
        says so, so the table of transitions is not asked. Raises InvalidMachine or
        InvalidTransition, and then nothing has changed.
        """
        before = self.truth(after.id)
        moved = (before.state, before.cluster) != (after.state, after.cluster)
        preempted = after.id in self._shown_as_draining
        stays = preempted and after.state is MachineState.CONFIGURED
        shown = replace(after, state=MachineState.DRAINING) if stays else after
        self.inventory.apply(shown, now=at, adopted=adopted or preempted)
        if not stays:
            self._shown_as_draining.discard(after.id)
        if local:
            self._changed_at[after.id] = at
        if not moved:
            return
        if before.state is not after.state:
            self._since[after.id] = at
        if adopted:
            self.losses.on_adopted(before, after, self._provider_of[after.id], at)
        self._tell(before, after, at, source, text, operation_id, instruction_id, sequence)
        self._announce(before, after, at)

    def stays(self, batch: MachineBatch) -> tuple[Bools, Bools]:
        """Which machines of a batch are known, and which of them `refresh` may take."""
        known, same = self.inventory.stays(batch)
        for row in np.flatnonzero(same).tolist():
            same[row] = batch.ids[row] not in self._shown_as_draining
        return known, same

    def refresh(self, batch: MachineBatch, provider: str, at: Instant) -> Mapping[str, int]:
        """Machines that stay where they are, with other attributes; how many by which field."""
        return self.inventory.adopt(batch, source=provider, now=at).refreshed

    def show_as_draining(self, machine_id: str, at: Instant) -> None:
        """From now on the engine sees a Configured machine as Draining."""
        machine = self.truth(machine_id)
        self._shown_as_draining.add(machine_id)
        shown = replace(machine, state=MachineState.DRAINING)
        self.inventory.apply(shown, now=at, adopted=True)

    def show_as_it_is(self, machine_id: str, at: Instant) -> None:
        """The preemption is off: the engine sees the machine as it is."""
        machine = self.truth(machine_id)
        self._shown_as_draining.discard(machine_id)
        self.inventory.apply(machine, now=at, adopted=True)

    def is_shown_as_draining(self, machine_id: str) -> bool:
        return machine_id in self._shown_as_draining

    def hold(self, machine_id: str, held: Held | None) -> None:
        """Not acquirable, not released, no supply; None lifts it."""
        marks = self.inventory.marks_of(machine_id)
        if marks.held != held:
            self.inventory.mark(machine_id, replace(marks, held=held))

    def hold_all(self, machine_ids: Sequence[str], held: Held) -> None:
        """Hold those of these Idle and Speculative machines that are not held yet."""
        self.inventory.hold_all(machine_ids, held)

    def lift_all(self, machine_ids: Sequence[str], by: HeldBy) -> None:
        """Let go of those of these machines that are held for this reason."""
        self.inventory.lift_all(machine_ids, by)

    def overdue(self, machine_id: str, *, is_overdue: bool = True) -> None:
        """Past the deadline of its state, or lost: no longer credited to any Need."""
        marks = self.inventory.marks_of(machine_id)
        if marks.overdue is not is_overdue:
            self.inventory.mark(machine_id, replace(marks, overdue=is_overdue))

    def tell(
        self, machine_id: str, at: Instant, source: StorySource, text: str, cluster: str = ""
    ) -> None:
        """A line of a machine's story that changes nothing."""
        event = StoryEvent(at, source, text, cluster=cluster, machine=machine_id)
        self._effects.tell(event)

    def update_of(self, machine_id: str, cluster: str) -> NodeStateUpdate | None:
        """What its cluster is told of a machine now; None: it is not the cluster's any more."""
        if machine_id not in self:
            return None
        machine = self.truth(machine_id)
        return self.node_update(machine, cluster) if machine.cluster == cluster else None

    def node_update(self, machine: Machine, cluster: str) -> NodeStateUpdate:
        labels = dict(machine.labels)
        if machine.instance_type:
            labels[INSTANCE_TYPE_KEY] = machine.instance_type
        if machine.zone:
            labels[ZONE_KEY] = machine.zone
        return NodeStateUpdate(
            machine_id=machine.id,
            cluster_id=cluster,
            state=machine.state,
            node_name=machine.labels.get(HOSTNAME_KEY, ""),
            provider_id=machine.host.ref,
            last_error=machine.last_error,
            labels=labels,
            resources=machine.effective_allocatable,
        )

    # -- within ----------------------------------------------------------------------------------

    def _announce(self, before: Machine | None, after: Machine, at: Instant) -> None:
        if before and before.cluster not in ("", after.cluster):
            # Of what it is elsewhere its former cluster knows only that it is gone.
            gone = replace(after, state=MachineState.IDLE) if after.cluster else after
            self._sessions.send(before.cluster, self.node_update(gone, before.cluster))
        if after.cluster:
            self._sessions.send(after.cluster, self.node_update(after, after.cluster))
        for watcher in self._watchers:
            watcher(before, after, at)

    def _tell(
        self,
        before: Machine | None,
        after: Machine | None,
        at: Instant,
        source: StorySource,
        text: str,
        operation_id: str = "",
        instruction_id: str = "",
        sequence: int = 0,
    ) -> None:
        known = after or before
        assert known is not None, "a story is about a machine"
        event = StoryEvent(
            at,
            source,
            text,
            from_state=before.state if before else MachineState.UNSPECIFIED,
            to_state=after.state if after else MachineState.UNSPECIFIED,
            cluster=known.cluster or (before.cluster if before else ""),
            operation_id=operation_id,
            instruction_id=instruction_id,
            sequence=sequence,
            machine=known.id,
        )
        self._effects.tell(event)

    def _forget(self, machine_id: str) -> None:
        self._count_of[self._provider_of.pop(machine_id)] -= 1
        self._changed_at.pop(machine_id, None)
        self._since.pop(machine_id, None)
        self._shown_as_draining.discard(machine_id)
