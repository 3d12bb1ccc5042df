"""`--web-addr` of a shard and of a coordinator, as processes of their own: who is let in."""

import asyncio
import ssl
from pathlib import Path

import httpx2
import pytest

from tests.shard_processes.process import Running, launched
from tests.shard_system.waiting import until
from tests.wire.certificates import Authority

PATIENCE_SECONDS = 60.0
TOKEN = "0123456789abcdef0123456789abcdef"


def shard_words(folder: Path, *more: str) -> tuple[str, ...]:
    ports = ("--listen", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0")
    return ("shard", "--data-dir", str(folder / "data"), *ports, *more)


async def started(process: Running) -> int:
    """The port of its page."""
    await until(lambda: process.started is not None)
    assert process.started is not None
    return int(process.started["web_port"])


async def asked(
    port: int, path: str, tls: ssl.SSLContext | None = None, **headers: str
) -> httpx2.Response:
    scheme = "https" if tls is not None else "http"
    async with httpx2.AsyncClient(verify=tls or False, timeout=PATIENCE_SECONDS) as client:
        return await client.get(f"{scheme}://localhost:{port}{path}", headers=headers)


async def test_a_shard_shows_itself_to_its_own_machine_and_ends_in_order(tmp_path: Path) -> None:
    async with launched(*shard_words(tmp_path, "--web-addr", "127.0.0.1:0")) as process:
        port = await started(process)
        told = (await asked(port, "/api/v1/status")).json()
        assert (told["face"], told["writes"], told["simulated"]) == ("shard", False, False)
        assert [each["shardId"] for each in told["shards"]] == ["shard-0"]
        async with httpx2.AsyncClient(timeout=PATIENCE_SECONDS) as client:
            stream = client.stream("GET", f"http://127.0.0.1:{port}/api/v1/stream")
            async with stream as answer, asyncio.timeout(PATIENCE_SECONDS):
                lines = answer.aiter_lines()
                while await anext(lines) != "event: overview":
                    pass
                process.process.terminate()
                assert await process.ended() == 0


async def test_without_the_flag_there_is_no_page(tmp_path: Path) -> None:
    async with launched(*shard_words(tmp_path)) as process:
        await until(lambda: process.started is not None)
        assert "web_port" not in (process.started or {})


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (("--web-addr", "0.0.0.0:0"), "--web-token-file"),
        (("--web-addr", "127.0.0.1:0", "--web-token-file", "/nowhere"), "--web-token-file"),
        (("--web-addr", "nonsense"), "web.addr"),
    ],
    ids=["open to everyone", "no such token", "no address"],
)
async def test_a_page_that_must_not_be_served_refuses_the_start(
    tmp_path: Path, more: tuple[str, ...], named: str
) -> None:
    async with launched(*shard_words(tmp_path, *more)) as process:
        assert await process.ended() == 2
        assert any(named in str(line) for line in process.lines)


async def test_with_certificates_a_page_without_one_of_its_own_is_refused(tmp_path: Path) -> None:
    own = Authority(tmp_path).leaf("shard", "bigfleet://shard/shard-0")
    tls = ("--tls-cert", str(own.cert), "--tls-key", str(own.key), "--tls-ca", str(own.ca))
    async with launched(*shard_words(tmp_path, "--web-addr", "127.0.0.1:0", *tls)) as process:
        assert await process.ended() == 2
        assert any("--web-client-cert" in str(line) for line in process.lines)


async def test_a_token_opens_by_header_and_by_the_address_a_person_opens(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    words = ("--web-addr", "127.0.0.1:0", "--web-token-file", str(file))
    async with launched(*shard_words(tmp_path, *words)) as process:
        port = await started(process)
        assert (await asked(port, "/api/v1/health")).status_code == 401
        brought = await asked(port, "/api/v1/health", Authorization=f"Bearer {TOKEN}")
        assert brought.status_code == 200
        first = await asked(port, f"/?token={TOKEN}")
        assert (first.status_code, first.headers["location"]) == (303, "/")
        cookie = first.headers["set-cookie"]
        assert {"HttpOnly", "SameSite=Strict"} <= set(cookie.split("; "))
        again = await asked(port, "/api/v1/health", Cookie=cookie.partition(";")[0])
        assert again.status_code == 200
        wrong = await asked(port, "/?token=wrong")
        assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)


async def test_with_certificates_readers_read_administrators_write_and_others_do_neither(
    tmp_path: Path,
) -> None:
    authority = Authority(tmp_path)
    own = authority.leaf("shard", "bigfleet://shard/shard-0")
    asks = authority.leaf("page", "bigfleet://readonly")
    words = (
        *("--web-addr", "127.0.0.1:0", "--web-writes", "--advertise-addr", "localhost:0"),
        *("--tls-cert", str(own.cert), "--tls-key", str(own.key), "--tls-ca", str(own.ca)),
        *("--web-client-cert", str(asks.cert), "--web-client-key", str(asks.key)),
    )

    def by(role: str) -> ssl.SSLContext:
        files = authority.leaf(f"browser of {role.replace('/', ' ')}", f"bigfleet://{role}")
        context = ssl.create_default_context(cafile=str(files.ca))
        context.load_cert_chain(files.cert, files.key)
        return context

    async with launched(*shard_words(tmp_path, *words)) as process:
        port = await started(process)
        expected = {"readonly": (200, 403), "admin": (200, 404), "cluster/shop": (403, 403)}
        for role, codes in expected.items():
            read = await asked(port, "/api/v1/health", by(role))
            async with httpx2.AsyncClient(verify=by(role)) as client:
                address = f"https://localhost:{port}/api/v1/nothing"
                write = await client.post(address, headers={"X-BigFleet": "1"})
            assert (read.status_code, write.status_code) == codes, role
        nobody = ssl.create_default_context(cafile=str(own.ca))
        with pytest.raises((httpx2.TransportError, ssl.SSLError)):
            await asked(port, "/api/v1/health", nobody)


async def test_a_coordinator_shows_all_its_shards(tmp_path: Path) -> None:
    ports = ("--listen", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0")
    folder = ("--data-dir", str(tmp_path / "coordinator"))
    async with launched("coordinator", *folder, *ports, "--web-addr", "127.0.0.1:0") as leader:
        port = await started(leader)
        words = shard_words(tmp_path, "--coordinator-addr", leader.address)
        async with launched(*words), asyncio.timeout(PATIENCE_SECONDS):
            told = (await asked(port, "/api/v1/status")).json()
            while [each["shardId"] for each in told["shards"]] != ["shard-0"]:
                told = (await asked(port, "/api/v1/status")).json()
            assert told["face"] == "coordinator"
            assert told["coordinator"]["isLeader"] is True
