"""A provider that outlives the row that booted it, for the rows that look at it next.

The rows of durability look at one restart from different sides; a boot for each would be minutes.
A row that does not pass leaves nothing: the next row starts afresh.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bigfleet.conformance.lab import Running
    from bigfleet.wire.provider_client import ProviderClient


class Legacy:
    def __init__(self) -> None:
        #: What the row knew about it; None while there is none.
        self.left: object | None = None
        self._clients: list[ProviderClient] = []
        self._booted: list[Running] = []

    def adopt(self, left: object, clients: "list[ProviderClient]", booted: "list[Running]") -> None:
        self.left = left
        self._clients += clients
        self._booted += booted

    async def close(self) -> None:
        self.left = None
        for client in self._clients:
            await client.close()
        for running in self._booted:
            await running.kill()
        self._clients.clear()
        self._booted.clear()
