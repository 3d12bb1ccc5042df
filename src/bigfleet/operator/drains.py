"""Giving machines back: cordon, first answer, evictions within the budgets, completion.

Here lies what happens, and what each drain does next. What one drain is, `drain` says; which are
about a Node or a machine, `drain_index`; what others are told of it, `drain_telling`.

Laws. Nothing is cordoned, evicted or uncordoned while disconnected. An instruction is answered once
per session when its Nodes are cordoned and once more when it ends. It ends as evicted only when a
complete and fresh cache shows nothing left to evict and the server itself, asked then, says so too
and has the Nodes cordoned, or has them no more; otherwise at its deadline with 0. Volumes that are
still attached then are waited for until shortly before the deadline. A Node of ours is uncordoned
as soon as the shard says Configured and asks nothing of it; a cordon that was there before ours
stays.

An instruction outlives sessions as the shard's intent does, but acts only in sessions in which the
shard has told it again. Configured said of a machine for the second time in a session takes back
what was asked before: the first time it is merely the shard telling what there is, which after a
restart of the shard may come later than its instructions.
"""

from collections.abc import Callable, Collection

from bigfleet.edge.counts import Counts
from bigfleet.kube.names import RECLAIM
from bigfleet.kube.objects import Node
from bigfleet.model.cluster_reports import RefusedReclaim
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimInstruction
from bigfleet.model.settings import CurrentSettings
from bigfleet.operator.checks import Checks
from bigfleet.operator.cordons import Cordons
from bigfleet.operator.drain import Drain, DrainedCluster, NodesOfDrain
from bigfleet.operator.drain_index import KnownDrains
from bigfleet.operator.drain_reports import DrainReports
from bigfleet.operator.drain_steps import (
    Check,
    DrainStanding,
    Instruction,
    SendDemand,
    ServerCheck,
    Tell,
    reference_of,
)
from bigfleet.operator.evictions import Evictions, text_of_pods
from bigfleet.operator.pods_on_nodes import PodOnNode
from bigfleet.operator.reclaim_admission import AdmissionVerdict, ReclaimAdmission
from bigfleet.operator.settings import OperatorSettings
from bigfleet.placement.admission import AdmissionRefusal

S = MachineState
#: A machine in another state has left, or is not the cluster's to empty.
_STAYING = frozenset({S.CONFIGURED, S.DRAINING})
Step = list[Instruction]


#: From a cordon to the first completion: pods the scheduler had placed by then are seen.
SETTLE_SECONDS = 1.0


