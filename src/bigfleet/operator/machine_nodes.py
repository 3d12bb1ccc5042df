"""The machines a shard has told of and their Nodes: which are usable, empty or lost.

Laws kept. A machine is lost only in the eyes of a fresh cache of Nodes, with the replay over: its
Node was absent for `gone_after` without a break, or a condition from the list has lasted its time.
Broken Nodes are given up a few at a time: at most a fifth of the cluster's machines (at least one)
at once, and none while more than that are broken, because that is a fault of the network or of the
control plane and not of so many machines.

Not decided here: how long a machine may take to join (the shard knows when it was configured), and
what becomes of a machine that is lost.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from bigfleet.kube.objects import Node
from bigfleet.model.cluster_reports import LostCause, LostMachine
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.model.settings import CurrentSettings
from bigfleet.operator.node_health import broken, why_not_usable
from bigfleet.operator.node_map import NodeMap
from bigfleet.operator.node_rules import NodeRules
from bigfleet.operator.pods_on_nodes import PodsOnNodes

S = MachineState
#: States in which a machine is part of the cluster.
_HERE = frozenset({S.CONFIGURED, S.DRAINING})
#: The part of the cluster's machines that may be replaced at once, or broken.
_REPAIRED_AT_ONCE = 0.2


@dataclass(frozen=True, slots=True)
class Health:
    """How a Configured machine does in its cluster."""

    node: Node | None
    #: Empty: its Node takes pods.
    why_not_usable: str
    #: When it became usable, or stopped being so, as far as this process saw it.
    since: Instant

    @property
    def is_usable(self) -> bool:
        return not self.why_not_usable


@dataclass(frozen=True, slots=True)
class Loss:
    lost: LostMachine
    node: Node | None
    text: str


@dataclass(frozen=True, slots=True)
class NodeLosses:
    """Sorted by machine."""

    found: tuple[Loss, ...] = ()
    #: Broken for their time and not given up yet, because too many are broken at once.
    held: tuple[str, ...] = ()
    #: Of `machines`, how many are broken now.
    broken: int = 0
    machines: int = 0

    @property
    def records(self) -> tuple[LostMachine, ...]:
        return tuple(each.lost for each in self.found)


@dataclass(slots=True)
class _Machine:
    update: NodeStateUpdate
    health: Health | None = None
    #: Since when it has been Configured without a Node, without a break; None: it has one.
    absent_since: Instant | None = None
    #: A Node of it was seen since it was configured.
    has_joined: bool = False


class MachineNodes:
    def __init__(
        self,
        nodes: NodeMap,
        devices_asked: Callable[[], Collection[str]],
        rules: CurrentSettings[NodeRules] | None = None,
    ) -> None:
        """`devices_asked`: extended resources that any Need of the cluster asks for."""
        self._nodes = nodes
        self._devices_asked = devices_asked
        self._rules = rules or CurrentSettings(NodeRules())
        self._machines: dict[str, _Machine] = {}
        #: Machines named since the session began.
        self._fresh: set[str] = set()
        self._replayed = False

    def __len__(self) -> int:
        return len(self._machines)

    # -- what happened --------------------------------------------------------------------------

    def on_connected(self) -> None:
        self._fresh.clear()
        self._replayed = False

    def on_disconnected(self) -> None:
        self._replayed = False
        self._stop_clocks()

    def on_replay_ended(self) -> None:
        self._replayed = True
        for machine in self._machines.keys() - self._fresh:
            del self._machines[machine]

    def on_node_state(self, update: NodeStateUpdate, at: Instant) -> None:
        """The map of Nodes knows it already."""
        machine = update.machine_id
        self._fresh.add(machine)
        if update.state not in _HERE:
            self._machines.pop(machine, None)
            return
        known = self._machines.get(machine)
        if known is None:
            known = self._machines[machine] = _Machine(update)
        known.update = update
        self.refresh(machine, at)

    def refresh(self, machine: str, at: Instant) -> bool:
        """Its Node may have changed; whether the machine became usable, or stopped being so."""
        known = self._machines.get(machine)
        if known is None:
            return False
        node, before = self._nodes.node_of(machine), known.health
        if node is not None:
            known.absent_since, known.has_joined = None, True
        why = self._why_not_usable(node, known.update, at)
        same = before is not None and before.is_usable == (not why)
        since = before.since if before is not None and same else at
        known.health = Health(node, why, since)
        return not same

    def refresh_all(self, at: Instant) -> list[str]:
        """What only time or other Needs bring; the machines for which it made a difference."""
        return [machine for machine in self._machines if self.refresh(machine, at)]

    # -- questions -------------------------------------------------------------------------------

    @property
    def is_complete(self) -> bool:
        """Whether the shard has told of all machines in this session."""
        return self._replayed

    def is_usable(self, machine: str) -> bool:
        known = self._machines.get(machine)
        return known is not None and known.health is not None and known.health.is_usable

    def names(self) -> list[str]:
        """Of all machines that are part of the cluster."""
        return list(self._machines)

    def of(self, machine: str) -> tuple[NodeStateUpdate, Health] | None:
        """None: it is not part of the cluster."""
        known = self._machines.get(machine)
        if known is None or known.health is None:
            return None
        return known.update, known.health

    def here(self) -> Iterator[tuple[NodeStateUpdate, Health]]:
        """Machines that are Configured for the cluster, or on their way out of it."""
        for known in self._machines.values():
            if known.health is not None:
                yield known.update, known.health

    def unusable(self) -> tuple[str, ...]:
        """Configured machines whose Node is missing or takes no pods."""
        return tuple(sorted(m for m, health in self._configured() if not health.is_usable))

    def empty(self, pods: PodsOnNodes) -> tuple[str, ...]:
        """Machines whose usable Node runs nothing but what follows Nodes."""
        return tuple(
            sorted(
                machine
                for machine, health in self._configured()
                if health.is_usable
                and health.node is not None
                and pods.is_empty(health.node.metadata.name)
            )
        )

    def lost(self, nodes_are_fresh: bool, at: Instant) -> NodeLosses:
        """Once per report."""
        if not nodes_are_fresh or not self._replayed:
            self._stop_clocks()
            return NodeLosses()
        rules = self._rules.now
        broken_ones = self._broken(rules, at)
        found = [*self._gone(rules, at), *broken_ones.found]
        found.sort(key=lambda each: each.lost.machine_id)
        return replace(broken_ones, found=tuple(found))

    # -- within ----------------------------------------------------------------------------------

    def _configured(self) -> Iterator[tuple[str, Health]]:
        for machine, known in self._machines.items():
            if known.update.state is S.CONFIGURED and known.health is not None:
                yield machine, known.health

    def _why_not_usable(self, node: Node | None, update: NodeStateUpdate, at: Instant) -> str:
        if node is None:
            return "it has no Node"
        asked = self._devices_asked()
        devices = [name for name, amount in update.resources.amounts if amount and name in asked]
        return why_not_usable(node, devices, at, self._rules.now.usable)

    def _gone(self, rules: NodeRules, at: Instant) -> Iterator[Loss]:
        for machine, known in self._machines.items():
            absent = known.health is not None and known.health.node is None
            if known.update.state is not S.CONFIGURED or not absent:
                known.absent_since = None
                continue
            if known.absent_since is None:
                known.absent_since = at
            if (gone := at - known.absent_since) < rules.gone_after:
                continue
            cause = LostCause.NODE_GONE if known.has_joined else LostCause.NEVER_JOINED
            what = "its Node is gone" if known.has_joined else "no Node has joined"
            text = f"{what} for {gone // SECOND} s while the machine is Configured"
            yield Loss(LostMachine(machine, cause), None, text)

    def _broken(self, rules: NodeRules, at: Instant) -> NodeLosses:
        machines = len(self._machines)
        most = max(1, int(machines * _REPAIRED_AT_ONCE))
        leaving, overdue, broken_count = 0, [], 0
        for machine, known in sorted(self._machines.items()):
            node = known.health.node if known.health is not None else None
            wrong = broken(node, rules.repair, at) if node is not None else None
            if wrong is None:
                continue
            broken_count += 1
            text, due = wrong
            if known.update.state is S.DRAINING:
                leaving += 1
            elif due <= at:
                loss = LostMachine(machine, LostCause.UNHEALTHY)
                overdue.append((due, machine, Loss(loss, node, f"its Node is broken: {text}")))
        overdue.sort(key=lambda each: each[:2])
        may = 0 if broken_count > most else max(0, most - leaving)
        taken = tuple(loss for _, _, loss in overdue[:may])
        held = tuple(sorted(machine for _, machine, _ in overdue[may:]))
        return NodeLosses(taken, held, broken_count, machines)

    def _stop_clocks(self) -> None:
        """What is not seen without a break is timed anew."""
        for known in self._machines.values():
            known.absent_since = None
