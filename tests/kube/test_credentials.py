"""Credentials as clusters hand them out: rotated files, plugins, and certificates."""

import asyncio
import ssl
import sys
from base64 import b64encode
from functools import partial
from pathlib import Path

import pytest

from bigfleet.edge.certificates import authority, leaf
from bigfleet.edge.clock import ManualClock
from bigfleet.edge.driver import RealClock
from bigfleet.kube.answers import Refused, Unreachable
from bigfleet.kube.api import Api
from bigfleet.kube.connection import BadKubeconfig, open_api
from bigfleet.kube.kinds import NODES
from tests.kube_api import FakeApiServer

NOWHERE = Path("/nonexistent/serviceaccount")
V1 = "client.authentication.k8s.io/v1"


def opened(folder: Path, server: FakeApiServer, user: str, cluster: str = "") -> Api:
    path = folder / "config"
    path.write_text(
        "current-context: c\n"
        f"clusters: [{{name: c, cluster: {{server: '{server.url}'{cluster}}}}}]\n"
        f"users: [{{name: u, user: {user}}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
    )
    clock = ManualClock()
    rest = partial(open_api, environ={}, service_account=NOWHERE, user_agent="bigfleet-test")
    return rest(str(path), clock, lambda: 0.5, qps=100, burst=100)


def plugin(folder: Path, body: str) -> str:
    path = folder / "plugin"
    path.write_text(f"#!{sys.executable}\nimport json, os, pathlib, sys\n{body}")
    path.chmod(0o755)
    return str(path)


def printing(token: str, version: str = V1) -> str:
    return f"""
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
assert info["apiVersion"] == {version!r} and info["spec"]["interactive"] is False
count = pathlib.Path(sys.argv[0]).with_name("count")
runs = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(runs))
more = json.loads(os.environ.get("MORE", "{{}}"))
status = {{"token": {token!r}.replace("RUN", str(runs)), **more}}
print(json.dumps({{"apiVersion": {version!r}, "kind": "ExecCredential", "status": status}}))
"""


def of_plugin(path: str, version: str = V1, more: str = "") -> str:
    return f"{{exec: {{apiVersion: {version}, command: '{path}', interactiveMode: Never{more}}}}}"


async def a_node(server: FakeApiServer, *tokens: str) -> None:
    server.put(NODES, {"metadata": {"name": "n-1"}})
    server.tokens = set(tokens)


async def test_a_token_file_that_was_rotated_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("old\n")
    async with FakeApiServer() as server:
        await a_node(server, "old")
        async with opened(tmp_path, server, "{tokenFile: token}") as api:
            await api.get(NODES, "n-1")
            (tmp_path / "token").write_text("new\n")
            server.tokens = {"new"}
            await api.get(NODES, "n-1")
            server.tokens = {"other"}
            with pytest.raises(Refused) as refused:
                await api.get(NODES, "n-1")
            assert refused.value.status == 401


@pytest.mark.parametrize("version", [V1, "client.authentication.k8s.io/v1beta1"])
async def test_a_plugin_is_run_once_for_many_calls(tmp_path: Path, version: str) -> None:
    path = plugin(tmp_path, printing("t-RUN", version))
    async with FakeApiServer() as server:
        await a_node(server, "t-1")
        async with opened(tmp_path, server, of_plugin(path, version)) as api:
            await asyncio.gather(*(api.get(NODES, "n-1") for _ in range(8)))
            assert (tmp_path / "count").read_text() == "1"


async def test_a_plugin_is_run_again_when_its_token_is_no_longer_taken(tmp_path: Path) -> None:
    path = plugin(tmp_path, printing("t-RUN"))
    async with FakeApiServer() as server:
        await a_node(server, "t-1")
        async with opened(tmp_path, server, of_plugin(path)) as api:
            await api.get(NODES, "n-1")
            server.tokens = {"t-2"}
            await asyncio.gather(*(api.get(NODES, "n-1") for _ in range(8)))
            assert (tmp_path / "count").read_text() == "2"


async def test_a_token_near_its_end_is_not_used(tmp_path: Path) -> None:
    path = plugin(tmp_path, printing("t-RUN"))
    soon = '\\"expirationTimestamp\\": \\"2023-11-14T22:13:49Z\\"'
    more = f', env: [{{name: MORE, value: "{{{soon}}}"}}]'
    async with FakeApiServer() as server:
        await a_node(server, "t-1", "t-2")
        async with opened(tmp_path, server, of_plugin(path, more=more)) as api:
            await api.get(NODES, "n-1")
            await api.get(NODES, "n-1")
            assert (tmp_path / "count").read_text() == "2"


