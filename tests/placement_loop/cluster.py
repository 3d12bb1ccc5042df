"""A cluster without an API server: controllers, a scheduler, Nodes, an operator's pure parts."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from random import Random

from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.needs import Need, NeedKey, aggregate
from bigfleet.model.options import SECOND
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import HOSTNAME_KEY, INSTANCE_TYPE_KEY, ZONE_KEY
from bigfleet.model.resources import Resources
from bigfleet.placement.admission import Admissions
from bigfleet.placement.margins import Margins
from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.overhead import Overheads, min_unit, split_of
from bigfleet.placement.records import NodeView, PodGroupTerm, PodView
from bigfleet.sim.scheduler import Policy, schedule
from tests.placement_loop.shard import Shard

REPORT_EVERY = 10 * SECOND
INSTRUCTION_AGE = 15 * SECOND


@dataclass(frozen=True, slots=True)
class Workload:
    """A controller and the pods it wants."""

    name: str
    profile: Profile
    requests: Resources
    #: Its pods share no Node.
    exclusive: bool = False
    #: The scheduler never places its pods, against our check.
    hopeless: bool = False


@dataclass(slots=True)
class Figures:
    evicted: int = 0
    #: Successors of evicted pods that were not bound within the time a scheduler takes.
    evicted_waited: int = 0
    bought: int = 0
    bought_without_demand: int = 0
    #: Seconds from the last machine of the own row to the last pod, whenever a margin was raised.
    waits: list[float] = field(default_factory=list)
    #: The part of it until the margin was sent; the rest is the machine's way.
    reactions: list[float] = field(default_factory=list)
    #: Dollars per hour, times nanoseconds.
    spent: float = 0.0


@dataclass(slots=True)
class Cluster:
    name: str
    shard: Shard
    policy: Policy
    chance: Random
    daemons: tuple[Resources, ...] = ()
    replicas: dict[Workload, int] = field(default_factory=dict)
    occupancy: Occupancy = field(default_factory=Occupancy)
    overheads: Overheads = field(default_factory=Overheads)
    figures: Figures = field(default_factory=Figures)
    pods_of: dict[str, dict[str, None]] = field(default_factory=dict)
    workload_of: dict[str, Workload] = field(default_factory=dict)
    admissions: Admissions = field(init=False)
    margins: Margins = field(init=False)
    _number: int = 0
    _usable_at: dict[str, Instant] = field(default_factory=dict)
    _reported_at: Instant = -REPORT_EVERY
    _sent: tuple[Need, ...] = ()
    _dirty: bool = True
    #: Successors of evicted pods: when the eviction was.
    _moved_at: dict[str, Instant] = field(default_factory=dict)
    _scheduled: tuple[int, int] = (-1, -1)
    _pods_version: int = 0
    #: When all machines were there for pods that got a margin, and rounds before they waited.
    _delivered_at: Instant | None = None
    _rounds: int = 0
    _waits_since: Instant = 0
    _drain_checked: dict[str, Instant] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.restart_operator()

    def restart_operator(self) -> None:
        """What the operator remembered is gone; what the cluster shows is not."""
        self.overheads = Overheads()
        self.admissions = Admissions(self.occupancy)
        self.margins = Margins(self.name, self.occupancy, self.admissions, self.overheads)
        self._drain_checked.clear()
        self._reported_at = -REPORT_EVERY
        self._dirty = True
        for node in list(self.occupancy.nodes.values()):
            if node.cordoned:
                self.occupancy.put_node(replace(node, cordoned=False), node.since)

    # -- controllers -----------------------------------------------------------------------------

    def scale(self, workload: Workload, count: int, at: Instant) -> None:
        self.replicas[workload] = count
        pods = self.pods_of.setdefault(workload.name, {})
        while len(pods) > count:
            waiting = [uid for uid in pods if not self.occupancy.pods[uid].node]
            self._end(waiting[0] if waiting else self.chance.choice(list(pods)), at)
        while len(pods) < count:
            self._start(workload, at)

    def _start(self, workload: Workload, at: Instant) -> PodView:
        self._number += 1
        uid = f"{self.name}-{self._number:05d}"
        group = f"replicas/{workload.name}"
        pod = PodView(
            uid=uid,
            key=f"{self.name}/{workload.name}-{self._number:05d}",
            requests=workload.requests,
            need=NeedKey(self.name, workload.profile.fingerprint, ""),
            owner=workload.name,
            priority=workload.profile.priority,
            requirements=workload.profile.requirements,
            groups=frozenset({group}) if workload.exclusive else frozenset(),
            apart=(PodGroupTerm(HOSTNAME_KEY, group),) if workload.exclusive else (),
        )
        self.pods_of.setdefault(workload.name, {})[uid] = None
        self.workload_of[uid] = workload
        self._put(pod, at)
        self.admissions.on_pod_added(pod)
        return pod

    def _end(self, uid: str, at: Instant) -> None:
        workload = self.workload_of.pop(uid)
        del self.pods_of[workload.name][uid]
        self._moved_at.pop(uid, None)
        self.occupancy.remove_pod(uid, at)
        self._pods_version += 1
        self._dirty = True

    def _replace(self, uid: str, at: Instant) -> PodView:
        workload = self.workload_of[uid]
        self._end(uid, at)
        return self._start(workload, at)

    def _put(self, pod: PodView, at: Instant) -> None:
        self.occupancy.put_pod(pod, at)
        self._pods_version += 1
        self._dirty = True

    # -- Nodes -----------------------------------------------------------------------------------

    def follow_machines(self, at: Instant) -> None:
        machines = {
            m.id: m for m in self.shard.of_cluster(self.name) if m.state is MachineState.CONFIGURED
        }
        for name in [n for n in self.occupancy.nodes if n not in machines]:
            self._lose_node(name, at)
        for name, machine in machines.items():
            usable_at = self._usable_at.get(name)
            if usable_at is None:
                usable_at = self._usable_at[name] = at + self.chance.randint(5, 20) * SECOND
            known = self.occupancy.nodes.get(name)
            kind = self.shard.kind_of[name]
            usable = at >= usable_at
            instruction = "asked" if name in self.shard.instructions else ""
            cordoned = self.admissions.is_admitted(name) or name in self.shard.preempted
            if known is not None and known.is_usable == usable:
                if (known.instruction, known.cordoned) != (instruction, cordoned):
                    changed = replace(known, instruction=instruction, cordoned=cordoned)
                    self.occupancy.put_node(changed, at)
                continue
            node = NodeView(
                name=name,
                machine=name,
                declared=machine.resources,
                allocatable=kind.declared.less(kind.reserved),
                kind=kind.name,
                labels={
                    HOSTNAME_KEY: name,
                    INSTANCE_TYPE_KEY: kind.name,
                    ZONE_KEY: machine.zone,
                },
                why_not_usable="" if usable else "not joined",
                since=usable_at if usable else at,
                instruction=instruction,
                cordoned=cordoned,
            )
            self.occupancy.put_node(node, at)
            if usable:
                for number, requests in enumerate(self.daemons):
                    uid = f"daemon-{number}-{name}"
                    self._put(
                        PodView(uid, f"kube-system/{uid}", requests, node=name, follows_node=True),
                        at,
                    )

    def _lose_node(self, name: str, at: Instant) -> None:
        for pod in list(self.occupancy.pods_on(name).values()):
            if pod.follows_node:
                self.occupancy.remove_pod(pod.uid, at)
            else:
                self._replace(pod.uid, at)
        self.occupancy.remove_node(name)
        self._usable_at.pop(name, None)
        self.admissions.forget(name)
        self._dirty = True

    # -- the scheduler ---------------------------------------------------------------------------

    def schedule(self, at: Instant) -> None:
        seen = (self.occupancy.nodes_version, self._pods_version)
        if seen == self._scheduled:
            return
        waiting = sorted(self.occupancy.all_waiting(), key=lambda p: p.uid)
        hopeful = [p for p in waiting if not self.workload_of[p.uid].hopeless]
        placements = schedule(self.occupancy, hopeful, self.policy)
        for binding in placements.bindings:
            pod = self.occupancy.pods[binding.pod]
            self._put(replace(pod, node=binding.node), at)
        refused = [j.pod for j in placements.unschedulable]
        refused += [p.uid for p in waiting if self.workload_of[p.uid].hopeless]
        for uid in refused:
            pod = self.occupancy.pods[uid]
            since = pod.unschedulable_since
            judged = replace(
                pod, unschedulable_since=at if since is None else since, judged_at=at, verdict="0/n"
            )
            if since is None:
                self._dirty = True
            self.occupancy.put_pod(judged, at)
        self._scheduled = (self.occupancy.nodes_version, self._pods_version)

    # -- the operator ----------------------------------------------------------------------------

    def needs(self, at: Instant) -> list[Need]:
        """Own rows: pods that are bound or judged unschedulable."""
        kinds = self.overheads.known((k.name, k.declared) for k in self.shard.kinds)
        members: dict[str, list[str]] = {}
        profiles: dict[str, Profile] = {}
        for workload in self.replicas:
            fingerprint = workload.profile.fingerprint
            profiles[fingerprint] = workload.profile
            for uid in self.pods_of[workload.name]:
                pod = self.occupancy.pods[uid]
                if pod.node or pod.unschedulable_since is not None:
                    members.setdefault(fingerprint, []).append(uid)
        rows = []
        for fingerprint, uids in sorted(members.items()):
            shapes = dict.fromkeys(self.occupancy.pods[uid].requests for uid in uids)
            split = split_of(list(shapes), kinds)
            for uid in uids:
                pod = self.occupancy.pods[uid]
                group = "" if split is None else split.group_of(pod.requests)
                key = NeedKey(self.name, fingerprint, group)
                if pod.need != key:
                    self.occupancy.put_pod(replace(pod, need=key), at)
                unit = pod.requests
                rows.append(Need(self.name, profiles[fingerprint], unit, unit, group=group))
        return [
            replace(n, min_unit=min_unit(n.min_unit, kinds, self.overheads.of_cluster()))
            for n in aggregate(rows)
        ]

    def operate(self, at: Instant) -> None:
        if self.overheads.look(self.occupancy, at) or self._dirty:
            self.margins.on_demand(self.needs(at))
        if at - self._reported_at >= REPORT_EVERY:
            self._reported_at = at
            self.shard.inventory.report_empty(self.name, list(self.occupancy.empty_nodes()))
            self.margins.on_reply(self.shard.reply(self.name), at)
        turn = self.margins.turn(at)
        changed = self._drain(at) or turn.changed
        if changed or self._dirty:
            self.send(at)

    def send(self, at: Instant) -> None:
        if self.margins.awaits_first_reply:
            return
        rows = self.margins.rows(at)
        if rows != self._sent or not self._sent:
            self.shard.on_rollup(self.name, rows, at)
        self._sent = rows
        self.margins.on_sent(rows, at)
        self._dirty = False

    def _drain(self, at: Instant) -> bool:
        """Voluntary drains: admitted, refused, called off, finished."""
        changed = False
        for name in [n for n in list(self._drain_checked) if n not in self.shard.instructions]:
            del self._drain_checked[name]
            if self.admissions.is_admitted(name):
                self.admissions.forget(name)
        for name, since in list(self.shard.instructions.items()):
            if self.shard.machines[name].cluster != self.name or name not in self.occupancy.nodes:
                continue
            if at - since < INSTRUCTION_AGE:
                continue
            if self.admissions.is_admitted(name):
                changed |= self._go_on(name, at)
                continue
            checked = self._drain_checked.get(name)
            if checked is not None and at - checked < 10 * SECOND:
                continue
            self._drain_checked[name] = at
            refusal = self.admissions.why_not_drained(name, at)
            if refusal is None:
                self.admissions.admit(name)
                self.margins.on_drain_admitted(name, at)
                node = self.occupancy.nodes[name]
                self.occupancy.put_node(replace(node, cordoned=True), at)
            else:
                changed |= self.margins.on_refused(refusal, at)
        for name, due in list(self.shard.preempted.items()):
            if self.shard.machines[name].cluster == self.name and at >= due:
                self._lose_node(name, at)
                self.shard.drained(name, at)
        return changed

    def _go_on(self, name: str, at: Instant) -> bool:
        refusal = self.admissions.why_called_off(name, at)
        if refusal is not None:
            self.admissions.forget(name)
            return self.margins.on_refused(refusal, at)
        for pod in self.admissions.next_evictions(name, at):
            self.admissions.on_evicted(pod, at)
            successor = self._replace(pod.uid, at)
            self._moved_at[successor.uid] = at
            self.figures.evicted += 1
        if self.occupancy.is_empty(name):
            self._lose_node(name, at)
            self.shard.drained(name, at)
        return False

    # -- questions -------------------------------------------------------------------------------

    def note_moved(self, at: Instant) -> None:
        """Pods that were evicted and are bound, or wait too long."""
        for uid, since in list(self._moved_at.items()):
            pod = self.occupancy.pods[uid]
            if pod.node:
                del self._moved_at[uid]
            elif at - since >= 20 * SECOND:
                self.figures.evicted_waited += 1
                del self._moved_at[uid]

    def note_waits(self, at: Instant) -> None:
        """How long the last pod waits once the machines of its own row are usable."""
        waiting = any(not self.workload_of[pod.uid].hopeless for pod in self.waiting())
        rounds = self.margins.figures.rounds
        if not waiting:
            if self._delivered_at is not None:
                self.figures.waits.append((at - self._delivered_at) / SECOND)
            self._delivered_at, self._rounds, self._waits_since = None, rounds, at
        elif self._delivered_at is None and rounds > self._rounds:
            usable = [n.since for n in self.occupancy.nodes.values() if n.is_usable]
            self._delivered_at = max([*usable, self._waits_since])
            self.figures.reactions.append((at - self._delivered_at) / SECOND)

    @property
    def is_dirty(self) -> bool:
        """Something has changed that was not told or placed yet."""
        seen = (self.occupancy.nodes_version, self._pods_version)
        return self._dirty or seen != self._scheduled

    def waiting(self) -> list[PodView]:
        return list(self.occupancy.all_waiting())

    def cost(self) -> float:
        return sum(m.price_per_hour for m in self.shard.of_cluster(self.name))

    def pods(self) -> Iterable[PodView]:
        return (self.occupancy.pods[uid] for uid in self.workload_of)
