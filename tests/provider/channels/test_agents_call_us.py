"""AgentLongPoll over TLS: jobs out, reports in, and only callers with the machine's own proof."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bigfleet.provider import AgentLongPoll, AgentReport, ManualClock, Permanent
from bigfleet.provider.testing import settle
from bigfleet.wire.lines import TlsFiles
from tests.wire.certificates import Authority

JOB = "/agent/v1/m-0/job"


@dataclass(slots=True)
class Rig:
    agents: AgentLongPoll
    clock: ManualClock
    port: int
    files: TlsFiles

    async def ask(
        self, method: str, path: str, document: object = None, machine_id: str = "m-0"
    ) -> tuple[int, Any]:
        trusting = ssl.create_default_context(cafile=self.files.ca)
        reader, writer = await asyncio.open_connection("localhost", self.port, ssl=trusting)
        body = json.dumps(document).encode() if document is not None else b""
        proof = self.agents.token_of(machine_id)
        head = (
            f"{method} {path} HTTP/1.1\r\nAuthorization: Bearer {proof}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = await reader.read()
        writer.close()
        header, _, content = answer.partition(b"\r\n\r\n")
        return int(header.split()[1]), json.loads(content) if content else None


@asynccontextmanager
async def running(files: TlsFiles) -> AsyncIterator[Rig]:
    clock = ManualClock()
    agents = AgentLongPoll(b"secret", clock)
    certificate = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.load_cert_chain(files.cert, files.key)
    port = await agents.serve("127.0.0.1:0", certificate)
    try:
        yield Rig(agents, clock, port, files)
    finally:
        await agents.close()


@pytest.fixture
def files(tmp_path: Path) -> TlsFiles:
    return Authority(tmp_path).leaf("agents")


async def test_a_job_reaches_its_agent_and_its_report_ends_it(files: TlsFiles) -> None:
    async with running(files) as rig:
        asking = asyncio.create_task(rig.ask("GET", JOB))
        hook = asyncio.create_task(rig.agents.on("m-0").run_hook(b"join\0", token="op-1"))
        status, job = await asking
        assert (status, job["token"], job["words"]) == (200, "op-1", ["configure", "op-1"])
        assert base64.b64decode(job["blob"]) == b"join\0"
        again = await rig.ask("GET", JOB)
        assert again == (200, job)
        stale = {"token": "op-0", "exit": 9}
        assert (await rig.ask("POST", "/agent/v1/m-0/report", stale))[0] == 204
        assert not hook.done()
        done = {"token": "op-1", "exit": 0}
        assert (await rig.ask("POST", "/agent/v1/m-0/report", done))[0] == 204
        await hook


async def test_a_failed_job_says_why(files: TlsFiles) -> None:
    async with running(files) as rig:
        stop = asyncio.create_task(rig.agents.on("m-0").stop_node(5, token="op-2"))
        assert (await rig.ask("GET", JOB))[1]["words"] == ["drain", "5"]
        report = {"token": "op-2", "exit": 1, "text": "kubelet will not stop"}
        await rig.ask("POST", "/agent/v1/m-0/report", report)
        with pytest.raises(Permanent, match="kubelet will not stop"):
            await stop


async def test_an_agent_without_work_is_sent_away_after_a_while(files: TlsFiles) -> None:
    async with running(files) as rig:
        asking = asyncio.create_task(rig.ask("GET", JOB))
        async with asyncio.timeout(60):
            while not asking.done():
                await rig.clock.advance(26)
        assert (await asking)[0] == 204


@pytest.mark.parametrize("path", [JOB, "/agent/v1/m-0/report", "/agent/v1/m-0/ready"])
async def test_the_proof_of_another_machine_opens_nothing(files: TlsFiles, path: str) -> None:
    async with running(files) as rig:
        assert (await rig.ask("POST", path, {}, machine_id="m-1"))[0] == 401


@pytest.mark.parametrize(
    ("path", "status"), [("/agent/v1/m-0/report", 400), ("/agent/v1/m-0/dance", 404)]
)
async def test_what_is_not_understood_is_refused(files: TlsFiles, path: str, status: int) -> None:
    async with running(files) as rig:
        assert (await rig.ask("POST", path, {"token": 5}))[0] == status


async def test_a_node_is_ready_in_the_cluster_its_agent_names(files: TlsFiles) -> None:
    async with running(files) as rig:
        waiting = asyncio.create_task(AgentReport(rig.agents).wait("shop", machine_id="m-0"))
        await rig.ask("POST", "/agent/v1/m-0/ready", {"cluster": "old"})
        await settle()
        assert not waiting.done()
        await rig.ask("POST", "/agent/v1/m-0/ready", {"cluster": "shop"})
        await waiting
