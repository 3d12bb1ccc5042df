"""Drives the tour: looks at the fleet some times a second and does what the tour says.

It acts through the doors that people have: the clusters' demand, the verbs of the simulated
provider, the questions of the shard. Questions run beside it; their answers are seen when they are
there.
"""

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import assert_never

import numpy as np
import orjson

from bigfleet.edge.clock import Clock
from bigfleet.engine.census import census_of
from bigfleet.engine.decision import Decision
from bigfleet.model.actions import ActionKind
from bigfleet.model.counterfactuals import CounterfactualCall
from bigfleet.model.errors import StartRefused
from bigfleet.model.explanations import ExplainNeedCall
from bigfleet.model.machines import CapacityType, Instant, MachineState
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Rejected
from bigfleet.model.shard_views import ActionView, Disposition, MachineSelector, NeedCounts
from bigfleet.model.what_if import RemoveMachines, WhatIfCall
from bigfleet.shard.state import ShardState
from bigfleet.up.local_fleet import LocalFleet
from bigfleet.up.tour.instructions import (
    COUNTERFACTUAL,
    REPLAY,
    WHAT_IF,
    WHY,
    AskFor,
    AskReplay,
    AskWhatIf,
    AskWhy,
    GiveDemandBack,
    Instruction,
    ReplayAnswer,
    SendEmptyRollup,
    SimVerb,
    StartShard,
    StopShard,
    Unanswered,
)
from bigfleet.up.tour.seen import ClusterSeen, Decided, FleetSeen
from bigfleet.up.tour.tour import Tour, TourCommand, TourStatus
from bigfleet.wire.shard_admin import ShardAdminClient
from bigfleet.wire.sim_control import SimControlClient

#: Real seconds between two looks.
LOOK_SECONDS = 0.1
#: Clocks and findings change too.
_TURNS_A_TELLING = 10
_REPLAY_SECONDS = 120.0
_WORKER = "bigfleet.up.tour.replay_worker"


