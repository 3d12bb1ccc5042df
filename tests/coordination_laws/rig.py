"""What a schedule runs: shards, coordinators, one provider, and everything between them.

Nothing happens by itself: time passes, messages arrive, disks write and cycles end when a step says
so. After every step the laws are checked.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bigfleet.coordinator.book import Book
from bigfleet.coordinator.draft import Draft
from bigfleet.edge.clock import SECOND, ManualClock, next_turn
from bigfleet.model.coordination import SyncReply
from bigfleet.model.coordinator_calls import (
    AckOutcome,
    CoordinatorInstruction,
    ReportReply,
    ShardReport,
)
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.ownership import Ownership
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import Ack, MachineRecord, Rejected
from bigfleet.model.resources import Resources
from bigfleet.shard.instructions import CallProvider, GetCall
from tests.coordination_laws import laws
from tests.coordination_laws.disk import Disk, Tables
from tests.coordination_laws.laws import LawBroken
from tests.coordination_laws.lives import LifeContext, ShardLife, Watcher
from tests.coordination_laws.network import Network, Request
from tests.coordination_laws.owners import Owners
from tests.coordination_laws.provider import Line, Provider, ProviderCall
from tests.coordination_laws.queues import why_dropped
from tests.coordination_laws.replicas import Coordinators

S = MachineState
UNIT = Resources.parse({"cpu": "8"})
START: Instant = 1_700_000_000 * SECOND


class WorldClock(ManualClock):
    def skip(self, seconds: int) -> None:
        """No timer waits for it."""
        self._now += seconds * SECOND


@dataclass(frozen=True, slots=True)
class EndState:
    """What is left of a world when everybody is switched off."""

    at: Instant
    keys: tuple[str, ...]
    rows: Mapping[str, bytes]
    disks: Mapping[str, Tables]
    shelf: Mapping[str, MachineRecord]
    demand: Mapping[str, tuple[Need, ...]]
    #: Names of providers by shard.
    attached: Mapping[str, tuple[str, ...]]


def empty_world(shards: int, keys: tuple[str, ...], providers: tuple[str, ...]) -> EndState:
    names = "abcd"[:shards]
    disks: dict[str, Tables] = {name: {} for name in names}
    attached = dict.fromkeys(names, providers)
    return EndState(START, keys, {}, disks, {}, dict.fromkeys(names, ()), attached)


class CoordinationRig(Watcher):
    def __init__(self, before: EndState) -> None:
        self.clock = WorldClock(before.at)
        self.provider = Provider(self._acted, before.shelf)
        self.coordinators = Coordinators(self.clock, self._committed, before.keys, before.rows)
        self.network = Network(self._serve, self._sent)
        self.names = tuple(before.disks)
        self.disks = {name: Disk(tables) for name, tables in before.disks.items()}
        #: As many lives as any world has had before.
        self.epochs = dict.fromkeys(self.names, 10 if before.rows else 0)
        #: Of shards that run.
        self.lives: dict[str, ShardLife] = {}
        #: Shards whose process will never run again.
        self.dead: set[str] = set()
        self.demand = dict(before.demand)
        self.attached = dict(before.attached)
        self.snapshots: list[Mapping[str, bytes]] = []
        #: Whether calls to the provider wait for the schedule.
        self.is_provider_slow = False
        self.owners = Owners(self.provider)
        # -- what was seen ---------------------------------------------------------------------
        #: Acknowledgements that reached a leader, by shard, instruction and outcome.
        self.heard: Counter[tuple[str, str, AckOutcome]] = Counter()
        #: Instructions that a shard has acknowledged as done.
        self.done: dict[str, set[str]] = {name: set() for name in self.names}
        self.terms = dict.fromkeys(self.names, 0)
        self.revisions = dict.fromkeys(self.names, 0)
        self._before: dict[str, tuple[ShardLife, Ownership]] = {}
        self._serving: dict[str, set[str]] = {name: set() for name in self.names}
        #: How often each interesting thing happened.
        self.seen: Counter[str] = Counter()

    def begin(self) -> None:
        """Every shard runs and knows what it knew."""
        for name in self.names:
            self.start(name)
        for life in self.living():
            self.second(life)
        self.check()

    def evening(self) -> EndState:
        """Nothing is under way."""
        self.wait(2)
        disks = {name: disk.evening() for name, disk in self.disks.items()}
        coordinators = self.coordinators
        return EndState(
            self.clock.now(),
            coordinators.keys,
            coordinators.snapshot(),
            disks,
            dict(self.provider.shelf),
            dict(self.demand),
            dict(self.attached),
        )

    def living(self) -> list[ShardLife]:
        return list(self.lives.values())

    def names_alive(self) -> list[str]:
        """Of shards that run or will run again."""
        return [name for name in self.names if name not in self.dead]

    # -- lives -----------------------------------------------------------------------------------

    def start(self, name: str) -> None:
        if name in self.lives or name in self.dead:
            return
        self.epochs[name] += 1
        disk = self.disks[name]
        around = LifeContext(self.network, self.clock, self)
        life = ShardLife(name, self.epochs[name], disk, self.attached[name], around)
        life.call = lambda asked: self._called(life, asked)
        life.needs = self.demand[name]
        self.lives[name] = life

    def crash(self, name: str, *, written: bool, arrives: bool) -> None:
        """`written`: its disk has just been written; `arrives`: and so have its calls."""
        life = self.lives.pop(name, None)
        if life is None:
            return
        disk = self.disks[name]
        life.die()
        if written:
            disk.write_through()
        disk.crash()
        self.network.hang_up(name)
        self.provider.hang_up(name, self.clock.now(), arrives=arrives)

    def remove(self, name: str) -> None:
        """People say that it is dead, and they are right."""
        assert name in self.dead, f"{name} lives"
        if self.coordinators.book.tables.shards.get(name) is not None:
            self.asked(self.coordinators.remove, name)

    def rejoin(self, name: str) -> None:
        """With an empty disk; the number of its life is kept elsewhere."""
        if self.coordinators.book.tables.shards.get(name) is not None:
            return
        self.dead.discard(name)
        self.forget(name)
        self.start(name)

    def forget(self, name: str) -> None:
        """Its disk is empty: it knows no term, no view, and nothing it has done."""
        assert name not in self.lives, f"{name} lives"
        self.disks[name] = Disk()
        self.done[name], self._serving[name] = set(), set()
        self.terms[name] = self.revisions[name] = 0

    def asked(self, operation: Callable[..., object], *args: object) -> None:
        """What is refused has not happened."""
        try:
            operation(*args)
        except Rejected:
            self.seen["refused"] += 1

    # -- time ------------------------------------------------------------------------------------

    def wait(self, seconds: int) -> None:
        """Time passes, and the provider ends what is due."""
        self.clock.skip(seconds)
        self.provider.advance(self.clock.now())

    def second(self, life: ShardLife) -> None:
        """What a shard does in a second by itself."""
        for provider in life.providers:
            content = self.provider.content(provider)
            if not life.knows(provider, content, self.provider.shelf):
                life.begin_list(provider, content)
                life.end_list(provider)
        life.report_demand()
        self.cycle(life)
        life.tick()
        if not life.disk.is_slow:
            life.disk.flush()

    def cycle(self, life: ShardLife) -> None:
        """Law: a shard that knows what it owns and what there is decides."""
        life.decide()
        before = life.state.decision_loop.number
        life.think()
        life.decide()
        knows = life.ownership.view is not None and life.state.listed_once()
        if knows and life.state.decision_loop.number != before + 1:
            raise LawBroken(laws.DECIDES, f"{life.name} did not decide")

    async def pump(self) -> None:
        """Everybody goes on as far as they can by themselves."""
        while any(life.is_busy for life in self.lives.values()):
            await next_turn()
        for life in self.lives.values():
            life.finish_round()

    # -- demand ----------------------------------------------------------------------------------

    def want(self, name: str, machines: int, priority: int) -> None:
        profile = Profile.of([], priority=priority)
        cluster = f"of-{name}"
        needs = (Need(cluster, profile, UNIT.times(machines), UNIT),) if machines else ()
        self.demand[name] = needs
        if (life := self.lives.get(name)) is not None:
            life.needs = needs
            life.report_demand()

    def bound_to(self, name: str) -> set[str]:
        """By the provider's own word."""
        shelf = self.provider.shelf.values()
        return {r.id for r in shelf if r.state is S.CONFIGURED and r.cluster == f"of-{name}"}

    # -- laws ------------------------------------------------------------------------------------

    def check(self) -> None:
        self.owners.check(self.lives, self.disks, self.dead)
        for name, life in self.lives.items():
            self._check_onward(name, life)
            self._check_change(life)
        self._check_in_use()

    def _check_onward(self, name: str, life: ShardLife) -> None:
        term, revision = life.term, life.ownership.revision
        if term < self.terms[name] or revision < self.revisions[name]:
            text = f"{name} has term {term} and view {revision}"
            seen = f"{self.terms[name]} and {self.revisions[name]}"
            raise LawBroken(laws.ONWARD, f"{text} after {seen}")
        kept = self.owners.kept(life.disk, name).revision
        if kept < revision:
            raise LawBroken(laws.ONWARD, f"{name} acts on view {revision}, its disk has {kept}")
        self.terms[name], self.revisions[name] = term, revision

    def _check_change(self, life: ShardLife) -> None:
        """Since it was last looked at: after every step, and before every answer that is taken."""
        now, known = life.ownership, self._before.get(life.name)
        self._before[life.name] = (life, now)
        if known is None or known[0] is not life or known[1] is now:
            return
        before = known[1]
        open_transfers = self.coordinators.book.tables.transfers.rows
        rows = now.view.overrides if now.view is not None else {}
        for machine, transfer in before.released.items():
            row, moved = rows.get(machine), open_transfers.get((transfer,))
            decided = row is not None and row.transfer == transfer
            is_open = moved is not None and moved.transfer.state.open
            if machine not in now.released and is_open and not decided:
                raise LawBroken(laws.MARKED, f"{life.name} forgets that {machine} is {transfer}'s")
        gained = self.owners.free(now) - self.owners.free(before) - before.released.keys()
        if gained and now.revision == before.revision:
            raise LawBroken(laws.NO_WAY_BACK, f"{life.name} has {sorted(gained)} again")

    def _check_in_use(self) -> None:
        for name, life in self.lives.items():
            bound, owned = self.bound_to(name), self.owners.now(life)
            lost = (self._serving[name] & bound) - owned
            if lost:
                raise LawBroken(laws.IN_USE, f"{name} lost {sorted(lost)}, which serve its cluster")
            self._serving[name] = bound & owned

    # -- what is watched -------------------------------------------------------------------------

    def calls(self, life: ShardLife, asked: CallProvider) -> None:
        call = asked.call
        if isinstance(call, GetCall):
            return
        if call.machine_id not in self.owners.now(life):
            text = f"{life.name} asks {type(call).__name__} of {call.machine_id}, not its own"
            raise LawBroken(laws.ONE_ACTOR, text)

    def _acted(self, act: ProviderCall) -> None:
        others = self.owners.of_machine(act.machine, self.lives, self.disks, self.dead)
        others.discard(act.shard)
        if others:
            text = f"{act.shard} does {act.verb} to {act.machine}, which is {sorted(others)}'s"
            raise LawBroken(laws.ONE_ACTOR, text)
        life = self.lives.get(act.shard)
        lives = life is not None and life.epoch == act.epoch
        if life is not None and lives and act.machine not in self.owners.now(life):
            text = f"{act.verb} of {act.shard} reaches {act.machine}, which it has given up"
            raise LawBroken(laws.ONE_ACTOR, text)
        self.seen[act.verb] += 1

    def obeys(self, life: ShardLife, instruction: CoordinatorInstruction) -> None:
        if instruction.id in self.done[life.name]:
            raise LawBroken(laws.NOT_TWICE, f"{life.name} is at {instruction.id} again")
        if instruction.term < self.terms[life.name]:
            raise LawBroken(laws.ONWARD, f"{life.name} obeys {instruction.id} of an old term")

    def obeyed(self, life: ShardLife, instruction: CoordinatorInstruction) -> None:
        self.seen[f"{instruction.kind} {instruction.id.rpartition('/')[2]}"] += 1

    def takes(self, life: ShardLife, reply: SyncReply) -> None:
        self._check_change(life)
        if reply.term < self.terms[life.name]:
            raise LawBroken(laws.ONWARD, f"{life.name} takes an answer of term {reply.term}")

    def _committed(self, book: Book, draft: Draft) -> None:
        for key, row in draft.instructions.changed.items():
            old = book.tables.instructions.rows.get(key)
            if row is None and old is not None and not why_dropped(old, draft, self.heard):
                text = f"{old.instruction.id} to {old.shard} is gone and was not done"
                raise LawBroken(laws.NOT_LOST, text)
        for moved in draft.transfers.changed.values():
            if moved is not None:
                transfer = moved.transfer
                self.seen[f"{transfer.tier.label} {transfer.state.label}"] += 1

    def _sent(self, request: Request) -> None:
        if isinstance(request, ShardReport):
            self.done[request.shard_id].update(
                ack.instruction_id for ack in request.acks if ack.outcome is AckOutcome.ACCEPTED
            )

    def _serve(self, address: str, request: Request) -> ReportReply | SyncReply:
        if isinstance(request, ShardReport) and address == self.coordinators.address:
            for ack in request.acks:
                self.heard[request.shard_id, ack.instruction_id, ack.outcome] += 1
        return self.coordinators.serve(address, request)

    # -- calls to the provider -------------------------------------------------------------------

    def _called(self, life: ShardLife, asked: CallProvider) -> None:
        def answer(result: Ack | MachineRecord | Rejected) -> None:
            if self.lives.get(life.name) is life:
                life.answered(asked, result)

        line = Line(asked, life.name, answer)
        self.provider.lines.append(line)
        if not self.is_provider_slow:
            for _ in range(2):
                self.provider.go_on(line, self.clock.now())
