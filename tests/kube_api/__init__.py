"""A fake API server over real HTTP, and our client for it.

async with FakeApiServer() as server:
    server.put(NODES, {"metadata": {"name": "n-1"}})
    async with api_for(server) as api:
        await api.get(NODES, "n-1")
"""

from collections.abc import Callable
from dataclasses import dataclass

import httpx2

from bigfleet.edge.clock import Clock
from bigfleet.edge.driver import RealClock
from bigfleet.kube.api import Api, Writer
from tests.kube_api.faults import ApiCall, Hold
from tests.kube_api.server import Done, FakeApiServer

__all__ = ["ApiCall", "Done", "FakeApiServer", "Hold", "Replica", "api_for", "kubeconfig_for"]


@dataclass
class Replica:
    """Whether it may write is the test's to say."""

    leads: bool = False

    def may_write(self) -> bool:
        return self.leads


def kubeconfig_for(server: FakeApiServer, token: str = "") -> str:
    """YAML of a kubeconfig, for processes that read theirs from a file."""
    user = f"{{token: {token}}}" if token else "{}"
    return (
        "apiVersion: v1\nkind: Config\ncurrent-context: fake\n"
        f"clusters: [{{name: fake, cluster: {{server: '{server.url}'}}}}]\n"
        f"users: [{{name: fake, user: {user}}}]\n"
        "contexts: [{name: fake, context: {cluster: fake, user: fake}}]\n"
    )


def api_for(
    server: FakeApiServer,
    clock: Clock | None = None,
    draw: Callable[[], float] = lambda: 0.5,
    *,
    qps: float = 10_000,
    burst: int = 10_000,
    writer: Writer | None = None,
) -> Api:
    """To be closed by the caller, or used with `async with`."""
    client = httpx2.AsyncClient(base_url=server.url, trust_env=False)
    return Api(client, clock or RealClock(), draw, qps=qps, burst=burst, writer=writer)
