"""Opens the line to an API server: address, trust and credentials from where they are kept."""

import os
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx2
from lightkube.config.client_adapter import user_auth, verify_cluster
from lightkube.config.kubeconfig import DEFAULT_NAMESPACE, SERVICE_ACCOUNT
from lightkube.config.models import User
from lightkube.core.exceptions import ConfigError

from bigfleet.edge.clock import Clock
from bigfleet.edge.counts import Counts
from bigfleet.kube.api import Api
from bigfleet.kube.connection_attempts import ClosedWhenBrokenOff
from bigfleet.kube.exec_credentials import exec_auth
from bigfleet.kube.kubeconfigs import BadKubeconfig, Target, target_of

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
    environ: Mapping[str, str] = os.environ,
    service_account: Path = Path(SERVICE_ACCOUNT),
) -> Api:
    """Asks nothing yet: a server that is down shows in the first call. Raises BadKubeconfig."""
    target = target_of(kubeconfig, environ, service_account)
    config = target.config
    client = httpx2.AsyncClient(
        base_url=config.cluster.server,
        auth=_auth(target, clock),
        headers={"user-agent": user_agent, "accept": "application/json"},
        transport=_transport(target, environ),
        follow_redirects=False,
    )
    return Api(client, clock, draw, qps=qps, burst=burst, ca_bundle=target.ca_bundle, counts=counts)


def own_namespace(
    kubeconfig: str = "",
    environ: Mapping[str, str] = os.environ,
    service_account: Path = Path(SERVICE_ACCOUNT),
) -> str:
    """Of the pod we run in, else of the context, else `default`."""
    try:
        return target_of(kubeconfig, environ, service_account).config.namespace
    except BadKubeconfig:
        # open_api says what is wrong with it, and where.
        return DEFAULT_NAMESPACE


def _auth(target: Target, clock: Clock) -> httpx2.Auth | None:
    if target.exec_section is not None and not _has_token(target.config.user):
        return exec_auth(target, clock)
    try:
        return user_auth(target.config.user)
    except ConfigError as problem:
        raise BadKubeconfig(f"{target.source}: {problem}") from problem


def _has_token(user: User | None) -> bool:
    return user is not None and bool(user.token or user.token_file)


def _transport(target: Target, environ: Mapping[str, str]) -> httpx2.AsyncBaseTransport:
    config = target.config
    try:
        trust = verify_cluster(config.cluster, config.user or User(), config.abs_file)
        if config.cluster.insecure:
            trust.check_hostname = False
            trust.verify_mode = ssl.CERT_NONE
    except (OSError, ValueError, TypeError, ConfigError) as problem:
        raise BadKubeconfig(
            f"{target.source}: context {config.context_name}: the CA or client certificate cannot"
            f" be used: {problem}; certificate and key must be PEM and belong together"
        ) from problem
    proxy = target.proxy_url or _proxy_of(config.cluster.server, environ)
    transport = ClosedWhenBrokenOff(
        httpx2.AsyncHTTPTransport(
            verify=trust, limits=_LIMITS, trust_env=False, proxy=proxy or None
        )
    )
    return _ServerName(transport, target.tls_server_name) if target.tls_server_name else transport


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
