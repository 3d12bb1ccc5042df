"""One life of a shard: everything that is real about one, on a disk and lines that may fail.

State, outlet, coordinator's side and client are those of a process; only time, the engine's thread
and the lines are the schedule's. What it does is told to the observers.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from bigfleet.edge.clock import ManualClock
from bigfleet.model.coordination import SyncReply, SyncRequest
from bigfleet.model.coordinator_calls import CoordinatorInstruction, Done, Obeyed
from bigfleet.model.machines import Instant
from bigfleet.model.needs import Need
from bigfleet.model.ownership import Ownership
from bigfleet.model.provider_calls import Ack, Code, MachineRecord, Rejected
from bigfleet.model.rollups import Rollup
from bigfleet.model.session_frames import (
    PROTOCOL,
    RECLAIM_DONE,
    BootstrapRequest,
    BootstrapResponse,
    Hello,
    ReclaimAck,
    ReclaimInstruction,
)
from bigfleet.model.settings import Seconds
from bigfleet.shard.coordination.owned_machines import KEY as OWNERSHIP
from bigfleet.shard.coordination.owned_machines import ownership_of
from bigfleet.shard.coordinator_client.driver import CoordinatorClient
from bigfleet.shard.cycle import CycleInput, deliberate
from bigfleet.shard.driving.coordinator_side import CoordinatorSide
from bigfleet.shard.driving.outlet import Outlet
from bigfleet.shard.effects import COORDINATION
from bigfleet.shard.events import (
    BlobArrived,
    CallAnswered,
    ListArrived,
    ReclaimAcked,
    RollupArrived,
    SessionOpened,
)
from bigfleet.shard.instructions import CallProvider
from bigfleet.shard.reconciling.list_reading import LastList, read_list
from bigfleet.shard.settings import (
    RailSettings,
    ReleaseSettings,
    ReportSettings,
    SessionSettings,
    ShardSettings,
    ThrashSettings,
)
from bigfleet.shard.state import ShardState
from tests.coordination_laws.disk import Disk
from tests.coordination_laws.network import Network, ShardLines
from tests.coordination_laws.provider import PROVIDERS
from tests.shard_drivers import IdleDriver
from tests.shard_parts import start_of
from tests.shard_system.rig import Lines

#: Everything a shard is by default, but that it gives back at once what no Need claims.
SETTINGS = ShardSettings(
    coordinator_addr=("c1", "c2"),
    # The schedule says when a deadline is over, not the clock of the machine.
    report=ReportSettings(
        interval=Seconds(10.0),
        call_timeout=Seconds(3600.0),
        backoff_min=Seconds(0.5),
        backoff_max=Seconds(15.0),
    ),
    rails=RailSettings(reclaim_cap_fraction=0, empty_rollup_guard=False),
    release=ReleaseSettings(on_demand=Seconds(2.0), spot=Seconds(2.0)),
    # Demand comes and goes within seconds, and machines with it.
    thrash=ThrashSettings(hold=Seconds(2.0)),
    # No process listens to hints.
    session=SessionSettings(available_capacity_interval=Seconds(3600.0)),
)
SESSION = 1


class Quiet(Lines):
    """A log of which only the warnings are kept."""

    def debug(self, event: str, **facts: object) -> None:
        """It is never read."""

    def info(self, event: str, **facts: object) -> None:
        """It is never read."""


class Watcher:
    """Hears what a shard is about to do; laws are checked there."""

    def calls(self, life: "ShardLife", asked: CallProvider) -> None: ...
    def obeys(self, life: "ShardLife", instruction: CoordinatorInstruction) -> None: ...
    def obeyed(self, life: "ShardLife", instruction: CoordinatorInstruction) -> None: ...
    def takes(self, life: "ShardLife", reply: SyncReply) -> None: ...


@dataclass(frozen=True, slots=True)
class LifeContext:
    network: Network
    clock: ManualClock
    watcher: Watcher


class Driver(IdleDriver):
    """The lines of one life: the watcher hears of calls, the operator answers at once."""

    def __init__(self, life: "ShardLife") -> None:
        self._life = life

    def call(self, asked: CallProvider) -> None:
        self._life.watched_call(asked)

    def flush(self, session: int) -> None:
        self._life.answer_frames(session)

    def end_session(self, session: int, code: Code, text: str) -> None:
        raise AssertionError(f"the session of {self._life.cluster} was ended: {code} {text}")


class WatchedSide(CoordinatorSide):
    """The watcher hears of instructions before and after, and of syncs."""

    def __init__(self, life: "ShardLife") -> None:
        super().__init__(life.state, life.outlet, life.disk, life)
        self._life = life

    async def take_sync(self, reply: SyncReply, sent: SyncRequest) -> None:
        self._life.watcher.takes(self._life, reply)
        await super().take_sync(reply, sent)

    def obey(self, instruction: CoordinatorInstruction) -> Obeyed:
        watcher = self._life.watcher
        watcher.obeys(self._life, instruction)
        became = super().obey(instruction)
        if isinstance(became, Done):
            watcher.obeyed(self._life, instruction)
        return became


class ShardLife:
    def __init__(
        self,
        name: str,
        epoch: int,
        disk: Disk,
        providers: tuple[str, ...],
        around: LifeContext,
    ) -> None:
        self.name, self.epoch, self.disk, self.providers = name, epoch, disk, providers
        network, clock = around.network, around.clock
        self._network, self._clock, self.watcher = network, clock, around.watcher
        addresses = {each: PROVIDERS[each] for each in providers}
        named = tuple(f"{each}={address}" for each, address in addresses.items())
        settings = replace(SETTINGS, id=name, provider_addr=named)
        self.address = settings.listen
        owned, _ = ownership_of(name, disk.rows.get(COORDINATION, {}).get(OWNERSHIP))
        start = start_of(
            settings,
            epoch=epoch,
            providers=addresses,
            at=clock.now(),
            store=disk,
            ownership=owned,
            ids=f"{name}-{epoch}",
        )
        self.state = ShardState(start)
        self.log = Quiet()
        self.outlet = outlet = Outlet(clock, self.log, Driver(self), disk)
        outlet.obey(self.state.taken())
        self.client = CoordinatorClient(
            ShardLines(network, name),
            WatchedSide(self),
            self.state.parts.settings,
            self.state.effects.counts,
            clock,
            lambda: 0.5,
            self.log,
        )
        self.state.coordination.attach(self.client)
        self._round: asyncio.Task[None] | None = None
        self._is_connected = False
        self.needs: tuple[Need, ...] = ()
        #: What the provider is asked for goes there.
        self.call: Callable[[CallProvider], None] = _unexpected
        #: By provider: what the last List said, and who owned what then.
        self._listed: dict[str, tuple[bytes, Ownership]] = {}
        #: Lists that were begun: what was known then, what they say, and when.
        self._listing: dict[str, tuple[LastList, bytes, Instant]] = {}
        self._thinking: CycleInput | None = None

    # -- what it knows ---------------------------------------------------------------------------

    @property
    def ownership(self) -> Ownership:
        return self.state.parts.reconciler.ownership

    @property
    def term(self) -> int:
        """The highest one it has seen."""
        return self.client.link().term

    @property
    def cluster(self) -> str:
        return f"of-{self.name}"

    # -- rounds ----------------------------------------------------------------------------------

    def begin_round(self) -> None:
        """Unless one is under way."""
        if self._round is None or self._round.done():
            self._round = asyncio.create_task(self.client.report())

    @property
    def is_busy(self) -> bool:
        """Whether it goes on by itself; not while it waits for a line or a disk."""
        if self._round is None or self._round.done():
            return False
        return not (self.disk.is_waited_for or self._network.is_waiting(self.name))

    @property
    def in_round(self) -> bool:
        return self._round is not None and not self._round.done()

    def finish_round(self) -> None:
        """Raises what the round raised: that is a fault of the program, not of the schedule."""
        if self._round is not None and self._round.done() and not self._round.cancelled():
            self._round.result()

    def die(self) -> None:
        if self._round is not None:
            self._round.cancel()

    # -- cycles and Lists ------------------------------------------------------------------------

    def knows(self, provider: str, content: bytes, shelf: Mapping[str, MachineRecord]) -> bool:
        """Whether another List tells nothing: leaving it out saves a third of a schedule's time."""
        listed, owned = self._listed.get(provider, (b"", None))
        if listed != content or owned is not self.ownership:
            return False
        machines = self.state.parts.machines
        ids = machines.inventory.snapshot().ids
        return all(machines.state_of(each) is shelf[each].state for each in ids)

    def begin_list(self, provider: str, content: bytes) -> None:
        known = self.state.known_machines(provider)
        self._listing[provider] = (known, content, self._clock.now())

    def end_list(self, provider: str) -> None:
        if provider not in self._listing:
            return
        known, content, started = self._listing.pop(provider)
        self._listed[provider] = (content, self.ownership)
        reading = read_list(content, known, whole=True)
        event = ListArrived(provider, reading, True, started, self._clock.now())
        self.outlet.obey(self.state.handle(event))
        while self.state.continue_list(provider):
            self.outlet.obey(self.state.taken())
        self.outlet.obey(self.state.taken())

    def tick(self) -> None:
        self.outlet.obey(self.state.tick(self._clock.now()))

    def think(self) -> None:
        """Begins a cycle; the engine takes as long as the schedule likes."""
        if self._thinking is None and self.state.may_decide(self._clock.now()):
            self._thinking = self.state.begin_cycle(self._clock.now())

    def decide(self) -> None:
        given, self._thinking = self._thinking, None
        if given is not None:
            thought = deliberate(given, map, lambda: 0.0)
            self.outlet.obey(self.state.end_cycle(thought, self._clock.now(), 0.0))

    # -- its cluster -----------------------------------------------------------------------------

    def report_demand(self) -> None:
        """Once all machines are known: no cluster may connect before."""
        if not self.state.listed_once():
            return
        at = self._clock.now()
        if not self._is_connected:
            self._is_connected = True
            hello = Hello(self.cluster, f"{PROTOCOL}+{RECLAIM_DONE}")
            self.outlet.obey(self.state.handle(SessionOpened(SESSION, hello, "", at)))
        digest = f"{at} {self.needs!r}".encode()
        rollup = Rollup(self.cluster, at, self.needs, digest)
        self.outlet.obey(self.state.handle(RollupArrived(SESSION, rollup, at)))

    # -- hands -----------------------------------------------------------------------------------

    def watched_call(self, asked: CallProvider) -> None:
        self.watcher.calls(self, asked)
        self.call(asked)

    def answered(self, asked: CallProvider, answer: Ack | MachineRecord | Rejected) -> None:
        self.outlet.obey(self.state.handle(CallAnswered(asked, answer, self._clock.now())))

    def answer_frames(self, session: int) -> None:
        """The operator: blobs at once, nodes emptied at once."""
        at = self._clock.now()
        while frames := self.state.take_frames(session, 1000):
            for frame in frames:
                if isinstance(frame, BootstrapRequest):
                    blob = BootstrapResponse(frame.request_id, b"join")
                    self.outlet.obey(self.state.handle(BlobArrived(session, blob, at)))
                elif isinstance(frame, ReclaimInstruction):
                    for _ in ("begun", "done"):
                        ack = ReclaimAck(frame.instruction_id, 1)
                        self.outlet.obey(self.state.handle(ReclaimAcked(session, ack, at)))


def _unexpected(asked: CallProvider) -> None:
    raise AssertionError(f"no provider carries out {asked}")
