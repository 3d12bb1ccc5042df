"""Opens the line to an API server: address, trust and credentials from where they are kept."""

import os
import ssl
import tempfile
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import httpx2

from bigfleet.edge.clock import Clock
from bigfleet.edge.counts import Counts
from bigfleet.kube.api import Api, Writer
from bigfleet.kube.credentials import auth_of
from bigfleet.kube.kubeconfigs import (
    DEFAULT_NAMESPACE,
    SERVICE_ACCOUNT,
    BadKubeconfig,
    Target,
    target_of,
)

__all__ = ["BadKubeconfig", "open_api", "own_namespace"]

#: Watches, and the widest dispatch beside them.
_LIMITS = httpx2.Limits(max_connections=200, max_keepalive_connections=64)


def open_api(
    kubeconfig: str,
    clock: Clock,
    draw: Callable[[], float],
    *,
    qps: float,
    burst: int,
    user_agent: str,
    counts: Counts | None = None,
    writer: Writer | None = None,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
    context: str = "",
    deadline_seconds: float = 30,
) -> Api:
    """Asks nothing yet: a server that is down shows in the first call. Raises BadKubeconfig."""
    target = target_of(kubeconfig, environ, service_account, context)
    client = httpx2.AsyncClient(
        base_url=target.cluster.server,
        auth=auth_of(target, clock),
        headers={"user-agent": user_agent, "accept": "application/json"},
        transport=_transport(target, environ),
        follow_redirects=False,
    )
    return Api(
        client,
        clock,
        draw,
        qps=qps,
        burst=burst,
        deadline_seconds=deadline_seconds,
        ca_bundle=target.ca_bundle,
        counts=counts,
        writer=writer,
    )


def own_namespace(
    kubeconfig: str = "",
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> str:
    """Of the pod we run in, else of the context, else `default`."""
    try:
        return target_of(kubeconfig, environ, service_account).namespace
    except BadKubeconfig:
        # open_api says what is wrong with it, and where.
        return DEFAULT_NAMESPACE


def _transport(target: Target, environ: Mapping[str, str]) -> httpx2.AsyncBaseTransport:
    try:
        trust = _trust(target)
    except (OSError, ValueError) as problem:
        raise BadKubeconfig(
            f"{target.source}: context {target.context_name}: the CA or client certificate cannot"
            f" be used: {problem}; certificate and key must be PEM and belong together"
        ) from problem
    proxy = target.proxy_url or _proxy_of(target.cluster.server, environ)
    transport = ClosedWhenBrokenOff(
        httpx2.AsyncHTTPTransport(
            verify=trust, limits=_LIMITS, trust_env=False, proxy=proxy or None
        )
    )
    return _ServerName(transport, target.tls_server_name) if target.tls_server_name else transport


def _trust(target: Target) -> ssl.SSLContext:
    cluster, user = target.cluster, target.user
    if cluster.certificate_authority_data or cluster.certificate_authority:
        # A blank rather than nothing: without any text, the system's certificates would be trusted.
        bundle = target.ca_bundle.decode("ascii", "ignore") or " "
        trust = ssl.create_default_context(cadata=bundle)
    else:
        trust = httpx2.create_ssl_context(verify=not cluster.insecure_skip_tls_verify)
    if user.client_certificate or user.client_certificate_data:
        with (
            _file_of(user.client_certificate, user.client_certificate_data) as certificate,
            _file_of(user.client_key, user.client_key_data) as key,
        ):
            trust.load_cert_chain(certificate, key)
    if cluster.insecure_skip_tls_verify:
        trust.check_hostname = False
        trust.verify_mode = ssl.CERT_NONE
    return trust


@contextmanager
def _file_of(path: str | None, data: str | None) -> Iterator[str]:
    """Certificates are loaded from files only; data goes before a path, as kubectl has it."""
    if data:
        with tempfile.NamedTemporaryFile() as file:
            file.write(b64decode(data))
            file.flush()
            yield file.name
    elif path:
        yield path
    else:
        raise ValueError("a client certificate and its key must both be given")


def _proxy_of(server: str, environ: Mapping[str, str]) -> str:
    """From the environment, as other clients do, unless NO_PROXY names the host."""
    url = httpx2.URL(server)
    word = f"{url.scheme}_proxy"
    proxy = environ.get(word) or environ.get(word.upper()) or ""
    spared = (environ.get("no_proxy") or environ.get("NO_PROXY") or "").split(",")
    suffixes = tuple(part.strip().lstrip(".") for part in spared if part.strip())
    host = url.host
    if "*" in suffixes or any(host == s or host.endswith(f".{s}") for s in suffixes):
        return ""
    return proxy


class _ServerName(httpx2.AsyncBaseTransport):
    """The certificate is checked against another name than that of the address."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, name: str) -> None:
        self._inner = inner
        self._name = name

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.extensions = {**request.extensions, "sni_hostname": self._name}
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Stream(Protocol):
    async def aclose(self) -> None: ...


class _ConnectionAttempt:
    """What is known of the connection that one request may have to open."""

    def __init__(self) -> None:
        #: Connected, and nothing more yet.
        self._beneath: _Stream | None = None

    async def __call__(self, event: str, facts: Mapping[str, _Stream]) -> None:
        if event == "connection.connect_tcp.complete":
            self._beneath = facts["return_value"]
        elif event == "connection.start_tls.failed" and self._beneath is not None:
            await self._beneath.aclose()


class ClosedWhenBrokenOff(httpx2.AsyncBaseTransport):
    """Closes connections that are broken off while they open, at once.

    Our own time limits and a stop cancel calls at any moment, also in the middle of a TLS
    handshake. The library then forgets the socket beneath, and it stays open until it is collected:
    before a server that does not answer, one for every attempt. Its trace, the documented way to
    see a connection open, gives us that socket.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.extensions = {**request.extensions, "trace": _ConnectionAttempt()}
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()