class TourDriver:
    """Of a fleet with one shard and the simulated provider."""

    def __init__(
        self, fleet: LocalFleet, tour: Tour, clock: Clock, changed: Callable[[], None]
    ) -> None:
        """`clock` is real; `changed` hears that the tour may look different now."""
        self.tour = tour
        self._fleet = fleet
        self._clock = clock
        self._changed = changed
        [self._shard] = fleet.shards
        self._admin = ShardAdminClient(fleet.addresses[self._shard])
        self._sim = SimControlClient(fleet.addresses["provider"])
        self._todo: deque[Instruction] = deque()
        self._log = DecisionLog()
        self._answers: dict[str, object] = {}
        self._questions: set[asyncio.Task[None]] = set()

    async def run(self, *, ends: bool = False) -> None:
        """For ever, or until the tour has ended."""
        turns = 0
        try:
            while not (ends and self.tour.status is TourStatus.ENDED and not self._todo):
                await self._turn()
                turns += 1
                if turns % _TURNS_A_TELLING == 0:
                    self._changed()
                await self._clock.sleep(LOOK_SECONDS)
        finally:
            await self.close()

    async def close(self) -> None:
        for task in self._questions:
            task.cancel()
        if self._questions:
            await asyncio.wait(self._questions)
        await self._admin.close()
        await self._sim.close()

    def command(self, command: TourCommand, beat: int | None = None) -> None:
        """Is done with the next look."""
        before = self._mark()
        said = self.tour.command(command, self.seen(), self._clock.now(), beat)
        self._take(said, before)

    def seen(self) -> FleetSeen:
        """The fleet as it is now."""
        shard = self._fleet.shards[self._shard]
        state = shard.state
        snapshot = state.parts.machines.inventory.snapshot()
        ledger, deciding = state.decision_loop.ledger, state.decision_loop
        is_up = self._shard not in self._fleet.down and not state.why_not_ready()
        self._log.read(state)
        return FleetSeen(
            at=self._fleet.clock.now(),
            epoch=state.epoch,
            cycle=ledger.cycle,
            is_up=is_up,
            snapshot=snapshot,
            dollars_per_hour=sum(census_of(snapshot).cost.values()),
            clusters={
                name: self._cluster(name, ledger.counts(name))
                for name in self._fleet.clusters.lines
            },
            decided=self._log.decided,
            quarantines=state.quarantines(),
            offerings=state.parts.offerings.views(),
            reservations=len(deciding.reservations),
            in_use=_in_use(deciding.decision),
            answers=dict(self._answers),
        )

    # -- within ----------------------------------------------------------------------------------

    def _cluster(self, name: str, needs: NeedCounts) -> ClusterSeen:
        operator = self._fleet.clusters.lines[name].operator
        cluster = operator.cluster
        there = [
            node
            for node in cluster.nodes.values()
            if node.state is MachineState.CONFIGURED and node.gone_since is None
        ]
        nodes = frozenset(node.machine for node in there)
        leaving = frozenset(node.machine for node in there if node.instruction)
        gangs = {each.name: cluster.machines_of(each) for each in cluster.gangs}
        counts = (cluster.pods, cluster.running)
        told = (operator.connected, operator.has_told)
        return ClusterSeen(*told, *counts, nodes, leaving, needs, gangs)

    async def _turn(self) -> None:
        while self._todo:
            await self._carry_out(self._todo.popleft())
        before = self._mark()
        self._take(self.tour.look(self.seen(), self._clock.now()), before)

    def _mark(self) -> tuple[object, ...]:
        """What tells one beat from the next."""
        return (id(self.tour.records[self.tour.place]), self.tour.waits_until)

    def _take(self, said: Iterable[Instruction], before: tuple[object, ...]) -> None:
        self._todo.extend(said)
        after = self._mark()
        if after[0] != before[0]:
            self._log.forget()
            self._answers.clear()
        if after != before:
            self._changed()

    async def _carry_out(self, instruction: Instruction) -> None:
        fleet = self._fleet
        try:
            match instruction:
                case AskFor(demand):
                    fleet.clusters.guide(demand)
                case GiveDemandBack():
                    fleet.clusters.give_back()
                case SimVerb(verb, words):
                    self._answers[verb] = await self._sim.do(verb, words)
                case StopShard():
                    await fleet.stop_part(self._shard)
                case StartShard():
                    await fleet.start_part(self._shard)
                case SendEmptyRollup(cluster):
                    fleet.clusters.lines[cluster].send_empty_rollup()
                case AskWhy(need):
                    self._ask(WHY, self._why(need))
                    self._ask(COUNTERFACTUAL, self._what_helps(need))
                case AskWhatIf(zone):
                    self._ask(WHAT_IF, self._what_if(zone))
                case AskReplay(seconds):
                    since = fleet.clock.now() - round(seconds * SECOND)
                    self._ask(REPLAY, self._replay(since))
                case _:
                    assert_never(instruction)
        except (Rejected, OSError, StartRefused) as problem:
            before = self._mark()
            self._take(self.tour.fail(str(problem), self._clock.now()), before)

    def _ask(self, name: str, question: Awaitable[object]) -> None:
        answers = self._answers

        async def ask() -> None:
            try:
                answers[name] = await question
            except (Rejected, OSError, ValueError, TimeoutError) as problem:
                answers[name] = Unanswered(f"{name}: {problem}")

        task = asyncio.create_task(ask())
        self._questions.add(task)
        task.add_done_callback(self._questions.discard)

    async def _why(self, need: NeedKey) -> object:
        return await self._admin.explain_need(ExplainNeedCall(need))

    async def _what_helps(self, need: NeedKey) -> object:
        return await self._admin.counterfactual(CounterfactualCall(need))

    async def _what_if(self, zone: str) -> object:
        lost = RemoveMachines(MachineSelector(zones=frozenset({zone})))
        return await self._admin.what_if(WhatIfCall(edits=(lost,)))

    async def _replay(self, since: Instant) -> object:
        """Raises OSError where the process fails, with what it said."""
        directory = self._fleet.journal_of(self._shard)
        worker = await asyncio.create_subprocess_exec(
            sys.executable, "-m", _WORKER, str(directory), str(since), stdout=PIPE, stderr=PIPE
        )
        try:
            async with asyncio.timeout(_REPLAY_SECONDS):
                told, complaint = await worker.communicate()
        finally:
            if worker.returncode is None:
                worker.kill()
                await worker.wait()
        if worker.returncode:
            raise OSError(complaint.decode(errors="replace").strip().rpartition("\n")[2])
        return ReplayAnswer(**orjson.loads(told))


class DecisionLog:
    """Actions that were started since the last time it was told to forget."""

    def __init__(self) -> None:
        self.decided: list[Decided] = []
        self._read_to = (0, 0, -1)

    def forget(self) -> None:
        # A new list: what was seen before keeps what it saw.
        self.decided = []

    def read(self, state: ShardState) -> None:
        """What is new of what the shard remembers."""
        epoch, found = state.epoch, list[ActionView]()
        for action in reversed(state.decision_loop.actions):
            if (epoch, action.cycle, action.index) <= self._read_to:
                break
            found.append(action)
        for action in reversed(found):
            self._read_to = max(self._read_to, (epoch, action.cycle, action.index))
            if action.disposition is Disposition.ENQUEUED:
                self.decided.append(_decided(state, action))


def _in_use(decision: Decision | None) -> frozenset[str]:
    if decision is None:
        return frozenset()
    holder, ids = decision.outcome.credit.holder, decision.outcome.scene.snapshot.ids
    return frozenset(ids[row] for row in np.flatnonzero(holder >= 0).tolist())


def _decided(state: ShardState, action: ActionView) -> Decided:
    inventory = state.parts.machines.inventory
    machine = inventory.machine_of(action.machine) if action.machine in inventory else None
    stamp = machine.assigned if machine is not None else None
    declared = stamp.declared_dollars if stamp else 0.0
    return Decided(
        action.cycle,
        action.kind,
        action.machine,
        action.cluster,
        machine.capacity_type if machine is not None else CapacityType.UNSPECIFIED,
        machine.price_per_hour if machine is not None else 0.0,
        declared if action.kind is ActionKind.PREEMPT else 0.0,
        action.need,
        action.reason,
    )
