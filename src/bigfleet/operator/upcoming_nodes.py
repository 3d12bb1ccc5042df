"""What the cluster is told of its machines: one UpcomingNode each, as the newest update has it.

Laws kept: nothing is planned while no session is open; what the object already says is not written
again, also by a process that has just started; a machine that the shard did not name in its replay
loses its object, unless a Node of it is still there, which a person has to look into.

Not decided here: which Node is a machine's (node_mapping) and how a drain goes on (drains).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from bigfleet.edge.clock import SECOND
from bigfleet.kube.kinds import UPCOMING_NODES
from bigfleet.kube.names import MACHINE_ID, upcoming_node_name
from bigfleet.kube.objects import Node, Reference, UpcomingNode
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.operator.node_map import MAY_HAVE_A_NODE
from bigfleet.operator.upcoming_bodies import (
    machine_of,
    reference_of,
    spec_of,
    spec_patch,
    status_of,
    status_patch,
    whole_seconds,
)
from bigfleet.operator.writes import (
    Create,
    Delete,
    LatestSeen,
    PatchSpec,
    PatchStatus,
    Write,
    map_patch,
)

#: A machine that says Configured and has no Node after this is worth an Event.
NODE_MISSING_AFTER = 600 * SECOND

#: A Configured machine is shown as its Node is.
_PHASES: Mapping[MachineState, str] = {
    MachineState.IDLE: "Launched",
    MachineState.CONFIGURING: "Launched",
    MachineState.DRAINING: "Draining",
    MachineState.FAILED: "Failed",
}
_GIVEN_BACK = ("Draining", "Drained")


class EvictionStanding(Protocol):
    """How the eviction of a machine's pods stands."""

    @property
    def phase(self) -> str:
        """`Draining` or `Drained`; empty where the machine's own state says it better."""
        ...

    @property
    def last_error(self) -> str: ...


class NodesOfMachines(Protocol):
    def node_of(self, machine_or_name: str, /) -> Node | None: ...


class DrainsOfMachines(Protocol):
    def drain_of(self, machine: str, /) -> EvictionStanding | None: ...


class Usability(Protocol):
    """Which machines have a Node on which pods can start."""

    def is_usable(self, machine: str) -> bool: ...

    def refresh_all(self, at: Instant) -> list[str]:
        """The machines for which that changed by time alone."""
        ...


@dataclass(frozen=True, slots=True)
class NodeMissing:
    machine_id: str
    about: Reference
    message: str


def phase_of(
    state: MachineState,
    standing: EvictionStanding | None = None,
    *,
    has_node: bool = False,
    is_usable: bool = False,
) -> str:
    """Eviction comes before the shard's Drain call, so our standing knows more while it runs."""
    if state is MachineState.CONFIGURED:
        phase = "Launched" if not has_node else "Ready" if is_usable else "Registered"
    else:
        phase = _PHASES.get(state, "Provisioning")
    if standing is not None and state in (MachineState.CONFIGURED, MachineState.DRAINING):
        return str(standing.phase) or phase
    return phase


@dataclass(slots=True)
class _Told:
    """What the shard said of one machine."""

    update: NodeStateUpdate
    first_seen: Instant
    #: When the oldest update came that the object does not show yet.
    waiting_since: Instant | None = None
    configured_since: Instant | None = None
    #: Its pods are gone and the machine is out of the cluster.
    drained: bool = False
    missing_told: bool = False


