"""HTTP asks for no name: with mTLS the control is reached by an administrator's gRPC only."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.provider.options import ProviderOptions
from tests.provider.rig import Told
from tests.sim.rig import OPTIONS, running
from tests.wire.certificates import Authority


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def secured(authority: Authority) -> ProviderOptions:
    return replace(OPTIONS, tls=authority.leaf("provider"))


async def status_of(port: int, path: str) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: sim\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return int(answer.split()[1])


async def test_http_has_the_probes_and_no_verbs(
    authority: Authority, secured: ProviderOptions
) -> None:
    log = Told()
    admin = authority.leaf("admin", "bigfleet://admin")
    async with running(options=secured, log=log, caller=admin) as rig:
        port = rig.server.metrics_port
        assert await status_of(port, "/healthz") == 200
        assert await status_of(port, "/sim/v1/state") == 404
        assert "gRPC" in log.lines["routes.closed"]["text"]
        assert "pools" in await rig.control.do("state")


async def test_a_shard_may_not_use_the_control(
    authority: Authority, secured: ProviderOptions
) -> None:
    shard = authority.leaf("shard", "bigfleet://shard/a")
    async with running(options=secured, caller=shard) as rig:
        with pytest.raises(Rejected) as refused:
            await rig.control.do("state")
        assert refused.value.code is Code.PERMISSION_DENIED
        assert len(await rig.machines()) > 0


async def test_without_tls_the_verbs_are_there() -> None:
    log = Told()
    async with running(log=log) as rig:
        assert await status_of(rig.server.metrics_port, "/sim/v1/state") == 200
    assert "routes.closed" not in log.lines