class Drains:
    def __init__(
        self,
        cluster: DrainedCluster,
        draw: Callable[[], float],
        counts: Counts,
        settings: CurrentSettings[OperatorSettings],
        admission: ReclaimAdmission | None = None,
        *,
        settle_seconds: float = SETTLE_SECONDS,
    ) -> None:
        """Without `admission` every instruction is obeyed as it comes."""
        self._cluster = cluster
        self._admission = admission
        self._settings = settings
        self._settle_seconds = settle_seconds
        self.connected = False
        self._replayed = False
        self._drains = KnownDrains()
        self._telling = DrainReports(counts)
        #: What this session has said of each machine.
        self._state: dict[str, MachineState] = {}
        #: Ids this session has taken back; one that comes again is late.
        self._over: set[str] = set()
        self._cordons = Cordons(draw)
        self._evictions = Evictions(draw, counts)
        self._checks = Checks(draw)

    # -- questions -------------------------------------------------------------------------------

    def drain_of(self, machine_id: str) -> DrainStanding | None:
        return self._telling.standing_of(machine_id)

    @property
    def open_instructions(self) -> list[str]:
        return [d.id for d in self._drains if d.is_open and d.is_told]

    def may_evict(self, instruction_id: str) -> bool:
        """Whether an eviction that was asked for and waited is still wanted."""
        drain = self._drains.get(instruction_id)
        if drain is None or not (self.connected and drain.is_open and drain.is_acked):
            return False
        return drain.is_admitted

    def instruction_of(self, machine: str) -> str:
        """The instruction that may take it away, admitted or not; empty: none."""
        about = self._drains.of_machine(machine, self._cluster.node_map)
        told = [drain.id for drain in about if drain.is_told and drain.evicted != 0]
        return told[-1] if told else ""

    def refused(self) -> tuple[RefusedReclaim, ...]:
        """Machines that are kept because of their pods, with the reason."""
        return tuple(
            RefusedReclaim(machine, drain.id, drain.refusal.sentence)
            for drain in self._drains
            if drain.is_told and drain.is_open and drain.refusal is not None
            for machine in drain.machines
        )

    def may_check(self, check: Check) -> bool:
        """Whether a check that was asked for and waited is still wanted."""
        return self.connected and self._checks.is_asked(check)

    def due_at(self, at: Instant) -> Instant | None:
        """When `tick` next has something to do after `at`; None: only events can tell."""
        if not self.connected:
            return None
        acting = [d for d in self._drains if d.is_open and d.is_told]
        due = [t for d in acting for t in d.due()]
        due += [until for until, _ in self._cordons.due()]
        due += [*self._evictions.due(), *self._checks.due()]
        return min((t for t in due if t > at), default=None)

    # -- the session -----------------------------------------------------------------------------

    def on_connected(self, at: Instant) -> Step:
        """Leading, and the shard hears us: it tells all machines, then what it asks."""
        self.connected, self._replayed = True, False
        self._state.clear()
        self._over.clear()
        for drain in self._drains:
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
        for drain in [d for d in self._drains if not d.is_told]:
            steps += self._drop(drain, at)
        nodes = self._cluster.node_map
        if self._cluster.nodes_are_fresh(at):
            for machine in nodes.machines():
                if machine not in self._state and nodes.node_of(machine) is None:
                    nodes.forget(machine)
        for node in list(nodes.nodes()):
            steps += self._settle(node.metadata.name, at)
        return steps + self._advance_all(at)

    def on_instruction(self, frame: ReclaimInstruction, at: Instant) -> Step:
        if not self.connected or frame.instruction_id in self._over:
            return []
        grace = float(frame.grace_period_seconds)
        if grace <= 0:
            grace = self._settings.now.default_grace
        deadline = at + round(grace * SECOND)
        drain = self._drains.get(frame.instruction_id)
        if drain is None:
            drain = self._drains.add(frame.instruction_id, frame.nodes, deadline, grace)
            drain.asked_at = at
            drain.look_at = at + (self._admission.delay if self._admission is not None else 0)
        else:
            drain.ask_again(deadline, grace)
        # A preemption may name priority 0 too: `reclaim_kinds` knows.
        drain.is_preemption = drain.is_preemption or frame.preemptor_priority != 0
        if not drain.is_open:
            return self._telling.answer_again(drain)
        steps = self._advance(drain, at)
        self._note_instruction(drain.machines, at)
        return steps

    def on_node_state(self, update: NodeStateUpdate, at: Instant) -> Step:
        self._cluster.node_map.on_node_state(update)
        if not self.connected:
            return []
        machine = update.machine_id
        is_first = machine not in self._state
        self._state[machine] = update.state
        steps: Step = []
        if update.state not in _STAYING:
            steps += self._release(machine, at) + self._telling.forget(machine)
        elif update.state is S.CONFIGURED and not is_first:
            steps += self._release(machine, at)
        for drain in self._drains.of_machine(machine, self._cluster.node_map):
            steps += self._advance(drain, at)
        if (node := self._cluster.node_map.node_of(machine)) is not None:
            steps += self._settle(node.metadata.name, at)
        return steps

    # -- the cluster -----------------------------------------------------------------------------

    def on_node_changed(self, name: str, at: Instant) -> Step:
        """Appeared, changed or gone, in the map already."""
        if self._cluster.node_map.node(name) is None:
            self._cordons.forget(name)
            self._checks.forget_node(name)
        if not self.connected:
            return []
        steps: Step = []
        for drain in self._drains:
            if name in drain.nodes or len(drain.nodes) < len(drain.machine_of_entry):
                steps += self._advance(drain, at)
        return steps + self._settle(name, at)

    def on_pods_changed(self, node: str, at: Instant) -> Step:
        return [step for drain in self._drains.about(node) for step in self._advance(drain, at)]

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
        settled = at + round(self._settle_seconds * SECOND)
        for drain in self._drains.about(name):
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
        if self._admission is not None:
            self._admission.on_evicted(pod, at)
        return []

    def on_eviction_blocked(self, pod: PodOnNode, text: str, at: Instant) -> Step:
        """429; the text names the budget, if it was one."""
        self._evictions.on_blocked(pod, text, self._settings.now.evict_retry, at)
        return []

    def on_eviction_failed(self, pod: PodOnNode, text: str, at: Instant) -> Step:
        self._evictions.on_failed(pod, text, self._settings.now.evict_retry, at)
        return []

    def on_checked(self, check: Check, found: ServerCheck, at: Instant) -> Step:
        drain = self._drains.get(check.instruction_id)
        if drain is None or not self._checks.is_asked(check):
            return []
        passed = self._checks.on_checked(check, found, self._settings.now.evict_retry, at)
        steps: Step = []
        for node in found.uncordoned:
            # Only bad news: of a cordon that is gone again the cache may have heard already.
            self._see(node)
            steps += self.on_node_changed(_name(node), at)
        return steps + self._advance(drain, at, passed)

    def on_check_failed(self, check: Check, text: str, at: Instant) -> Step:
        self._checks.on_failed(check, text, self._settings.now.evict_retry, at)
        return []

    # -- what a drain does next ------------------------------------------------------------------

    def _advance_all(self, at: Instant) -> Step:
        return [step for drain in self._drains for step in self._advance(drain, at)]

    def _advance(self, drain: Drain, at: Instant, passed: Check | None = None) -> Step:
        """`passed`: the server has just said that there is nothing left."""
        if not (self.connected and drain.is_told and drain.is_open):
            return []
        look = drain.look_around(self._cluster, at, is_replayed=self._replayed)
        self._drains.note(drain)
        steps = self._admit(drain, look, at)
        if not drain.is_admitted:
            return steps
        for node in look.present:
            steps += self._cordons.cordon(node, self._drains.mark_of(_name(node)), at)
        cordoned = [node for node in look.present if self._is_cordoned(node)]
        if not drain.is_acked and not look.unknown and len(cordoned) == len(look.present):
            steps += self._telling.begin(drain, cordoned)
        left = look.left(self._cluster.pods_on_nodes)
        check = None
        if drain.is_acked and not left and drain.sees_all(look, cordoned, self._cluster, at):
            attached = sum(map(self._cluster.volumes.count_on, look.names))
            if not attached or at >= drain.volumes_until:
                check = drain.check_of(look, self._cluster.node_map)
            if check is not None and check == passed:
                self._forget_asked(drain)
                return steps + self._telling.finish_evicted(drain, look, attached)
        for name in look.names:
            left += self._checks.found_on(name, self._cluster.pods_on_nodes)
        if at >= drain.deadline:
            why = self._why_late(drain, look, cordoned, left)
            self._forget_asked(drain)
            return steps + self._telling.finish_late(drain, look, cordoned, why)
        if check is not None:
            steps += self._checks.ask(check, at)
        return steps + (self._evict(drain, look, left, at) if drain.is_acked else [])

    def _admit(self, drain: Drain, look: NodesOfDrain, at: Instant) -> Step:
        """Sets `drain.is_admitted` if its Nodes may be cordoned."""
        if self._admission is None:
            drain.is_admitted = True
            return []
        if drain.is_admitted:
            self._admission.learn_kind(drain)
            return []
        before = drain.refusal
        match self._admission.verdict(drain, look, self._cluster, at):
            case AdmissionVerdict.GO:
                drain.is_admitted = True
            case AdmissionVerdict.REFUSED if drain.refusal is not None:
                return self._refuse(drain, drain.refusal, before, at)
        return []

    def _refuse(
        self, drain: Drain, refusal: AdmissionRefusal, before: AdmissionRefusal | None, at: Instant
    ) -> Step:
        is_new = before is None or (before.code, before.pod) != (refusal.code, refusal.pod)
        steps = self._telling.refuse(drain, refusal, is_new=is_new)
        return steps + self._revise_demand(refusal, at)

    def _revise_demand(self, refusal: AdmissionRefusal, at: Instant) -> Step:
        is_revised = self._admission is not None and self._admission.refused(refusal, at)
        return [SendDemand()] if is_revised else []

    def _evict(self, drain: Drain, look: NodesOfDrain, left: list[PodOnNode], at: Instant) -> Step:
        self._evictions.only(drain.nodes, left)
        if self._admission is None or not drain.is_checked:
            spared = at < drain.spared_until
            pods = [pod for pod in left if not (spared and pod.do_not_disrupt)]
            return list(self._evictions.ask(drain.id, pods, at))
        due = self._evictions.due_of(left, at)
        found = self._admission.next_evictions(drain, look, due, self._cluster, at)
        if found.called_off is None:
            return list(self._evictions.ask(drain.id, found.pods, at))
        self._forget_asked(drain)
        self._admission.forget(drain.nodes)
        steps = self._telling.call_off(drain, found.called_off)
        self._note_instruction(drain.machines, at)
        steps += self._revise_demand(found.called_off, at)
        return steps + [step for name in look.names for step in self._settle(name, at)]

    def _is_cordoned(self, node: Node) -> bool:
        mark = node.metadata.annotations.get(RECLAIM)
        return node.spec.unschedulable and mark == self._drains.mark_of(_name(node))

    def _settle(self, name: str, at: Instant) -> Step:
        """Make a Node that no open instruction is about what its machine's state asks for."""
        node = self._cluster.node_map.node(name)
        if node is None or not self.connected:
            return []
        machine = self._cluster.node_map.machine_of(name)
        asking = self._drains.about(name, machine)
        if holding := [drain.id for drain in asking if drain.holds_cordon]:
            # Ended or not: also a Node that came only after its machine was given back.
            return list(self._cordons.cordon(node, holding[-1], at))
        mark = node.metadata.annotations.get(RECLAIM)
        if any(not drain.is_told or (drain.is_open and drain.id == mark) for drain in asking):
            # Whether it goes on is not known yet.
            return []
        state = self._state.get(machine)
        if state is S.DRAINING:
            # Its machine goes, instruction or not: no pod should come to it any more.
            return list(self._cordons.cordon(node, "", at))
        if state is S.CONFIGURED and self._replayed:
            return list(self._cordons.uncordon(node, at))
        return []

    def _why_late(
        self, drain: Drain, look: NodesOfDrain, cordoned: list[Node], left: list[PodOnNode]
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

    # -- taking back -----------------------------------------------------------------------------

    def _release(self, machine: str, at: Instant) -> Step:
        """The shard asks nothing of this machine any more."""
        steps: Step = []
        nodes = self._cluster.node_map
        for drain in self._drains.of_machine(machine, nodes):
            mine = drain.entries_of(machine, nodes)
            if len(mine) == len(drain.machine_of_entry):
                self._over.add(drain.id)
                steps += self._drop(drain, at)
            drain.leave_out(mine, nodes)
            if drain in self._drains:
                self._drains.note(drain)
        self._note_instruction([machine], at)
        return steps + self._telling.keep(machine)

    def _drop(self, drain: Drain, at: Instant) -> Step:
        self._drains.forget(drain)
        self._forget_asked(drain)
        self._telling.give_up_refused(drain)
        if self._admission is not None:
            self._admission.forget(drain.nodes)
        self._note_instruction(drain.machines, at)
        return [step for machine in drain.machines for step in self._telling.keep(machine)]

    def _note_instruction(self, machines: Collection[str], at: Instant) -> None:
        """A machine that may be taken away offers no place to the pods of others."""
        if self._admission is None:
            return
        for machine in machines:
            self._admission.note_instruction(machine, self.instruction_of(machine), at)

    def _forget_asked(self, drain: Drain) -> None:
        self._evictions.forget(drain.nodes)
        self._checks.forget(drain.id, drain.nodes)

    def _see(self, node: Node) -> None:
        """Newer than the cache, unless the Node is gone from it: then it stays gone."""
        known = self._cluster.node_map.node(_name(node))
        if known is not None and known.metadata.uid == node.metadata.uid:
            self._cluster.node_map.put(node)


def _name(node: Node) -> str:
    return node.metadata.name