BROKEN = {
    "fails": ("sys.exit('not logged in')", "ended with 1: not logged in"),
    "prints no JSON": ("print('hello')", "printed no ExecCredential"),
    "speaks another version": (
        printing("t", "client.authentication.k8s.io/v1beta1").replace("assert", "0 #"),
        "the kubeconfig asks for client.authentication.k8s.io/v1",
    ),
    "gives no token": (printing(""), "gave no token"),
}


@pytest.mark.parametrize(("body", "said"), BROKEN.values(), ids=BROKEN)
async def test_a_plugin_that_does_not_work_is_quoted(tmp_path: Path, body: str, said: str) -> None:
    path = plugin(tmp_path, body)
    async with FakeApiServer() as server, opened(tmp_path, server, of_plugin(path)) as api:
        with pytest.raises(Unreachable, match=said):
            await api.create(NODES, {"metadata": {"name": "n-1"}})


async def test_a_plugin_that_is_not_installed_says_how_to(tmp_path: Path) -> None:
    user = of_plugin("no-such-plugin", more=", installHint: 'Get it from your cloud.'")
    async with FakeApiServer() as server, opened(tmp_path, server, user) as api:
        with pytest.raises(Unreachable, match=r"cannot be run: .* Get it from your cloud\."):
            await api.create(NODES, {"metadata": {"name": "n-1"}})


async def test_an_unknown_version_of_plugins_is_refused_at_the_start(tmp_path: Path) -> None:
    user = of_plugin("p", "client.authentication.k8s.io/v9")
    server = FakeApiServer()
    server.url = "https://127.0.0.1:1"
    with pytest.raises(BadKubeconfig, match=r"context c: exec: apiVersion .*/v9 is not one of"):
        opened(tmp_path, server, user)


async def test_the_authority_and_the_name_of_the_kubeconfig_are_trusted_and_no_other(
    tmp_path: Path,
) -> None:
    now = RealClock().now()
    signer, stranger = authority("ca", now, 2), authority("other", now, 2)
    made = leaf(signer, "api", "bigfleet://admin", now, 1, hosts=("api.internal",))
    for file, pem in {"crt": made.certificate, "key": made.key}.items():
        (tmp_path / file).write_bytes(pem)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    server = FakeApiServer()
    await server.start(serving)
    ours = f", certificate-authority-data: {b64encode(signer.certificate).decode()}"
    theirs = f", certificate-authority-data: {b64encode(stranger.certificate).decode()}"
    try:
        await a_node(server, "t")
        for good in (
            ours,
            f"{ours}, tls-server-name: api.internal",
            ", insecure-skip-tls-verify: true",
        ):
            async with opened(tmp_path, server, "{token: t}", good) as api:
                await api.get(NODES, "n-1")
                assert api.ca_bundle == (signer.certificate if ours in good else b"")
        for bad in (theirs, f"{ours}, tls-server-name: other.internal", ""):
            async with opened(tmp_path, server, "{token: t}", bad) as api:
                with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
                    await api.create(NODES, {"metadata": {"name": "n-2"}})
    finally:
        await server.stop()


async def test_a_client_that_leaves_in_the_middle_of_a_handshake_hangs_up(tmp_path: Path) -> None:
    """At once, and not when the rest of the call is collected."""
    called, hung_up = asyncio.Event(), asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        called.set()
        await reader.read()
        hung_up.set()
        writer.close()

    silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    server = FakeApiServer()
    server.url = f"https://127.0.0.1:{silent.sockets[0].getsockname()[1]}"
    trusting = ", insecure-skip-tls-verify: true"
    async with silent, asyncio.timeout(60), opened(tmp_path, server, "{}", trusting) as api:
        asked = asyncio.create_task(api.get(NODES, "n-1"))
        await called.wait()
        asked.cancel()
        await hung_up.wait()
    assert asked.cancelled()


async def test_a_malformed_client_certificate_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "c.pem").write_text("no certificate")
    user = "{client-certificate: c.pem, client-key: c.pem}"
    server = FakeApiServer()
    server.url = "https://127.0.0.1:1"
    with pytest.raises(BadKubeconfig, match="context c: the CA or client certificate cannot"):
        opened(tmp_path, server, user)
