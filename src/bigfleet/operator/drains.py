"""Giving machines back: cordon, first answer, evictions within the budgets, completion.

Laws. Nothing is cordoned, evicted or uncordoned while disconnected. An instruction is answered once
per session when its Nodes are cordoned and once more when it ends. It ends as evicted only when a
complete and fresh cache shows nothing left to evict and the server itself, asked then, says so too;
otherwise at its deadline with 0. A Node of ours is uncordoned as soon as the shard says Configured
and asks nothing of it, and a cordon that somebody else had set stays.

An instruction outlives sessions as the shard's intent does, but acts only in sessions in which the
shard has told it again. Configured said of a machine for the second time in a session takes back
what was asked before: the first time it is merely the shard telling what there is, which after a
restart of the shard may come later than its instructions.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from bigfleet.edge.counts import Counts
from bigfleet.kube.names import RECLAIM
from bigfleet.kube.objects import Node, Reference
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import (
    INSTRUCTION_PREFIX,
    NodeStateUpdate,
    ReclaimAck,
    ReclaimInstruction,
)
from bigfleet.operator.blocking import shortened, text_of_pods
from bigfleet.operator.checks import Checks, names_for_nodes
from bigfleet.operator.cordons import Cordons
from bigfleet.operator.drain_index import DrainIndex
from bigfleet.operator.drain_steps import (
    Check,
    Checked,
    DrainPhase,
    DrainStanding,
    Instruction,
    Publish,
    Send,
    Tell,
    reference_of,
)
from bigfleet.operator.evictions import Evictions
from bigfleet.operator.node_mapping import NodeMap
from bigfleet.operator.pods_on_nodes import PodOnNode, PodsOnNodes

S = MachineState
#: A machine in another state has left, or is not the cluster's to empty.
_STAYING = frozenset({S.CONFIGURED, S.DRAINING})
Step = list[Instruction]


@dataclass(frozen=True, slots=True)
class DrainSettings:
    evict_retry_seconds: float = 2.0
    default_grace_seconds: float = 30.0
    #: From a cordon to the first completion: pods the scheduler had placed by then are seen.
    settle_seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of the cluster, and whether that is all of it and of now."""

    nodes: NodeMap
    pods: PodsOnNodes
    nodes_are_fresh: Callable[[Instant], bool]
    pods_are_fresh: Callable[[Instant], bool]


@dataclass(slots=True)
class _Drain:
    id: str
    #: Of the instruction, each with the machine it was found to be; empty: not known yet.
    machine_of_entry: dict[str, str]
    deadline: Instant
    grace_seconds: float
    #: Among drains of one Node the newest gives the mark.
    number: int
    #: Names of the Nodes it was last found to be about.
    nodes: set[str] = field(default_factory=set)
    #: By entry, the Node it last was; it may be gone since.
    node_of_entry: dict[str, str] = field(default_factory=dict)
    #: In this session.
    is_told: bool = True
    is_acked: bool = False
    #: Not None: ended, with the Nodes fully evicted, 0 at the deadline.
    evicted: int | None = None
    started: int = 0
    settled_at: Instant = 0
    is_counted: bool = False

    @property
    def is_open(self) -> bool:
        return self.evicted is None

    @property
    def machines(self) -> list[str]:
        return [m for m in self.machine_of_entry.values() if m]


@dataclass(slots=True)
class _Look:
    """What an open drain finds when it looks around."""

    present: list[Node] = field(default_factory=list)
    #: Entries that are no Node.
    missing: list[str] = field(default_factory=list)
    #: Entries that may turn out to be a Node yet.
    unknown: list[str] = field(default_factory=list)


