"""The fleet that a page shows: its shards, its coordinator, and what was found out about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bigfleet.edge.clock import Clock
from bigfleet.wire.coordinator_admin import CoordinatorAdminClient
from bigfleet.wire.shard_admin import ShardAdminClient

Face = Literal["up", "shard", "coordinator"]


@dataclass(frozen=True, slots=True)
class Fleet:
    #: By shard id; of a coordinator's page they come and go.
    shards: Mapping[str, ShardAdminClient]
    #: None: the page is a shard's own.
    coordinator: CoordinatorAdminClient | None
    #: Of every replica of the coordinator.
    coordinator_addresses: Sequence[str]
    clock: Clock
    face: Face
    version: str
    simulated: bool = False
    #: Whether requests that change the fleet are taken at all.
    writes: bool = False
