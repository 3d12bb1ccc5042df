"""A cluster whose caches lag behind it, with writes that succeed, fail or get lost; and its laws.

The server's objects are the truth. What the operator sees of them waits in a queue until it is
delivered, and what it writes waits until it is answered. A blind one takes its queue for empty: its
watches look open, and nothing is delivered.
"""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass

from bigfleet.kube.names import RECLAIM
from bigfleet.kube.objects import Meta, Node, NodeSpec
from bigfleet.model.machines import MachineState
from bigfleet.model.options import SECOND
from bigfleet.operator.drain_steps import (
    Check,
    Cordon,
    Evict,
    Instruction,
    Send,
    ServerCheck,
    Uncordon,
    cordon_patch,
    is_cordoned_by_us,
    is_marked,
    uncordon_patch,
)
from bigfleet.operator.pods_on_nodes import PodOnNode
from tests.operator_draining.rig import REFUSED, Rig, node_record, patched, pod_record

S = MachineState
MACHINES = ("m-1", "m-2")


def node_of(machine: str) -> str:
    return machine.replace("m", "n")


@dataclass(frozen=True, slots=True)
class DelayedCheck:
    """What the server had for a check; the operator has not got it yet."""

    check: Check
    pods: tuple[PodOnNode, ...]
    nodes: tuple[Node, ...]
    #: Whether a cordon of ours was written before.
    is_after_cordon: bool


