"""A fleet on the rig: a sim provider, a shard, and the operators and pod controllers of clusters.

All are processes started from the command line, as people start them. Addresses are fixed for the
life of a fleet: a shard that is killed and started again is found where it was.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import (
    ConfigureCall,
    CreateCall,
    DrainCall,
    ListCall,
    MachineRecord,
    Token,
)
from bigfleet.wire.provider_client import ProviderClient
from bigfleet.wire.shard_admin import ShardAdminClient
from bigfleet.wire.sim_control import SimControlClient
from tests.e2e.rig.accounts import operator_account, podwatch_account
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.processes import Family, Supervised
from tests.etcd_cluster import free_ports
from tests.shard_processes.process import provider_words
from tests.shard_system.rig import offered
from tests.shard_system.waiting import PATIENCE, until_told

ANYWHERE = "127.0.0.1:0"
#: Everything a shard is by default, but in a hurry, and without the cap on reclaims.
SHARD_HASTE = {
    "cycle-interval": "200ms",
    "cycle-min-gap": "50ms",
    "reconcile-interval": "200ms",
    "reconcile-breaker-probe": "500ms",
    "reclaim-cap-fraction": "0",
    "thrash-hold": "0s",
    "rollup-guard-min-hold": "1s",
    "workers": "1",
}
OPERATOR_HASTE = {
    "rollup-interval": "1s",
    "rollup-debounce": "100ms",
    "evict-retry": "200ms",
    "stuck-grace": "1s",
    "admission-delay": "500ms",
}
TEMPLATE = """\
#cloud-config
cluster: {{ .ClusterID }}
request: {{ .RequestID }}
"""

__all__ = ["Fleet", "offered", "provided"]


class Fleet:
    def __init__(self, folder: Path, provider_port: int, shard_port: int) -> None:
        self.folder = folder
        self.processes = Family(folder)
        self.provider_address = f"127.0.0.1:{provider_port}"
        self.shard_address = f"127.0.0.1:{shard_port}"
        #: The provider, by its own protocol.
        self.client = ProviderClient(self.provider_address)
        #: Faults, prices and time of the simulated world.
        self.control = SimControlClient(self.provider_address)
        self.admin = ShardAdminClient(self.shard_address, deadline=PATIENCE)
        self.provider: Supervised | None = None
        self.shard: Supervised | None = None
        self._sequence = count(1)

    # -- processes --------------------------------------------------------------------------------

    async def start_provider(self, offers: Sequence[dict[str, Any]], *more: str) -> Supervised:
        words = provider_words(self.folder, list(offers), self.provider_address)
        self.provider = self.processes.start_verb("provider", *words, *more)
        await self.provider.event("provider.started")
        return self.provider

    async def start_shard(self, **settings: str) -> Supervised:
        """Settings are flags by name, `reclaim_grace="30s"`; they go over SHARD_HASTE."""
        own = {
            "listen": self.shard_address,
            "metrics-addr": ANYWHERE,
            "data-dir": str(self.folder / "shard"),
            "provider-addr": f"sim={self.provider_address}",
            **SHARD_HASTE,
        }
        self.shard = self.processes.start_verb("shard", "shard", *_flags(own, settings))
        await self.shard.event("shard.started")
        return self.shard

    async def restart_shard(self) -> None:
        """After it was stopped or killed: at the same address, over the same folder."""
        assert self.shard is not None, "the fleet has no shard yet"
        self.shard.start()
        await self.shard.event("shard.started")

    async def start_operator(
        self,
        cluster: Cluster,
        kubeconfig: Path | None = None,
        /,
        *,
        replica: str = "",
        **settings: str,
    ) -> Supervised:
        """For that cluster, with the rights of its chart unless a kubeconfig is given."""
        if kubeconfig is None:
            mints = settings.get("mint_token") == "true"
            kubeconfig = await operator_account(cluster, mints_tokens=mints)
        template = self.folder / "bootstrap.tmpl"
        if not template.exists():
            template.write_text(TEMPLATE)
        own = {
            "cluster-id": cluster.name,
            "shard-addr": self.shard_address,
            "kubeconfig": str(kubeconfig),
            "metrics-addr": ANYWHERE,
            "bootstrap-template-file": str(template),
            **OPERATOR_HASTE,
        }
        name = f"operator-{cluster.name}{replica}"
        operator = self.processes.start_verb(name, "operator", *_flags(own, settings))
        await operator.event("operator.started")
        return operator

    async def start_podwatch(
        self,
        cluster: Cluster,
        kubeconfig: Path | None = None,
        /,
        *,
        replica: str = "",
        **settings: str,
    ) -> Supervised:
        """For that cluster, with the rights of its chart unless a kubeconfig is given."""
        kubeconfig = kubeconfig or await podwatch_account(cluster)
        own = {
            "cluster-id": cluster.name,
            "shard-addr": self.shard_address,
            "kubeconfig": str(kubeconfig),
            "metrics-addr": ANYWHERE,
        }
        name = f"podwatch-{cluster.name}{replica}"
        podwatch = self.processes.start_verb(name, "podwatch", *_flags(own, settings))
        await podwatch.event("podwatch.started")
        return podwatch

    # -- machines, by the provider's own word -----------------------------------------------------

    async def machines(self) -> dict[str, MachineRecord]:
        return {record.id: record for record in (await self.client.list(ListCall()))[0]}

    async def bound_to(self, cluster: str) -> set[str]:
        return {name for name, m in (await self.machines()).items() if m.cluster == cluster}

    async def configure(self, cluster: str, *ids: str) -> None:
        """By hand, in place of a shard; returns once they are Configured."""
        for machine in ids:
            if (await self.client.get(machine)).state is MachineState.SPECULATIVE:
                await self.client.create(CreateCall(machine, self._token()))
                await self._until(machine, MachineState.IDLE)
            await self.client.configure(ConfigureCall(machine, cluster, b"", self._token()))
            await self._until(machine, MachineState.CONFIGURED)

    async def drain(self, *ids: str) -> None:
        """By hand, without grace; returns once they are Idle."""
        for machine in ids:
            await self.client.drain(DrainCall(machine, 0, self._token()))
            await self._until(machine, MachineState.IDLE)

    async def close(self) -> None:
        try:
            for line in (self.client, self.control, self.admin):
                await line.close()
        finally:
            self.processes.kill()

    def _token(self) -> Token:
        return Token("by-hand", 1, next(self._sequence))

    async def _until(self, machine: str, state: MachineState) -> None:
        async def is_there() -> bool:
            return (await self.client.get(machine)).state is state

        await until_told(is_there, lambda: (machine, state))


def _flags(own: dict[str, str], settings: dict[str, str]) -> list[str]:
    """An empty value drops a flag."""
    assert all(isinstance(value, str) for value in settings.values()), f"flags are text: {settings}"
    wanted = own | {name.replace("_", "-"): value for name, value in settings.items()}
    return [word for name, value in wanted.items() if value for word in (f"--{name}", value)]


@asynccontextmanager
async def provided(folder: Path, offers: Sequence[dict[str, Any]]) -> AsyncIterator[Fleet]:
    """A fleet that has a provider of these offers, and no shard that decides over them yet."""
    folder.mkdir(parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        made = Fleet(folder, *free_ports(2))
        stack.push_async_callback(made.close)
        await made.start_provider(offers)
        yield made
