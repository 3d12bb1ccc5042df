"""Clients of the shards that a coordinator knows, as they come, move and go."""

from bigfleet.wire.coordinator_admin import CoordinatorAdminClient
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.shard_admin import ShardAdminClient


class Members:
    def __init__(self, coordinator: CoordinatorAdminClient, tls: TlsFiles | None) -> None:
        self._coordinator = coordinator
        self._tls = tls
        #: By shard id, as it is at any moment.
        self.clients: dict[str, ShardAdminClient] = {}
        self._address_of: dict[str, str] = {}

    async def refresh(self) -> list[str]:
        """Asks who belongs to the fleet; who left it. Raises Rejected, and all stay."""
        known = {entry.shard_id: entry.address for entry in await self._coordinator.shards()}
        left = [name for name in self.clients if name not in known]
        moved = [name for name in self.clients if known.get(name) != self._address_of[name]]
        for name in moved:
            del self._address_of[name]
            await self.clients.pop(name).close()
        for name, address in known.items():
            if name not in self.clients and address:
                self._address_of[name] = address
                self.clients[name] = ShardAdminClient(address, self._tls)
        return left

    async def close(self) -> None:
        for client in self.clients.values():
            await client.close()