class UpcomingNodes:
    kind = UPCOMING_NODES

    def __init__(
        self,
        nodes: NodesOfMachines,
        drains: DrainsOfMachines,
        machines: Usability,
    ) -> None:
        self.seen: LatestSeen[UpcomingNode] = LatestSeen()
        self._nodes = nodes
        self._drains = drains
        self._machines = machines
        self._told: dict[str, _Told] = {}
        self._machine_of_name: dict[str, str] = {}
        #: Machines named since the session began.
        self._fresh: set[str] = set()
        self._connected_at: Instant | None = None
        #: Everything the shard knows was told: what is not fresh is not ours any more.
        self._replayed = False

    # -- what happened --------------------------------------------------------------------------

    def on_connected(self, at: Instant) -> None:
        self._connected_at = at
        self._replayed = False
        self._fresh.clear()

    def on_disconnected(self) -> None:
        self._connected_at = None
        self._replayed = False

    def on_update(self, update: NodeStateUpdate, at: Instant) -> str:
        """The name of the object to look at."""
        machine = update.machine_id
        name = upcoming_node_name(machine)
        told = self._told.get(machine)
        before = told.update.state if told else None
        if told is None:
            told = self._told[machine] = _Told(update, first_seen=at)
            self._machine_of_name[name] = machine
        told.update = update
        told.drained = update.state is MachineState.IDLE and (
            told.drained or self._is_given_back(name, before)
        )
        if told.waiting_since is None:
            told.waiting_since = at
        if update.state is not MachineState.CONFIGURED:
            told.configured_since, told.missing_told = None, False
        elif told.configured_since is None:
            told.configured_since = at
        self._fresh.add(machine)
        return name

    def on_replay_ended(self) -> list[str]:
        """Both caches are full and the replay is over; the objects that lost their machine."""
        self._replayed = True
        for machine in self._told.keys() - self._fresh:
            self._forget(machine)
        return [name for name in self.seen.names() if name not in self._machine_of_name]

    def names_of(self, machines: Iterable[str]) -> list[str]:
        """Objects to look at after something changed around these machines."""
        return [upcoming_node_name(machine) for machine in machines]

    def on_gone(self, name: str) -> None:
        """The object was deleted, by us or before we could patch it."""
        self.seen.on_gone(name)

    def tick(self, at: Instant) -> list[NodeMissing]:
        """Configured machines whose Node does not come, each named once."""
        if self._connected_at is None:
            return []
        found = []
        for machine, told in self._told.items():
            since = told.configured_since
            if since is None or machine not in self._fresh:
                continue
            if self._nodes.node_of(machine) is not None:
                told.configured_since, told.missing_told = at, False
            elif at - since >= NODE_MISSING_AFTER and not told.missing_told:
                missing = self._missing(machine, at - since)
                if missing is not None:
                    told.missing_told = True
                    found.append(missing)
        return found

    @property
    def is_connected(self) -> bool:
        return self._connected_at is not None

    @property
    def nodes_missing(self) -> int:
        """How many machines are without their Node for too long."""
        return sum(told.missing_told for told in self._told.values())

    # -- what to do -----------------------------------------------------------------------------

    def next_write(self, name: str, at: Instant) -> Write | None:
        if self._connected_at is None:
            return None
        have = self.seen.of(name)
        machine = self._machine_of_name.get(name)
        if machine is None or machine not in self._fresh:
            return self._write_of_an_orphan(have) if self._replayed and have else None
        told = self._told[machine]
        if told.drained:
            return _write_of_a_drained(have)
        if have is None:
            meta = {"name": name, "annotations": {MACHINE_ID: machine}}
            return Create(name, {"metadata": meta, "spec": spec_of(told.update)})
        spec = spec_patch(have, told.update)
        if spec:
            return PatchSpec(name, spec)
        status = status_patch(have, self._status_of(told, have))
        return PatchStatus(name, {"status": status}) if status else None

    def settled(self, name: str, at: Instant) -> tuple[str, float] | None:
        """Nothing is left to write: the phase shown, and how long that took; None: nothing new."""
        machine = self._machine_of_name.get(name)
        if self._connected_at is None or machine is None:
            return None
        told, have = self._told[machine], self.seen.of(name)
        if told.drained and have is None:
            self._forget(machine)
        if told.waiting_since is None:
            return None
        seconds = (at - told.waiting_since) / SECOND
        told.waiting_since = None
        return (have.status.phase if have else "Drained"), seconds

    # -------------------------------------------------------------------------------------------

    def _is_given_back(self, name: str, before: MachineState | None) -> bool:
        """Whether an Idle machine was drained; the object alone would not know a skipped phase."""
        have = self.seen.of(name)
        standing = self._drains.drain_of(self._machine_of_name[name])
        return (
            before is MachineState.DRAINING
            or (have is not None and have.status.phase in _GIVEN_BACK)
            or (standing is not None and standing.phase in _GIVEN_BACK)
        )

    def _forget(self, machine: str) -> None:
        self._told.pop(machine, None)
        self._fresh.discard(machine)
        self._machine_of_name.pop(upcoming_node_name(machine), None)

    def _status_of(self, told: _Told, have: UpcomingNode) -> dict[str, object]:
        update = told.update
        machine = update.machine_id
        standing = self._drains.drain_of(machine)
        phase = phase_of(
            update.state,
            standing,
            has_node=self._nodes.node_of(machine) is not None,
            is_usable=self._machines.is_usable(machine),
        )
        error = update.last_error or (standing.last_error if standing else "")
        started = have.status.provisioning_start_time or whole_seconds(told.first_seen)
        return status_of(phase, self._reference_of(told, have, phase), update, started, error)

    def _reference_of(
        self, told: _Told, have: UpcomingNode, phase: str
    ) -> dict[str, object] | None:
        if told.update.state not in MAY_HAVE_A_NODE:
            # A Node found is of an earlier life.
            return None
        node = self._nodes.node_of(told.update.machine_id)
        if node is not None:
            meta = node.metadata
            return {"apiVersion": "v1", "kind": "Node", "name": meta.name, "uid": meta.uid}
        # A Node that goes while its machine is given back says nothing new: not worth a write.
        return reference_of(have) if phase in _GIVEN_BACK else None

    def _write_of_an_orphan(self, have: UpcomingNode) -> Write | None:
        name, meta = have.metadata.name, have.metadata
        node = self._node_of_orphan(have)
        if node is None or have.status.phase == "Drained":
            return None if meta.deletion_timestamp else Delete(name, meta.uid)
        error = (
            f"the shard no longer counts machine {machine_of(have)!r} to this "
            f"cluster, but Node {node.metadata.name} is still there: delete that Node if its "
            f"machine is gone, or find out who runs it"
        )
        want: dict[str, object] = {"phase": "Failed", "lastError": error}
        have_now = {"phase": have.status.phase, "lastError": have.status.last_error}
        patch = map_patch(have_now, want)
        return PatchStatus(name, {"status": patch}) if patch else None

    def _node_of_orphan(self, have: UpcomingNode) -> Node | None:
        machine = machine_of(have)
        node = self._nodes.node_of(machine) if machine else None
        reference = have.status.node_ref
        if node is None and reference is not None:
            node = self._nodes.node_of(reference.name)
            if node is not None and reference.uid not in ("", node.metadata.uid):
                return None
        return node

    def _missing(self, machine: str, waited: int) -> NodeMissing | None:
        have = self.seen.of(upcoming_node_name(machine))
        if have is None:
            return None
        about = Reference(
            api_version=self.kind.api_version,
            kind=self.kind.kind,
            name=have.metadata.name,
            uid=have.metadata.uid,
        )
        message = (
            f"machine {machine} is Configured and has had no Node for {waited // (60 * SECOND)} "
            f"minutes: look at the machine's bootstrap output, and whether a Node's "
            f"spec.providerID, name or label {MACHINE_ID} says that it is this machine"
        )
        return NodeMissing(machine, about, message)


def _write_of_a_drained(have: UpcomingNode | None) -> Write | None:
    """Shown as Drained for watchers, then deleted."""
    if have is None:
        return None
    name = have.metadata.name
    if have.status.phase != "Drained":
        return PatchStatus(name, {"status": {"phase": "Drained"}})
    return None if have.metadata.deletion_timestamp else Delete(name, have.metadata.uid)