class Drains:
    def __init__(
        self,
        around: Surroundings,
        draw: Callable[[], float],
        counts: Counts,
        settings: Callable[[], DrainSettings] = DrainSettings,
    ) -> None:
        self._around = around
        self._settings = settings
        self._counts = counts
        self.connected = False
        self._replayed = False
        self._number = 0
        #: Open and ended ones the shard has not gone on from, by instruction id.
        self._drains: dict[str, _Drain] = {}
        #: Of all of them, as they last looked around.
        self._index = DrainIndex()
        #: By machine; of those whose drain ended badly the last error stays.
        self._standing: dict[str, DrainStanding] = {}
        #: What this session has said of each machine.
        self._state: dict[str, MachineState] = {}
        #: Ids this session has taken back; one that comes again is late.
        self._over: set[str] = set()
        self._cordons = Cordons(draw)
        self._evictions = Evictions(draw, counts)
        self._checks = Checks(draw)

    # -- questions -------------------------------------------------------------------------------

    def drain_of(self, machine_id: str) -> DrainStanding | None:
        return self._standing.get(machine_id)

    @property
    def open_instructions(self) -> list[str]:
        return [d.id for d in self._drains.values() if d.is_open and d.is_told]

    def may_evict(self, instruction_id: str) -> bool:
        """Whether an eviction that was asked for and waited is still wanted."""
        drain = self._drains.get(instruction_id)
        return drain is not None and self.connected and drain.is_open and drain.is_acked

    def may_check(self, check: Check) -> bool:
        """Whether a check that was asked for and waited is still wanted."""
        return self.connected and self._checks.is_asked(check)

    def due_at(self, at: Instant) -> Instant | None:
        """When `tick` next has something to do after `at`; None: only events can tell."""
        if not self.connected:
            return None
        acting = [d for d in self._drains.values() if d.is_open and d.is_told]
        due = [d.deadline for d in acting] + [d.settled_at for d in acting]
        due += [until for until, _ in self._cordons.due()]
        due += [*self._evictions.due(), *self._checks.due()]
        return min((t for t in due if t > at), default=None)

    # -- the session -----------------------------------------------------------------------------

    def on_connected(self, at: Instant) -> Step:
        """Leading, and the shard hears us: it tells all machines, then what it asks."""
        self.connected, self._replayed = True, False
        self._state.clear()
        self._over.clear()
        for drain in self._drains.values():
            drain.is_told = drain.is_acked = False
        return []

    def on_disconnected(self) -> None:
        """Or not leading any more. Nothing goes on, and nothing is taken back."""
        self.connected = False
        self._cordons.on_disconnected()
        self._evictions.on_disconnected()
        self._checks.on_disconnected()

    def on_replay_ended(self, at: Instant) -> Step:
        """What the shard did not ask again is not asked any more."""
        if not self.connected:
            return []
        self._replayed = True
        steps: Step = []
        for drain in [d for d in self._drains.values() if not d.is_told]:
            steps += self._drop(drain)
        nodes = self._around.nodes
        for machine in nodes.machines():
            if machine not in self._state and nodes.node_of(machine) is None:
                nodes.forget(machine)
        for node in list(nodes.nodes()):
            steps += self._settle(node.metadata.name, at)
        return steps + self._advance_all(at)

    def on_instruction(self, frame: ReclaimInstruction, at: Instant) -> Step:
        """A repeat within a session only shortens the grace; a session begins with all anew."""
        if not self.connected or frame.instruction_id in self._over:
            return []
        grace = float(frame.grace_period_seconds)
        if grace <= 0:
            grace = self._settings().default_grace_seconds
        deadline = at + round(grace * SECOND)
        drain = self._drains.get(frame.instruction_id)
        if drain is None:
            self._number += 1
            entries = dict.fromkeys(frame.nodes, "")
            drain = _Drain(frame.instruction_id, entries, deadline, grace, self._number)
            self._drains[drain.id] = drain
            self._note(drain)
        elif not drain.is_told and drain.evicted:
            # The answer is of now: what was empty is looked at again.
            drain.evicted, drain.settled_at = None, 0
            drain.deadline, drain.grace_seconds = deadline, grace
        elif deadline < drain.deadline:
            drain.deadline, drain.grace_seconds = deadline, grace
        drain.is_told = True
        if not drain.is_open:
            return [*self._acknowledge(drain), *self._complete(drain)] if not drain.is_acked else []
        return self._advance(drain, at)

    def on_node_state(self, update: NodeStateUpdate, at: Instant) -> Step:
        self._around.nodes.on_node_state(update)
        if not self.connected:
            return []
        machine = update.machine_id
        is_first = machine not in self._state
        self._state[machine] = update.state
        steps: Step = []
        if update.state not in _STAYING:
            steps += self._release(machine)
            if self._standing.pop(machine, None) is not None:
                steps.append(Publish(machine))
        elif update.state is S.CONFIGURED and not is_first:
            steps += self._release(machine)
        for drain in self._waiting_for(machine):
            steps += self._advance(drain, at)
        if (node := self._around.nodes.node_of(machine)) is not None:
            steps += self._settle(node.metadata.name, at)
        return steps

    # -- the cluster -----------------------------------------------------------------------------

    def on_node_changed(self, name: str, at: Instant) -> Step:
        """Appeared, changed or gone, in the map already."""
        if self._around.nodes.node(name) is None:
            self._cordons.forget(name)
            self._checks.forget_node(name)
        if not self.connected:
            return []
        steps: Step = []
        for drain in list(self._drains.values()):
            if name in drain.nodes or len(drain.nodes) < len(drain.machine_of_entry):
                steps += self._advance(drain, at)
        return steps + self._settle(name, at)

    def on_pods_changed(self, node: str, at: Instant) -> Step:
        return [step for drain in self._about(node) for step in self._advance(drain, at)]

    def tick(self, at: Instant) -> Step:
        if not self.connected:
            return []
        due = [name for until, name in self._cordons.due() if at >= until]
        steps = [step for name in due for step in self._settle(name, at)]
        return steps + self._advance_all(at)

    # -- answers ---------------------------------------------------------------------------------

    def on_cordoned(self, node: Node, at: Instant) -> Step:
        """As the server has it now: cordoned with our mark."""
        name = node.metadata.name
        self._see(node)
        self._cordons.on_written(name)
        settled = at + round(self._settings().settle_seconds * SECOND)
        for drain in self._about(name):
            drain.settled_at = max(drain.settled_at, settled)
        return self.on_node_changed(name, at)

    def on_uncordoned(self, node: Node, at: Instant) -> Step:
        self._see(node)
        self._cordons.on_written(node.metadata.name)
        told = Tell(
            reference_of(node), "Normal", "ReclaimCalledOff", "the machine stays in this cluster"
        )
        return [told, *self.on_node_changed(node.metadata.name, at)]

    def on_cordon_failed(self, name: str, text: str, at: Instant) -> Step:
        """Of an uncordon as well; it is tried again after a pause."""
        self._cordons.on_failed(name, text, at)
        return []

    def on_evicted(self, pod: PodOnNode, at: Instant) -> Step:
        """Taken: it ends in its own time."""
        self._evictions.on_evicted(pod, at)
        return []

    def on_eviction_blocked(self, pod: PodOnNode, text: str, at: Instant) -> Step:
        """429; the text names the budget, if it was one."""
        self._evictions.on_blocked(pod, text, self._settings().evict_retry_seconds, at)
        return []

    def on_eviction_failed(self, pod: PodOnNode, text: str, at: Instant) -> Step:
        self._evictions.on_failed(pod, text, self._settings().evict_retry_seconds, at)
        return []

    def on_checked(self, check: Check, found: Checked, at: Instant) -> Step:
        retry = self._settings().evict_retry_seconds
        passed = self._checks.on_checked(check, found, retry, at)
        drain = self._drains.get(check.instruction_id)
        return self._advance(drain, at, passed) if drain is not None else []

    def on_check_failed(self, check: Check, text: str, at: Instant) -> Step:
        self._checks.on_failed(check, text, self._settings().evict_retry_seconds, at)
        return []

    # -- what a drain does next ------------------------------------------------------------------

    def _advance_all(self, at: Instant) -> Step:
        return [step for drain in list(self._drains.values()) for step in self._advance(drain, at)]

    def _advance(self, drain: _Drain, at: Instant, passed: Check | None = None) -> Step:
        """`passed`: the server has just said that there is nothing left."""
        if not (self.connected and drain.is_told and drain.is_open):
            return []
        look = self._look(drain, at)
        steps: Step = []
        for node in look.present:
            steps += self._cordons.cordon(node, self._mark_of(node.metadata.name), at)
        cordoned = [node for node in look.present if self._is_cordoned(node)]
        if not drain.is_acked and not look.unknown and len(cordoned) == len(look.present):
            drain.started = len(cordoned)
            steps += self._begin(drain, cordoned)
        left = [pod for node in look.present for pod in self._around.pods.left_on(_name(node))]
        check = None
        if drain.is_acked and not left and self._is_empty(drain, look, cordoned, at):
            check = self._check_of(drain, look)
            if check == passed:
                return steps + self._finish_evicted(drain, look)
        left += self._found_on(look)
        if at >= drain.deadline:
            return steps + self._finish_late(drain, look, cordoned, left)
        if drain.is_acked:
            steps += self._evictions.ask(drain.id, drain.nodes, left, at)
        if check is not None:
            steps += self._checks.ask(check, at)
        return steps

    def _check_of(self, drain: _Drain, look: _Look) -> Check:
        nodes, absent = self._around.nodes, set[str]()
        for entry in look.missing:
            last = drain.node_of_entry.get(entry, "")
            absent |= {entry, last, *nodes.names_of(drain.machine_of_entry[entry])}
        # One the cache has under such a name is known to be another machine.
        absent = {name for name in names_for_nodes(absent) if nodes.node(name) is None}
        present = tuple(_name(node) for node in look.present)
        return Check(drain.id, present, tuple(sorted(absent)), drain.settled_at)

    def _found_on(self, look: _Look) -> list[PodOnNode]:
        checks, pods = self._checks, self._around.pods
        return [pod for node in look.present for pod in checks.found_on(_name(node), pods)]

    def _look(self, drain: _Drain, at: Instant) -> _Look:
        nodes, look = self._around.nodes, _Look()
        knows_all = self._around.nodes_are_fresh(at)
        for entry in drain.machine_of_entry:
            found = nodes.find(entry)
            drain.machine_of_entry[entry] = found.machine_id or drain.machine_of_entry[entry]
            # Until the replay is over a machine may still be told that is another Node.
            if found.node is not None and (found.machine_id or self._replayed):
                look.present.append(found.node)
                drain.node_of_entry[entry] = _name(found.node)
            elif found.node is None and found.is_sure and knows_all:
                look.missing.append(entry)
            else:
                look.unknown.append(entry)
        drain.nodes = {_name(node) for node in look.present}
        self._note(drain)
        return look

    def _is_empty(self, drain: _Drain, look: _Look, cordoned: list[Node], at: Instant) -> bool:
        """Of what the cache shows: nothing is left, it shows all, and nothing new can come."""
        if look.unknown or len(cordoned) < len(look.present):
            return False
        return not look.present or (at >= drain.settled_at and self._around.pods_are_fresh(at))

    def _is_cordoned(self, node: Node) -> bool:
        mark = node.metadata.annotations.get(RECLAIM)
        return node.spec.unschedulable and mark == self._mark_of(_name(node))

    def _mark_of(self, name: str) -> str:
        drains = [d for d in self._about(name) if d.is_told]
        return max(drains, key=lambda d: d.number).id if drains else ""

    def _settle(self, name: str, at: Instant) -> Step:
        """Make a Node that no open instruction is about what its machine's state asks for."""
        node = self._around.nodes.node(name)
        if node is None or not self.connected:
            return []
        machine = self._around.nodes.machine_of(name)
        if asking := self._about(name, machine):
            # Ended or not: also a Node that came only after its machine was given back.
            told = max((d for d in asking if d.is_told), key=lambda d: d.number, default=None)
            return list(self._cordons.cordon(node, told.id, at)) if told is not None else []
        state = self._state.get(machine)
        if state is S.DRAINING:
            # Its machine goes, instruction or not: no pod should come to it any more.
            return list(self._cordons.cordon(node, "", at))
        if state is S.CONFIGURED and self._replayed:
            return list(self._cordons.uncordon(node, at))
        return []

    # -- beginnings and ends ---------------------------------------------------------------------

    def _begin(self, drain: _Drain, nodes: Iterable[Node]) -> Step:
        steps: Step = list(self._acknowledge(drain))
        text = f"reclaimed by instruction {drain.id}: cordoned, pods are evicted"
        steps += [Tell(reference_of(node), "Normal", "ReclaimStarted", text) for node in nodes]
        standing = DrainStanding(drain.id, DrainPhase.DRAINING)
        return steps + list(self._stand(drain.machines, standing))

    def _finish_evicted(self, drain: _Drain, look: _Look) -> Step:
        drain.evicted = len(look.present) + len(look.missing)
        missing = not drain.started and not look.present
        self._count(drain, "node_missing" if missing else "evicted")
        self._forget_asked(drain)
        steps = self._complete(drain)
        if missing:
            text = f"no Node of this name, nor of that machine: {drain.id} has nothing to evict"
            steps += [
                Tell(_entry(e), "Normal", "ReclaimNodeMissing", text)
                for e in drain.machine_of_entry
            ]
        for node in look.present:
            text = f"evicted: nothing is left to move for {drain.id}"
            steps.append(Tell(reference_of(node), "Normal", "ReclaimEvicted", text))
        standing = DrainStanding(drain.id, DrainPhase.DRAINED)
        return steps + list(self._stand(drain.machines, standing))

    def _finish_late(
        self, drain: _Drain, look: _Look, cordoned: list[Node], left: list[PodOnNode]
    ) -> Step:
        """A shard takes anything above 0 for an empty machine, so one pod left makes it 0."""
        drain.evicted = 0
        steps: Step = []
        if not drain.is_acked:
            drain.started = len(cordoned)
            steps += self._acknowledge(drain)
        self._count(drain, "deadline")
        why = self._why_late(drain, look, cordoned, left)
        text = shortened(f"the grace of {drain.grace_seconds:g} s is over: {why}")
        steps += self._complete(drain)
        about = [reference_of(node) for node in look.present]
        about += [_entry(entry) for entry in look.unknown]
        about = about or [_entry(entry) for entry in look.missing]
        steps += [Tell(ref, "Warning", "ReclaimBlocked", text) for ref in about]
        self._forget_asked(drain)
        return steps + list(
            self._stand(drain.machines, DrainStanding(drain.id, DrainPhase.DRAINING, text))
        )

    def _why_late(
        self, drain: _Drain, look: _Look, cordoned: list[Node], left: list[PodOnNode]
    ) -> str:
        if left and len(cordoned) == len(look.present):
            count = "1 pod" if len(left) == 1 else f"{len(left)} pods"
            return f"{count} left: {text_of_pods(left, self._evictions.obstacles)}"
        if look.unknown:
            entries = " and ".join(look.unknown)
            return f"which Node {entries} is was not known, or the cache of Nodes was not complete"
        for node in look.present:
            if node not in cordoned:
                met = self._cordons.why_not_written(_name(node)) or "no answer came"
                return f"{_name(node)} could not be cordoned: {met}"
        if why := self._checks.why_not_done(drain.id):
            return why
        return "the cache of pods was not complete, so whether any was left was not known"

    def _acknowledge(self, drain: _Drain) -> Iterator[Send]:
        drain.is_acked = True
        yield Send(ReclaimAck(drain.id, drain.started))

    def _complete(self, drain: _Drain) -> Step:
        """Only instructions of our own shards are answered a second time."""
        if drain.evicted is None or not drain.id.startswith(INSTRUCTION_PREFIX):
            return []
        return [Send(ReclaimAck(drain.id, drain.evicted))]

    def _count(self, drain: _Drain, result: str) -> None:
        if not drain.is_counted:
            self._counts.add("reclaims_total", result=result)
        drain.is_counted = True

    def _stand(self, machines: Iterable[str], standing: DrainStanding) -> Iterator[Publish]:
        for machine in machines:
            if self._standing.get(machine) != standing:
                self._standing[machine] = standing
                yield Publish(machine)

    # -- taking back -----------------------------------------------------------------------------

    def _waiting_for(self, machine: str) -> list[_Drain]:
        called = self._around.nodes.machine_called
        names = self._around.nodes.names_of(machine)
        return [
            drain
            for drain in self._about(machine=machine, entries=names)
            if any(machine in (m, called(e)) for e, m in drain.machine_of_entry.items())
        ]

    def _release(self, machine: str) -> Step:
        """The shard asks nothing of this machine any more."""
        steps: Step = []
        called = self._around.nodes.machine_called
        for drain in self._waiting_for(machine):
            mine = [e for e, m in drain.machine_of_entry.items() if machine in (m, called(e))]
            if len(mine) == len(drain.machine_of_entry):
                self._over.add(drain.id)
                steps += self._drop(drain)
            for entry in mine:
                del drain.machine_of_entry[entry]
            drain.nodes = {n for e in drain.machine_of_entry if (n := self._node_name(e))}
            if drain.id in self._drains:
                self._note(drain)
        return steps + self._keep(machine)

    def _drop(self, drain: _Drain) -> Step:
        del self._drains[drain.id]
        self._index.forget(drain.id)
        self._forget_asked(drain)
        return [step for machine in drain.machines for step in self._keep(machine)]

    def _keep(self, machine: str) -> Step:
        """Its drain is over; if it went badly, that stays to be read."""
        known = self._standing.get(machine)
        if known is None or known.phase is DrainPhase.KEPT:
            return []
        if known.last_error:
            kept = DrainStanding(known.instruction_id, DrainPhase.KEPT, known.last_error)
            self._standing[machine] = kept
        else:
            del self._standing[machine]
        return [Publish(machine)]

    def _forget_asked(self, drain: _Drain) -> None:
        self._evictions.forget(drain.nodes)
        self._checks.forget(drain.id, drain.nodes)

    def _note(self, drain: _Drain) -> None:
        self._index.note(drain.id, drain.nodes, drain.machines, drain.machine_of_entry)

    def _about(
        self, node: str = "", machine: str = "", entries: Collection[str] = ()
    ) -> list[_Drain]:
        """The oldest first."""
        found = self._index.about(node=node, machine=machine, entries=entries)
        return sorted((self._drains[i] for i in found), key=lambda drain: drain.number)

    def _node_name(self, entry: str) -> str:
        node = self._around.nodes.node_of(entry)
        return _name(node) if node is not None else ""

    def _see(self, node: Node) -> None:
        """Newer than the cache, unless the Node is gone from it: then it stays gone."""
        known = self._around.nodes.node(_name(node))
        if known is not None and known.metadata.uid == node.metadata.uid:
            self._around.nodes.put(node)


def _name(node: Node) -> str:
    return node.metadata.name


def _entry(entry: str) -> Reference:
    return Reference(api_version="v1", kind="Node", name=entry)
