"""mTLS: who a caller is, who is refused, and certificates that change under way."""

import asyncio
import os
import shutil
import ssl
from pathlib import Path

import pytest

from bigfleet.model.provider_calls import Code, Peer, Rejected
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.provider_client import ProviderClient
from bigfleet.wire.provider_server import ProviderEndpoint
from tests.wire.certificates import Authority
from tests.wire.lines import IDLE, ScriptedProvider, line_to

SHARD = "bigfleet://shard/shard-0"
NAMES: dict[str, tuple[tuple[str, ...], str | None]] = {
    "one name": ((SHARD,), SHARD),
    "no name": ((), None),
    "two names": ((SHARD, "bigfleet://admin"), None),
    "a foreign name only": (("spiffe://mesh/shard-0",), None),
    "a foreign name beside ours": (("spiffe://mesh/shard-0", SHARD), SHARD),
    "a name of a longer scheme": (("bigfleets://admin",), None),
}


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def server_tls(authority: Authority) -> TlsFiles:
    return authority.leaf("server")


@pytest.mark.parametrize(("uris", "identity"), NAMES.values(), ids=NAMES)
async def test_a_caller_is_the_one_name_in_its_certificate(
    authority: Authority, server_tls: TlsFiles, uris: tuple[str, ...], identity: str | None
) -> None:
    client_tls = authority.leaf("client", *uris)
    provider = ScriptedProvider()
    async with line_to(provider, server_tls=server_tls, client_tls=client_tls) as line:
        assert await line.client.get("m-1") == IDLE
    assert provider.peers == [Peer(identity, authenticated=True)]


async def test_a_caller_without_a_certificate_is_refused(server_tls: TlsFiles) -> None:
    provider = ScriptedProvider()
    async with line_to(provider, server_tls=server_tls) as line:
        with pytest.raises(Rejected) as rejected:
            await line.client.get("m-1", deadline=60)
    assert rejected.value.code is Code.UNAVAILABLE
    assert provider.calls == []


async def test_a_caller_with_a_certificate_of_another_authority_is_refused(
    authority: Authority, server_tls: TlsFiles, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path, "another CA").leaf("client", SHARD, trusts=authority)
    provider = ScriptedProvider()
    async with line_to(provider, server_tls=server_tls, client_tls=stranger) as line:
        with pytest.raises(Rejected) as rejected:
            await line.client.get("m-1", deadline=60)
    assert rejected.value.code is Code.UNAVAILABLE
    assert provider.calls == []


async def test_a_server_of_another_authority_is_not_believed(
    authority: Authority, tmp_path: Path
) -> None:
    impostor = Authority(tmp_path, "another CA").leaf("server", trusts=authority)
    client_tls = authority.leaf("client", SHARD)
    provider = ScriptedProvider()
    async with line_to(provider, server_tls=impostor, client_tls=client_tls) as line:
        with pytest.raises(Rejected) as rejected:
            await line.client.get("m-1", deadline=60)
    assert rejected.value.code is Code.UNAVAILABLE
    assert provider.calls == []


async def test_a_key_that_does_not_fit_its_certificate_is_an_error_at_the_start(
    authority: Authority, server_tls: TlsFiles
) -> None:
    other = authority.leaf("other")
    mixed = TlsFiles(server_tls.cert, other.key, server_tls.ca)
    with pytest.raises(OSError, match=r"server\.crt"):
        await ProviderEndpoint(ScriptedProvider(), tls=mixed).start()


async def test_a_new_certificate_is_taken_without_a_restart(
    authority: Authority, server_tls: TlsFiles, tmp_path: Path
) -> None:
    provider = ScriptedProvider()
    client_tls = authority.leaf("client", SHARD)
    async with line_to(provider, server_tls=server_tls, client_tls=client_tls) as line:
        await line.client.get("m-1")
        replace(authority.leaf("renewed", "bigfleet://admin"), client_tls, later=1)
        await line.client.get("m-1")
        new_authority = Authority(tmp_path, "new CA")
        replace(new_authority.leaf("renewed server"), server_tls, later=2)
        shutil.copy(new_authority.path, server_tls.ca)
        replace(new_authority.leaf("renewed", SHARD), client_tls, later=3)
        await line.client.get("m-1")
    assert [peer.identity for peer in provider.peers] == [SHARD, "bigfleet://admin", SHARD]


async def test_half_a_renewal_keeps_the_certificate_that_works(
    authority: Authority, server_tls: TlsFiles
) -> None:
    client_tls = authority.leaf("client", SHARD)
    provider = ScriptedProvider()
    async with line_to(provider, server_tls=server_tls, client_tls=client_tls) as line:
        await line.client.get("m-1")
        server_tls.key.write_bytes(authority.leaf("other").key.read_bytes())
        client_tls.cert.write_text("half a certif")
        await line.client.get("m-1")
        server_tls.cert.unlink()
        address = f"localhost:{line.endpoint.port}"
        async with ProviderClient(address, authority.leaf("fresh", SHARD)) as fresh:
            assert await fresh.get("m-1") == IDLE


async def test_tls_1_3_is_spoken_with_clients_that_can(
    authority: Authority, server_tls: TlsFiles
) -> None:
    context = client_context(authority.leaf("client", SHARD))
    async with line_to(ScriptedProvider(), server_tls=server_tls) as line:
        assert await negotiated(context, line.endpoint.port) == "TLSv1.3"


async def test_tls_1_2_is_spoken_with_forward_secret_aead_suites_only(
    authority: Authority, server_tls: TlsFiles
) -> None:
    context = client_context(authority.leaf("client", SHARD))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    async with line_to(ScriptedProvider(), server_tls=server_tls) as line:
        context.set_ciphers("ECDHE+AESGCM")
        assert await negotiated(context, line.endpoint.port) == "TLSv1.2"
        context.set_ciphers("ECDHE+SHA:ECDHE+SHA256:ECDHE+SHA384:!AESGCM:@SECLEVEL=0")
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await negotiated(context, line.endpoint.port)


def client_context(files: TlsFiles) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(files.ca))
    context.load_cert_chain(files.cert, files.key)
    context.set_alpn_protocols(["h2"])
    # Ours carries no key usage; only whether and how the two agree matters here.
    context.verify_flags &= ~ssl.VerifyFlags.VERIFY_X509_STRICT
    return context


async def negotiated(context: ssl.SSLContext, port: int) -> str:
    _, writer = await asyncio.open_connection("localhost", port, ssl=context)
    spoken: str = writer.get_extra_info("ssl_object").version()
    writer.transport.abort()
    return spoken


def replace(new: TlsFiles, old: TlsFiles, *, later: int) -> None:
    """Puts the new pair in place; its time is set by hand, since a coarse clock may stand still."""
    for fresh, stale in ((new.cert, old.cert), (new.key, old.key)):
        seconds = stale.stat().st_mtime + later
        shutil.copy(fresh, stale)
        os.utime(stale, (seconds, seconds))