class LaggingCluster:
    def __init__(self) -> None:
        self.rig = self._new_rig()
        self.at = self.rig.at
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, PodOnNode] = {}
        self.news: deque[Callable[[], None]] = deque()
        self.writes: list[Cordon | Uncordon | Evict | Check | DelayedCheck] = []
        self.is_blind = False
        #: The answer to a check that is being told now.
        self.told_now: DelayedCheck | None = None
        #: By instruction: before this the server is not asked again.
        self.no_check_before: dict[str, int] = {}
        self.connected = self.replayed = False
        #: Of this session, as the shard means it.
        self.state: dict[str, MachineState] = {}
        self.asked: dict[str, str] = {}
        self.over: set[str] = set()
        self.answers: Counter[str] = Counter()
        #: Over all sessions.
        self.deadlines: dict[str, int] = {}
        self.ever_marked: set[tuple[str, str]] = set()
        self.found_cordoned: set[str] = set()
        self._version = 1
        self._uids = 0
        for machine in MACHINES:
            self.put_node(node_record(node_of(machine)))
        self.deliver_all()

    def _new_rig(self) -> Rig:
        rig = Rig()
        rig.answers_checks = False
        return rig

    # -- truth -----------------------------------------------------------------------------------

    def put_node(self, node: Node) -> Node:
        self._version += 1
        old = node.metadata
        meta = Meta(
            name=old.name,
            uid=old.uid,
            annotations=old.annotations,
            resource_version=str(self._version),
        )
        node = Node(metadata=meta, spec=node.spec)
        self.nodes[old.name] = node
        self.news.append(lambda: self.rig.has_node(node))
        return node

    def a_person_cordons(self, machine: str, cordoned: bool) -> None:
        name = node_of(machine)
        node = self.nodes[name]
        if is_marked(node):
            return
        (self.found_cordoned.add if cordoned else self.found_cordoned.discard)(name)
        self.put_node(Node(metadata=node.metadata, spec=NodeSpec(unschedulable=cordoned)))

    def a_person_uncordons(self, machine: str) -> None:
        """By hand, with any earlier reason of the cordon."""
        name = node_of(machine)
        self.found_cordoned.discard(name)
        if (node := self.nodes[name]).spec.unschedulable:
            self.put_node(Node(metadata=node.metadata, spec=NodeSpec()))

    def put_pod(self, name: str, machine: str) -> None:
        self._uids += 1
        pod = pod_record(name, node_of(machine), uid=f"uid-{self._uids}")
        if name not in self.pods:
            self.pods[name] = pod
            self.news.append(lambda: self.rig.has_pod(pod))

    def end_pod(self, name: str) -> None:
        if (pod := self.pods.pop(name, None)) is not None:
            self.news.append(lambda: self.rig.loses_pod(pod))

    # -- the operator ----------------------------------------------------------------------------

    def deliver(self) -> None:
        if self.news and not self.is_blind:
            news = self.news.popleft()
            self._lag()
            news()
            self.check()

    def deliver_all(self) -> None:
        while self.news and not self.is_blind:
            self.deliver()

    def go_blind(self, is_blind: bool) -> None:
        self.is_blind = is_blind

    def _lag(self) -> None:
        self.rig.at = self.at
        self.rig.pods_are_fresh = self.rig.nodes_are_fresh = self.is_blind or not self.news

    def do(self, what: Callable[[Rig], None]) -> None:
        self._lag()
        what(self.rig)
        self.check()

    def check(self) -> None:
        """The laws about every single step."""
        steps, self.rig.steps = self.rig.steps, []
        for step in steps:
            self._check(step)
            if isinstance(step, Cordon | Uncordon | Evict | Check):
                self.writes.append(step)

    def _check(self, step: Instruction) -> None:
        if isinstance(step, Cordon | Uncordon | Evict | Check | Send):
            assert self.connected, f"{step} while disconnected"
        if isinstance(step, Evict | Check):
            assert step.instruction_id in self.asked, "evicted or checked unasked"
            assert self.answers[step.instruction_id] == 1, "evicted before the answer or after"
        if isinstance(step, Check):
            assert self.at >= self.no_check_before.get(step.instruction_id, 0), "asked in haste"
        if isinstance(step, Send):
            self._check_answer(step.ack.instruction_id, step.ack.nodes_started)

    def _check_answer(self, instruction: str, nodes: int) -> None:
        assert instruction in self.asked, "answered unasked"
        self.answers[instruction] += 1
        assert self.answers[instruction] <= 2, "two completions in one session"
        name, is_late = node_of(instruction[4:7]), self.at >= self.deadlines[instruction]
        if self.answers[instruction] == 1:
            # Of two instructions about one Node it carries the newer.
            marks = [(name, asked) for asked in self.asked]
            assert (nodes and self.ever_marked & set(marks)) or is_late, "answered uncordoned"
        elif nodes:
            left = [pod.key.name for pod in self.pods.values() if pod.node == name]
            assert self.is_blind or not left, f"called empty with {left}"
            self._check_was_good(instruction)
        else:
            assert is_late, "given up before the deadline"

    def _check_was_good(self, instruction: str) -> None:
        """Not by the cache: only what the server has just said makes a Node empty."""
        looked = self.told_now
        assert looked is not None, "called empty unchecked"
        assert looked.check.instruction_id == instruction, "called empty by the check of another"
        assert not looked.pods, f"called empty though the server had {looked.pods}"
        assert looked.is_after_cordon, "called empty by what was so before the cordon"
        assert all(map(is_cordoned_by_us, looked.nodes)), "called empty without its cordon"

    def answer(self, place: int, how: str) -> None:
        """`how`: done, failed, or lost after it was done."""
        if not self.writes or not self.connected:
            return
        step = self.writes.pop(place % len(self.writes))
        if isinstance(step, Evict):
            self._answer_eviction(step, how)
        elif isinstance(step, Check | DelayedCheck):
            self._answer_check(step, how)
        else:
            self._answer_write(step, how)

    def _answer_eviction(self, step: Evict, how: str) -> None:
        drains, pod = self.rig.drains, step.pod
        if not drains.may_evict(step.instruction_id):
            return
        if how == "failed":
            self.do(lambda rig: rig.refuse(pod, REFUSED))
            return
        if (found := self.pods.get(pod.key.name)) is not None and found.uid == pod.uid:
            self.end_pod(pod.key.name)
        if how == "done":
            self.do(lambda rig: rig.steps.extend(drains.on_evicted(pod, self.at)))
        else:
            self.do(lambda rig: rig.steps.extend(drains.on_eviction_failed(pod, "", self.at)))

    def look(self) -> None:
        """The server reads what was asked for; it may change before the answer is there."""
        self.writes = [self._looked(w) if isinstance(w, Check) else w for w in self.writes]

    def _looked(self, check: Check) -> DelayedCheck:
        pods = tuple(pod for pod in self.pods.values() if pod.node in check.nodes)
        marks = {(name, asked) for name in check.nodes for asked in self.asked}
        nodes = tuple(self.nodes[name] for name in check.nodes)
        return DelayedCheck(check, pods, nodes, bool(self.ever_marked & marks))

    def _answer_check(self, step: Check | DelayedCheck, how: str) -> None:
        looked = step if isinstance(step, DelayedCheck) else self._looked(step)
        drains, check = self.rig.drains, looked.check
        if not drains.may_check(check):
            return
        if how != "done" or looked.pods or not all(map(is_cordoned_by_us, looked.nodes)):
            retry = self.rig.settings.evict_retry
            self.no_check_before[check.instruction_id] = self.at + round(retry * SECOND)
        if how != "done":
            self.do(lambda rig: rig.steps.extend(drains.on_check_failed(check, how, self.at)))
            return
        self.told_now, found = looked, ServerCheck(looked.pods, (), looked.nodes)
        self.do(lambda rig: rig.steps.extend(drains.on_checked(check, found, self.at)))
        self.told_now = None

    def _answer_write(self, step: Cordon | Uncordon, how: str) -> None:
        drains, name = self.rig.drains, step.node.metadata.name
        if how != "failed":
            written = self._write(self.nodes[name], step)
        if how != "done":
            self.do(lambda rig: rig.steps.extend(drains.on_cordon_failed(name, how, self.at)))
        elif isinstance(step, Cordon):
            self.do(lambda rig: rig.steps.extend(drains.on_cordoned(written, self.at)))
        else:
            self.do(lambda rig: rig.steps.extend(drains.on_uncordoned(written, self.at)))

    def _write(self, found: Node, step: Cordon | Uncordon) -> Node:
        """As the driver does it: from the newest, and not at all if it is so already."""
        name = found.metadata.name
        if isinstance(step, Cordon):
            self.ever_marked.add((name, step.instruction_id))
            mark = found.metadata.annotations.get(RECLAIM)
            if mark == step.instruction_id and found.spec.unschedulable:
                return found
            return self.put_node(patched(found, cordon_patch(found, step.instruction_id)))
        if not is_marked(found):
            return found
        return self.put_node(patched(found, uncordon_patch(found)))

    # -- the shard -------------------------------------------------------------------------------

    def connect(self) -> None:
        self.disconnect()
        self.asked.clear()
        self.connected = True
        self.do(lambda rig: rig.steps.extend(rig.drains.on_connected(self.at)))

    def whole_session(self, again: bool) -> None:
        """As a shard begins one: all machines, what it still asks, and the end of that."""
        asked = dict(self.asked) if again else {}
        self.connect()
        for machine in MACHINES:
            self.tell(machine, S.CONFIGURED)
        for instruction, machine in asked.items():
            self.ask(machine, int(instruction[-1]), 60)
        self.end_replay()

    def disconnect(self) -> None:
        self.connected = self.replayed = False
        self.do(lambda rig: rig.disconnect())
        self.writes.clear()
        self.no_check_before.clear()
        self.state.clear()
        self.over.clear()
        self.answers.clear()

    def end_replay(self) -> None:
        if not self.connected or self.replayed:
            return
        self.replayed = True
        self.do(lambda rig: rig.steps.extend(rig.drains.on_replay_ended(self.at)))

    def tell(self, machine: str, state: MachineState) -> None:
        if not self.connected:
            return
        if state is not S.DRAINING and (state is not S.CONFIGURED or machine in self.state):
            self.over |= {i for i, m in self.asked.items() if m == machine}
            self.asked = {i: m for i, m in self.asked.items() if i not in self.over}
        self.state[machine] = state
        self.do(lambda rig: self._tell(rig, machine, state))

    def _tell(self, rig: Rig, machine: str, state: MachineState) -> None:
        rig.tells(state, machine, node_of(machine))

    def ask(self, machine: str, number: int, grace: int) -> None:
        """A shard never comes back to what it has taken back within a session."""
        instruction = f"bf1-{machine}-{number}"
        if not self.connected or instruction in self.over:
            return
        self.asked[instruction] = machine
        deadline = self.at + grace * SECOND
        self.deadlines[instruction] = min(self.deadlines.get(instruction, deadline), deadline)
        entry = node_of(machine)
        self.do(lambda rig: rig.asks(entry, instruction=instruction, grace=grace))

    def tick(self, seconds: float) -> None:
        self.at += round(seconds * SECOND)
        self.do(lambda rig: rig.steps.extend(rig.drains.tick(self.at)))

    def restart(self) -> None:
        """A successor knows what the caches know."""
        self.disconnect()
        self.is_blind = False
        self.deliver_all()
        self.rig = self._new_rig()
        for node in self.nodes.values():
            self.rig.nodes.put(node)
        for pod in self.pods.values():
            self.rig.pods.put(pod)

    def work(self) -> None:
        """What waits now is delivered and done."""
        self.deliver_all()
        for _ in range(len(self.writes)):
            self.answer(0, "done")
        self.tick(1.5)

    def come_to_rest(self) -> None:
        if self.connected and self.replayed:
            self._settle()
            self._check_rest()

    def _settle(self) -> None:
        """Everything is delivered and answered, and pauses are over; evictions are refused."""
        self.is_blind = False
        for _ in range(8):
            while self.news or self.writes:
                self.deliver_all()
                is_eviction = bool(self.writes) and isinstance(self.writes[0], Evict)
                self.answer(0, "failed" if is_eviction else "done")
            self.tick(40)
        self.deliver_all()

    def _check_rest(self) -> None:
        """The laws of a cluster at rest, after a whole replay."""
        for machine in MACHINES:
            name = node_of(machine)
            node, state = self.nodes[name], self.state.get(machine)
            asked = [i for i, m in self.asked.items() if m == machine]
            if state is S.CONFIGURED and not asked:
                assert not is_marked(node), "left cordoned"
                assert node.spec.unschedulable == (name in self.found_cordoned)
            # One that ended before it was known which Node it is about has cordoned none.
            held = [i for i in asked if self.answers[i] < 2 or (name, i) in self.ever_marked]
            if held or state is S.DRAINING:
                assert is_marked(node), "not cordoned"
                assert node.spec.unschedulable
