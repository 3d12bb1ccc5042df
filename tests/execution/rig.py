"""A rig for everything that carries decisions out: one provider and its clusters, played by hand.

No clock, no network: the test says what time it is, what the provider answers and what the
operators say, in any order.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import count

from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.machines import CapacityType, Host, Machine, MachineState
from bigfleet.model.memory import Reservation, ReservationKind
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.pauses import PauseScope
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import (
    Ack,
    Code,
    ConfigureCall,
    MachineRecord,
    Mutation,
    Rejected,
)
from bigfleet.model.session_frames import (
    RECLAIM_DONE,
    BootstrapRequest,
    BootstrapResponse,
    NodeStateUpdate,
    ReclaimAck,
    ReclaimInstruction,
    ShardFrame,
)
from bigfleet.model.shard_views import ActionView, Disposition
from bigfleet.shard.calls import Answer
from bigfleet.shard.events import CallAnswered, ListArrived
from bigfleet.shard.instructions import CallProvider, GetCall, Log, Persist, WriteAudit
from bigfleet.shard.rails.pauses import PauseRequest
from bigfleet.shard.reconciling.list_reading import read_list
from bigfleet.shard.reconciling.record_checks import screened_machine
from bigfleet.shard.settings import ShardSettings
from bigfleet.wire.machines import list_bytes, list_entry, machine_bytes
from tests.shard_parts import Clusters, parts_of

S = MachineState
CLOUD = "cloud"
SHOP = "shop"
#: Of the Need every order on this rig is for.
PROFILE = Profile.of(priority=500, interruption_bucket=5, reclamation_bucket=4)
START = 1_000_000 * SECOND

_HOSTED = (S.IDLE, S.CONFIGURING, S.CONFIGURED, S.DRAINING, S.DELETING)
_BOUND = (S.CONFIGURING, S.CONFIGURED, S.DRAINING)


def record_of(machine: str, state: MachineState, cluster: str = "") -> MachineRecord:
    """A sound record, however little is said about it."""
    return MachineRecord(
        machine,
        state,
        host=Host(CLOUD, f"host-of-{machine}") if state in _HOSTED else None,
        instance_type="m5.large",
        zone="eu-1a",
        capacity_type=CapacityType.ON_DEMAND,
        price_per_hour=1.5,
        last_error="it broke" if state is S.FAILED else "",
        cluster=cluster if state in _BOUND else "",
    )


class Rig:
    def __init__(
        self,
        settings: ShardSettings | None = None,
        *,
        epoch: int = 7,
        stored: Mapping[str, Mapping[str, bytes]] | None = None,
        connected: bool = True,
    ) -> None:
        """`connected`: cluster shop is."""
        self.now = START
        self.epoch = epoch
        self.settings = settings or ShardSettings()
        #: (cluster, frame) in the order they were sent.
        self.sent: list[tuple[str, ShardFrame]] = []
        self.unanswered: list[CallProvider] = []
        self.every_call: list[CallProvider] = []
        self.logs: list[Log] = []
        self.audit: list[Mapping[str, object]] = []
        self.stored: dict[str, dict[str, bytes]] = {
            table: dict(rows) for table, rows in (stored or {}).items()
        }
        self._index = count(0)
        self.parts = parts = parts_of(self.settings, epoch=epoch, at=START, stored=self.stored)
        self.effects, self.counts = parts.effects, parts.effects.counts
        self.machines, self.failures, self.offerings = (
            parts.machines,
            parts.failures,
            parts.offerings,
        )
        self.execution, self.drains = parts.execution, parts.drains
        self.clusters = Clusters(parts)
        if connected:
            self.connect()
        self._obey()

    def restarted(self, *, connected: bool = True) -> "Rig":
        """The next life: what was stored, and nothing else."""
        return Rig(self.settings, epoch=8, stored=self.stored, connected=connected)

    # -- machines --------------------------------------------------------------------------------

    def add(
        self, machine: str, state: MachineState, cluster: str = SHOP, **fields: object
    ) -> Machine:
        made = screened_machine(replace(record_of(machine, state, cluster), **fields))  # type: ignore[arg-type]
        assert isinstance(made, Machine), made
        self.machines.insert(made, CLOUD, self.now, "put on the rig")
        self._obey()
        return made

    def state_of(self, machine: str) -> MachineState:
        return self.machines.truth(machine).state

    def story_of(self, machine: str) -> str:
        return "\n".join(event.text for event in self.effects.stories.of(machine))

    # -- decisions -------------------------------------------------------------------------------

    def decide(
        self,
        kind: ActionKind,
        machine: str,
        cluster: str = SHOP,
        *,
        grace_seconds: int = 120,
        group: str = "",
        profile: Profile = PROFILE,
    ) -> bool:
        ordered = kind in (ActionKind.BOOTSTRAP, ActionKind.PROVISION)
        action = Action(
            kind,
            machine,
            "" if kind is ActionKind.DELETE else cluster,
            Rule.IDLE,
            grace_seconds=grace_seconds,
            preemptor_priority=900 if kind is ActionKind.PREEMPT else 0,
            source_profile=profile if ordered else None,
            source_group=group if ordered else "",
        )
        view = ActionView(
            3,
            next(self._index),
            kind,
            machine,
            action.cluster,
            reason=f"{kind.label} for a test",
            grace_seconds=grace_seconds,
            disposition=Disposition.ENQUEUED,
            at=self.now,
        )
        taken = self.execution.enqueue(view, action, self.now)
        self._obey()
        return taken

    def provision(self, machine: str, cluster: str = SHOP) -> bool:
        return self.decide(ActionKind.PROVISION, machine, cluster)

    def bootstrap(self, machine: str, cluster: str = SHOP) -> bool:
        return self.decide(ActionKind.BOOTSTRAP, machine, cluster)

    def delete(self, machine: str) -> bool:
        return self.decide(ActionKind.DELETE, machine)

    def reclaim(self, machine: str) -> bool:
        return self.decide(ActionKind.RECLAIM, machine)

    def preempt(self, machine: str, grace_seconds: int = 120) -> bool:
        return self.decide(ActionKind.PREEMPT, machine, grace_seconds=grace_seconds)

    # -- the provider ----------------------------------------------------------------------------

    def mutations(self) -> list[Mutation]:
        """Of all calls so far."""
        return [c.call for c in self.every_call if not isinstance(c.call, GetCall)]

    def gets(self) -> list[str]:
        """Machines that were asked for with Get, so far."""
        return [c.call.machine_id for c in self.every_call if isinstance(c.call, GetCall)]

    def call_of(self, machine: str) -> CallProvider:
        """The one call of a machine without an answer."""
        (found,) = [c for c in self.unanswered if c.call.machine_id == machine]
        return found

    def answer(self, machine: str, answer: Answer) -> None:
        call = self.call_of(machine)
        self.unanswered.remove(call)
        self.execution.on_answer(CallAnswered(call, answer, self.now))
        self._obey()

    def ack(self, machine: str, state: MachineState, cluster: str = SHOP) -> None:
        """The mutation under way is accepted, or done already."""
        record = record_of(machine, state, cluster)
        call = self.call_of(machine).call
        if isinstance(call, ConfigureCall):
            record = replace(record, shard_metadata=call.shard_metadata)
        self.answer(machine, Ack(f"op-{machine}", record))

    def refuse(self, machine: str, code: Code, text: str = "no") -> None:
        self.answer(machine, Rejected(code, text))

    def show(self, machine: str, state: MachineState, cluster: str = SHOP) -> None:
        """Answers the Get under way."""
        assert isinstance(self.call_of(machine).call, GetCall), "no Get is under way"
        self.answer(machine, record_of(machine, state, cluster))

    def lists(self, machine: str, state: MachineState, cluster: str = SHOP) -> None:
        """A List that names this machine so, begun after all that was done before."""
        self.lists_all(record_of(machine, state, cluster))

    def lists_all(self, *records: MachineRecord) -> None:
        """The same with several machines."""
        self.now += 1
        reconciler = self.parts.reconciler
        content = list_bytes([list_entry(machine_bytes(each)) for each in records], b"r")
        reading = read_list(content, reconciler.known_machines(CLOUD), whole=False)
        more = reconciler.on_list(ListArrived(CLOUD, reading, False, self.now, self.now))
        while more:
            more = reconciler.continue_list(CLOUD)
        self._obey()

    def lists_no_change(self) -> None:
        """A List of what changed, and nothing did."""
        self.now += 1
        self.failures.on_list(CLOUD, {}, whole=False, started=self.now, at=self.now)
        self._obey()

    # -- the operators ---------------------------------------------------------------------------

    def blob_requests(self) -> list[BootstrapRequest]:
        return [frame for _, frame in self.sent if isinstance(frame, BootstrapRequest)]

    def instructions(self) -> list[ReclaimInstruction]:
        return [frame for _, frame in self.sent if isinstance(frame, ReclaimInstruction)]

    def told_of(self, machine: str, cluster: str = SHOP) -> list[MachineState]:
        return [
            frame.state
            for to, frame in self.sent
            if isinstance(frame, NodeStateUpdate) and frame.machine_id == machine and to == cluster
        ]

    def give_blob(self, cluster: str = SHOP, *, ttl: int = 0, error: str = "") -> None:
        """Answers the newest request."""
        request = self.blob_requests()[-1].request_id
        content = b"" if error else b"#cloud-config"
        response = BootstrapResponse(request, content, ttl, error)
        self.execution.on_blob(cluster, response, self.now)
        self._obey()

    def acknowledge(self, nodes: int = 1, cluster: str = SHOP) -> None:
        """The operator answers the newest instruction."""
        ack = ReclaimAck(self.instructions()[-1].instruction_id, nodes)
        self.drains.on_ack(cluster, ack, self.now)
        self._obey()

    def disconnect(self, cluster: str = SHOP) -> None:
        self.clusters.disconnect(cluster, at=self.now)
        self._obey()

    def connect(self, cluster: str = SHOP, *, says_when_done: bool = True) -> None:
        """`says_when_done`: its operator tells when a node is empty."""
        features = (RECLAIM_DONE,) if says_when_done else ()
        self.clusters.connect(cluster, *features, at=self.now)
        self._obey()

    def is_connected(self, cluster: str) -> bool:
        return self.parts.sessions.is_open(cluster)

    # -- reservations ----------------------------------------------------------------------------

    def reserve(self, machine: str) -> None:
        """For the Need a Preempt frees it for."""
        holder = NeedKey("bank", PROFILE.fingerprint, "")
        kept = Reservation(machine, ReservationKind.PREEMPTION, holder, None)
        self.parts.decision_loop.reserve([kept])
        self._obey()

    def is_reserved(self, machine: str) -> bool:
        return machine in self.parts.decision_loop.reservations

    # -- administrators --------------------------------------------------------------------------

    def pause(self, kind: ActionKind) -> None:
        request = PauseRequest("jane", "a test", PauseScope(kinds=(kind,)), no_expiry=True)
        self.parts.pauses.pause(request, self.now)
        self._obey()

    def resume(self) -> None:
        self.parts.pauses.resume("", True, self.now)
        self._obey()

    # -- time ------------------------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        """Time passes, second by second."""
        until = self.now + round(seconds * SECOND)
        while self.now < until:
            self.now = min(until, self.now + SECOND)
            self._tick()

    def leap(self, seconds: float) -> None:
        """Time passes, and is noticed once."""
        self.now += round(seconds * SECOND)
        self._tick()

    # -- what was counted ------------------------------------------------------------------------

    def outcome(self, kind: ActionKind, outcome: str) -> float:
        name = kind.label
        return self.counts.of("action_execute_outcomes_total", kind=name, outcome=outcome)

    def outcomes(self) -> dict[str, int]:
        """How all actions so far ended."""
        found: dict[str, int] = {}
        for (name, labels), number in self.counts.counters.items():
            if name == "action_execute_outcomes_total":
                word = dict(labels)["outcome"]
                found[word] = found.get(word, 0) + round(number)
        return found

    # -- within ----------------------------------------------------------------------------------

    def _tick(self) -> None:
        self.drains.tick(self.now)
        self.failures.tick(self.now)
        self.parts.deadlines.tick(self.now)
        self.offerings.tick(self.now)
        self.execution.tick(self.now)
        self._obey()

    def _obey(self) -> None:
        self.sent += self.clusters.read()
        for asked in self.effects.taken():
            match asked:
                case CallProvider():
                    self.unanswered.append(asked)
                    self.every_call.append(asked)
                case Persist(table, key, value):
                    rows = self.stored.setdefault(table, {})
                    if value is None:
                        rows.pop(key, None)
                    else:
                        rows[key] = value
                case Log():
                    self.logs.append(asked)
                case WriteAudit(_, line):
                    self.audit.append(line)
                case _:
                    continue
