"""A shard's port: the sessions of its operators, and the services for people beside them.

A session belongs to its handler, which decides; this only carries. Three things run for each
stream and none waits for another stream: a reader that hands frames on, a writer that asks for the
next frames only when the last were taken by the line, so that waiting frames stay in the handler's
outbox, and a task that hears that the stream must end. An ended session is closed for
its handler at once; its peer learns the code when it reads, and one that never does keeps nothing
of ours but the parked call.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Protocol

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection as grpc_reflection

from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.model.session_frames import Hello, OperatorFrame, ShardFrame
from bigfleet.model.syntax import why_not_cluster_id
from bigfleet.wire.authorisation import Authorisation
from bigfleet.wire.handler_runner import (
    Context,
    Failed,
    HandlerRunner,
    Observe,
    RpcHandler,
    ignore,
)
from bigfleet.wire.lines import SERVER_OPTIONS, TlsFiles, bind, peer_of
from bigfleet.wire.provider_server import ExtraService
from bigfleet.wire.real_times import WireTimes, interceptors_of
from bigfleet.wire.rpcs import require_cluster
from bigfleet.wire.session_frames import SERVICE, SESSION, NoFrame, operator_frame, shard_bytes
from bigfleet.wire.statuses import end_with

#: Long enough for thousands that dial in at once; without it a silent stream stays for ever.
HELLO_SECONDS = 60.0
#: What the end of all streams may take beyond the grace at a stop.
_STOP_MARGIN_SECONDS = 4.0
#: What a stop gives peers to read why their session ends; some never read.
_TELLING_SECONDS = 2.0


class SessionHandler(Protocol):
    """Who owns the sessions. Numbers grow and are never used twice.

    `admit` comes first; only where it returns do the others follow, and then `closed` comes exactly
    once and last. `received` and `closed` must not block.
    """

    async def admit(self, session: int, hello: Hello, peer: Peer) -> None:
        """Raises Rejected for a peer that is not let in."""

    def refused(self, cluster: str, peer: Peer, rejected: Rejected) -> None:
        """A peer was not let in, by `admit` or for its certificate; the cluster is empty where
        the certificate was enough to see it."""

    def received(self, session: int, frame: OperatorFrame) -> None:
        """In the order of sending; a repeated Hello has the first one's cluster id."""

    async def next_frames(self, session: int) -> Sequence[ShardFrame]:
        """Waits until there is something to send; called again when all of it is on its way."""

    def closed(self, session: int) -> None: ...


class ShardEndpoint:
    def __init__(
        self,
        handler: SessionHandler,
        *,
        address: str = "127.0.0.1:0",
        tls: TlsFiles | None = None,
        reflection: bool = True,
        extra_services: Sequence[ExtraService] = (),
        observe: Observe | None = None,
        failed: Failed | None = None,
        times: WireTimes | None = None,
    ) -> None:
        self._times = times
        self._address = address
        self._tls = tls
        self._reflection = reflection
        self._extra_services = extra_services
        self._handler = handler
        self._observe = observe or ignore
        self._serving = HandlerRunner(secured=tls is not None, observe=observe, failed=failed)
        self._sessions = Sessions(handler, self._serving, tls is not None, self._observe)
        self._health = health.aio.HealthServicer()
        self._server: grpc.aio.Server | None = None
        #: 0 until started.
        self.port = 0

    async def start(self) -> int:
        """The port; OSError where the address is taken or the certificates do not fit."""
        guard = Authorisation(secured=self._tls is not None, denied=self._denied)
        self._server = server = grpc.aio.server(
            interceptors=interceptors_of(guard, self._times), options=SERVER_OPTIONS
        )
        extra = [service.rpc_handler(self._serving) for service in self._extra_services]
        server.add_generic_rpc_handlers((self._sessions.rpc_handler(), *extra))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        if self._reflection:
            names = [SERVICE, *(s.name for s in self._extra_services), health.SERVICE_NAME]
            grpc_reflection.enable_server_reflection((*names, grpc_reflection.SERVICE_NAME), server)
        self.port = bind(server, self._address, self._tls)
        await self.set_serving(False)
        await server.start()
        return self.port

    def _denied(self, path: str, peer: Peer, rejected: Rejected) -> None:
        if path == SESSION:
            self._handler.refused("", peer, rejected)
        self._observe(path.rpartition("/")[2], rejected.code, 0.0)

    async def set_serving(self, serving: bool) -> None:
        status = health_pb2.HealthCheckResponse
        word = status.SERVING if serving else status.NOT_SERVING
        for service in ("", SERVICE):
            await self._health.set(service, word)

    def end(self, session: int, rejected: Rejected) -> None:
        """Ends a session from outside; nothing where it has ended already."""
        self._sessions.end(session, rejected)

    async def stop(self, grace: float = 0.0) -> None:
        """Sessions end with UNAVAILABLE, other calls get the grace; returns little after it."""
        await self.set_serving(False)
        self._sessions.end_all(Rejected(Code.UNAVAILABLE, "the shard is stopping", "stopping"))
        await self._sessions.ended(_TELLING_SECONDS)
        if self._server is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(grace + _STOP_MARGIN_SECONDS):
                    await self._server.stop(grace)
        await self._serving.settled()


