"""Runs what `drains` asks for against the API server, and tells it how it went.

So many calls at once, evictions, cordons and last looks alike. When the session or the lease is
lost, what waits is dropped and what is under way is cut off: its answer would come too late to mean
anything.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, assert_never

from bigfleet.edge.clock import SECOND, Clock
from bigfleet.edge.logs import Log
from bigfleet.kube.answers import ApiProblem, Conflict, NotFound, TooMany
from bigfleet.kube.calls import Calls
from bigfleet.kube.events import TellsEvents
from bigfleet.kube.kinds import NODES, PODS
from bigfleet.kube.names import RECLAIM
from bigfleet.kube.objects import Node
from bigfleet.model.machines import Instant
from bigfleet.model.session_frames import NodeStateUpdate, ReclaimAck, ReclaimInstruction
from bigfleet.operator.drain_steps import (
    Check,
    Cordon,
    Evict,
    Instruction,
    Publish,
    Send,
    SendDemand,
    ServerCheck,
    Tell,
    Uncordon,
    cordon_patch,
    is_marked,
    uncordon_patch,
)
from bigfleet.operator.drains import Drains
from bigfleet.operator.pods_on_nodes import PodOnNode, pod_on_node

#: Whether a cache has become fresh again is told by no event.
_LONGEST_PAUSE_SECONDS = 1.0
#: A Node that changes so often between reading and writing has another writer.
_MOST_READINGS = 5

Call = Cordon | Uncordon | Evict | Check


class DemandSchedule(Protocol):
    def hurry(self) -> None:
        """The next roll-up is due at once."""
        ...


class TakesAnswers(Protocol):
    def say(self, frame: ReclaimAck, /) -> None: ...


class ShowsMachines(Protocol):
    def look_again(self, machines: Iterable[str], /) -> None:
        """Their objects are to be written again."""
        ...


class DrainRunner:
    def __init__(
        self,
        drains: Drains,
        calls: Calls,
        clock: Clock,
        log: Log,
        *,
        answers: TakesAnswers,
        events: TellsEvents,
        write_back: ShowsMachines,
        demand: DemandSchedule,
        concurrency: int = 32,
    ) -> None:
        self._drains = drains
        self._calls = calls
        self._clock = clock
        self._log = log
        self._answers = answers
        self._events = events
        self._write_back = write_back
        self._demand = demand
        self._concurrency = concurrency
        self._waiting: deque[Call] = deque()
        self._under_way: set[asyncio.Task[None]] = set()
        self._stirred = asyncio.Event()
        #: When every drain last looked around.
        self._looked_at: Instant = 0

    async def run(self) -> None:
        """For ever; who cancels it ends every write. It may be run again."""
        try:
            async with asyncio.TaskGroup() as tasks:
                while True:
                    self._look_around(self._clock.now())
                    self._start(tasks)
                    await self._pause()
        finally:
            self.on_disconnected()

    def sizes(self) -> dict[str, int]:
        """Of everything that could grow."""
        return {
            "drainsOpen": len(self._drains.open_instructions),
            "drainsRefused": len(self._drains.refused()),
            "drainCallsWaiting": len(self._waiting),
            "drainCallsUnderWay": len(self._under_way),
        }

    # -- what happens ----------------------------------------------------------------------------

    def on_connected(self, at: Instant) -> None:
        self._obey(self._drains.on_connected(at))

    def on_disconnected(self) -> None:
        self._drains.on_disconnected()
        self._waiting.clear()
        for task in self._under_way:
            task.cancel()

    def on_replay_ended(self, at: Instant) -> None:
        self._obey(self._drains.on_replay_ended(at))

    def on_instruction(self, frame: ReclaimInstruction, at: Instant) -> None:
        self._obey(self._drains.on_instruction(frame, at))
        # It may have brought nothing to do but a deadline.
        self._stirred.set()

    def on_node_state(self, update: NodeStateUpdate, at: Instant) -> None:
        self._obey(self._drains.on_node_state(update, at))

    def on_node_changed(self, name: str, at: Instant) -> None:
        """The map of Nodes knows it already."""
        self._obey(self._drains.on_node_changed(name, at))

    def on_pods_changed(self, node: str, at: Instant) -> None:
        self._obey(self._drains.on_pods_changed(node, at))

    # -- obeying ---------------------------------------------------------------------------------

    def _obey(self, steps: list[Instruction]) -> None:
        for step in steps:
            match step:
                case Cordon() | Uncordon() | Evict() | Check():
                    self._waiting.append(step)
                    self._stirred.set()
                case Send(ack):
                    self._log.debug(
                        "reclaim.answered",
                        msg=f"{ack.nodes_started} nodes",
                        instruction=ack.instruction_id,
                    )
                    self._answers.say(ack)
                case Tell(about, kind, reason, message):
                    self._events.tell(about, kind, reason, message)
                    say = self._log.warning if kind == "Warning" else self._log.info
                    say("reclaim", msg=f"{about.name}: {message}", node=about.name, reason=reason)
                case SendDemand():
                    self._demand.hurry()
                case Publish(machine_id):
                    self._write_back.look_again([machine_id])
                case _:
                    assert_never(step)

    def _start(self, tasks: asyncio.TaskGroup) -> None:
        while self._waiting and len(self._under_way) < self._concurrency:
            step = self._waiting.popleft()
            # Between asking and doing the session may have ended, or the drain been called off.
            if not self._drains.connected:
                continue
            if isinstance(step, Evict) and not self._drains.may_evict(step.instruction_id):
                continue
            if isinstance(step, Check) and not self._drains.may_check(step):
                continue
            task = tasks.create_task(self._do(step))
            self._under_way.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._stirred.set()

    def _look_around(self, at: Instant) -> None:
        """What happens moves the drains it is about; only time moves all of them."""
        due = self._next_look()
        if due is not None and at >= due:
            self._looked_at = at
            self._obey(self._drains.tick(at))

    def _next_look(self) -> Instant | None:
        due = self._drains.due_at(self._looked_at)
        if not self._drains.open_instructions:
            return due
        longest = self._looked_at + round(_LONGEST_PAUSE_SECONDS * SECOND)
        return longest if due is None else min(due, longest)

    async def _pause(self) -> None:
        due, timer = self._next_look(), None
        if due is not None:
            seconds = max(0, due - self._clock.now()) / SECOND
            timer = self._clock.call_later(seconds, self._stirred.set)
        try:
            await self._stirred.wait()
        finally:
            if timer is not None:
                timer.cancel()
        self._stirred.clear()

    async def _do(self, step: Call) -> None:
        match step:
            case Cordon(node, instruction_id):
                await self._change(node, lambda known: self._cordoned(known, instruction_id))
            case Uncordon(node):
                await self._change(node, self._uncordoned)
            case Evict():
                await self._evict(step)
            case Check():
                await self._check(step)
            case _:
                assert_never(step)

    # -- Nodes -----------------------------------------------------------------------------------

    async def _change(self, node: Node, write: Callable[[Node], Awaitable[None]]) -> None:
        """`write` from what is known, and if that was old news, from what is read now."""
        name, uid = node.metadata.name, node.metadata.uid
        try:
            for _ in range(_MOST_READINGS):
                try:
                    return await write(node)
                except Conflict:
                    node = await self._calls.get(NODES, name)
                if node.metadata.uid != uid:
                    return self._failed(name, "another Node has its name now")
        except NotFound:
            return self._failed(name, "it is gone")
        except ApiProblem as problem:
            return self._failed(name, problem.text)
        return self._failed(name, "another client changes it all the time")

    async def _cordoned(self, node: Node, instruction_id: str) -> None:
        mark = node.metadata.annotations.get(RECLAIM)
        if not (node.spec.unschedulable and mark == instruction_id):
            patch = cordon_patch(node, instruction_id)
            node = await self._calls.merge_patch(NODES, node.metadata.name, patch)
        self._obey(self._drains.on_cordoned(node, self._clock.now()))

    async def _uncordoned(self, node: Node) -> None:
        if is_marked(node):
            patch = uncordon_patch(node)
            node = await self._calls.merge_patch(NODES, node.metadata.name, patch)
        self._obey(self._drains.on_uncordoned(node, self._clock.now()))

    def _failed(self, name: str, text: str) -> None:
        self._log.warning("reclaim.node_not_written", msg=f"{name}: {text}", node=name)
        self._obey(self._drains.on_cordon_failed(name, text, self._clock.now()))

    # -- pods ------------------------------------------------------------------------------------

    async def _evict(self, step: Evict) -> None:
        drains, pod = self._drains, step.pod
        try:
            await self._calls.evict(pod.as_pod())
        except TooMany as problem:
            steps = drains.on_eviction_blocked(pod, problem.text, self._clock.now())
        except NotFound:
            # Gone before we asked; the cache will say so.
            steps = drains.on_evicted(pod, self._clock.now())
        except ApiProblem as problem:
            self._log.info("reclaim.eviction_failed", msg=f"{pod.key}: {problem.text}")
            steps = drains.on_eviction_failed(pod, problem.text, self._clock.now())
        else:
            steps = drains.on_evicted(pod, self._clock.now())
        self._obey(steps)

    # -- the last look ---------------------------------------------------------------------------

    async def _check(self, step: Check) -> None:
        drains, about = self._drains, " and ".join((*step.nodes, *step.absent))
        try:
            pods = [pod for name in step.nodes for pod in await self._pods_on(name)]
            nodes = [name for name in step.absent if await self._node(name) is not None]
            # After their pods: a cordon that held until then lets no pod come in between.
            drained = [node for name in step.nodes if (node := await self._node(name)) is not None]
        except ApiProblem as problem:
            self._log.warning("reclaim.check_failed", msg=f"{about}: {problem.text}")
            self._obey(drains.on_check_failed(step, problem.text, self._clock.now()))
            return
        found = ServerCheck(tuple(pods), tuple(nodes), tuple(drained))
        unheard = [*nodes, *(f"{node.metadata.name} uncordoned" for node in found.uncordoned)]
        if unheard := [*unheard, *(str(p.key) for p in pods if p.why_not_evicted is None)]:
            text = f"the server has {len(unheard)} that the cache has not, such as {unheard[0]}"
            self._log.warning("reclaim.cache_is_behind", msg=f"{about}: {text}")
        self._obey(drains.on_checked(step, found, self._clock.now()))

    async def _pods_on(self, name: str) -> list[PodOnNode]:
        """Of now, as a server without a resource version answers, and in one piece."""
        page = await self._calls.list_page(PODS, field_selector=f"spec.nodeName={name}", limit=0)
        return [pod_on_node(pod) for pod in page.items]

    async def _node(self, name: str) -> Node | None:
        """Of now as well; None: there is none of this name."""
        try:
            return await self._calls.get(NODES, name)
        except NotFound:
            return None
