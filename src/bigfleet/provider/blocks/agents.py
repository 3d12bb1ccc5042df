"""AgentLongPoll: hosts that call us. An agent on each asks for its next job and reports its end.

For hosts behind NAT, or without any way in. An agent proves itself by the HMAC of its machine id,
which the author puts into the host's user data; without TLS the server does not start, because the
jobs carry blobs. A job stays until it is reported, so an agent that restarts gets it again.

| request | answer |
|---|---|
| `GET /agent/v1/<machine>/job` | 200 `{token, words, blob}`, 204 after a while without one |
| `POST /agent/v1/<machine>/report` `{token, exit, text}` | 204; the end of that job |
| `POST /agent/v1/<machine>/ready` `{cluster}` | 204; the node is Ready in the cluster |
"""

import asyncio
import hashlib
import hmac
import ssl
from base64 import b64encode
from dataclasses import dataclass, field
from http import HTTPStatus

import msgspec

from bigfleet.edge.clock import Clock
from bigfleet.edge.pages import HttpAnswer, HttpRequest, Pages
from bigfleet.provider.blocks.hooks import Ended, HookChannel

ROUTE = "/agent/v1/"
POLL_SECONDS = 25.0


class Report(msgspec.Struct):
    token: str
    exit: int
    text: str = ""


class Ready(msgspec.Struct):
    cluster: str


@dataclass(slots=True)
class _Job:
    token: str
    words: tuple[str, ...]
    blob: bytes = field(repr=False)
    end: asyncio.Future[Ended]


class AgentLongPoll:
    def __init__(self, secret: bytes, clock: Clock, poll_seconds: float = POLL_SECONDS) -> None:
        self._secret = secret
        self._clock = clock
        self._poll_seconds = poll_seconds
        #: Machine -> its job; one at a time, as the server has one operation a machine.
        self._jobs: dict[str, _Job] = {}
        #: Machine -> the cluster its node is Ready in.
        self._ready: dict[str, str] = {}
        self._changed = asyncio.Condition()
        self._pages = Pages({}, {ROUTE: self._answered})

    async def serve(self, address: str, certificate: ssl.SSLContext) -> int:
        return await self._pages.start(address, certificate)

    async def close(self) -> None:
        await self._pages.stop()

    def token_of(self, machine_id: str) -> str:
        """What the agent of this machine proves itself by."""
        return hmac.new(self._secret, machine_id.encode(), hashlib.sha256).hexdigest()

    def on(self, machine_id: str) -> "AgentChannel":
        return AgentChannel(self, machine_id)

    async def done(self, machine_id: str, words: tuple[str, ...], blob: bytes, token: str) -> Ended:
        """Leaves the job for the agent and waits for its report."""
        end: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
        job = _Job(token, words, blob, end)
        async with self._changed:
            self._jobs[machine_id] = job
            self._ready.pop(machine_id, None)
            self._changed.notify_all()
        try:
            return await end
        finally:
            if self._jobs.get(machine_id) is job:
                del self._jobs[machine_id]

    async def wait_ready(self, machine_id: str, cluster: str) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._ready.get(machine_id) == cluster)

    async def _answered(self, request: HttpRequest) -> HttpAnswer:
        machine_id, _, verb = request.path.partition("/")
        proof = f"Bearer {self.token_of(machine_id)}"
        if not hmac.compare_digest(proof.encode(), request.authorization.encode()):
            return HttpAnswer(b"", status=HTTPStatus.UNAUTHORIZED)
        try:
            match request.method, verb:
                case "GET", "job":
                    return await self._next_job(machine_id)
                case "POST", "report":
                    report = msgspec.json.decode(request.body, type=Report)
                    return self._reported(machine_id, report)
                case "POST", "ready":
                    ready = msgspec.json.decode(request.body, type=Ready)
                    return await self._is_ready(machine_id, ready)
        except msgspec.DecodeError as problem:
            said = msgspec.json.encode({"error": str(problem)})
            return HttpAnswer(said, status=HTTPStatus.BAD_REQUEST)
        return HttpAnswer(b"", status=HTTPStatus.NOT_FOUND)

    async def _next_job(self, machine_id: str) -> HttpAnswer:
        late = asyncio.Event()
        timer = self._clock.call_later(self._poll_seconds, late.set)
        waiting = asyncio.create_task(self._job_there(machine_id))
        over = asyncio.create_task(late.wait())
        try:
            await asyncio.wait({waiting, over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            for task in (waiting, over):
                task.cancel()
        job = self._jobs.get(machine_id)
        if job is None:
            return HttpAnswer(b"", status=HTTPStatus.NO_CONTENT)
        blob = b64encode(job.blob).decode()
        document = {"token": job.token, "words": job.words, "blob": blob}
        return HttpAnswer(msgspec.json.encode(document))

    async def _job_there(self, machine_id: str) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: machine_id in self._jobs)

    def _reported(self, machine_id: str, report: Report) -> HttpAnswer:
        """The report of an older job, or of one that is not awaited any more, changes nothing."""
        job = self._jobs.get(machine_id)
        if job is not None and job.token == report.token and not job.end.done():
            job.end.set_result(Ended(report.exit, report.text))
        return HttpAnswer(b"", status=HTTPStatus.NO_CONTENT)

    async def _is_ready(self, machine_id: str, ready: Ready) -> HttpAnswer:
        async with self._changed:
            self._ready[machine_id] = ready.cluster
            self._changed.notify_all()
        return HttpAnswer(b"", status=HTTPStatus.NO_CONTENT)


@dataclass(frozen=True, slots=True)
class AgentChannel(HookChannel):
    """The agent of one machine."""

    agents: AgentLongPoll
    machine_id: str

    async def run(self, words: tuple[str, ...], blob: bytes, token: str) -> Ended:
        return await self.agents.done(self.machine_id, words, blob, token)


@dataclass(frozen=True, slots=True)
class AgentReport:
    """Ready when the machine's agent has said so."""

    agents: AgentLongPoll

    async def wait(self, cluster_id: str, *, machine_id: str) -> None:
        await self.agents.wait_ready(machine_id, cluster_id)