class Sessions:
    """The streams of the Session RPC."""

    def __init__(
        self, handler: SessionHandler, serving: HandlerRunner, secured: bool, observe: Observe
    ) -> None:
        self._handler = handler
        self._serving = serving
        self._secured = secured
        self._observe = observe
        self._numbers = count(1)
        #: All and only the streams whose Hello was read: what ends each of them from outside.
        self._endings: dict[int, asyncio.Future[Rejected]] = {}
        #: All streams that are served, those included that wait until their peer takes the status.
        self._served: set[asyncio.Task[Any]] = set()
        #: Set for good at a stop.
        self._over: Rejected | None = None

    def rpc_handler(self) -> grpc.GenericRpcHandler:
        session: RpcHandler = grpc.stream_stream_rpc_method_handler(self._serve)
        return grpc.method_handlers_generic_handler(SERVICE, {"Session": session})

    def end(self, session: int, rejected: Rejected) -> None:
        ending = self._endings.get(session)
        if ending is not None and not ending.done():
            ending.set_result(rejected)

    def end_all(self, rejected: Rejected) -> None:
        self._over = rejected
        for session in tuple(self._endings):
            self.end(session, rejected)

    async def ended(self, within_seconds: float) -> None:
        """Returns once every peer has taken its status, or when those that do not read had time."""
        if self._served:
            await asyncio.wait(self._served, timeout=within_seconds)

    async def _serve(self, _requests: Any, context: Context) -> None:
        task = asyncio.current_task()
        assert task is not None, "a coroutine is run by a task"
        self._served.add(task)
        try:
            await self._serve_one(context)
        finally:
            self._served.discard(task)

    async def _serve_one(self, context: Context) -> None:
        loop = asyncio.get_running_loop()
        began, code = loop.time(), Code.CANCELLED
        try:
            rejected = await self._carried(context)
            code = rejected.code if rejected else Code.OK
        finally:
            self._observe("Session", code, loop.time() - began)
        if rejected is not None:
            # Returns when the peer has taken the status: never, where it never reads.
            await end_with(rejected, context)

    async def _carried(self, context: Context) -> Rejected | None:
        """Why the stream ends; None where its operator is done."""
        peer = peer_of(context, secured=self._secured)
        try:
            hello = await _first_frame(context)
        except Rejected as rejected:
            return rejected
        session, ending = next(self._numbers), asyncio.get_running_loop().create_future()
        self._endings[session] = ending
        try:
            await self._admitted(session, hello, peer)
            try:
                return await self._until_ended(session, hello, context, ending)
            finally:
                self._handler.closed(session)
        except Exception as problem:  # noqa: BLE001 - the guard: one stream only is ended
            return self._serving.rejected_for("Session", problem)
        finally:
            del self._endings[session]

    async def _admitted(self, session: int, hello: Hello, peer: Peer) -> None:
        if self._over is not None:
            raise self._over
        try:
            require_cluster(peer, hello.cluster_id)
            await self._handler.admit(session, hello, peer)
        except Rejected as rejected:
            self._handler.refused(hello.cluster_id, peer, rejected)
            raise

    async def _until_ended(
        self, session: int, hello: Hello, context: Context, ending: asyncio.Future[Rejected]
    ) -> Rejected | None:
        # The first write would send these, and no status gets out once that was interrupted.
        await context.send_initial_metadata(())
        reading = asyncio.create_task(self._read(session, hello, context))
        writing = asyncio.create_task(self._write(session, context))
        tasks = (reading, writing)
        try:
            await asyncio.wait((*tasks, ending), return_when=asyncio.FIRST_COMPLETED)
            if ending.done():
                return ending.result()
            return next(task for task in tasks if task.done()).result()
        finally:
            for task in tasks:
                task.cancel()
            # Both are over before the handler hears so; what they raised while it was ended anyway
            # is no news.
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, session: int, hello: Hello, context: Context) -> Rejected | None:
        try:
            while (content := await _next(context)) is not None:
                frame = operator_frame(content)
                if isinstance(frame, Hello) and frame.cluster_id != hello.cluster_id:
                    return Rejected(
                        Code.INVALID_ARGUMENT,
                        f"this session is of cluster {hello.cluster_id!r}, its new Hello names "
                        f"{frame.cluster_id!r}; open another stream for another cluster",
                    )
                self._handler.received(session, frame)
                # The next frame may be long in coming, and this one may be large.
                del content, frame
        except NoFrame as problem:
            return Rejected(Code.INVALID_ARGUMENT, str(problem))
        except grpc.aio.InternalError:
            return _gone()
        return None

    async def _write(self, session: int, context: Context) -> Rejected:
        try:
            while True:
                for frame in await self._handler.next_frames(session):
                    await context.write(shard_bytes(frame))
        except grpc.aio.InternalError:
            return _gone()


async def _first_frame(context: Context) -> Hello:
    try:
        async with asyncio.timeout(HELLO_SECONDS):
            content = await _next(context)
        frame = None if content is None else operator_frame(content)
    except TimeoutError:
        raise Rejected(Code.DEADLINE_EXCEEDED, "no Hello came; say it first") from None
    except NoFrame as problem:
        raise Rejected(Code.INVALID_ARGUMENT, str(problem)) from None
    if not isinstance(frame, Hello) or not frame.cluster_id:
        text = "the first frame of a session is a Hello that names the cluster"
        raise Rejected(Code.INVALID_ARGUMENT, text)
    if wrong := why_not_cluster_id(frame.cluster_id):
        raise Rejected(Code.INVALID_ARGUMENT, f"cluster_id of the Hello: {wrong}")
    return frame


async def _next(context: Context) -> bytes | None:
    """None where the operator is done sending."""
    content: object = await context.read()
    return content if isinstance(content, bytes) else None


def _gone() -> Rejected:
    return Rejected(Code.CANCELLED, "the operator's line is gone")
