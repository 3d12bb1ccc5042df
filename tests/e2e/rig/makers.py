"""The types of the fixtures that make something when a test calls them."""

from collections.abc import Awaitable, Sequence
from typing import Any, Protocol

from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.faulty_api import FaultyApi
from tests.e2e.rig.fleet import Fleet
from tests.e2e.rig.node_actor import NodeActor
from tests.e2e.rig.nodes import Naming, named_by_host


class OwnCluster(Protocol):
    def __call__(self, name: str = "north", **api_server_flags: str) -> Awaitable[Cluster]: ...


class MakeProvider(Protocol):
    def __call__(self, offers: Sequence[dict[str, Any]], /) -> Awaitable[Fleet]: ...


class MakeFleet(Protocol):
    def __call__(
        self, offers: Sequence[dict[str, Any]], /, **settings: str
    ) -> Awaitable[Fleet]: ...


class FaultsOf(Protocol):
    def __call__(self, cluster: Cluster) -> Awaitable[FaultyApi]: ...


class Act(Protocol):
    def __call__(
        self,
        cluster: Cluster,
        of: Fleet,
        *,
        naming: Naming = named_by_host,
        tells_machine_id: bool = False,
    ) -> Awaitable[NodeActor]: ...
