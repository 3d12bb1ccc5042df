"""Laws that hold in every simulation, whatever the scenario asserts.

They are checked where things happen (a provider carries out a call, a cycle ends, a drain evicts)
and once a second over the whole world, from what providers and clusters know: never from what a
shard believes of itself.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import ConfigureCall, DeleteCall, DrainCall, Mutation
from bigfleet.model.reclaim_cap import reclaim_cap
from bigfleet.model.session_frames import ReclaimInstruction, ShardFrame
from bigfleet.model.shard_views import Disposition
from bigfleet.provider.ledger.entries import Entry
from bigfleet.shard.instructions import GetCall
from bigfleet.simulation.clusters import OperatorLine
from bigfleet.simulation.provider import SimulatedProvider
from bigfleet.simulation.rooms import room_of
from bigfleet.simulation.shard import DecidedAction, SimulatedShard

LAWS: Mapping[str, str] = {
    "one-actor": "No call of an older life, or an older call, is carried out after a newer one.",
    "one-owner": "No machine is two shards' at a time, and only its shard acts on it.",
    "bound-once": "A machine that serves a cluster is not bound to another.",
    "owned-stays": "Owned metal is never deleted.",
    "first-rollup": "No machine of a cluster is reclaimed before this life has its roll-up.",
    "grace": "No machine is drained before its cluster was asked and had its grace.",
    "priorities": "A machine is preempted for a higher priority only.",
    "reclaim-cap": "A cluster loses no more machines at a time than the rail allows.",
    "paused": "A paused shard starts nothing.",
    "conservation": "No machine appears or disappears but by its provider.",
    "engine": "The engine decides in every cycle.",
    "sound": "A decision passes the independent verifier.",
    "claimed-stays": "No machine is reclaimed that a Need of the same decision claims.",
    "victims": "A preempted machine goes to no lower priority while its Need lacks it.",
    "keeps": "A cluster loses no Node of a machine that serves it.",
    "nodes": "A cluster has the Nodes of its machines, and no others.",
    "agrees": "What a shard knows of a machine is what its provider says.",
    "place-to-go": "A pod that is evicted without need has a place to go.",
    "met": "A Need whose pods wait is not called met.",
    "settles": "When faults have ended and demand stands still, nothing moves any more.",
    "no-pod-stuck": "When all is quiet no pod waits that an empty machine would take.",
}
#: Machines in these states may have a Node.
_WITH_NODE = (MachineState.CONFIGURING, MachineState.CONFIGURED, MachineState.DRAINING)
#: What is told of a Need may be so much older than what its pods are.
_TOLD_AFTER = 60 * SECOND
#: A pod that was evicted without need has a place again within this time.
_PLACED_AFTER = 60 * SECOND
#: From a change of a machine to the List or the call that shows it; Lists that are held count, as
#: three in a row within a minute are believed.
_AGREED_AFTER = 240 * SECOND
#: How long a preempted machine is kept for its Need beyond the grace.
_KEPT_FOR = 60 * SECOND
#: From the end of the faults to the last action: holds, reservations, back-offs and rests.
SETTLES_WITHIN_SECONDS = 1500.0


@dataclass(frozen=True, slots=True)
class Violation:
    law: str
    seconds: float
    text: str
    #: The decisions before it, oldest first.
    decisions: tuple[str, ...] = ()


class World(Protocol):
    """What laws look at: `simulator.py` `Simulator`."""

    @property
    def provider(self) -> SimulatedProvider: ...
    @property
    def shards(self) -> Mapping[str, SimulatedShard]: ...
    @property
    def clusters(self) -> Mapping[str, OperatorLine]: ...
    @property
    def now(self) -> Instant: ...
    def is_paused(self, shard: str) -> bool: ...
    def is_provider_wrong(self, shard: str) -> bool:
        """Whether what a shard hears of it is wrong or nothing, on purpose."""
        ...

    def is_wrong_list_believed(self) -> bool:
        """Whether Lists are wrong in a way, or for a time, that rails let pass."""
        ...


class Laws:
    def __init__(self, world: World, broken: Callable[[str, str], None]) -> None:
        """`broken` hears of a law and a sentence."""
        self._world = world
        self._broken = broken
        #: By shard and machine: the highest token that was carried out.
        self._tokens: dict[tuple[str, str], tuple[int, int]] = {}
        #: Reclaims begun lately, by cluster: when each was.
        self._reclaims: dict[tuple[str, int, str], deque[Instant]] = defaultdict(deque)
        #: By node name and machine: when its cluster was first asked to empty it, and its grace.
        self._asked: dict[str, tuple[Instant, int]] = {}
        #: By shard and life: incidents of its verifier.
        self._incidents: dict[tuple[str, int], int] = {}
        #: Since when a Need is met while its pods wait.
        self._met_since: dict[str, Instant] = {}
        self._machines: frozenset[str] = frozenset()
        #: By cluster: machines with a Node that served it when last looked at.
        self._serving: dict[str, set[str]] = {}
        #: By machine: for whom it was preempted, until when it is kept for them.
        self._victims: dict[str, tuple[NeedKey, int, Instant]] = {}
        #: Since when a thing is not as it should be.
        self._wrong_since: dict[str, Instant] = {}
        #: By cluster and pod: evicted without need, when, beside how many pods and which Nodes.
        self._displaced: dict[tuple[str, str], tuple[Instant, int, frozenset[str]]] = {}

    # -- what happens ----------------------------------------------------------------------------

    def on_asked(self, call: Mutation | GetCall) -> None:
        """Also of what a provider would refuse."""
        if isinstance(call, DeleteCall) and self._world.provider.owned.get(call.machine_id, False):
            self._broken("owned-stays", f"{call.machine_id} is owned and is to be deleted")

    def on_carried_out(self, call: Mutation, before: Entry | None) -> None:
        token, machine = call.token, call.machine_id
        key, mark = (token.shard_id, machine), (token.epoch, token.sequence)
        if mark <= self._tokens.get(key, (0, 0)):
            known = self._tokens[key]
            self._broken("one-actor", f"{machine}: token {mark} was carried out after {known}")
        self._tokens[key] = max(mark, self._tokens.get(key, (0, 0)))
        life = self._world.shards.get(token.shard_id)
        if life is not None and token.epoch > life.epoch:
            self._broken("one-actor", f"{machine}: life {token.epoch} has not begun")
        for other in self._world.shards.values():
            if other.name != token.shard_id and other.state.parts.reconciler.is_owned(machine):
                text = f"{machine} is {other.name}'s, and {token.shard_id} acts on it"
                self._broken("one-owner", text)
        if before is None:
            return
        if isinstance(call, ConfigureCall) and before.record.cluster:
            text = f"{machine} serves {before.record.cluster} and was bound to {call.cluster_id}"
            self._broken("bound-once", text)
        if isinstance(call, ConfigureCall):
            self._forget_asked(call, before)
            self._check_victim(call)
        if isinstance(call, DrainCall):
            self._on_drain(call, before)

    def _forget_asked(self, call: ConfigureCall, before: Entry) -> None:
        """A new binding: what was asked of the last one is over."""
        host = before.record.host
        for name in (call.machine_id, host.ref if host is not None else ""):
            self._asked.pop(name, None)

    def _on_drain(self, call: DrainCall, before: Entry) -> None:
        cluster, machine = before.record.cluster, call.machine_id
        line = self._world.clusters.get(cluster)
        node = line.cluster.nodes.get(machine) if line is not None else None
        if line is None or node is None or not node.has_joined or not node.view().is_usable:
            return
        pods = len(line.cluster.occupancy.movable_on(node.name))
        asked = self._asked.pop(node.name, None) or self._asked.pop(machine, None)
        if pods and (asked is None or self._world.now < asked[0] + asked[1] * SECOND):
            since = (
                "never" if asked is None else f"{(self._world.now - asked[0]) / SECOND:.0f} s ago"
            )
            text = f"{machine} is drained with {pods} pods on it; its cluster was asked {since}"
            self._broken("grace", text)

    def _check_victim(self, call: ConfigureCall) -> None:
        """What was preempted for a Need goes to it, unless it lacks nothing any more."""
        kept = self._victims.pop(call.machine_id, None)
        life = self._world.shards.get(call.token.shard_id)
        if kept is None or life is None or self._world.now > kept[2]:
            return
        key, priority, _ = kept
        stands = {
            need.key: (need, state) for need, state in life.state.decision_loop.ledger.stands()
        }
        found = stands.get(key)
        if found is None or found[1].label == "met" or call.cluster_id == key.cluster:
            return
        others = [n.profile.priority for n, _ in stands.values() if n.cluster == call.cluster_id]
        if others and max(others) < priority and key in life.short_keys():
            text = f"{call.machine_id} was preempted for {key.cluster} ({priority})"
            self._broken("victims", f"{text} and goes to {call.cluster_id}")

    def on_frame(self, shard: SimulatedShard, cluster: str, frame: ShardFrame) -> None:
        if isinstance(frame, ReclaimInstruction):
            for node in frame.nodes:
                asked = self._asked.get(node, (self._world.now, 0))
                self._asked[node] = (asked[0], frame.grace_period_seconds)

    def on_cycle(self, shard: SimulatedShard, actions: Iterable[DecidedAction]) -> None:
        begun = [each for each in actions if each.view.disposition is Disposition.ENQUEUED]
        self._check_sound(shard)
        if begun and self._world.is_paused(shard.name):
            self._broken("paused", f"{shard.name} starts {len(begun)} actions while paused")
        for each in begun:
            if each.view.kind is ActionKind.PREEMPT:
                self._check_priority(each)
                self._note_victim(each)
            elif each.view.kind is ActionKind.RECLAIM:
                self._count_reclaim(shard, each.view.cluster)
                if each.view.cluster not in shard.reported:
                    text = f"{each.machine.id} of {each.view.cluster} is reclaimed without one"
                    self._broken("first-rollup", text)
                if each.is_claimed:
                    self._broken("claimed-stays", f"{each.machine.id} is claimed and reclaimed")

    def _check_sound(self, shard: SimulatedShard) -> None:
        """What the engine must never ask for; or the verifier itself fails."""
        verification = shard.state.parts.verification
        life = (shard.name, shard.epoch)
        if verification.incidents > self._incidents.get(life, 0):
            self._broken("sound", f"{shard.name}: {verification.last_incident}")
        self._incidents[life] = verification.incidents
        if verification.error:
            self._broken("sound", f"{shard.name}: the verifier failed: {verification.error}")

    def _note_victim(self, action: DecidedAction) -> None:
        if action.view.need is not None:
            until = self._world.now + action.view.grace_seconds * SECOND + _KEPT_FOR
            self._victims[action.machine.id] = (action.view.need, action.priority, until)

    def _check_priority(self, action: DecidedAction) -> None:
        victim, wanted = action.machine.assigned.priority, action.priority
        if victim >= wanted:
            text = f"{action.machine.id} serves priority {victim} and is preempted for {wanted}"
            self._broken("priorities", text)

    def _count_reclaim(self, shard: SimulatedShard, cluster: str) -> None:
        settings = shard.state.settings.rails
        if not settings.reclaim_cap_fraction:
            return
        now, recent = self._world.now, self._reclaims[shard.name, shard.epoch, cluster]
        while recent and now - recent[0] >= settings.reclaim_cap_window * SECOND:
            recent.popleft()
        recent.append(now)
        bound = len(shard.state.parts.machines.bound_to(cluster))
        cap = reclaim_cap(settings.reclaim_cap_fraction, bound)
        if len(recent) > cap:
            text = f"{cluster} loses {len(recent)} of {bound} machines, the cap is {cap}"
            self._broken("reclaim-cap", text)

    # -- every second ----------------------------------------------------------------------------

    def look(self) -> None:
        wrong: dict[str, tuple[Instant, str, str]] = {}
        self._check_owners()
        self._check_conservation()
        self._check_met()
        self._check_kept()
        self._compare_nodes(wrong)
        self._compare_shards(wrong)
        self._tell_lasting(wrong)
        self._follow_displaced()

    def look_at_rest(self) -> None:
        """When nothing has happened for long. Members of gangs may wait for the rest of theirs."""
        entries = self._world.provider.entries()
        idle = [each.record for each in entries if each.state is MachineState.IDLE]
        for line in self._world.clusters.values():
            rooms = [room_of(record) for record in idle]
            for pod in line.cluster.waiting():
                found = next((r for r in rooms if not pod.near and r.why_not(pod) is None), None)
                if found is not None:
                    text = f"{pod.uid} of {line.cluster.name} waits, and {found.name} would take it"
                    self._broken("no-pod-stuck", text)

    def _tell_lasting(self, wrong: dict[str, tuple[Instant, str, str]]) -> None:
        """What is wrong for longer than it may take to be put right."""
        now = self._world.now
        since = {what: self._wrong_since.get(what, now) for what in wrong}
        for what, (longest, law, text) in wrong.items():
            if now - since[what] >= longest:
                self._broken(law, f"{text}, for {(now - since[what]) / SECOND:.0f} s")
                since[what] = now
        self._wrong_since = since

    def _check_owners(self) -> None:
        shards = self._world.shards.values()
        if len(shards) < 2:
            return
        for entry in self._world.provider.entries():
            owners = [s.name for s in shards if s.state.parts.reconciler.is_owned(entry.id)]
            if len(owners) > 1:
                self._broken("one-owner", f"{entry.id} is owned by {' and '.join(owners)}")

    def _check_kept(self) -> None:
        """The Node goes after its machine, whatever becomes of shards, operators and lines."""
        for name, line in self._world.clusters.items():
            serving = self._world.provider.bound_to(name, MachineState.CONFIGURED)
            gone = self._serving.get(name, set()) & serving - line.cluster.nodes.keys()
            if gone and not self._world.is_wrong_list_believed():
                text = f"{name} has lost the Nodes of {sorted(gone)[:3]}, which serve it"
                self._broken("keeps", text)
            self._serving[name] = serving & line.cluster.nodes.keys()

    def _compare_nodes(self, wrong: dict[str, tuple[Instant, str, str]]) -> None:
        """Of clusters that hear of their shard; what they were told may be as old as a List."""
        for line in self._world.clusters.values():
            name = line.cluster.name
            if not line.is_up or not line.is_reading or not line.operator.connected:
                continue
            serving = self._world.provider.bound_to(name, *_WITH_NODE)
            for machine in sorted(serving - line.cluster.nodes.keys()):
                text = f"{machine} serves {name}, which has no Node of it"
                wrong[f"{name} lacks {machine}"] = (_AGREED_AFTER, "nodes", text)
            for machine in sorted(line.cluster.nodes.keys() - serving):
                text = f"{name} has a Node of {machine}, which does not serve it"
                wrong[f"{name} has {machine}"] = (_AGREED_AFTER, "nodes", text)

    def _compare_shards(self, wrong: dict[str, tuple[Instant, str, str]]) -> None:
        provider = self._world.provider
        for shard in self._world.shards.values():
            if not shard.state.listed_once() or self._world.is_provider_wrong(shard.name):
                continue
            for entry in provider.entries():
                known = shard.state.parts.machines.state_of(entry.id)
                if known is not None and known is not entry.state:
                    text = f"{entry.id} is {entry.state.label}, {shard.name} has it {known.label}"
                    what = f"{shard.name} {shard.epoch} {entry.id} {entry.state.label}"
                    wrong[what] = (_AGREED_AFTER, "agrees", text)

    def _follow_displaced(self) -> None:
        """A pod that was moved without need runs again soon, if nothing else was lost or asked."""
        now = self._world.now
        for line in self._world.clusters.values():
            cluster, displaced = line.cluster, line.operator.drains.displaced
            nodes = frozenset(n for n, v in cluster.occupancy.nodes.items() if v.is_usable)
            for pod in displaced:
                self._displaced.setdefault((cluster.name, pod), (now, cluster.pods, nodes))
            displaced.clear()
        for key, (since, pods, nodes) in list(self._displaced.items()):
            cluster = self._world.clusters[key[0]].cluster
            view = cluster.occupancy.pods.get(key[1])
            usable = {
                n for n, v in cluster.occupancy.nodes.items() if v.is_usable and not v.cordoned
            }
            undisturbed = cluster.pods <= pods and len(nodes - usable) <= len(nodes) // 20 + 1
            if view is None or view.node or not undisturbed:
                del self._displaced[key]
            elif now - since >= _PLACED_AFTER:
                del self._displaced[key]
                text = f"{key[1]} of {key[0]} was evicted without need and waits"
                self._broken("place-to-go", text)

    def _check_conservation(self) -> None:
        provider = self._world.provider
        listed = frozenset(entry.id for entry in provider.entries())
        if lost := sorted(self._machines - listed - provider.retired):
            self._broken("conservation", f"{lost[:3]} disappeared")
        self._machines = listed
        known = provider.owned.keys()
        for shard in self._world.shards.values():
            if strange := sorted(set(shard.state.parts.machines.ids()) - known):
                self._broken("conservation", f"{shard.name} has {strange[:3]}, which never were")
        bound = {
            entry.id: entry.record.cluster
            for entry in provider.entries()
            if entry.state in (MachineState.CONFIGURED, MachineState.DRAINING)
        }
        for machine, slot in provider.substrate.supply.slots.items():
            host = slot.host
            serves = host.cluster if host is not None else ""
            if serves and serves != bound.get(machine, serves):
                text = f"{machine} serves {serves}, its provider says {bound[machine]}"
                self._broken("bound-once", text)

    def _check_met(self) -> None:
        """What is told has the age of a roll-up and a report; longer is a lie."""
        now, since = self._world.now, {}
        for shard in self._world.shards.values():
            for need, state in shard.state.decision_loop.ledger.stands():
                line = self._world.clusters.get(need.cluster)
                if state.label != "met" or line is None or not line.operator.connected:
                    continue
                waiting = len(line.cluster.occupancy.waiting(need.key))
                if waiting and need.group == need.key.group:
                    name = f"{need.cluster} {need.key.need_id}"
                    began = since[name] = self._met_since.get(name, now)
                    if now - began >= _TOLD_AFTER:
                        text = f"need {name} is met, and {waiting} of its pods wait"
                        self._broken("met", text)
                        since[name] = now
        self._met_since = since
