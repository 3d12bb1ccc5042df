"""An operator for tests: it speaks for one cluster and remembers every frame it was told.

Bootstrap blobs are given at once. An instruction is acknowledged twice, when it begins and when the
node is empty; with `evicts = False` only the first time, until `finish`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import TypeVar

from bigfleet.edge.driver import RealClock
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need
from bigfleet.model.provider_calls import Rejected
from bigfleet.model.session_frames import (
    PROTOCOL,
    RECLAIM_DONE,
    Acknowledgement,
    BootstrapRequest,
    BootstrapResponse,
    Hello,
    NodeStateUpdate,
    ReclaimAck,
    ReclaimInstruction,
    ShardFrame,
)
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.session_client import Session, SessionClient
from tests.shard_system.demand import rollup, whole_nodes
from tests.shard_system.waiting import PATIENCE, until

S = MachineState
PRESENT = (S.CONFIGURING, S.CONFIGURED, S.DRAINING)
_AGAIN_SECONDS = 0.05

F = TypeVar("F", bound=ShardFrame)


def hello_of(cluster: str) -> Hello:
    return Hello(cluster, f"{PROTOCOL}+{RECLAIM_DONE}")


async def end_of(session: Session) -> Rejected:
    """Reads what it still says, and gives how it ended."""
    try:
        async with asyncio.timeout(PATIENCE):
            async for _frame in session:
                continue
    except Rejected as end:
        return end
    raise AssertionError("the session ended with OK")


class Operator:
    def __init__(
        self, cluster: str, address: Callable[[], str], tls: TlsFiles | None = None
    ) -> None:
        self.cluster = cluster
        self.evicts = True
        #: Of all sessions, in order.
        self.frames: list[ShardFrame] = []
        #: As told in this session, whose replay tells of all of them.
        self.nodes: dict[str, MachineState] = {}
        #: How the sessions before this one ended.
        self.ends: list[Rejected] = []
        self._address = address
        self._tls = tls
        self._session: Session | None = None
        self._line: asyncio.Task[None] | None = None
        self._needs: tuple[Need, ...] | None = None
        self._numbers = count(1)
        self._reported = 0

    # -- what it has seen ------------------------------------------------------------------------

    def seen(self, kind: type[F]) -> list[F]:
        return [frame for frame in self.frames if isinstance(frame, kind)]

    def told_of(self, machine: str) -> list[MachineState]:
        """Its states in the order they were told, repeats left out."""
        told = [f.state for f in self.seen(NodeStateUpdate) if f.machine_id == machine]
        return [s for n, s in enumerate(told) if n == 0 or told[n - 1] is not s]

    def configured(self) -> set[str]:
        return {machine for machine, state in self.nodes.items() if state is S.CONFIGURED}

    @property
    def is_connected(self) -> bool:
        """Whether the shard has answered the Hello of this session."""
        return self._session is not None

    # -- what it says ----------------------------------------------------------------------------

    async def report(self, *needs: Need) -> None:
        """From now on this is the demand; returns when the shard has acknowledged it."""
        acked = self._acks()
        self._needs = needs
        await self._say_needs()
        await until(lambda: self._acks() > acked, lambda: f"{self.cluster}: {self.frames[-3:]}")

    async def wants(self, count: int, priority: int) -> None:
        await self.report(*([whole_nodes(self.cluster, count, priority)] if count else []))

    async def finish(self, instruction: ReclaimInstruction) -> None:
        """The nodes of the instruction are empty now."""
        assert self._session is not None, "not connected"
        await self._session.send(ReclaimAck(instruction.instruction_id, 1))

    async def drop(self) -> None:
        """Cuts the line, as an operator that is killed does; a new one is dialled at once."""
        assert self._line is not None, "not connected"
        self._line.cancel()
        await asyncio.wait({self._line})
        # Its owner hears of the end a little later, and must not seem connected till then.
        self._session = None

    # -- within ----------------------------------------------------------------------------------

    def _acks(self) -> int:
        return sum(1 for ack in self.seen(Acknowledgement) if ack.echo == "rollup")

    async def _say_needs(self) -> None:
        if self._session is not None and self._needs is not None:
            # Equal bytes would be skipped by their digest; that is not what is meant here.
            await self._session.send(rollup(self.cluster, next(self._numbers), *self._needs))

    async def run(self) -> None:
        """For ever: a session that ends is followed by another."""
        while True:
            self._line = line = asyncio.create_task(self._run_session())
            try:
                await asyncio.wait({line})
            finally:
                line.cancel()
                await asyncio.wait({line})
                self._session = None
            if not line.cancelled() and (problem := line.exception()) is not None:
                if not isinstance(problem, Rejected):
                    raise problem
                self.ends.append(problem)
            await RealClock().sleep(_AGAIN_SECONDS)

    async def _run_session(self) -> None:
        client = SessionClient(self._address(), self._tls)
        async with client.open(hello_of(self.cluster)) as session:
            self.nodes.clear()
            async for frame in session:
                if self._session is None:
                    self._session = session
                    await self._say_needs()
                self.frames.append(frame)
                await self._answer(session, frame)

    async def _answer(self, session: Session, frame: ShardFrame) -> None:
        match frame:
            case BootstrapRequest(request_id):
                await session.send(BootstrapResponse(request_id, b"#cloud-config"))
            case NodeStateUpdate(machine, _, state):
                self.nodes.pop(machine, None)
                if state in PRESENT:
                    self.nodes[machine] = state
            case ReclaimInstruction(instruction):
                await session.send(ReclaimAck(instruction, 1))
                if self.evicts:
                    await session.send(ReclaimAck(instruction, 1))
            case _:
                return


@asynccontextmanager
async def operating(
    cluster: str, address: Callable[[], str] | str, tls: TlsFiles | None = None
) -> AsyncIterator[Operator]:
    """Connected, and connected again after every end, for as long as the block lasts."""
    where = (lambda: address) if isinstance(address, str) else address
    operator = Operator(cluster, where, tls)
    running = asyncio.create_task(operator.run())
    try:
        await until(lambda: operator.is_connected, lambda: operator.ends)
        yield operator
    finally:
        running.cancel()
        await asyncio.wait({running})
