"""A provider in virtual time: the ledger of the provider SDK over the world of the sim provider.

The ledger decides about every call, as in a real provider; the world says how long work takes and
how it ends. In between stands what the SDK does with tasks: operations, deadlines, describes, and
the healer of failed machines. Its store is never lost: what is answered is durable.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, assert_never

from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.provider_calls import (
    Ack,
    Code,
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    ListCall,
    MachineRecord,
    Mutation,
    Rejected,
)
from bigfleet.provider.backend import Created, Host, Instance, PriceTable
from bigfleet.provider.ledger.decisions import (
    Accepted,
    Refusal,
    Refused,
    Sizes,
    decided,
    why_malformed,
)
from bigfleet.provider.ledger.entries import (
    Entry,
    completed,
    failed,
    noticed,
    recovered_as_idle,
    recovered_as_slot,
    refreshed,
    repriced,
    seeded,
)
from bigfleet.provider.ledger.fences import Fences, MarkKey
from bigfleet.provider.ledger.published import (
    Published,
    PublishedMachines,
    cursor_bytes,
    cursor_of,
)
from bigfleet.provider.ledger.transitions import Kind, Reason
from bigfleet.provider.options import Timing
from bigfleet.provider.reconciling.comparison import Absences, Rule, compared, judged, price_in
from bigfleet.provider.sim.backend import instance_of
from bigfleet.provider.sim.driver import prices_of_pool
from bigfleet.provider.sim.service import altered
from bigfleet.provider.sim.world.answers import Treatment, WrongList
from bigfleet.provider.sim.world.economy import set_stock
from bigfleet.provider.sim.world.events import (
    AdmissionAsked,
    ApiCalled,
    Command,
    CommandGiven,
    Event,
    Failure,
    Finish,
    Instruction,
    Redescribe,
    Refuse,
    Reply,
    ReportGone,
    Reprice,
    ResetAsked,
    RunOutside,
    ShowInventory,
    Step,
    StepAbandoned,
    StepAsked,
    TimePassed,
    TreatCall,
    WarnOfEnd,
)
from bigfleet.provider.sim.world.hosts import fail_host
from bigfleet.provider.sim.world.market import Fixed
from bigfleet.provider.sim.world.state import Substrate
from bigfleet.provider.sim.world.step import next_due, step
from bigfleet.shard.instructions import GetCall
from bigfleet.simulation.schedule import Entry as Timer
from bigfleet.simulation.schedule import Schedule
from bigfleet.wire.machines import list_bytes as joined
from bigfleet.wire.machines import list_entry, list_of
from bigfleet.wire.provider_records import machine_bytes

KINDS: Mapping[type[Mutation], Kind] = {
    CreateCall: Kind.CREATE,
    ConfigureCall: Kind.CONFIGURE,
    DrainCall: Kind.DRAIN,
    DeleteCall: Kind.DELETE,
}
_METHODS: Mapping[type[Mutation | GetCall], str] = {
    **{call: kind.value.capitalize() for call, kind in KINDS.items()},
    GetCall: "Get",
}
_REASONS = {
    Failure.ERROR: Reason.ERROR,
    Failure.RETRYABLE: Reason.ERROR,
    Failure.STOCKOUT: Reason.STOCKOUT,
    Failure.QUOTA: Reason.QUOTA,
    Failure.GONE: Reason.VANISHED,
    Failure.TIMEOUT: Reason.TIMEOUT,
}
#: Between two describes; the SDK's default of two minutes, as machines seldom vanish silently.
_DESCRIBE_SECONDS = 30.0
_RETRY_SECONDS = 5.0
#: Between two looks at a machine whose zone is lost.
_LOST_ZONE_SECONDS = 30.0
_TRIES = 3
_TIMING, _SIZES = Timing(), Sizes()
#: Later than any simulation.
_NEVER: Instant = 2**62
_UNTREATED = TreatCall(Treatment())

Heard = Callable[[str, Mutation, Entry | None], None]


@dataclass(slots=True)
class _Operation:
    id: str
    kind: Kind
    machine: str
    cluster: str
    grace_seconds: int
    deadline: Timer
    attempt: int = 1


class SimulatedProvider:
    def __init__(
        self, name: str, substrate: Substrate, schedule: Schedule, accepted: Heard
    ) -> None:
        """`accepted` hears of every mutation that is carried out, with the machine before it."""
        self.name = name
        self.substrate = substrate
        self.machines = PublishedMachines()
        #: False: the process is down, and answers nothing.
        self.is_up = True
        #: Of every machine that was ever listed, whether it is owned metal.
        self.owned: dict[str, bool] = {}
        #: Slots that have left the offering.
        self.retired: set[str] = set()
        #: Zones in which nothing runs.
        self.lost_zones: set[str] = set()
        #: When Lists last began to be wrong on purpose.
        self.lying_since: Instant = 0
        #: When they were last put right.
        self.lied_until: Instant = 0
        self._schedule = schedule
        self._accepted = accepted
        self._fences = Fences(self.machines.__contains__)
        self._operations: dict[str, _Operation] = {}
        self._numbers = 0
        self._slots = 0
        self._absences = Absences()
        self._timer: Timer | None = None
        #: What a List showed when it was told to stand still.
        self._stale: bytes | None = None
        self._full: tuple[int, bytes] = (-1, b"")
        self._tell(TimePassed(schedule.now()))
        self._add(instance_of(slot) for slot in substrate.supply.slots.values())
        schedule.call_later(_DESCRIBE_SECONDS, self._describe)

    @property
    def _now(self) -> Instant:
        return self._schedule.now()

    def entries(self) -> list[Entry]:
        return self.machines.entries()

    def bound_to(self, cluster: str, *states: MachineState) -> set[str]:
        """Machines that are the cluster's, in these states."""
        return {
            entry.id
            for entry in self.entries()
            if entry.record.cluster == cluster and entry.state in states
        }

    # -- calls -----------------------------------------------------------------------------------

    def serve(self, call: Mutation | GetCall) -> Ack | MachineRecord | Rejected:
        try:
            if isinstance(call, GetCall):
                self._treated("Get")
                return self._get(call.machine_id)
            self._treated(_METHODS[type(call)])
            return self._mutate(call)
        except Rejected as problem:
            return problem

    def list_bytes(self, call: ListCall) -> bytes:
        """Raises Rejected."""
        wrong = self._treated("List").wrong_list
        if wrong is None or wrong.how != "stale":
            self._stale = None
        elif self._stale is not None:
            return self._stale
        answer = self._list(call)
        if wrong is None:
            return answer
        if wrong.how == "stale":
            self._stale = answer
            return answer
        records, revision = list_of(answer)
        entries = (list_entry(machine_bytes(record)) for record in altered(records, wrong))
        return joined(entries, revision)

    def _list(self, call: ListCall) -> bytes:
        head = self.machines.head
        if not call.since_revision and self._full[0] == head:
            return self._full[1]
        cursor = cursor_of(call.since_revision, self.name) if call.since_revision else None
        page = self.machines.page(call, cursor)
        answer = joined(page.chunks, cursor_bytes(page.cursor, self.name))
        if not call.since_revision:
            self._full = (head, answer)
        return answer

    def command(self, command: Command) -> str:
        """Carries out a verb of the sim provider; why it was refused, or nothing."""
        said = self._tell(CommandGiven(command, self._now))
        return next((each.problem for each in said if isinstance(each, Reply)), "")

    def lose_zone(self, zone: str) -> None:
        """Everything in it fails at once, and nothing can be made there."""
        self.lost_zones.add(zone)
        instructions: list[Instruction] = []
        for slot in self.substrate.supply.slots.values():
            if slot.pool.offering.zone == zone:
                fail_host(self.substrate, slot, f"zone {zone} is lost", instructions)
        for pool in self.substrate.supply.pools.values():
            if pool.offering.zone == zone:
                set_stock(self.substrate, pool, Fixed(0))
        self.substrate.take_notes()
        for instruction in instructions:
            self._carry(instruction)
        self._arm()

    def return_zone(self, zone: str) -> None:
        self.lost_zones.discard(zone)
        for pool in self.substrate.supply.pools.values():
            if pool.offering.zone == zone:
                set_stock(self.substrate, pool, pool.offering.stock)

    def restock(self) -> None:
        """Every pool has what its offering says, but where the zone is lost."""
        for pool in self.substrate.supply.pools.values():
            if pool.offering.zone not in self.lost_zones:
                set_stock(self.substrate, pool, pool.offering.stock)

    def answer_lists(self, how: str, **more: Any) -> None:
        """Wrongly until `answer_truly`."""
        if not self.substrate.answers.wrong:
            self.lying_since = self._now
        self.substrate.answers.wrong.append(WrongList(how, until=_NEVER, **more))

    def answer_truly(self, how: str) -> None:
        wrong = self.substrate.answers.wrong
        self.substrate.answers.wrong = [each for each in wrong if each.how != how]
        if any(each.how == how != "empty" for each in wrong):
            self.lied_until = self._now

    def _treated(self, method: str) -> TreatCall:
        """What the API does wrong on purpose; raises Rejected."""
        if self.substrate.answers.untouched:
            return _UNTREATED
        said = self._tell(ApiCalled(method, self._now))
        treat = next(each for each in said if isinstance(each, TreatCall))
        if treat.treatment.code is not None:
            raise Rejected(treat.treatment.code, "the provider was told to fail this call")
        return treat

    def _get(self, machine: str) -> MachineRecord:
        entry = self.machines.entry(machine)
        if entry is None:
            raise Rejected(Code.NOT_FOUND, f"no machine {machine}")
        return entry.record

    def _mutate(self, call: Mutation) -> Ack:
        if refusal := why_malformed(call, _SIZES):
            raise refusal.raised()
        kind, before = KINDS[type(call)], self.machines.entry(call.machine_id)
        key = MarkKey(call.token.shard_id, call.machine_id)
        verdict = decided(
            kind,
            call,
            entry=before,
            mark=self._fences.mark(key, self._now),
            why_not_admitted=lambda entry: self._why_not_admitted(kind, entry),
            operation_id=self._mint,
        )
        if verdict.mark is not None:
            self._fences.advance(key, verdict.mark, self._now)
        if isinstance(verdict, Refused):
            raise verdict.refusal.raised()
        if isinstance(verdict, Accepted):
            self._accepted(self.name, call, before)
            self._publish(verdict.entry)
            self._begin(kind, call, verdict.operation_id)
        entry = self.machines.entry(call.machine_id)
        assert entry is not None
        return Ack(verdict.operation_id, entry.record)

    def _mint(self) -> str:
        self._numbers += 1
        return f"op-{self._numbers}"

    def _why_not_admitted(self, kind: Kind, entry: Entry) -> Refusal | None:
        said = self._tell(AdmissionAsked(Step(kind.value), entry.id, self._now))
        for each in said:
            if isinstance(each, Refuse) and not each.operation:
                if each.failure in (Failure.STOCKOUT, Failure.QUOTA):
                    return Refusal(Code.RESOURCE_EXHAUSTED, each.text, each.failure.value)
                return Refusal(Code.ABORTED, each.text, "out-of-position")
        return None

    # -- operations ------------------------------------------------------------------------------

    def _begin(self, kind: Kind, call: Mutation, operation: str) -> None:
        grace = call.grace_period_seconds if isinstance(call, DrainCall) else 0
        cluster = call.cluster_id if isinstance(call, ConfigureCall) else ""
        late = self._schedule.call_later(
            _TIMING.of_work(kind, grace), lambda: self._out_of_time(operation)
        )
        self._operations[operation] = _Operation(
            operation, kind, call.machine_id, cluster, grace, late
        )
        self._ask(Step(kind.value), self._operations[operation])

    def _ask(self, wanted: Step, running: _Operation) -> None:
        self._tell(
            StepAsked(
                wanted,
                running.machine,
                running.id,
                self._now,
                running.cluster,
                running.grace_seconds,
                running.attempt,
            )
        )

    def _out_of_time(self, operation: str) -> None:
        running = self._operations.get(operation)
        if running is None:
            return
        for each in (Step(running.kind.value), Step.READY):
            self._tell(StepAbandoned(each, operation, self._now))
        self._fail(running, Reason.TIMEOUT, f"{running.kind} took too long")

    def _finish(self, done: Finish) -> None:
        running = self._operations.get(done.operation)
        if running is None:
            return
        if done.step is Step.CONFIGURE:
            self._ask(Step.READY, running)
            return
        entry = self._ended(running)
        if entry is not None:
            made = Created(Host(done.host_ref, node_name=done.host_ref))
            created = made if running.kind is Kind.CREATE else None
            self._publish(completed(entry, running.kind, self.name, created))

    def _refuse(self, refused: Refuse) -> None:
        running = self._operations.get(refused.operation)
        if running is None:
            return
        if refused.failure is Failure.RETRYABLE and running.attempt < _TRIES:
            running.attempt += 1
            self._schedule.call_later(_RETRY_SECONDS, lambda: self._again(refused))
            return
        self._fail(running, _REASONS[refused.failure], refused.text)

    def _again(self, refused: Refuse) -> None:
        running = self._operations.get(refused.operation)
        if running is not None:
            self._ask(refused.step, running)

    def _fail(self, running: _Operation, reason: Reason, text: str) -> None:
        entry = self._ended(running)
        if entry is None:
            return
        if reason is Reason.VANISHED and entry.standing.notice_at:
            reason = Reason.SPOT
        self._show_failed(entry, reason, text)

    def _ended(self, running: _Operation) -> Entry | None:
        """None: the machine is not in that operation any more."""
        running.deadline.cancel()
        del self._operations[running.id]
        entry = self.machines.entry(running.machine)
        return entry if entry is not None and entry.running_id == running.id else None

    # -- what happens to machines ----------------------------------------------------------------

    def _show_failed(self, entry: Entry, reason: Reason, text: str) -> None:
        self._publish(failed(entry, reason, text, self._now))
        self._schedule.call_later(_TIMING.hold(reason), lambda: self._heal(entry.id))

    def _heal(self, machine: str) -> None:
        """The way out of FAILED: a slot again where the host is gone, else Idle and clean."""
        entry, slot = self.machines.entry(machine), self.substrate.supply.slots.get(machine)
        if entry is None or entry.state is not MachineState.FAILED:
            return
        if slot is None or slot.host is None:
            self._publish(recovered_as_slot(entry))
            return
        if entry.record.zone in self.lost_zones:
            self._schedule.call_later(_LOST_ZONE_SECONDS, lambda: self._heal(machine))
            return
        slot.host.cluster, slot.host.bound_by, slot.host.ready_at = "", "", None
        self._tell(ResetAsked(machine, self._now))
        host = Host(slot.host.ref, node_name=slot.host.ref)
        self._publish(recovered_as_idle(entry, host, self.name))

    def _lose(self, machine: str, text: str) -> None:
        entry = self.machines.entry(machine)
        if entry is None or entry.state in (MachineState.SPECULATIVE, MachineState.FAILED):
            return
        running = self._operations.pop(entry.running_id, None)
        if running is not None:
            running.deadline.cancel()
        if entry.running is Kind.DELETE:
            self._publish(completed(entry, Kind.DELETE, self.name))
            return
        reason = Reason.SPOT if entry.standing.notice_at else Reason.VANISHED
        self._show_failed(entry, reason, text)

    def _describe(self) -> None:
        """What the substrate shows against what is published: the SDK's comparison."""
        self._schedule.call_later(_DESCRIBE_SECONDS, self._describe)
        slots = self.substrate.supply.slots
        described = {name: instance_of(slot) for name, slot in slots.items()}
        found = compared(self.machines.entries(), described, self.name, self.machines.head)
        self._add(found.new)
        for machine, instance in found.changed.items():
            entry = self.machines.entry(machine)
            if entry is not None:
                self._show(entry, refreshed(entry, instance, self.name))
        absent = found.absent_hosts | found.absent_slots
        present = found.present_hosts + found.present_slots
        verdict = judged(self._absences, absent, present, self._now, Rule())
        self._absences = verdict.absences
        for machine in sorted(verdict.gone):
            self._gone(machine)

    def _gone(self, machine: str) -> None:
        entry = self.machines.entry(machine)
        if entry is None:
            return
        if entry.state is MachineState.SPECULATIVE:
            self.machines.retire(machine, self.machines.head + 1)
            self.retired.add(machine)
            self._fences.retire(machine, self._now)
        else:
            self._lose(machine, "the host is not there any more")

    def _add(self, instances: Iterable[Instance]) -> None:
        for instance in instances:
            self._publish(seeded(instance, self.name, self._slots))
            self.owned[instance.id] = self.substrate.supply.slots[instance.id].pool.offering.owned
            self._slots += 1

    def _reprice(self, pool: str) -> None:
        table: PriceTable = prices_of_pool(self.substrate.supply.pools[pool])
        for machine in self.substrate.supply.pools[pool].slots:
            entry = self.machines.entry(machine)
            if entry is None:
                continue
            price = price_in(table, machine, entry.offering)
            if price is not None:
                self._show(entry, repriced(entry, price))

    def _show(self, before: Entry, after: Entry) -> None:
        if after is not before:
            self._publish(after)

    def _publish(self, entry: Entry) -> None:
        shown = replace(entry, revision=self.machines.head + 1)
        self.machines.publish(Published(shown, list_entry(machine_bytes(shown.record))))

    # -- the world -------------------------------------------------------------------------------

    def _tell(self, event: Event) -> list[Instruction]:
        instructions = step(self.substrate, event)
        self.substrate.take_notes()
        for instruction in instructions:
            self._carry(instruction)
        self._arm()
        return instructions

    def _carry(self, instruction: Instruction) -> None:
        match instruction:
            case Finish():
                self._finish(instruction)
            case Refuse():
                self._refuse(instruction)
            case WarnOfEnd(machine, ends_at):
                entry = self.machines.entry(machine)
                if entry is not None and entry.state is not MachineState.FAILED:
                    self._show(entry, noticed(entry, ends_at))
            case ReportGone(machine, text):
                self._lose(machine, text)
            case Reprice(pool):
                self._reprice(pool)
            case Redescribe() | RunOutside() | Reply() | ShowInventory() | TreatCall():
                pass  # told to the one who asked, or seen with the next describe
            case _:
                assert_never(instruction)

    def _arm(self) -> None:
        due = next_due(self.substrate)
        if self._timer is not None:
            if self._timer.at == due and not self._timer.cancelled:
                return
            self._timer.cancel()
        self._timer = None if due is None else self._schedule.at(due, self._time_up)

    def _time_up(self) -> None:
        self._timer = None
        self._tell(TimePassed(self._now))
